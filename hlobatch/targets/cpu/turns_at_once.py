"""Code on numbers of lanes, run several times in a row -> one loop over lanes, in which each makes all of its turns.

::

    repeat 4 times:                                  for each lane:
      for each lane: n     = where(pc == 2, …)         repeat 4 times:
      for each lane: steps = where(pc == 2, …)   ==>     n, steps, pc = …
      for each lane: pc    = where(pc == 2, …)

XLA makes a loop for each array that a turn gives back, and each reads what the others wrote. A reduction of several
arrays is one loop that gives back all of them, and what it combines is for us to say: each lane has an axis with what
it begins with in front, and for each turn one element more, and the next turn begins with what the last one gave. LLVM
makes straight code of the turns, for several lanes at a time, and what one turn gives the next stays in registers.

The elements of turns say that they are some, by the sign of the counter, and otherwise have what stays as it is in all
turns. It could be arrays of its own; but the loop would write them too, and LLVM, which XLA does not tell that the
arrays of several results are different ones, tests each of them against all others before the loop.

That an axis is gone through in order, from what a reduction begins with, is how XLA's CPU emitter does it, and nothing
that StableHLO promises: only runs that are one kernel are made so, which are compiled here and now.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import jax.numpy as jnp
import numpy as np
from jax import lax

from hlobatch._jax import ClosedJaxpr
from hlobatch.ir.evaluation import as_it_is, evaluated, inlined, known_at_first
from hlobatch.jax_primitives import AT_ONCE
from hlobatch.lowering.module.trim import code_of

TURNS: Final = 4
"""Turns of which LLVM makes straight code; of eight it no longer does, and works on one lane at a time then."""
MOST: Final = 64
"""Operations of a turn, of which LLVM makes straight code."""
_TURN: Final = np.int32(-(2**31))
"""The counter of what is no beginning."""
_BROADCAST: Final = "broadcast_in_dim"


@dataclass(frozen=True)
class TurnsAtOnce:
    """``TURNS`` runs of a function of arrays ``[lanes]`` in a row.

    Attributes:
        code: The function, without calls.
        carried: For each of its results, the position of the argument whose place it takes in the next turn.
        counter: Which of them is an integer of 32 bits that is never negative.
        riders: By the position of an argument that stays as it is, which of ``carried`` has its place in each turn.
    """

    code: ClosedJaxpr
    carried: tuple[int, ...]
    counter: int
    riders: Mapping[int, int]

    def __call__(self, *arrays: Any) -> list[Any]:
        """The results of the last turn."""
        (lanes,) = {array.shape[0] for array in arrays}
        shape = lanes, 1 + TURNS
        begins = lax.broadcasted_iota(np.int32, shape, 1) == 0
        passengers = {place: arrays[position] for position, place in self.riders.items()}
        given = []
        for place, position in enumerate(self.carried):
            first = arrays[position]
            if place == self.counter:
                first, later = first & ~_TURN, jnp.full(lanes, _TURN)
            else:
                later = lax.bitcast_convert_type(passengers.get(place, jnp.zeros_like(first)), first.dtype)
            given.append(lax.select(begins, *(lax.broadcast_in_dim(a, shape, (0,)) for a in (first, later))))
        given += [lax.broadcast_in_dim(arrays[position], shape, (0,)) for position in self._others]
        begin = [jnp.zeros((), array.dtype) for array in given]
        return list(lax.reduce(tuple(given), tuple(begin), self._turn, (1,)))[: len(self.carried)]

    @property
    def _others(self) -> list[int]:
        """Positions of arguments that stay as they are and are arrays of their own."""
        return [i for i in range(len(self.code.jaxpr.invars)) if i not in self.carried and i not in self.riders]

    def _turn(self, before: Sequence[Any], given: Sequence[Any]) -> tuple[Any, ...]:
        """What a lane has after a turn, or at the beginning, from what it had, and what it is given."""
        jaxpr: Any = self.code.jaxpr
        count = len(self.carried)
        numbers = dict(zip(self.carried, before, strict=False)) | dict(zip(self._others, given[count:], strict=True))
        for position, place in self.riders.items():
            numbers[position] = lax.bitcast_convert_type(given[place], jaxpr.invars[position].aval.dtype)
        known = known_at_first(self.code, [numbers[i] for i in range(len(numbers))])
        results = evaluated(jaxpr.eqns, known, jaxpr.outvars, _on_one)
        is_turn = given[self.counter] < 0
        after = [lax.select(is_turn, jnp.asarray(r), g) for r, g in zip(results, given, strict=False)]
        return (*after, *given[count:])


def _on_one(equation: Any, values: Sequence[Any]) -> Sequence[Any]:
    """The results of an equation for one lane."""
    return values if equation.primitive.name == _BROADCAST else as_it_is(equation, values)


def turns_at_once(
    function: Callable[..., Any], avals: Mapping[str, Any], writes: Sequence[str], counter: str
) -> TurnsAtOnce | None:
    """Several runs of a function in a row.

    Args:
        function: From arrays to those of its arguments, in order, that it changes.
        avals: What it takes, by name.
        writes: Names of what it changes.
        counter: One of them, an integer of 32 bits that is never negative.

    Returns:
        None if any of what it takes or computes is not a number of each lane, or is no arithmetic.
    """
    if not avals.keys() >= set(writes) or counter not in writes:
        return None
    code = inlined(code_of(function, list(avals.values())))
    shapes = {aval.shape for aval in avals.values()}
    if len(shapes) != 1 or any(len(shape) != 1 for shape in shapes) or code.consts or len(code.jaxpr.eqns) > MOST:
        return None
    if not all(_is_on_numbers(equation, ((), *shapes)) for equation in code.jaxpr.eqns):
        return None
    names = list(avals)
    riders = dict[int, int]()
    free = [place for place, slot in enumerate(writes) if slot != counter]
    for position in (i for i, name in enumerate(names) if name not in writes):
        place = next((p for p in free if _are_alike(avals[names[position]], avals[writes[p]])), None)
        if place is not None:
            riders[position] = place
            free.remove(place)
    return TurnsAtOnce(code, tuple(map(names.index, writes)), list(writes).index(counter), riders)


def _are_alike(one: Any, other: Any) -> bool:
    """Whether a number of one type is one of another, bit by bit."""
    sizes = {aval.dtype.itemsize for aval in (one, other)}
    return one.dtype == other.dtype or (len(sizes) == 1 and jnp.bool_ not in (one.dtype, other.dtype))


def _is_on_numbers(equation: Any, shapes: Sequence[tuple[int, ...]]) -> bool:
    atoms = [*equation.invars, *equation.outvars]
    if equation.primitive.name == _BROADCAST and equation.invars[0].aval.shape:
        return False
    return equation.primitive.name in AT_ONCE and all(
        atom.aval.shape in shapes and _is_plain(atom.aval.dtype) for atom in atoms
    )


def _is_plain(dtype: Any) -> bool:
    """Whether processors have arithmetic for a type."""
    return jnp.issubdtype(dtype, jnp.integer) or dtype in (jnp.bool_, jnp.float32, jnp.float64)
