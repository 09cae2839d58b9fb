"""Pushing, popping and masked writing on arrays ``[lanes, *event]`` and stacks ``[depth + 1, lanes, *event]``.

Every index is in bounds: lanes that do not take part write to the spare last row, and read a row that exists.

Reference: paper section 3.2, optimization 4: the top of each stack is kept beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import jax
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


Arrays = Sequence[Any]

IN_BOUNDS: Final[Mapping[str, Any]] = {"mode": "promise_in_bounds", "wrap_negative_indices": False}
"""How arrays are indexed with positions that are known to be theirs."""
NEAR: Final = 64
"""Frames between the lanes of a push up to which writing whole rows takes less time than writing lane by lane."""


def push_at_once(stacks: Arrays, pointer: Any, tops: Arrays, mask: Any) -> list[Any]:
    """The stacks with ``tops`` saved in the lanes of the mask; the pointer, which they share, moves apart from them."""
    rows = jnp.where(mask, pointer, stacks[0].shape[0] - 1)
    return [_scattered(frames, rows, top) for frames, top in zip(stacks, tops, strict=True)]


def _scattered(frames: Any, rows: Any, top: Any) -> Any:
    depth, lanes, *event = frames.shape
    columns = jnp.arange(lanes, dtype=rows.dtype)
    if not isinstance(lanes, int) or depth * lanes > np.iinfo(np.int32).max:
        return _put(frames, (rows, columns), top)
    flat = frames.reshape((-1, *event))  # one index for each lane: XLA would lay out pairs of them in memory
    return _put(flat, rows * lanes + columns, top).reshape(frames.shape)


def _put(frames: Any, index: Any, top: Any) -> Any:
    return frames.at[index].set(top, unique_indices=True, **IN_BOUNDS)


def push_in_loops(stacks: Arrays, pointer: Any, tops: Arrays, mask: Any) -> list[Any]:
    """The same for a run that is one kernel, where loops cost next to nothing and a scatter is one over lanes.

    Of scalars, rows are written, many lanes at a time, as long as the lanes are ``NEAR`` each other.
    """
    depth, lanes = stacks[0].shape[:2]
    low, high = jnp.min(jnp.where(mask, pointer, depth)), jnp.max(jnp.where(mask, pointer, -1))
    near = high - low < NEAR
    rows = jnp.where(mask, pointer, depth - 1)
    written = list(stacks)

    def write(positions: Sequence[int], loop: Callable[..., list[Any]], *bounds: Any) -> None:
        if positions:
            results = loop([written[i] for i in positions], rows, [tops[i] for i in positions], *bounds)
            for i, frames in zip(positions, results, strict=True):
                written[i] = frames

    scalars = [i for i, top in enumerate(tops) if top.ndim == 1]
    write(scalars, _by_rows, low, jnp.where(near, high, -1))
    if depth > NEAR:
        write(scalars, _by_lanes, jnp.where(near, lanes, 0))
    write([i for i, top in enumerate(tops) if top.ndim > 1], _by_lanes, 0)
    return written


def _by_rows(stacks: Arrays, rows: Any, tops: Arrays, first: Any, last: Any) -> list[Any]:
    """Write rows ``first`` to ``last``, each in the lanes that push to it."""

    def write(row: Any, frames: Any, top: Any) -> Any:
        before = jax.lax.dynamic_index_in_dim(frames, row, keepdims=False)
        return jax.lax.dynamic_update_index_in_dim(frames, jnp.where(rows == row, top, before), row, 0)

    def turn(carried: Any) -> Any:
        row, stacks = carried
        return row + 1, [write(row, frames, top) for frames, top in zip(stacks, tops, strict=True)]

    return list(jax.lax.while_loop(lambda carried: carried[0] <= last, turn, (first, list(stacks)))[1])


def _by_lanes(stacks: Arrays, rows: Any, tops: Arrays, first: Any) -> list[Any]:
    """Write one frame of each lane from ``first`` on; lanes that do not push write to the spare row."""

    def write(lane: Any, frames: Any, top: Any) -> Any:
        new = jax.lax.dynamic_slice_in_dim(top, lane, 1)[None]
        row = jax.lax.dynamic_index_in_dim(rows, lane, keepdims=False)
        return jax.lax.dynamic_update_slice(frames, new, (row, lane, *[0] * (top.ndim - 1)))

    def turn(lane: Any, stacks: Any) -> Any:
        return [write(lane, frames, top) for frames, top in zip(stacks, tops, strict=True)]

    return list(jax.lax.fori_loop(first, rows.shape[0], turn, list(stacks)))


def saved(frames: Any, pointer: Any) -> Any:
    """What each lane finds in the row its pointer names."""
    lanes = jnp.arange(pointer.shape[0], dtype=pointer.dtype)
    return frames.at[pointer, lanes].get(unique_indices=True, **IN_BOUNDS)


def moved_down(pointer: Any, mask: Any) -> Any:
    """The pointer after a pop in the lanes of the mask; an empty stack stays empty."""
    return jnp.maximum(pointer - mask.astype(pointer.dtype), 0)
