"""A push or a pop in a run that is one kernel -> a loop over rows of the stack, or over lanes.

In one kernel a loop costs next to nothing, and a scatter or a gather would be a loop over its indices, lane by lane.

Lanes that run together are mostly about as deep as each other. Then the loop goes over the rows between the shallowest
and the deepest lane, and in each row writes or reads all lanes that are at it, many at a time. Where there are many
rows, or where the numbers of a lane lie together in memory, the loop goes over the lanes of the mask instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch.lowering.arrays.masks import putting
from hlobatch.lowering.arrays.rows import part_of, places_in, row_of, with_part, with_row
from hlobatch.lowering.arrays.stacks import Arrays
from hlobatch.lowering.arrays.where import where

MOST_ROWS_LOOPED: Final = 64
"""Rows of a stack of numbers up to which a loop over rows takes less time than one over lanes."""
MOST_NUMBERS_LOOPED: Final = 128
"""Numbers of a lane in all rows of a stack up to which a loop over rows takes less time, where a row has several
numbers of each lane."""
LANES_TO_A_ROW: Final = 6
"""Lanes that take as long as a row, where it has more than those for each lane."""
ROWS_OF_NUMBERS: Final = 2
"""Axes of a stack of numbers."""


def push_in_loops(stacks: Arrays, pointer: Any, tops: Arrays, mask: Any, axis: int, by_bits: bool) -> list[Any]:
    """The stacks with ``tops`` saved in the lanes of the mask; the pointer, which they share, moves apart from them."""
    rows = where(mask, pointer, -1)

    def row(i: Any) -> Write:
        put = putting(rows == i, axis, by_bits=by_bits)
        return lambda frames, top: with_row(frames, put(row_of(frames, i), top), i)

    def lane(i: Any) -> Write:
        return lambda frames, top: with_part(frames, _lane(top, i, axis)[None], _place(pointer, i, top, axis))

    return _through_rows_or_lanes(row, lane, stacks, tops, pointer, mask, stacks, axis)


def pop_in_loops(stacks: Arrays, pointer: Any, tops: Arrays, mask: Any, axis: int, by_bits: bool) -> list[Any]:
    """The tops with what was saved in the lanes of the mask; the pointer has moved already."""
    rows = where(mask, pointer, -1)

    def row(i: Any) -> Write:
        put = putting(rows == i, axis, by_bits=by_bits)
        return lambda top, frames: put(top, row_of(frames, i))

    def lane(i: Any) -> Write:
        def write(top: Any, frames: Any) -> Any:
            sizes = _lane(top, i, axis).shape
            saved = part_of(frames, _place(pointer, i, top, axis), (1, *sizes))
            return with_row(top, saved.reshape(sizes).squeeze(axis), i, axis)

        return write

    return _through_rows_or_lanes(row, lane, tops, stacks, pointer, mask, stacks, axis)


Write = Callable[[Any, Any], Any]
"""An array that is written, in a row or a lane, and one that is read, to the former."""
Writes = Callable[[Any], Write]
"""The number of a row or a lane, to what writes it."""


def _through_rows_or_lanes(
    row: Writes, lane: Writes, written: Arrays, read: Arrays, pointer: Any, mask: Any, stacks: Arrays, axis: int
) -> list[Any]:
    depth, results = stacks[0].shape[0], list(written)
    low, high = _lowest_and_highest(where(mask, pointer, depth), where(mask, pointer, -1))
    small = [i for i, frames in enumerate(stacks) if _is_small(frames, axis)]
    numbers = [i for i, frames in enumerate(stacks) if frames.ndim == ROWS_OF_NUMBERS and i not in small]
    events = [i for i, frames in enumerate(stacks) if frames.ndim != ROWS_OF_NUMBERS and i not in small]

    def through(writes: Writes, at: Sequence[int], first: Any, end: Any) -> None:
        arrays = _loop(writes, [results[i] for i in at], [read[i] for i in at], first, end)
        for i, array in zip(at, arrays, strict=True):
            results[i] = array

    def through_lanes(at: Sequence[int], unless: Any = False) -> None:
        lanes, count = places_in(mask, unless=unless)
        through(lambda i: lane(row_of(lanes, i)), at, jnp.int32(0), count)

    def through_either(at: Sequence[int], is_by_rows: Any) -> None:
        through(row, at, low, where(is_by_rows, high + 1, low))
        through_lanes(at, unless=is_by_rows)

    if small:
        through(row, small, low, high + 1)
    if numbers:
        through_either(numbers, high - low < MOST_ROWS_LOOPED)
    if events and axis:
        through_either(events, (high - low) * LANES_TO_A_ROW < jnp.sum(mask, dtype=jnp.int32))
    elif events:
        through_lanes(events)
    return results


def _is_small(frames: Any, axis: int) -> bool:
    """Whether to go through rows takes little, however many of them the lanes are spread over."""
    of_a_lane = math.prod(frames.shape) // frames.shape[axis or 1]
    return len(frames) <= MOST_ROWS_LOOPED and (
        frames.ndim == ROWS_OF_NUMBERS or (axis != 0 and of_a_lane <= MOST_NUMBERS_LOOPED)
    )


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


def _place(pointer: Any, lane: Any, top: Any, axis: int) -> tuple[Any, ...]:
    """Where in a stack the frame is that a lane's pointer is at; in one dtype, whatever a count of turns has."""
    row, event = row_of(pointer, lane), [0] * (top.ndim - 1)
    places = (row, *event, lane) if axis else (row, lane, *event)
    return tuple(jnp.asarray(place, jnp.int32) for place in places)
