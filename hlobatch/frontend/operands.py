"""An expression -> its operands, in the order in which Python evaluates them, and the expression with other operands.

::

    f(x, *y, key=z)          f, x, y, z
    o.items[i].append(x)     o, i, x          the receiver of a change is found from its root variable and keys
    {a: b, c: d}             a, b, c, d

An operand is an expression with a value of its own, which a variable can hold: a slice and ``*y`` are no operands.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from hlobatch.frontend.changes import is_change
from hlobatch.frontend.nodes import Tree, children
from hlobatch.frontend.scopes import with_parts

_NO_VALUES = (ast.Starred, ast.keyword, ast.FormattedValue, ast.Slice)
_STEPS = (ast.Attribute, ast.Subscript)


def operands_of(node: ast.AST) -> list[ast.expr]:
    """The operands of an expression, or of the target of an assignment."""
    return [part for part in _parts(node, _inside(node)) if isinstance(part, ast.expr)]


def with_operands(node: Tree, others: Mapping[int, ast.expr]) -> Tree:
    """An expression with other operands in place of those with these ids."""
    inside = _inside(node)

    def other(part: Any) -> Any:
        if id(part) in others:
            return others[id(part)]
        return with_parts(part, other) if isinstance(part, _NO_VALUES) or id(part) in inside else part

    return with_parts(node, other)


def _inside(node: ast.AST) -> frozenset[int]:
    """The ids of the items and attributes on the way to the target of an assignment, or to the receiver of a change."""
    found, step = set[int](), node
    if isinstance(node, ast.Call):
        if not isinstance(node.func, ast.Attribute):
            return frozenset()
        step, is_way = node.func, is_change(node)
        found.add(id(step))
    else:
        is_way = isinstance(node, _STEPS) and isinstance(node.ctx, ast.Store)
    while is_way and isinstance(step, _STEPS) and isinstance(step.value, _STEPS):
        step = step.value
        found.add(id(step))
    return frozenset(found)


def _parts(node: ast.AST, inside: frozenset[int]) -> Iterator[ast.AST]:
    parts: Iterator[Any] = iter(children(node))
    if isinstance(node, ast.Dict):
        parts = (part for entry in zip(node.keys, node.values, strict=True) for part in entry)
    for part in parts:
        if isinstance(part, _NO_VALUES) or id(part) in inside:
            yield from _parts(part, inside)
        elif part is not None:
            yield part
