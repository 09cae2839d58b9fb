"""Several turns of a block on one number for each lane -> one loop over lanes that makes them all (unroll-and-jam).

::

    repeat 4 times:                                  for each lane:
      for each lane: n     = where(pc == 2, …)         repeat 4 times:
      for each lane: steps = where(pc == 2, …)   ==>     n, steps, pc = …
      for each lane: pc    = where(pc == 2, …)

The loop over turns goes inside of the loop over lanes, and is unrolled. As StableHLO stands, XLA makes a loop over
lanes for each array that a turn gives back, and each of these loops reads what the others wrote. There is one operation
of several arrays for which XLA makes a single loop: a reduction. So the turns are written as a reduction along an axis
of ``1 + turns`` elements for each lane. The first element is what the lane begins with, and the function that combines
two elements is one turn, applied to what the turn before it gave. LLVM unrolls the axis and vectorizes over lanes, and
what one turn hands to the next stays in registers.

The elements after the first need no values of their own. The sign bit of their counter says that they are turns, and
the rest of their room has the arguments that stay the same in all turns. Those could be arrays of their own, but the
loop would then write them, too: XLA does not tell LLVM that the arrays of several results do not overlap, and LLVM
tests each of them against all others before the loop.

That a reduction goes through an axis in order, from its initial value, is what XLA's CPU emitter does, and nothing that
StableHLO promises. So only runs that are one kernel, which are compiled on this machine at once, are made so.
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

TURNS_IN_A_LOOP: Final = 4
"""Turns in one loop. LLVM unrolls four; eight it does not, and then works on one lane at a time."""
MOST_OPERATIONS_OF_A_TURN: Final = 64
"""Operations of a turn up to which LLVM unrolls the turns."""
_TURN: Final = np.int32(-(2**31))
"""The counter of an element after the first; a counter of a lane is never negative."""
_BROADCAST: Final = "broadcast_in_dim"


@dataclass(frozen=True)
class TurnsAtOnce:
    """``TURNS_IN_A_LOOP`` runs of a function of arrays ``[lanes]`` in a row.

    Attributes:
        code: The function, without calls.
        carried: For each of its results, the position of the argument whose place it takes in the next turn.
        counter: Which of them is an integer of 32 bits that is never negative.
        riders: By the position of an argument that stays the same in all turns, which of ``carried`` is the array whose
            elements after the first hold it.
    """

    code: ClosedJaxpr
    carried: tuple[int, ...]
    counter: int
    riders: Mapping[int, int]

    def __call__(self, *arrays: Any) -> list[Any]:
        """The results of the last turn."""
        (lanes,) = {array.shape[0] for array in arrays}
        shape = lanes, 1 + TURNS_IN_A_LOOP
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
    """``TURNS_IN_A_LOOP`` runs of a function in a row, as one loop over lanes.

    Args:
        function: From arrays to those of its arguments, in order, that it changes.
        avals: By name, in order, the arrays that it takes.
        writes: Names of the arrays that it changes.
        counter: The name of one that it changes, an integer of 32 bits that is never negative.

    Returns:
        The runs; None if anything that the function takes or computes is not one number for each lane, or if it
        computes anything but arithmetic.
    """
    if not avals.keys() >= set(writes) or counter not in writes:
        return None
    code = inlined(code_of(function, list(avals.values())))
    shapes = {aval.shape for aval in avals.values()}
    if (
        len(shapes) != 1
        or any(len(shape) != 1 for shape in shapes)
        or code.consts
        or len(code.jaxpr.eqns) > MOST_OPERATIONS_OF_A_TURN
    ):
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
