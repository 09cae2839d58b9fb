"""The state of a run <-> few arrays, where there is little of it.

An executable takes two microseconds or more for each array that it gives back. A state is dozens of them, and nobody
looks at it unless the run was stopped. Where the run is one kernel, and all of the state takes less time to copy than
so many arrays to give back, it is given back as one array for each type of element.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import jax
import numpy as np

from hlobatch.ir.physical import array_bytes
from hlobatch.lowering.layout import Layout

WORTH_PACKING: Final = 512 * 1024
"""Bytes of a state up to which copying it is faster than giving back its arrays one by one."""


@dataclass(frozen=True)
class Packing:
    """How a state is given back.

    Attributes:
        avals: The arrays of the state.
        packed: Whether it is one array per type of element, or as it is.
    """

    avals: tuple[jax.ShapeDtypeStruct, ...]
    packed: bool

    @classmethod
    def of(cls, layout: Layout) -> Packing:
        """How the state of a run is given back."""
        avals = tuple(layout.slots.values())
        return cls(avals, layout.one_kernel and sum(map(array_bytes, avals)) <= WORTH_PACKING)

    def pack(self, state: Sequence[Any]) -> list[Any]:
        """What is given back, as part of a computation."""
        if not self.packed:
            return list(state)
        flat = [jax.lax.reshape(array, (array.size,)) for array in state]
        return [jax.lax.concatenate([flat[i] for i in members], 0) for members in self._by_type.values()]

    def unpack(self, given: Sequence[Any]) -> list[Any]:
        """The state from what was given back."""
        if not self.packed:
            return list(given)
        state: list[Any] = [None] * len(self.avals)
        for members, array in zip(self._by_type.values(), given, strict=True):
            ends = np.cumsum([math.prod(self.avals[i].shape) for i in members])
            for i, part in zip(members, np.split(np.asarray(array), ends[:-1]), strict=True):
                state[i] = part.reshape(self.avals[i].shape)
        return state

    @property
    def _by_type(self) -> dict[Any, list[int]]:
        """Positions of the arrays with elements of each type."""
        found: dict[Any, list[int]] = {}
        for position, aval in enumerate(self.avals):
            found.setdefault(aval.dtype, []).append(position)
        return found
