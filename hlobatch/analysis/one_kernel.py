"""A lowered program -> whether XLA can compile a whole run of it, for so many lanes, to one kernel on a CPU.

XLA emits loops, branches and everything on elements into such a kernel, but calls no library from there: no sort, no
FFT, no LAPACK, nothing on the host. A contraction becomes nested loops of one multiplication at a time, which a library
does sixteen of; for one lane it is a product of a matrix and a vector, which XLA has good loops for.
"""

from __future__ import annotations

import math
from typing import Any, Final

from hlobatch._jax import subjaxprs, subjaxprs_of
from hlobatch.analysis.tracing import TracedFunction
from hlobatch.ir.ops import PrimOp
from hlobatch.ir.program import Program

FEW_LANES: Final = 32
"""Lanes that make bad use of a library."""
MULTIPLICATIONS: Final = 250_000
"""Of all contractions of a block, of all lanes together, if the lanes are few: what takes about as long as to start the
kernels of a run without it."""
FEW_MULTIPLICATIONS: Final = 8_192
"""The same if they are not."""

_ARITHMETIC: Final = """
    abs acos acosh add add_any and asin asinh atan atan2 atanh bitcast_convert_type cbrt ceil clamp clz complex conj
    convert_element_type cos cosh div eq erf erf_inv erfc exp exp2 expm1 floor ge gt imag integer_pow
    is_finite le lgamma log log1p logistic lt max min mul ne neg nextafter not or population_count pow real
    reduce_precision rem round rsqrt select_n shift_left shift_right_arithmetic shift_right_logical sign sin sinh sqrt
    square sub tan tanh xor
"""
_SHAPES: Final = """
    broadcast_in_dim concatenate copy dynamic_slice dynamic_update_slice gather iota pad reshape rev scatter scatter-add
    scatter-max scatter-min scatter-mul slice split squeeze stack tile transpose
    unstack
"""
_REDUCTIONS: Final = """
    argmax argmin cumlogsumexp cummax cummin cumprod cumsum reduce reduce_and reduce_max reduce_min reduce_or
    reduce_prod reduce_sum
"""
_CONTROL: Final = """
    checkpoint closed_call cond custom_jvp_call custom_vjp_call jit optimization_barrier pjit remat remat2 scan while
"""
_RANDOM: Final = """
    random_bits random_clone random_fold_in random_seed random_split random_unwrap random_wrap threefry2x32
"""
SUPPORTED: Final = frozenset(f"{_ARITHMETIC} {_SHAPES} {_REDUCTIONS} {_CONTROL} {_RANDOM}".split())
"""JAX primitives that become operations XLA can emit there; ``dot_general`` is one if it is small."""


def fits_one_kernel(program: Program, lanes: int) -> bool:
    """Whether all that the program computes can be, and does well to be, part of one kernel."""
    functions = [op.function for op in program.ops if isinstance(op, PrimOp)]
    traced = [f for f in functions if isinstance(f, TracedFunction)]
    if not all(f.primitives() - {"dot_general"} <= SUPPORTED for f in traced):
        return False
    if any(_applies_a_function(f.jaxpr.jaxpr) for f in traced):
        return False
    if any(0 in t.shape for variable in program.var_defs.values() for t in variable.tensor_leaves):
        return False  # XLA takes an array of no elements for a constant, and leaves its argument unused
    blocks = ([op.function for op in block.instructions if isinstance(op, PrimOp)] for block in program.graph)
    most = max(sum(_multiplications(f.jaxpr.jaxpr) for f in fs if isinstance(f, TracedFunction)) for fs in blocks)
    return lanes * most <= (MULTIPLICATIONS if lanes <= FEW_LANES else FEW_MULTIPLICATIONS)


def _applies_a_function(jaxpr: Any) -> bool:
    """Whether a scatter makes something else of old elements than ``SUPPORTED`` has names for: ``x.at[i].apply``."""
    own = (e.params.get("update_jaxpr") is not None for e in jaxpr.eqns if e.primitive.name == "scatter")
    return any(own) or any(map(_applies_a_function, subjaxprs(jaxpr)))


def _multiplications(jaxpr: Any) -> int:
    """Of all contractions, for one lane."""
    return sum(map(_of_equation, jaxpr.eqns))


def _of_equation(equation: Any) -> int:
    if equation.primitive.name == "dot_general":
        (contracted, _), _ = equation.params["dimension_numbers"]
        shape = equation.invars[0].aval.shape
        return int(math.prod(equation.outvars[0].aval.shape) * math.prod(shape[d] for d in contracted))
    turns = equation.params["length"] if equation.primitive.name == "scan" else 1
    return int(turns * sum(map(_multiplications, subjaxprs_of(equation))))
