"""An iterator that a variable keeps -> a change of what it reads, before the code that uses it.

::

    doubled = (2 * x for x in items)
    items.append(7)                      Python computes 14, too, since it computes items as they are used
    return sum(doubled)

Lanes compute the items of such an iterator where it is made.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping

from hlobatch.frontend.changes import changed_by
from hlobatch.frontend.harm_of_code import harm_of
from hlobatch.frontend.nested import Template
from hlobatch.frontend.nodes import walk
from hlobatch.frontend.scopes import read_names, root_of
from hlobatch.frontend.straight_line import StraightLineLowering


def change_before_use(
    name: str, statement: ast.Assign | ast.AnnAssign, lowering: StraightLineLowering, *, is_object: bool
) -> tuple[str, ast.AST] | None:
    """A change of what an iterator reads, between the statement that keeps it in a variable and the code that uses it.

    Args:
        name: The variable.
        statement: The statement, whose value makes the iterator.
        lowering: The lowering of the function around the statement.
        is_object: Whether the iterator is an object that refers to the containers that it goes over.

    Returns:
        The variable that changes, and the code that changes it; None if there is no such code.
    """
    value, function = statement.value, lowering.source.node
    assert value is not None
    scope = lowering.scope
    late = _read_late(value).union(*(scope[name].captured for name in read_names(value) if name in scope))
    read = late if is_object else late.union(read_names(value))
    begin, loops = _end_of(statement), [part for part in walk(function) if isinstance(part, (ast.For, ast.While))]
    loops = [loop for loop in loops if _place_of(loop) > begin]
    uses = [part for part in walk(function) if isinstance(part, ast.Name) and part.id == name]
    uses = [part for part in uses if isinstance(part.ctx, ast.Load) and _place_of(part) > begin]
    over = {id(loop.iter): loop for loop in loops if isinstance(loop, ast.For)}
    ends = [_end_of(over.get(id(use), use)) for use in uses]
    ends += [_end_of(loop) for loop in loops for use in uses if _place_of(loop) < _place_of(use) < _end_of(loop)]
    end = max(ends, default=begin)
    harm = functools.partial(harm_of, lowering=lowering)
    for part in walk(function):
        if not isinstance(part, (ast.stmt, ast.expr)) or not begin < _place_of(part) < end:
            continue
        changed = [root_of(value) for value in changed_by(part, harm)]
        if isinstance(part, ast.Name) and part.id in scope:  # it may be called
            changed += [root_of(value) for inner in _inside(part.id, scope) for value in changed_by(inner, harm)]
            changed += [ast.Name(name) for name in scope[part.id].bound]
        changes = {root.id for root in changed if isinstance(root, ast.Name)} & read
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store) and part.id in late:
            changes = changes | {part.id}
        if changes:
            return min(changes), part
    return None


def _inside(name: str, scope: Mapping[str, Template]) -> list[ast.AST]:
    """The code of a function that is defined inside, and of those that it may call."""
    seen = scope[name]
    names = {name, *(part.id for part in walk(seen.source.node) if isinstance(part, ast.Name))} & scope.keys()
    return [part for one in names for part in walk(scope[one].source.node)]


def _read_late(value: ast.expr) -> frozenset[str]:
    """The variables that an iterator reads for each of its items, and not when it is made."""
    if isinstance(value, ast.GeneratorExp):
        first = read_names(value.generators[0].iter)
        often = [part.id for part in walk(value) if isinstance(part, ast.Name)]
        return frozenset(n for n in read_names(value) if n not in first or often.count(n) > 1)
    parts = [part for part in walk(value) if isinstance(part, (ast.Lambda, ast.GeneratorExp))]
    return frozenset(name for part in parts for name in read_names(part))


def _place_of(node: ast.stmt | ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _end_of(node: ast.stmt | ast.expr) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
