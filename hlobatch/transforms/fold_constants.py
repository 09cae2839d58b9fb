"""Computes what depends on captured arrays alone when the program is built, once for all runs (constant folding).

::

    def main(%main.q):                                 def main(%main.q):
      %f.t = prim "data.T" ()                            %f.t = prim "data.T" ()       # returns a constant
      %f.norm = prim "norm(data)" (%f.t)        ==>      %f.norm = prim "norm(data)" ()      # so does this
      …                                                  …

The values become captured arrays themselves, as if the user had computed them before. XLA would fold them if the
captured arrays were constants of its module; they are operands, since XLA takes long to fold. A value is kept as long
as the program, so small computations are left to each run, and so are huge results. A result that depends on no array,
such as a grid of numbers, is kept only if it takes long to compute: others are computed in less time than it takes to
read them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import jax
import numpy as np

from hlobatch._jax import ClosedJaxpr, Jaxpr, is_key, is_tracer, jaxpr_as_fun
from hlobatch.analysis.cost import bytes_of, primitive_cost
from hlobatch.analysis.sharing import shared_roots
from hlobatch.analysis.traced_function import TracedFunction
from hlobatch.ir.code import JaxprCode
from hlobatch.ir.ops import Op, PrimOp
from hlobatch.ir.program import Program
from hlobatch.ir.types import grouped
from hlobatch.transforms.split_shared import MOST_BYTES_KEPT

LEAST_OPERATIONS_FOLDED: Final = 2.0**16
"""Operations from which a primitive is run once, while the program is compiled, which takes some ten milliseconds,
instead of in each run. Found in 2026-11 with a logistic regression, each run of which transposed its regressors in 3
of 9.5 milliseconds.
"""
LEAST_OPERATIONS_FOLDED_AN_ELEMENT: Final = 32.0
"""Operations per element from which a result that depends on no array is kept: the cost of a random number. An `arange`
of two million numbers, which is computed faster than it is read, had made an exported file 4 MB larger (2026-11).
"""


def fold_constants(program: Program) -> Program:
    """The program in which primitives of the entry block that depend only on captured arrays return constants."""
    roots = shared_roots(program)
    known: dict[str, list[Any]] = {}

    def folded(op: Op) -> Op:
        code = op.code.rewritable
        if not isinstance(op, PrimOp) or code is None:
            return op
        if not (roots.keys() >= {*op.vars_out} and known.keys() >= {*op.vars_in} and _is_worth_it(op, code)):
            return op
        with jax.ensure_compile_time_eval():
            results = _computed(code, [tensor for v in op.vars_in for tensor in known[v]])
        types = code.out_types
        known.update(zip(op.vars_out, grouped(results, types), strict=True))
        return op.replace(vars_in=(), function=TracedFunction((), types, jax.make_jaxpr(lambda: results)()))

    entry = program.graph.enter_block().map_instructions(folded)
    return program.replace(graph=program.graph.with_blocks(entry))


def _computed(code: JaxprCode, tensors: Sequence[Any]) -> list[Any]:
    """The results of a primitive, run as one XLA program, so that fused intermediates take no memory."""
    jaxpr = code.jaxpr.jaxpr
    run = jax.jit(lambda consts, *given: jaxpr_as_fun(ClosedJaxpr(jaxpr, consts))(*given))
    return list(run(code.jaxpr.consts, *tensors))


def _is_worth_it(op: PrimOp, code: JaxprCode) -> bool:
    """Whether a primitive can be run now, and is expensive enough."""
    closed = code.jaxpr
    jaxpr: Jaxpr = closed.jaxpr
    if jaxpr.effects or any(is_key(v.aval) for v in jaxpr.outvars) or any(map(is_tracer, closed.consts)):
        return False
    if sum(map(bytes_of, jaxpr.outvars)) > MOST_BYTES_KEPT or not code.is_total:
        return False
    depends = bool(op.vars_in) or any(map(np.ndim, closed.consts))
    if depends:
        return primitive_cost(op) >= LEAST_OPERATIONS_FOLDED
    elements = sum(math.prod(v.aval.shape) for v in jaxpr.outvars)
    least = max(LEAST_OPERATIONS_FOLDED, LEAST_OPERATIONS_FOLDED_AN_ELEMENT * elements)
    return bool(primitive_cost(op) >= least)
