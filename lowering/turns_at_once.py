"""Code on numbers of lanes, run several times in a row -> one loop over lanes, in which each makes all of its turns.

::

    repeat 4 times:                                  for each lane:
      for each lane: n     = where(pc == 2, …)         repeat 4 times:
      for each lane: steps = where(pc == 2, …)   ==>     n, steps, pc = …
      for each lane: pc    = where(pc == 2, …)

XLA makes a loop for each array that a turn gives back, and each reads what the others wrote. A reduction of several
arrays is one loop that gives back all of them, and what it combines is for us to say: each lane has an axis of equal
numbers, as long as there are turns; the first of them is what a turn begins with, and the next turn begins with what
the last one gave. LLVM makes straight code of the turns, for several lanes at a time, and what one turn gives the next
stays in registers.

That an axis is gone through in order, from what a reduction begins with, is how XLA's CPU emitter does it, and nothing
that StableHLO promises: only runs that are one kernel are made so, which are compiled here and now.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import jax.numpy as jnp
from jax import lax

from hlobatch._jax import ClosedJaxpr
from hlobatch.analysis.evaluation import as_it_is, evaluated, inlined, known_at_first
from hlobatch.lowering.trim import code_of

TURNS: Final = 4
"""Turns of which LLVM makes straight code; of eight it no longer does, and works on one lane at a time then."""
MOST: Final = 64
"""Operations of a turn, of which LLVM makes straight code."""
_BROADCAST: Final = "broadcast_in_dim"
_ARITHMETIC: Final = """
    abs add add_any and broadcast_in_dim ceil clamp convert_element_type copy div eq exp exp2 expm1 floor ge gt
    integer_pow is_finite le log log1p logistic lt max min mul ne neg not or rem round rsqrt select_n shift_left
    shift_right_arithmetic shift_right_logical sign sqrt square sub tanh xor
"""
_ON_NUMBERS: Final = frozenset(_ARITHMETIC.split())
"""Primitives of JAX that work on each number by itself, and that LLVM does several of at a time."""


@dataclass(frozen=True)
class TurnsAtOnce:
    """``TURNS`` runs of a function of arrays ``[lanes]`` in a row.

    Attributes:
        code: The function, without calls.
        carried: For each of its results, the position of the argument whose place it takes in the next turn.
    """

    code: ClosedJaxpr
    carried: tuple[int, ...]

    def __call__(self, *arrays: Any) -> list[Any]:
        """The results of the last turn."""
        (lanes,) = {array.shape[0] for array in arrays}
        given = [lax.broadcast_in_dim(array, (lanes, TURNS), (0,)) for array in arrays]
        given.append(jnp.ones((lanes, TURNS), jnp.bool_))
        begin = [jnp.zeros((), array.dtype) for array in given]
        reduced = lax.reduce(tuple(given), tuple(begin), self._turn, (1,))
        return [reduced[position] for position in self.carried]

    def _turn(self, before: Sequence[Any], given: Sequence[Any]) -> tuple[Any, ...]:
        """What a lane has after a turn, and that it has had one, from the same after the last and what is given."""
        *last, has_begun = before
        *numbers, yes = given
        for position in self.carried:
            numbers[position] = lax.select(has_begun, last[position], numbers[position])
        jaxpr: Any = self.code.jaxpr
        results = evaluated(jaxpr.eqns, known_at_first(self.code, numbers), jaxpr.outvars, _on_one)
        for position, result in zip(self.carried, results, strict=True):
            numbers[position] = jnp.asarray(result)
        return (*numbers, has_begun | yes)


def _on_one(equation: Any, values: Sequence[Any]) -> Sequence[Any]:
    """The results of an equation for one lane."""
    return values if equation.primitive.name == _BROADCAST else as_it_is(equation, values)


def turns_at_once(function: Callable[..., Any], avals: Mapping[str, Any], writes: Sequence[str]) -> TurnsAtOnce | None:
    """Several runs of a function in a row.

    Args:
        function: From arrays to those of its arguments, in order, that it changes.
        avals: What it takes, by name.
        writes: Names of what it changes.

    Returns:
        None if any of what it takes or computes is not a number of each lane, or is no arithmetic.
    """
    if not avals.keys() >= set(writes):
        return None
    code = inlined(code_of(function, list(avals.values())))
    shapes = {aval.shape for aval in avals.values()}
    if len(shapes) != 1 or any(len(shape) != 1 for shape in shapes) or code.consts or len(code.jaxpr.eqns) > MOST:
        return None
    if not all(_is_on_numbers(equation, ((), *shapes)) for equation in code.jaxpr.eqns):
        return None
    return TurnsAtOnce(code, tuple(list(avals).index(slot) for slot in writes))


def _is_on_numbers(equation: Any, shapes: Sequence[tuple[int, ...]]) -> bool:
    atoms = [*equation.invars, *equation.outvars]
    if equation.primitive.name == _BROADCAST and equation.invars[0].aval.shape:
        return False
    return equation.primitive.name in _ON_NUMBERS and all(
        atom.aval.shape in shapes and _is_plain(atom.aval.dtype) for atom in atoms
    )


def _is_plain(dtype: Any) -> bool:
    """Whether processors have arithmetic for a type."""
    return jnp.issubdtype(dtype, jnp.integer) or dtype in (jnp.bool_, jnp.float32, jnp.float64)
