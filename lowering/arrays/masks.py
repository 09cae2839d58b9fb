"""New values in the lanes of a mask, in the others what is there.

::

    r = where(mask, new, r)    ==>    bits = -mask, in memory
                                      r    = r ^ ((r ^ new) & bits)

LLVM makes a masked store of the former where ``r`` stays where it is. With AVX2, processors of AMD take some twenty
cycles for it, and half of the time of a recursion may go there. With AVX-512 it is the better way
(``stores_masked`` of a ``Layout``).
Of bits that are read from memory LLVM does not know that they are all alike in a lane, and that this is a choice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch.lowering.arrays.rows import row_of
from hlobatch.lowering.arrays.where import where

Put = Callable[[Any, Any], Any]
"""An array, and what is new in the lanes of a mask -> the array with it."""

_MASKED_STORES: Final[Mapping[int, Any]] = {4: np.int32, 8: np.int64}
"""Bytes of the numbers that AVX2 has masked stores of, and integers of that size."""


def over_events(mask: Any, array: Any, axis: int) -> Any:
    """A mask ``[lanes]`` shaped to broadcast against an array with its lanes at an axis, the first or the last."""
    return mask if axis else mask.reshape(mask.shape + (1,) * (array.ndim - 1))


def masked(mask: Any, new: Any, old: Any, axis: int) -> Any:
    """``new`` in the lanes of the mask, ``old`` elsewhere."""
    return where(over_events(mask, old, axis), new, old)


def from_active_lane(mask: Any, array: Any, axis: int) -> Any:
    """``array`` with one active lane's value in all inactive lanes."""
    one = jnp.expand_dims(row_of(array, jnp.argmax(mask), axis), axis)
    return masked(mask, array, one, axis)


def putting(mask: Any, axis: int, *, by_bits: bool) -> Put:
    """What puts values into arrays in the lanes of a mask.

    Args:
        mask: ``bool[lanes]``.
        axis: Where arrays have the axis of lanes.
        by_bits: Whether they stay where they are, and a masked store takes long.
    """
    if not by_bits:
        return lambda old, new: masked(mask, new, old, axis)
    bits = jax.lax.optimization_barrier(-mask.astype(np.int32))

    def put(old: Any, new: Any) -> Any:
        integer = _MASKED_STORES.get(old.dtype.itemsize)
        if integer is None or jnp.issubdtype(old.dtype, jnp.complexfloating):
            return masked(mask, new, old, axis)
        new = jnp.broadcast_to(jnp.asarray(new, old.dtype), old.shape)
        before, after = (jax.lax.bitcast_convert_type(array, integer) for array in (old, new))
        return jax.lax.bitcast_convert_type(before ^ ((before ^ after) & bits.astype(integer)), old.dtype)

    return put
