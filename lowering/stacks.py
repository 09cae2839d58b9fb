"""Pushing, popping and masked writing on arrays ``[lanes, *event]`` and stacks ``[depth + 1, lanes, *event]``.

Every index is in bounds: lanes that do not take part write to the spare last row, and read a row that exists.

Reference: paper section 3.2, optimization 4: the top of each stack is kept beside it.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np


def over_events(mask: Any, array: Any) -> Any:
    """A mask ``bool[lanes]`` shaped to broadcast against ``[lanes, *event]``."""
    return mask.reshape(mask.shape + (1,) * (array.ndim - 1))


def masked(mask: Any, new: Any, old: Any) -> Any:
    """``new`` in the lanes of the mask, ``old`` elsewhere."""
    return jnp.where(over_events(mask, old), new, old)


def from_active_lane(mask: Any, array: Any) -> Any:
    """``array`` with one active lane's value in all inactive lanes."""
    return masked(mask, array, array[jnp.argmax(mask)][None])


def push(frames: Any, pointer: Any, top: Any, mask: Any) -> Any:
    """The stack with ``top`` saved in the lanes of the mask; the pointer moves apart from it."""
    depth, lanes, *event = frames.shape
    rows = jnp.where(mask, pointer, depth - 1)
    columns = jnp.arange(lanes, dtype=rows.dtype)
    if not isinstance(lanes, int) or depth * lanes > np.iinfo(np.int32).max:
        return _put(frames, (rows, columns), top)
    flat = frames.reshape((-1, *event))  # one index for each lane: XLA would lay out pairs of them in memory
    return _put(flat, rows * lanes + columns, top).reshape(frames.shape)


def _put(frames: Any, index: Any, top: Any) -> Any:
    return frames.at[index].set(top, mode="promise_in_bounds", unique_indices=True, wrap_negative_indices=False)


def saved(frames: Any, pointer: Any) -> Any:
    """What each lane finds in the row its pointer names."""
    lanes = jnp.arange(pointer.shape[0], dtype=pointer.dtype)
    return frames.at[pointer, lanes].get(mode="promise_in_bounds", unique_indices=True, wrap_negative_indices=False)


def moved_down(pointer: Any, mask: Any) -> Any:
    """The pointer after a pop in the lanes of the mask; an empty stack stays empty."""
    return jnp.maximum(pointer - mask.astype(pointer.dtype), 0)
