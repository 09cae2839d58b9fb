"""Statements, a name and a place -> the statements with the place in place of the name, where it holds the same object.

::

    row = grid[0]           grid[0] is row …
    row.append(v)
    if v > 3:
        grid.pop()          … up to here,
        continue
    row.append(v)           … and here, which is not behind the `pop`
    row = grid[1]           from here on, row means something else

What is not known to keep the place may move it. A loop is taken as a whole: it may read what it has moved in the turn
before. A variable that the statements make another name of ``grid`` may be replaced by ``grid`` later, so a change by
it counts as well.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hlobatch.analysis.aliases import AnotherName
from hlobatch.frontend.changes import rebinding
from hlobatch.frontend.harm_of_code import harm_of
from hlobatch.frontend.nodes import Comprehension, all_arguments, located, prefixes, walk, walk_all, with_fields
from hlobatch.frontend.scopes import (
    assigned_in_expressions,
    bound_by_match,
    is_path,
    read_names,
    root_of,
    stored_names,
    target_names,
    with_parts,
)
from hlobatch.frontend.straight_line import StraightLineLowering
from hlobatch.values.facts import of_code

_PARTS: Final = (ast.Attribute, ast.Subscript)
_DEFINITIONS: Final = (ast.FunctionDef, ast.ClassDef)
_LEAVING: Final = (ast.Return, ast.Raise, ast.Break, ast.Continue)
_DRAWING: Final = (all, any, dict, list, max, min, set, sorted, sum, tuple)
"""Functions that take all items of a generator expression at once."""
_HANDING_ON: Final = (ast.List, ast.Tuple, ast.Dict, ast.Set, ast.IfExp, ast.BoolOp, ast.NamedExpr, ast.Starred)
_NO_LEVEL: Final = float("inf")


def written_out(
    lowering: StraightLineLowering, variable: str, place: ast.expr, body: Sequence[ast.stmt]
) -> list[ast.stmt] | None:
    """Statements with a path in place of each read of a variable, up to one that assigns to the variable.

    Args:
        lowering: The lowering of the function.
        variable: The variable.
        place: The path, which means the variable's object before the statements.
        body: The statements.

    Returns:
        The statements; None if the place may hold another object where one of them reads the variable.
    """
    if not _can_be_named(lowering, place):
        return None
    one = _Place(lowering, variable, place, _other_names(lowering, variable, place, body))
    count = next((i for i, statement in enumerate(body) if one.is_bound_by(statement)), len(body))
    try:
        is_moved = one.walk(body[:count], is_moved=False)
        if count < len(body) and is_moved is not None:
            one.after(body[count], is_moved=is_moved, may_bind=True)
    except _DiffersError:
        return None
    note_change(lowering, place)
    return [*(with_place(statement, variable, place) for statement in body[: count + 1]), *body[count + 1 :]]


def is_kept(lowering: StraightLineLowering, variable: str, place: ast.expr, body: Sequence[ast.stmt]) -> bool:
    """Whether a place holds a variable's object in all statements of a loop's body, in whatever order they run."""
    if not _can_be_named(lowering, place):
        return False
    one = _Place(lowering, variable, place, _other_names(lowering, variable, place, body))
    return not any(one.binds(part) or one.moves(part) for part in body) and one.can_be_replaced(walk_all(body))


def names_in(place: ast.expr) -> frozenset[str]:
    """The variables that a path mentions."""
    return frozenset(part.id for part in walk(place) if isinstance(part, ast.Name))


def _can_be_named(lowering: StraightLineLowering, place: ast.expr) -> bool:
    root = root_of(place)
    if not isinstance(root, ast.Name) or not lowering.is_own(root.id) or not is_path(place):
        return False
    is_parameter = root.id in lowering.callee.source.signature.parameters
    return not (is_parameter and rebinding(lowering.source.node, root.id) is not None)


def note_change(lowering: StraightLineLowering, place: ast.expr) -> None:
    """Note that the function may change the variable of which a path is a part."""
    root = root_of(place)
    assert isinstance(root, ast.Name)
    lowering.changes_own(root.id)


def with_place(node: Any, variable: str, place: ast.expr) -> Any:
    """Code with a path in place of each read of a variable."""
    if isinstance(node, ast.Name):
        return _at(place, node) if node.id == variable and isinstance(node.ctx, ast.Load) else node
    if isinstance(node, (ast.Lambda, Comprehension)) and variable not in read_names(node):
        return node
    return with_parts(node, lambda part: with_place(part, variable, place))


def _at(place: ast.expr, node: ast.AST) -> ast.expr:
    """A copy of a path, with the location of a node."""
    copied: ast.expr = with_parts(with_fields(place), lambda part: _at(part, node))
    return located(copied, node)


class _DiffersError(Exception):
    """The place may hold another object than the variable where that is read."""


@dataclass(frozen=True)
class _Place:
    """A place that holds the object of a variable, until it is moved.

    Attributes:
        lowering: The lowering of the function.
        variable: The variable.
        place: The path.
        others: Other names of the values around the place, as by ``_other_names``.
    """

    lowering: StraightLineLowering
    variable: str
    place: ast.expr
    others: Mapping[str, float]

    def walk(self, body: Sequence[ast.stmt], *, is_moved: bool) -> bool | None:
        """Whether the place is moved behind statements; None if control does not pass them.

        Raises:
            _DiffersError: A statement reads the variable where the place may have been moved.
        """
        for statement in body:
            match statement:
                case ast.If(test, then, orelse):
                    is_moved = self.after(test, is_moved=is_moved)
                    ends = [self.walk(part, is_moved=is_moved) for part in (then, orelse)]
                    if ends == [None, None]:
                        return None
                    is_moved = any(ends)
                case _:
                    is_moved = self.after(statement, is_moved=is_moved)
            if isinstance(statement, _LEAVING):
                return None
        return is_moved

    def after(self, node: ast.AST, *, is_moved: bool, may_bind: bool = False) -> bool:
        """Whether the place is moved behind a statement or an expression that is taken as a whole.

        Args:
            node: The code.
            is_moved: Whether it is moved before.
            may_bind: Whether the code may assign to the variable, at its end.

        Raises:
            _DiffersError: The code reads the variable where the place may have been moved, or assigns to it.
        """
        moves = self.moves(node)
        if self._is_named_in(node):
            is_bound = self.binds(node) and (not may_bind or self.variable in assigned_in_expressions(node))
            if is_moved or moves or is_bound or not self.can_be_replaced(walk(node)):
                raise _DiffersError
        return is_moved or moves

    def _is_named_in(self, node: ast.AST) -> bool:
        is_read = any(isinstance(part, ast.Name) and part.id == self.variable for part in walk(node))
        return is_read or self.binds(node)

    def binds(self, node: ast.AST) -> bool:
        """Whether code assigns to the variable."""
        return self.variable in stored_names(node)

    def is_bound_by(self, node: ast.AST) -> bool:
        """Whether a statement assigns to the variable at its end."""
        return isinstance(node, ast.Assign) and self.variable in {n for t in node.targets for n in target_names(t)}

    def can_be_replaced(self, parts: Sequence[ast.AST]) -> bool:
        """Whether code that reads the variable does so at once, where no variable of the place is hidden."""
        hidden, now = names_in(self.place) | {self.variable}, set[int]()
        for part in parts:
            if isinstance(part, ast.Call) and any(self.lowering.static_value(part.func) is one for one in _DRAWING):
                now.update(map(id, part.args))
        for part in parts:
            if isinstance(part, _DEFINITIONS) and self._is_named_in(part):
                return False
            if not isinstance(part, (ast.Lambda, Comprehension)) or self.variable not in read_names(part):
                continue
            if isinstance(part, ast.Lambda) or (isinstance(part, ast.GeneratorExp) and id(part) not in now):
                return False
            if not hidden.isdisjoint(name for one in part.generators for name in target_names(one.target)):
                return False
        return True

    def moves(self, node: ast.AST) -> bool:
        """Whether code may put another object into the place, or into a value that it is a part of."""
        named, held = names_in(self.place), [*prefixes(self.place)]
        if not named.isdisjoint(stored_names(node)):
            return True
        assigned, scope = [*held, self.place], self.lowering.scope
        seen = {
            name
            for name, one in scope.items()
            if not {*named, self.variable}.isdisjoint(one.bound) or (held and not named.isdisjoint(one.captured))
        }
        for part in walk(node):
            if isinstance(part, ast.Name) and part.id in seen:
                return True
            is_assigned = isinstance(part, _PARTS) and not isinstance(part.ctx, ast.Load)
            if is_assigned and any(_may_be_one(part, one) for one in assigned):
                return True
            for value in self._changed_by(part):
                is_around = any(_may_be_one(path, one) for path in _paths_in(value) for one in held)
                if is_around or _level(value, self.others) < len(held):
                    return True
        return False

    def _changed_by(self, node: ast.AST) -> Iterator[ast.expr]:
        """The expressions of values that a node itself may change, if that may move the place."""
        match node:
            case ast.Attribute(value, ctx=ast.Store() | ast.Del()):
                if not is_path(value) or _level(value, self.others) < _NO_LEVEL:  # else, only the attribute changes
                    yield value
            case ast.Subscript(value, ctx=ast.Store() | ast.Del()):
                yield value
            case ast.Call():
                if harm_of(node, self.lowering).changes:
                    yield from _given(node)


def _other_names(
    lowering: StraightLineLowering, variable: str, place: ast.expr, body: Sequence[ast.stmt]
) -> dict[str, float]:
    """The variables that statements may make other names of the values around a place, each with its level.

    The root of the place has level 0, its items and attributes have level 1, and a container that holds the root has
    level -1. A variable has a level only if a fact says that changes by it show under another name, since no other
    variable is replaced.
    """
    root = root_of(place)
    assert isinstance(root, ast.Name)
    facts = (lowering.callees.facts.of(AnotherName, of_code(lowering.location(part))) for part in _binding(body))
    known = frozenset().union(*(fact.variables for fact in facts if fact is not None))
    levels: dict[str, float] = {root.id: 0, variable: sum(1 for _ in prefixes(place))}
    given = [one for part in walk_all(body) for one in _given_names(part) if one[0] in known - {root.id, variable}]
    for _ in range(len({name for name, _, _ in given}) + 1):  # a name may be made of one that a later statement makes
        for name, value, steps in given:
            levels[name] = min(levels.get(name, _NO_LEVEL), _level(value, levels) + steps)
    return {name: level for name, level in levels.items() if name not in (root.id, variable)}


def _binding(body: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """The statements and targets by whose places it is known that they give an object another name."""
    for part in walk_all(body):
        match part:
            case ast.Assign() | ast.NamedExpr():
                yield part
            case ast.For(target) | ast.comprehension(target) | ast.withitem(_, ast.expr() as target):
                yield target


def _given_names(node: ast.AST) -> Iterator[tuple[str, ast.expr, int]]:
    """The variables to which a node itself assigns, each with the value and the least number of steps into it."""
    match node:
        case ast.Assign(targets, value):
            for target in targets:
                yield from ((name, value, int(not isinstance(target, ast.Name))) for name in target_names(target))
        case ast.For(target, over) | ast.comprehension(target, over):
            yield from ((name, over, 1) for name in target_names(target))
        case ast.NamedExpr(ast.Name(name), value):
            yield name, value, 0
        case ast.withitem(value, ast.expr() as target):
            yield from ((name, value, 0) for name in target_names(target))
        case ast.Match(value):
            yield from ((name, value, 0) for name in bound_by_match(node))


def _level(value: ast.expr, levels: Mapping[str, float]) -> float:
    """The least level of the values that an expression may give, by the levels of variables."""
    match value:
        case ast.Name(name):
            return levels.get(name, _NO_LEVEL)
        case ast.Attribute(whole) | ast.Subscript(whole):
            return _level(whole, levels) + 1
        case ast.List() | ast.Tuple() | ast.Dict() | ast.Set():
            steps = -1
        case _:
            steps = 0
    parts = (part for part in ast.iter_child_nodes(value) if isinstance(part, ast.expr))
    return min((_level(part, levels) for part in parts), default=_NO_LEVEL) + steps


def _paths_in(value: ast.expr) -> Iterator[ast.expr]:
    """The paths whose values an expression may give, or hold in a new container."""
    if isinstance(value, _PARTS):
        root = root_of(value)
        yield from [value] if isinstance(root, ast.Name) else _paths_in(root)
    elif isinstance(value, ast.Name):
        yield value
    elif isinstance(value, _HANDING_ON):
        for part in ast.iter_child_nodes(value):
            if isinstance(part, ast.expr):
                yield from _paths_in(part)


def _may_be_one(path: ast.AST, other: ast.AST) -> bool:
    """Whether two paths may mean one place: keys may be equal unless both are constants."""
    match path, other:
        case ast.Name(name), ast.Name(another):
            return name == another
        case ast.Attribute(whole, name), ast.Attribute(rest, another):
            return name == another and _may_be_one(whole, rest)
        case ast.Subscript(whole, key), ast.Subscript(rest, second):
            are_known = isinstance(key, ast.Constant) and isinstance(second, ast.Constant)
            return not (are_known and ast.dump(key) != ast.dump(second)) and _may_be_one(whole, rest)
    return False


def _given(call: ast.Call) -> Iterator[ast.expr]:
    for argument in all_arguments(call):
        yield argument.value if isinstance(argument, ast.Starred) else argument
    if isinstance(call.func, ast.Attribute):
        yield call.func.value
