"""``test and x or y`` where its value is used -> a conditional expression.

::

    step = n > 2 and n or 4        ==>      step = (n or 4) if n > 2 else 4

This is what Python computes. The value of ``n > 2 and n`` alone is a bool in some lanes and a number in others, which
a variable holds only as values of several kinds.
"""

from __future__ import annotations

import ast
import copy
from typing import Any, Final

from hlobatch.frontend.nodes import located, walk
from hlobatch.frontend.scopes import with_parts

MOST: Final = 4
"""Most operands of an ``or`` that is written anew, some of them several times. Chosen by judgement (2026-11)."""


def with_choices(node: ast.FunctionDef) -> ast.FunctionDef:
    """The definition with conditional expressions in place of such values; the node itself if there are none."""
    return _rewritten(node) if any(_is_choice(part) for part in walk(node)) else node


def _rewritten(node: Any) -> Any:
    new = with_parts(node, _rewritten)
    fields = {"test", "ifs"} if isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert, ast.comprehension)) else ()
    if isinstance(node, (ast.BoolOp, ast.UnaryOp)):
        return new  # of their operands, the truth alone may count
    changed = {
        name: _chosen(value) for name, value in ast.iter_fields(new) if name not in fields and _is_choice(value)
    } | {
        name: [_chosen(part) if _is_choice(part) else part for part in value]
        for name, value in ast.iter_fields(new)
        if name not in fields and isinstance(value, list) and any(map(_is_choice, value))
    }
    return ast.copy_location(type(new)(**{**dict(ast.iter_fields(new)), **changed}), new) if changed else new


def _is_choice(node: Any) -> bool:
    """Whether an expression is ``test and x or y``, with a test that is a bool and an ``x`` that is none."""
    is_short = isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or) and len(node.values) <= MOST
    return is_short and any(_tests(one) for one in node.values[:-1])


def _tests(node: ast.expr) -> list[ast.expr]:
    """The tests of ``test and x``; none of any other expression."""
    match node:
        case ast.BoolOp(ast.And(), [*tests, value]) if any(map(_is_bool, tests)) and not _is_bool(value):
            return tests
    return []


def _is_bool(node: ast.expr) -> bool:
    return isinstance(node, ast.Compare) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))


def _chosen(node: ast.BoolOp) -> ast.expr:
    return _first_true(node.values, node)


def _first_true(values: list[ast.expr], node: ast.expr) -> ast.expr:
    """The first of some values that is true, or else the last."""
    first, *others = values
    if not others:
        return first
    if tests := _tests(first):
        test = tests[0] if len(tests) == 1 else located(ast.BoolOp(ast.And(), tests), first)
        again = [copy.deepcopy(other) for other in others]
        value = first.values[-1]  # type: ignore[attr-defined]  # it has tests
        return located(ast.IfExp(test, _first_true([value, *others], node), _first_true(again, node)), node)
    return located(ast.BoolOp(ast.Or(), [first, _first_true(others, node)]), node)
