"""An array, new values and a mask of lanes -> the array with the new values, in the lanes of the mask alone."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from hlobatch.lowering.arrays.rows import row_of
from hlobatch.lowering.arrays.where import where
from hlobatch.typing import ArrayLike


def over_events(mask: ArrayLike, array: ArrayLike) -> Any:
    """A mask ``[lanes]`` shaped to broadcast against an array of lanes."""
    return mask.reshape(mask.shape + (1,) * (array.ndim - 1))


def masked(mask: ArrayLike, new: ArrayLike, old: ArrayLike) -> Any:
    """``new`` in the lanes of the mask, ``old`` elsewhere."""
    return where(over_events(mask, old), new, old)


def from_active_lane(mask: ArrayLike, array: ArrayLike) -> Any:
    """``array`` with one active lane's value in all inactive lanes."""
    return masked(mask, array, jnp.expand_dims(row_of(array, jnp.argmax(mask)), 0))
