"""Turns divisions of integers by powers of two into shifts, and remainders into masks (strength reduction).

::

    %f.h = prim "n // 2" (%f.n)     floor_divide(n, 2)          shift_right_arithmetic(n, 1)
    %f.o = prim "n % 2" (%f.n)      remainder(n, 2)       ==>   n & 1

Python rounds a quotient down, and hardware rounds it towards zero. JAX makes ten operations of a Python division, among
them a second division, and LLVM does not find out that they amount to a shift. An arithmetic shift rounds down, and a
mask gives the matching remainder, for negative numbers too.

To recognize the ten operations, the pass traces a division with operands of the same types, and compares jaxprs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from hlobatch._jax import Aval, ClosedJaxpr, Equation, Literal, called_by
from hlobatch.analysis.traced_function import TracedFunction
from hlobatch.ir.evaluation import are_alike, called_within, inlined, traced
from hlobatch.ir.ops import Op
from hlobatch.ir.program import Program

_Operation = Callable[[Any, Any], Any]
_Cheaper = Callable[[Any, int], Any]


def _shifted(number: Any, power: int) -> Any:
    is_signed = jnp.issubdtype(number.dtype, jnp.signedinteger)
    shift = lax.shift_right_arithmetic if is_signed else lax.shift_right_logical
    return shift(number, lax.full_like(number, power.bit_length() - 1))


def _masked(number: Any, power: int) -> Any:
    return lax.bitwise_and(number, lax.full_like(number, power - 1))


_CHEAPER: Final[Mapping[_Operation, _Cheaper]] = {
    jnp.floor_divide: _shifted,
    jnp.remainder: _masked,
}
"""By operation on an integer and a power of two, a cheaper operation with the same result."""


def reduce_strength(program: Program) -> Program:
    """The program with shifts and masks in place of divisions by powers of two and their remainders."""
    return program.map_graphs(lambda graph: graph.map_blocks(lambda block: block.map_instructions(_reduced)))


def _reduced(op: Op) -> Op:
    code = op.code.rewritable
    if code is None:
        return op
    found = {id(equation): _cheaper(equation) for equation in code.jaxpr.jaxpr.eqns}
    if not any(found.values()):
        return op
    cheaper = inlined(code.jaxpr, lambda equation: found.get(id(equation)) or called_within(equation))
    return op.replace(function=TracedFunction(code.in_types, code.out_types, cheaper))


def _cheaper(equation: Equation) -> ClosedJaxpr | None:
    """The cheaper code for an equation that divides integers by a power of two; None for any other equation."""
    called = called_by(equation)
    if called is None or len(equation.invars) != 2:
        return None
    number, power = equation.invars
    if not isinstance(power, Literal):
        return None
    types = [atom.aval.dtype for atom in (number, power, *equation.outvars)]
    if not all(jnp.issubdtype(t, jnp.integer) for t in types) or types[0] != types[2]:
        return None
    if not _is_power_of_two(int(power.val), np.iinfo(types[0]).max):
        return None
    avals: list[Aval] = [number.aval, power.aval]
    kinds = [(aval.shape, aval.dtype.name, bool(aval.weak_type)) for aval in avals]
    found = (cheaper for operation, cheaper in _CHEAPER.items() if are_alike(called, _code(operation, *kinds)))
    if (cheaper := next(found, None)) is None:
        return None
    return traced(lambda number, _: [cheaper(number, int(power.val))], equation.invars)


def _is_power_of_two(number: int, most: int) -> bool:
    return 1 <= number <= most and number & (number - 1) == 0


@cache
def _code(operation: _Operation, *kinds: tuple[tuple[int, ...], str, bool]) -> ClosedJaxpr:
    """The jaxpr that JAX calls for an operation."""
    avals = [jax.ShapeDtypeStruct(shape, dtype, weak_type=weak) for shape, dtype, weak in kinds]
    (equation,) = jax.make_jaxpr(operation)(*avals).jaxpr.eqns
    code = called_by(equation)
    assert isinstance(code, ClosedJaxpr)
    return code
