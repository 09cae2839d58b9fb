"""An iterator that a variable keeps -> a change of what it reads, before the code that uses it.

::

    doubled = (2 * x for x in items)
    items.append(7)                      Python computes 14, too, since it computes items as they are used
    return sum(doubled)

Lanes compute the items of such an iterator where it is made.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hlobatch.frontend.changes import CHANGING, HARMLESS
from hlobatch.frontend.nodes import walk
from hlobatch.frontend.scopes import places_in, read_names, root_of
from hlobatch.frontend.straight_line import StraightLineLowering


def change_before_use(
    name: str, statement: ast.Assign | ast.AnnAssign, lowering: StraightLineLowering
) -> tuple[str, ast.AST] | None:
    """A change of what an iterator reads, between the statement that keeps it in a variable and the code that uses it.

    Args:
        name: The variable.
        statement: The statement, whose value makes the iterator.
        lowering: The lowering of the function around the statement.

    Returns:
        The variable that changes, and the code that changes it; None if there is no such code.
    """
    value, function = statement.value, lowering.source.node
    assert value is not None
    read, late = frozenset(read_names(value)), _read_late(value)
    begin, loops = _end_of(statement), [part for part in walk(function) if isinstance(part, (ast.For, ast.While))]
    loops = [loop for loop in loops if _place_of(loop) > begin]
    uses = [part for part in walk(function) if isinstance(part, ast.Name) and part.id == name]
    uses = [part for part in uses if isinstance(part.ctx, ast.Load) and _place_of(part) > begin]
    over = {id(loop.iter): loop for loop in loops if isinstance(loop, ast.For)}
    ends = [_end_of(over.get(id(use), use)) for use in uses]
    ends += [_end_of(loop) for loop in loops for use in uses if _place_of(loop) < _place_of(use) < _end_of(loop)]
    end = max(ends, default=begin)
    for part in walk(function):
        if not isinstance(part, (ast.stmt, ast.expr)) or not begin < _place_of(part) < end:
            continue
        changes = {
            root.id for root in map(root_of, _changed_by(part, lowering.static_value)) if isinstance(root, ast.Name)
        } & read
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store) and part.id in late:
            changes = changes | {part.id}
        if changes:
            return min(changes), part
    return None


def _read_late(value: ast.expr) -> frozenset[str]:
    """The variables that an iterator reads for each of its items, and not when it is made."""
    if isinstance(value, ast.GeneratorExp):
        first = read_names(value.generators[0].iter)
        often = [part.id for part in walk(value) if isinstance(part, ast.Name)]
        return frozenset(n for n in read_names(value) if n not in first or often.count(n) > 1)
    parts = [part for part in walk(value) if isinstance(part, (ast.Lambda, ast.GeneratorExp))]
    return frozenset(name for part in parts for name in read_names(part))


def _changed_by(node: ast.AST, static_value: Callable[[ast.expr], Any]) -> list[ast.expr]:
    """The values that a statement or an expression may change in place."""
    match node:
        case ast.Assign(targets) | ast.Delete(targets):
            return [part.value for target in targets for part in places_in(target)]
        case ast.AugAssign(target):
            return [target]
        case ast.Call(function, arguments):
            if _is_pure(static_value(function)):
                return []
            changes_own = isinstance(function, ast.Attribute) and function.attr not in _READERS
            return [*arguments, *([root_of(function)] if changes_own else [])]
    return []


def _is_pure(function: Any) -> bool:
    """Whether a function changes none of its arguments, as far as is known."""
    return getattr(function, "__module__", None) in _PURE or any(function is known for known in HARMLESS)


_CHANGES: Final = frozenset({"add", "byteswap", "discard", "fill", "partition", "put", "resize", "sort"})
"""Methods that change a container or an array in place, beside those that ``changes.py`` knows."""
_READERS: Final = frozenset(
    name
    for kind in (dict, list, set, str, tuple, np.ndarray)
    for name in dir(kind)
    if name not in CHANGING | _CHANGES and not name.endswith("_update")
)
"""Methods of Python's containers and of arrays that change nothing."""
_PURE: Final = ("functools", "itertools", "math", "operator")
"""Modules whose functions change none of their arguments."""


def _place_of(node: ast.stmt | ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _end_of(node: ast.stmt | ast.expr) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
