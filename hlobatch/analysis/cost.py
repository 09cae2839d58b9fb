"""How much work a piece of code is, in floating point operations per lane; a guess good enough to rank blocks.

Contractions count twice their multiplications, loops their trip count where it is known, everything else one operation
per element of its result.
"""

from __future__ import annotations

import math
from functools import singledispatch
from typing import Any

from hlobatch._jax import subjaxprs_of
from hlobatch.analysis.tracing import TracedFunction
from hlobatch.ir.ops import PrimOp
from hlobatch.ir.program import Block

_UNKNOWN_TRIPS = 8
"""Turns assumed for a loop whose count is not known."""
_TRANSCENDENTAL = frozenset({"exp", "log", "sin", "cos", "tan", "tanh", "logistic", "erf", "pow", "log1p", "expm1"})
_RANDOM = frozenset({"random_bits", "random_split", "random_fold_in", "threefry2x32"})


def block_cost(block: Block) -> float:
    """Operations per lane of a block's primitives; at least 1."""
    return 1.0 + sum(primitive_cost(op) for op in block.instructions if isinstance(op, PrimOp))


def primitive_cost(op: PrimOp) -> float:
    """Operations per lane of a primitive."""
    return function_cost(op.function)


@singledispatch
def function_cost(function: Any) -> float:
    """Operations per lane of a primitive's function; none of one that is not traced."""
    del function
    return 0.0


@function_cost.register
def _traced_cost(function: TracedFunction) -> float:
    return jaxpr_cost(function.jaxpr.jaxpr)


def jaxpr_cost(jaxpr: Any) -> float:
    """Operations of a jaxpr."""
    return float(sum(_equation_cost(equation) for equation in jaxpr.eqns))


def _equation_cost(equation: Any) -> float:
    elements = float(sum(math.prod(v.aval.shape) for v in equation.outvars))
    name = equation.primitive.name
    if name == "dot_general":
        (left, _), _ = equation.params["dimension_numbers"]
        shape = equation.invars[0].aval.shape
        return 2.0 * elements * float(math.prod(shape[d] for d in left))
    inner = float(sum(jaxpr_cost(j) for j in subjaxprs_of(equation)))
    if name == "scan":
        return inner * float(equation.params["length"])
    if name == "while":
        return inner * _UNKNOWN_TRIPS
    if inner:
        return inner
    return elements * (10.0 if name in _TRANSCENDENTAL else 40.0 if name in _RANDOM else 1.0)
