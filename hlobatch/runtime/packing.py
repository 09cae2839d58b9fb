"""Packs the state that a run returns besides its results into a few arrays, if it is small, and unpacks it.

An executable takes up to two microseconds for each array that it returns. A state is dozens of arrays, which are read
only if the run was stopped. If the run is one kernel, and copying its state takes less time than returning its arrays,
the state is packed: one array has the code of what stopped the run, followed by all arrays of 32-bit elements; one more
array for each other dtype has the rest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch.ir.physical import array_bytes
from hlobatch.lowering.state.layout import Layout

MOST_BYTES_PACKED: Final = 512 * 1024
"""Bytes of a state up to which copying it is faster than returning its arrays one by one."""
WORD: Final = np.dtype(np.int32)
_AS_WORDS: Final = frozenset(map(np.dtype, (np.int32, np.uint32, np.float32, np.bool_)))


@dataclass(frozen=True)
class Packing:
    """The form in which a run returns its state.

    Attributes:
        avals: The arrays of the state.
        packed: Whether they are packed.
    """

    avals: tuple[jax.ShapeDtypeStruct, ...]
    packed: bool

    @classmethod
    def of(cls, layout: Layout) -> Packing:
        """The packing for a run's layout."""
        avals = tuple(layout.slots.values())
        return cls(avals, layout.idiom.is_one_kernel and sum(map(array_bytes, avals)) <= MOST_BYTES_PACKED)

    def pack(self, stop: Any, state: Sequence[Any]) -> list[Any]:
        """The arrays to return, traced as part of the run; the very first element is the code of what stopped it."""
        if not self.packed:
            return [stop, *state]
        flat = [_as_kind(jax.lax.reshape(array, (array.size,))) for array in state]
        first = {WORD: [jax.lax.reshape(stop, (1,))]}
        groups = [[*first.get(kind, ()), *(flat[i] for i in members)] for kind, members in self._by_kind.items()]
        return [jax.lax.concatenate(group, 0) for group in groups]

    def unpack(self, given: Sequence[Any]) -> list[Any]:
        """The state, from the arrays that were returned."""
        if not self.packed:
            return list(given[1:])
        state: list[Any] = [None] * len(self.avals)
        for (kind, members), array in zip(self._by_kind.items(), given, strict=True):
            sizes = [math.prod(self.avals[i].shape) for i in members]
            first = 1 if kind == WORD else 0
            parts = np.split(np.asarray(array)[first:], np.cumsum(sizes)[:-1])
            for i, part in zip(members, parts, strict=True):
                state[i] = _from_kind(part, self.avals[i].dtype).reshape(self.avals[i].shape)
        return state

    @property
    def _by_kind(self) -> dict[Any, list[int]]:
        """Indices of the arrays that are packed together, by dtype; 32-bit words come first."""
        found: dict[Any, list[int]] = {WORD: []}
        for position, aval in enumerate(self.avals):
            found.setdefault(WORD if aval.dtype in _AS_WORDS else aval.dtype, []).append(position)
        return found


def _as_kind(array: Any) -> Any:
    """The array as 32-bit words, if its elements are 32-bit numbers or booleans."""
    if array.dtype == jnp.bool_:
        return jax.lax.convert_element_type(array, WORD)
    return jax.lax.bitcast_convert_type(array, WORD) if array.dtype in _AS_WORDS else array


def _from_kind(array: Any, dtype: Any) -> Any:
    """The array with its dtype, undoing ``_as_kind``."""
    if dtype not in _AS_WORDS:
        return array
    return array != 0 if dtype == np.bool_ else array.view(dtype)
