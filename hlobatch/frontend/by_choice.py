"""A name for one of several places -> the statements that read it, once for each of the places.

::

    target = left if v < p else right       $which = 0 if v < p else 1; target = …
    target.append(v)                  ==>   if $which == 0: left.append(v)
                                            else: right.append(v)

A change by such a name would be lost, since lanes hold values and no references (``by_place.py`` does so for names of
one place). Each place has to mean one object in all statements that read the name.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from hlobatch.analysis.aliases import AnotherName
from hlobatch.frontend.nodes import located, walk_all
from hlobatch.frontend.same_place import names_in, written_out
from hlobatch.frontend.scopes import is_path
from hlobatch.frontend.straight_line import StraightLineLowering
from hlobatch.frontend.syntax import assigned, literal, load
from hlobatch.values.facts import of_code

MOST_NODES: Final = 20_000
"""The most nodes of syntax of which the copies may consist: a statement that reads several such names has many."""


def of_choice(
    lowering: StraightLineLowering, node: ast.stmt, behind: Sequence[ast.stmt]
) -> tuple[list[ast.stmt], list[ast.stmt]] | None:
    """The statements that give names to one of several places, and those behind them, with the places for the names.

    None if the statement gives no name to one of several places, no change by such a name shows under another one, or
    one of the places may mean another object where the name is read.
    """
    found = _chosen(lowering, node, behind)
    if found is None:
        return None
    facts = lowering.callees.facts
    given = [part for part in walk_all([node, *behind[: found.used]]) if isinstance(part, ast.Assign)]
    known = (facts.of(AnotherName, of_code(lowering.location(one))) for one in given)
    if all(one is None or one.variables.isdisjoint(found.names) for one in known):
        return None
    copies = list[list[ast.stmt]]()
    for places in found.places:
        copy = list(behind[found.used :])
        for name, place in zip(found.names, places, strict=True):
            if (written := written_out(lowering, name, place, copy)) is None:
                return None
            copy = written
        copies.append(copy)
    which, number = lowering.temporary(), iter(range(len(copies)))
    tests = [_is_equal(load(which, node), literal(i, node)) for i in range(len(copies) - 1)]
    others = [one[0] if one[0] is one[-1] else _once_for_each(tests, one) for one in zip(*copies, strict=True)]
    if len(walk_all(others)) > MOST_NODES:
        return None
    numbers = _with_leaves(found.choice, lambda part: literal(next(number), part))
    named = [
        assigned(name, _chosen_of(tests, values), node)
        for name, values in zip(found.names, zip(*found.places, strict=True), strict=True)
        if name in lowering.callee.captured or not _reads([lowering.source.node], name) <= _reads(behind, name)
    ]
    return [assigned(which, numbers, node), *named], others


def _reads(body: Sequence[ast.AST], name: str) -> set[tuple[int, int]]:
    """The lines and columns at which code reads a variable."""
    reads = (part for part in walk_all(body) if isinstance(part, ast.Name) and part.id == name)
    return {(part.lineno, part.col_offset) for part in reads if isinstance(part.ctx, ast.Load)}


def _is_equal(left: ast.expr, right: ast.expr) -> ast.expr:
    return located(ast.Compare(left, [ast.Eq()], [right]), left)


def _chosen_of(tests: Sequence[ast.expr], values: Sequence[ast.expr]) -> ast.expr:
    """The first of some values whose test holds, or the last."""
    chosen = values[-1]
    for test, value in zip(tests[::-1], values[-2::-1], strict=True):
        chosen = located(ast.IfExp(test, value, chosen), value)
    return chosen


def _once_for_each(tests: Sequence[ast.expr], copies: Sequence[ast.stmt]) -> ast.stmt:
    """The first of some copies of a statement whose test holds, or the last."""
    statement = copies[-1]
    for test, copy in zip(tests[::-1], copies[-2::-1], strict=True):
        statement = located(ast.If(test, [copy], [statement]), copy)
    return statement


def _with_leaves(value: ast.expr, changed: Callable[[ast.expr], ast.expr]) -> ast.expr:
    """A conditional expression with other values, in order."""
    match value:
        case ast.IfExp(test, body, orelse):
            return located(ast.IfExp(test, _with_leaves(body, changed), _with_leaves(orelse, changed)), value)
    return changed(value)


@dataclass(frozen=True)
class _Choice:
    """A choice between places to which statements give names.

    Attributes:
        names: The names.
        choice: The choice, as a conditional expression: of tuples, if there are several names.
        used: The number of statements, behind the first one, that belong to it.
    """

    names: tuple[str, ...]
    choice: ast.expr
    used: int = 0

    @property
    def places(self) -> list[list[ast.expr]]:
        """The places of all names, for each of the values of the choice."""
        return [
            value.elts if isinstance(value, ast.Tuple) and len(self.names) > 1 else [value]
            for value in _leaves(self.choice)
        ]

    @property
    def makes_sense(self) -> bool:
        """Whether each value has a place for each name, which is no part of what the names stood for before."""
        return all(
            len(places) == len(self.names) and all(is_path(p) and names_in(p).isdisjoint(self.names) for p in places)
            for places in self.places
        )


def _leaves(value: ast.expr) -> Iterator[ast.expr]:
    """The values of a conditional expression, in order."""
    match value:
        case ast.IfExp(_, body, orelse):
            yield from _leaves(body)
            yield from _leaves(orelse)
        case _:
            yield value


def _names(target: ast.expr) -> tuple[str, ...]:
    """The names in a target that is one name or a tuple of several; none of any other target."""
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    names = tuple(part.id for part in parts if isinstance(part, ast.Name))
    return names if len(set(names)) == len(parts) else ()


def _chosen(lowering: StraightLineLowering, node: ast.stmt, behind: Sequence[ast.stmt]) -> _Choice | None:
    """The choice that a statement makes, with the one behind it where that may give the names to other places."""
    found = None
    match node, behind:
        case ast.Assign([target], ast.IfExp() as value), _:
            found = _Choice(_names(target), value)
        case ast.If(), _:
            found = _as_choice(node)
        case ast.Assign([target], first), [ast.If(test, [ast.Assign([other], second)], []), *_]:
            names = _names(target)
            if names == _names(other) and not _may_read(lowering, names, test):
                found = _Choice(names, located(ast.IfExp(test, second, first), test), 1)
    return found if found is not None and found.names and found.makes_sense else None


def _may_read(lowering: StraightLineLowering, variables: Sequence[str], test: ast.expr) -> bool:
    """Whether an expression may read variables, itself or by functions that are defined inside the function."""
    named, scope = names_in(test), lowering.scope
    return not named.union(*(scope[one].captured for one in named if one in scope)).isdisjoint(variables)


def _as_choice(node: ast.If) -> _Choice | None:
    """An ``if`` whose branches give names to places, and do nothing else."""

    def of(body: Sequence[ast.stmt]) -> _Choice | None:
        match body:
            case [ast.Assign([target], value)]:
                return _Choice(_names(target), value)
            case [ast.If() as inner]:
                return _as_choice(inner)
        return None

    then, orelse = of(node.body), of(node.orelse)
    if then is None or orelse is None or then.names != orelse.names:
        return None
    return _Choice(then.names, located(ast.IfExp(node.test, then.choice, orelse.choice), node))
