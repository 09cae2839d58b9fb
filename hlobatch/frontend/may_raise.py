"""Straight-line code -> the parts of it that may raise by themselves, as far as syntax and known functions tell.

An exception is seen where a program catches it, and in the report of a lane. So what may raise is computed before what
Python evaluates after it: the arguments of an exception before the ``raise``, and an operand before a call to the right
of it that has effects, or raises something else.
"""

from __future__ import annotations

import ast
from typing import Final

from hlobatch.frontend.nodes import walk
from hlobatch.frontend.straight_line import StraightLineLowering

EVALUATED_LATER: Final = (ast.Lambda, ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp)
"""Expressions with parts that are not evaluated once, and where they stand."""
_FUNCTIONS: Final = (int, min, max, next)
"""Functions that raise for some numbers or containers."""


def operation_may_raise(node: ast.expr, lowering: StraightLineLowering) -> bool:
    """Whether the operation of an expression may raise, whatever its operands are.

    Args:
        node: The expression.
        lowering: The lowering of the function that it stands in, which knows what names stand for.
    """
    match node:
        case ast.Subscript(_, index):
            return not isinstance(index, ast.Slice)
        case ast.BinOp(left, ast.Mod(), _):
            return not _is_text(left, lowering)
        case ast.BinOp(_, ast.Div() | ast.FloorDiv(), _):
            return True
        case ast.Call(ast.Attribute(_, "index")):
            return True
        case ast.Call(function):
            called = lowering.static_value(function)
            return any(called is one for one in _FUNCTIONS) or getattr(called, "__module__", None) == "math"
    return False


def may_raise(node: ast.expr, lowering: StraightLineLowering) -> bool:
    """Whether a part of an expression may raise; the other argument is that of ``operation_may_raise``."""
    if isinstance(node, (ast.Lambda, ast.GeneratorExp)):
        return False
    return any(isinstance(part, ast.expr) and operation_may_raise(part, lowering) for part in walk(node))


def _is_text(node: ast.expr, lowering: StraightLineLowering) -> bool:
    """Whether an expression is a known text, or a variable that is assigned one, so that ``%`` formats it."""
    if isinstance(node, ast.Name) and node.id in lowering.local:
        around = (part for part in ast.walk(lowering.source.node) if isinstance(part, ast.Assign))
        return any(
            _is_known_text(part.value, lowering)
            for part in around
            if [target.id for target in part.targets if isinstance(target, ast.Name)] == [node.id]
        )
    return _is_known_text(node, lowering)


def _is_known_text(node: ast.expr, lowering: StraightLineLowering) -> bool:
    return isinstance(node, ast.JoinedStr) or isinstance(lowering.static_value(node), str)
