"""Operators of the syntax tree -> their names in ``operator``; with underscores around them, the names of methods."""

from __future__ import annotations

import ast
from typing import Final

BINARY: Final[dict[type[ast.operator], str]] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.MatMult: "matmul",
}
"""All binary operators except ``**``, which has a function of its own."""
UNARY: Final[dict[type[ast.unaryop], str]] = {ast.Invert: "invert", ast.USub: "neg", ast.UAdd: "pos"}
"""All unary operators but ``not``, which has no method."""
COMPARISONS: Final[dict[type[ast.cmpop], str]] = {
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
}
"""Comparisons of two values, without ``in`` and ``is``."""
