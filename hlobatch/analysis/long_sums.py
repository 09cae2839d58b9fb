"""A program -> whether it adds or multiplies so many floating-point numbers of a lane that their order shows.

XLA makes a tree of a long reduction on a CPU, which keeps rounding errors small, by a pass that takes reductions over
lanes too, where there is nothing to round, and makes slow code of them.
"""

from __future__ import annotations

import math
from typing import Any, Final

import jax.numpy as jnp

from hlobatch._jax import subjaxprs
from hlobatch.analysis.tracing import TracedFunction
from hlobatch.ir.ops import PrimOp
from hlobatch.ir.program import Program

LONG: Final = 32
"""Numbers up to which XLA's pass leaves a reduction as it is."""
_REDUCTIONS: Final = frozenset({"reduce_sum", "reduce_prod"})
_OF_ANY_KIND: Final = "reduce"
"""A reduction whose combination is the user's own, or in code that was read from a module."""


def has_long_sums(program: Program) -> bool:
    """Whether any of its reductions is one, or may be. Copies and choices of ours are not traced, and sum nothing."""
    functions = [op.function for op in program.ops if isinstance(op, PrimOp)]
    traced = [f for f in functions if isinstance(f, TracedFunction)]
    return any(_OF_ANY_KIND in f.primitives() or _has_any(f.jaxpr.jaxpr) for f in traced)


def _has_any(jaxpr: Any) -> bool:
    return any(map(_is_long, jaxpr.eqns)) or any(map(_has_any, subjaxprs(jaxpr)))


def _is_long(equation: Any) -> bool:
    if equation.primitive.name not in _REDUCTIONS:
        return False
    array = equation.invars[0].aval
    return (
        jnp.issubdtype(array.dtype, jnp.inexact) and math.prod(array.shape[d] for d in equation.params["axes"]) > LONG
    )
