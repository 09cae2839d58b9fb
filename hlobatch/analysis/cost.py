"""A block, primitive or jaxpr -> its work in floating point operations per lane; a guess good enough to rank blocks.

A contraction counts as twice its multiplications, a loop as its body times its trip count, if that is known, and every
other operation as one for each element of its result.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

from hlobatch._jax import Atom, Equation, Jaxpr, called_by, subjaxprs, subjaxprs_of
from hlobatch.analysis.call_frames import CallFrames
from hlobatch.analysis.updates import elements_updated, taken_as_a_whole_by
from hlobatch.ir.ops import Op, PrimOp
from hlobatch.ir.physical import array_bytes, elements
from hlobatch.ir.program import STORED, Block, Program
from hlobatch.jax_primitives import UPDATES, Costs, costs_of

_CONTRACTION = 0.125
"""Time of one operation of a contraction; an elementwise operation takes 1."""
_MOVE = 4.0
"""Time of writing an element under a mask, of pushing one, or of popping one."""
_PLACED = 8.0
"""Time of changing an element at an index that differs between lanes."""
UNKNOWN_TRIPS: Final = 8
"""Turns assumed for a loop whose trip count is not known."""
_OPERATIONS: Final = {Costs.NUMBER: 1.0, Costs.FUNCTION: 10.0, Costs.RANDOM: 40.0}
"""Operations for each element of a primitive's result."""


def block_cost(program: Program, block: Block) -> float:
    """Operations per lane of a block's primitives; at least 1."""
    return 1.0 + sum(map(primitive_cost, program.primitives_in_loop(block)))


def block_time(calls: CallFrames, block: Block) -> float:
    """The time of a block per lane, in elementwise operations: its primitives, and the storage of their results.

    Contractions do several multiplications at once, and a masked write, a push or a pop is several reads and writes.
    """
    program = calls.program
    changed = [*calls.moved(block), *(v for op in block.instructions if not op.moved for v in _written(op))]
    kept = [v for v in changed if program.alloc(v) in STORED]
    return 1.0 + primitives_time(program, block) + _MOVE * sum(elements(program.var_defs[v]) for v in kept)


def _written(op: Op) -> set[str]:
    """Variables that an operation writes as a whole, and not element by element."""
    return taken_as_a_whole_by(op).intersection(op.defs)


def primitives_time(program: Program, block: Block) -> float:
    """The time of a block's primitives per lane."""
    return sum((primitive_cost(op, _CONTRACTION) for op in program.primitives_in_loop(block)), 0.0)


def primitive_cost(op: PrimOp, contraction: float = 1.0) -> float:
    """Operations per lane of a primitive, 0 without a jaxpr; one of a contraction counts as ``contraction``."""
    code = op.code.typed
    if code is None:
        return 0.0
    return jaxpr_cost(code.jaxpr.jaxpr, contraction) if code.stated_cost is None else code.stated_cost


def largest_array(block: Block) -> int:
    """Bytes per lane of the largest array that a block or a primitive in it computes; updates count as none."""
    return max((bytes_of(v) for jaxpr in jaxprs_of(block) for v in _computed(jaxpr)), default=0)


def jaxprs_of(block: Block) -> list[Any]:
    """The jaxprs of a block's primitives; a primitive without one is left out."""
    found = (op.code.typed for op in block.instructions)
    return [code.jaxpr.jaxpr for code in found if code is not None]


def _computed(jaxpr: Jaxpr) -> Iterator[Any]:
    """The variables that the equations of a jaxpr compute; results of updates are left out."""
    for equation in jaxpr.eqns:
        if equation.primitive.name not in UPDATES and called_by(equation) is None:
            yield from equation.outvars
    for inner in subjaxprs(jaxpr):
        yield from _computed(inner)


def bytes_of(variable: Atom) -> int:
    """Bytes of the array of a jaxpr variable."""
    return array_bytes(variable.aval)


def jaxpr_cost(jaxpr: Jaxpr, contraction: float = 1.0) -> float:
    """Operations of a jaxpr."""
    return float(sum(equation_cost(equation, contraction) for equation in jaxpr.eqns))


def multiplications(equation: Equation) -> int:
    """The multiplications of a contraction."""
    (left, _), _ = equation.params["dimension_numbers"]
    shape = equation.invars[0].aval.shape
    return int(math.prod(equation.outvars[0].aval.shape) * math.prod(shape[d] for d in left))


def equation_cost(equation: Equation, contraction: float = 1.0) -> float:
    """Operations of an equation."""
    elements = float(sum(math.prod(v.aval.shape) for v in equation.outvars))
    name = equation.primitive.name
    if name == "dot_general":
        return 2.0 * contraction * multiplications(equation)
    inner = float(sum(jaxpr_cost(j, contraction) for j in subjaxprs_of(equation)))
    if name == "scan":
        return inner * float(equation.params["length"])
    if name == "while":
        return inner * UNKNOWN_TRIPS
    if name in UPDATES:
        return min(elements, _PLACED * elements_updated(equation))
    if inner:
        return inner
    return elements * _OPERATIONS[costs_of(name)]
