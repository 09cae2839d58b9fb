"""Pushing and popping on stacks ``[depth + 1, lanes, *event]``.

Every index is in bounds: lanes that do not take part write to the spare last row, and read a row that exists.

Reference: paper section 3.2, optimization 4: the top of each stack is kept beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from hlobatch.lowering.arrays.masks import masked
from hlobatch.lowering.arrays.rows import IN_BOUNDS
from hlobatch.lowering.arrays.where import where
from hlobatch.typing import ArrayLike

Arrays = Sequence[Any]


def push_at_once(stacks: Arrays, pointer: ArrayLike, tops: Arrays, mask: ArrayLike) -> list[Any]:
    """The stacks with ``tops`` stored at the pointer, in the lanes of the mask; the caller moves the pointer."""
    rows = where(mask, pointer, stacks[0].shape[0] - 1)
    return [_scattered(frames, rows, top) for frames, top in zip(stacks, tops, strict=True)]


def _scattered(frames: Any, rows: Any, top: Any) -> Any:
    depth, lanes, *event = frames.shape
    columns = jnp.arange(lanes, dtype=rows.dtype)
    if not isinstance(lanes, int) or depth * lanes > np.iinfo(np.int32).max:
        return _put(frames, (rows, columns), top)
    flat = frames.reshape((-1, *event))  # one index per lane: XLA would write pairs of indices to memory
    return _put(flat, rows * lanes + columns, top).reshape(frames.shape)


def _put(frames: Any, index: Any, top: Any) -> Any:
    return frames.at[index].set(top, unique_indices=True, **IN_BOUNDS)


def pop_at_once(stacks: Arrays, pointer: ArrayLike, tops: Arrays, mask: ArrayLike) -> list[Any]:
    """The tops with what was saved in the lanes of the mask; the pointer has moved already."""
    return [masked(mask, _saved(frames, pointer), top) for frames, top in zip(stacks, tops, strict=True)]


def _saved(frames: Any, pointer: ArrayLike) -> Any:
    """The saved values, each from the row that its lane's pointer names."""
    lanes = jnp.arange(pointer.shape[0], dtype=pointer.dtype)
    return frames.at[pointer, lanes].get(unique_indices=True, **IN_BOUNDS)


def moved_down(pointer: ArrayLike, mask: ArrayLike) -> Any:
    """The pointer after a pop in the lanes of the mask; an empty stack stays empty."""
    return jnp.maximum(pointer - mask.astype(pointer.dtype), 0)
