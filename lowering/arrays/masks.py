"""An array, new values and a mask of lanes -> the array with the new values, in the lanes of the mask alone.

::

    r = where(mask, new, r)    ==>    bits = -mask, in memory
                                      r    = r ^ ((r ^ new) & bits)

The form on the left is a select, and the usual one. Where ``r`` is updated in place, LLVM makes a masked store of it.
With AVX2, processors of AMD take some twenty cycles for a masked store, and half of the time of a recursion may go into
those; with AVX-512 they are fast. The form on the right (``by_bits`` of an ``Idiom``) blends old and new bits instead.
The bits of the mask come from memory, past a barrier, so that LLVM does not know that all bits of a lane are alike, and
does not make a select of the blend again.
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
"""A function of an array and new values, which gives the array with the new values in the lanes of a mask."""

_MASKED_STORES: Final[Mapping[int, Any]] = {4: np.int32, 8: np.int64}
"""By item size in bytes, an integer type of that size, for the sizes that AVX2 has masked stores for."""


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
    """A function that puts new values into arrays, in the lanes of a mask; the mask is prepared once for all of them.

    Args:
        mask: ``bool[lanes]``.
        axis: The position of the lane axis in arrays.
        by_bits: Whether to blend bits instead of selecting, for arrays that are updated in place where masked
            stores are slow.
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
