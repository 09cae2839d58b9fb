"""A lowered program and a number of lanes -> whether XLA can, and should, compile a whole run of it to one kernel.

XLA emits loops, branches and all elementwise operations into a kernel on a CPU, but no call of a library: no sort, no
FFT, no LAPACK, and nothing on the host. It emits a contraction as nested loops of one multiplication at a time, where a
library does sixteen. The loops of ``targets/cpu/contractions.py`` are better than XLA's, but a library is still faster
for large contractions. It is also faster where products take nearly all of the time: in a run that goes through each
block once, all loops are inside of primitives, and one kernel saves nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

from hlobatch._jax import Literal, subjaxprs, subjaxprs_of
from hlobatch.analysis.cost import jaxprs_of, multiplications, primitives_time
from hlobatch.analysis.machine_flow import never_goes_back, repeated_blocks
from hlobatch.ir.code import KEYS, variables
from hlobatch.ir.program import Program
from hlobatch.jax_primitives import IN_KERNELS

MULTIPLICATIONS: Final = 330_000
"""Multiplications of a contraction, for all lanes together, that take about as long as to start a kernel for it and the
kernels for the operations around it."""
LEAST_LANES_IN_VECTORS: Final = 32
"""Lanes from which loops over lanes fill vectors; with fewer, the event is the longer axis."""
TIMES_MULTIPLICATIONS: Final = 4
"""Times ``MULTIPLICATIONS`` that a contraction may have if there are ``LEAST_LANES_IN_VECTORS`` lanes, and vectors are
long or most of the time is not spent on contractions."""
LONG_VECTOR: Final = 16
"""Numbers of 32 bits in a vector with which our loops are as fast as a library up to ``TIMES_MULTIPLICATIONS``."""
MOST_RESULTS: Final = 20_000
"""Numbers in the result of such a contraction, for all lanes together, so that the next operation finds them in the
cache."""
MULTIPLICATIONS_ONCE: Final = 40_000
"""Multiplications of a contraction, for all lanes together, up to which one kernel pays in a program that runs each
block once, and so starts few kernels."""
LEAST_LANES_FOR_LIBRARY: Final = 8
"""Lanes from which a library is faster in a program that runs each block once, if each lane multiplies enough."""
MULTIPLICATIONS_OF_A_ROW: Final = 256
"""Multiplications of one lane that are enough for that."""
MOST_OPERATIONS_IN_A_CHAIN: Final = 1_000
"""Operations of a block each of which needs the one before. XLA's emitter comes to the first of them by recursion from
the last, and ends the process at some five thousand, where its stack ends."""

_INTEGERS: Final = (f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
DTYPES: Final = frozenset(
    ("bool", *_INTEGERS, "float16", "bfloat16", "float32", "float64", "complex64", "complex128", KEYS)
)
"""Dtypes of arrays that XLA's emitter is known to work on, random keys among them."""


def fits_one_kernel(program: Program, lanes: int, vector: int) -> bool:
    """Whether all that the program computes can be, and does well to be, part of one kernel.

    Args:
        program: Calls lowered.
        lanes: How many there are.
        vector: Numbers of 32 bits that the processor does at a time.
    """
    jaxprs = [jaxprs_of(block) for block in program.graph]
    if not all(_is_known(jaxpr) for block in jaxprs for jaxpr in block):
        return False
    if any(sum(map(_depth, block)) > MOST_OPERATIONS_IN_A_CHAIN for block in jaxprs):
        return False
    if any(0 in t.shape for variable in program.var_defs.values() for t in variable.tensor_leaves):
        return False  # XLA takes an array of no elements for a constant, and leaves its argument unused
    contractions = [equation for block in jaxprs for jaxpr in block for equation in _contractions(jaxpr)]
    most = max(map(multiplications, contractions), default=0)
    fills_tiles = lanes >= LEAST_LANES_FOR_LIBRARY and most >= MULTIPLICATIONS_OF_A_ROW
    if (fills_tiles or lanes * most > MULTIPLICATIONS_ONCE) and never_goes_back(program):
        return False
    if lanes * most <= MULTIPLICATIONS:
        return True
    is_worth_more = lanes >= LEAST_LANES_IN_VECTORS and (vector >= LONG_VECTOR or not _is_mostly_contractions(program))
    results = max(math.prod(equation.outvars[0].aval.shape) for equation in contractions)
    return is_worth_more and lanes * most <= TIMES_MULTIPLICATIONS * MULTIPLICATIONS and lanes * results <= MOST_RESULTS


def _depth(jaxpr: Any) -> int:
    """The most operations each of which needs the one before; at most all of them, where some are inside of others."""
    depths: dict[Any, int] = {}
    for equation in jaxpr.eqns:
        known = [depths[v] for v in equation.invars if not isinstance(v, Literal) and v in depths]
        own = 1 + sum(map(_depth, subjaxprs_of(equation)))
        depths.update(dict.fromkeys(equation.outvars, max(known, default=0) + own))
    return max(depths.values(), default=0)


def _is_mostly_contractions(program: Program) -> bool:
    """Whether contractions take most of the time of blocks that lanes come to again and again."""
    repeated = repeated_blocks(program)
    blocks = [block for block in program.graph if block.name in repeated]
    others = sum(primitives_time(program, block, contraction=0.0) for block in blocks)
    return 2 * others < sum(primitives_time(program, block) for block in blocks)


def _is_known(jaxpr: Any) -> bool:
    """Whether XLA's emitter, or a loop of ours, knows all that a jaxpr computes."""
    if not all(v.aval.dtype.name in DTYPES for v in variables(jaxpr)):
        return False
    return all(map(_is_known_equation, jaxpr.eqns)) and all(map(_is_known, subjaxprs(jaxpr)))


def _is_known_equation(equation: Any) -> bool:
    name = equation.primitive.name
    if name == "scatter" and equation.params.get("update_jaxpr") is not None:
        return False  # `x.at[i].apply` computes anything of what is there
    return name in IN_KERNELS


def _contractions(jaxpr: Any) -> Iterator[Any]:
    """The equations that are one, inside of others too."""
    yield from (equation for equation in jaxpr.eqns if equation.primitive.name == "dot_general")
    for inner in subjaxprs(jaxpr):
        yield from _contractions(inner)
