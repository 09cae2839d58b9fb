"""Operators of the syntax tree -> their names in the module ``operator``; between underscores, those of methods."""

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
"""All but ``**``, which is done in a way of its own."""
UNARY: Final[dict[type[ast.unaryop], str]] = {ast.Invert: "invert", ast.USub: "neg", ast.UAdd: "pos"}
"""All but ``not``, which has no method."""
COMPARISONS: Final[dict[type[ast.cmpop], str]] = {
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
}
"""Those of two values; not ``in`` and ``is``."""
