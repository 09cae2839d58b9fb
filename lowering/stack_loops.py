"""Pushing and popping on the stacks of a run that is one kernel.

Loops cost next to nothing there, and a scatter or a gather is a loop over its indices.

Lanes that run together are mostly about as deep as each other. Then the rows between the shallowest and the deepest are
written or read one after the other, each in the lanes that it is for, many lanes at a time; where they are many, it is
lane after lane.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch.lowering.masks import putting
from hlobatch.lowering.rows import part_of, row_of, with_part, with_row
from hlobatch.lowering.stacks import Arrays
from hlobatch.lowering.where import where

NEAR: Final = 64
"""Rows of numbers up to which it takes less time to go through rows than through lanes."""
NEAR_EVENTS: Final = 8
"""The same where a row has several numbers for each lane."""
ROWS_OF_NUMBERS: Final = 2
"""Axes of a stack of numbers."""


def push_in_loops(stacks: Arrays, pointer: Any, tops: Arrays, mask: Any, axis: int, by_bits: bool) -> list[Any]:
    """The stacks with ``tops`` saved in the lanes of the mask; the pointer, which they share, moves apart from them."""
    rows = where(mask, pointer, stacks[0].shape[0] - 1)

    def row(i: Any) -> Write:
        put = putting(rows == i, axis, by_bits=by_bits)
        return lambda frames, top: with_row(frames, put(row_of(frames, i), top), i)

    def lane(i: Any) -> Write:
        place = row_of(rows, i)
        return lambda frames, top: with_part(frames, _lane(top, i, axis)[None], _place(place, i, top, axis))

    return _through_rows_or_lanes(row, lane, stacks, tops, pointer, mask, stacks)


def pop_in_loops(stacks: Arrays, pointer: Any, tops: Arrays, mask: Any, axis: int, by_bits: bool) -> list[Any]:
    """The tops with what was saved in the lanes of the mask; the pointer has moved already."""
    rows = where(mask, pointer, -1)

    def row(i: Any) -> Write:
        put = putting(rows == i, axis, by_bits=by_bits)
        return lambda top, frames: put(top, row_of(frames, i))

    def lane(i: Any) -> Write:
        place, is_popped = row_of(pointer, i), row_of(rows, i) >= 0

        def write(top: Any, frames: Any) -> Any:
            old = row_of(top, i, axis)
            new = part_of(frames, _place(place, i, top, axis), (1, *_lane(top, i, axis).shape))
            return with_row(top, where(is_popped, new.reshape(old.shape), old), i, axis)

        return write

    return _through_rows_or_lanes(row, lane, tops, stacks, pointer, mask, stacks)


Write = Callable[[Any, Any], Any]
"""An array that is written, in a row or a lane, and one that is read, to the former."""
Writes = Callable[[Any], Write]
"""The number of a row or a lane, to what writes it."""


def _through_rows_or_lanes(
    row: Writes, lane: Writes, written: Arrays, read: Arrays, pointer: Any, mask: Any, stacks: Arrays
) -> list[Any]:
    depth, lanes = stacks[0].shape[0], pointer.shape[0]
    low, high = _lowest_and_highest(where(mask, pointer, depth), where(mask, pointer, -1))
    results = list(written)
    for near, of_numbers in ((NEAR, True), (NEAR_EVENTS, False)):
        at = [i for i, frames in enumerate(stacks) if (frames.ndim == ROWS_OF_NUMBERS) == of_numbers]
        if not at:
            continue
        before, given = [written[i] for i in at], [read[i] for i in at]
        if depth <= near:
            arrays = _loop(row, before, given, low, high + 1)
        else:
            is_near = high - low < near
            arrays = _loop(row, before, given, low, where(is_near, high + 1, low))
            arrays = _loop(lane, arrays, given, where(is_near, lanes, 0), lanes)
        for i, array in zip(at, arrays, strict=True):
            results[i] = array
    return results


def _lowest_and_highest(low: Any, high: Any) -> tuple[Any, Any]:
    """The least number of one array and the greatest of another, found together."""
    extremes = np.iinfo(low.dtype)
    begin = (low.dtype.type(extremes.max), high.dtype.type(extremes.min))
    least, greatest = jax.lax.reduce(
        (low, high), begin, lambda old, new: (jnp.minimum(old[0], new[0]), jnp.maximum(old[1], new[1])), (0,)
    )
    return least, greatest


def _loop(writes: Writes, written: Arrays, read: Arrays, first: Any, end: Any) -> list[Any]:
    def turn(i: Any, arrays: list[Any]) -> list[Any]:
        write = writes(i)
        return [write(array, given) for array, given in zip(arrays, read, strict=True)]

    return list(jax.lax.fori_loop(first, end, turn, list(written)))


def _lane(array: Any, i: Any, axis: int) -> Any:
    return jax.lax.dynamic_slice_in_dim(array, i, 1, axis, allow_negative_indices=False)


def _place(row: Any, lane: Any, top: Any, axis: int) -> tuple[Any, ...]:
    """Where in a stack a lane has its frame in a row; numbers of one dtype, whatever a count of turns has."""
    event = [0] * (top.ndim - 1)
    places = (row, *event, lane) if axis else (row, lane, *event)
    return tuple(jnp.asarray(place, jnp.int32) for place in places)
