"""An array and an index that is in bounds -> the slice at that index, or the array with another slice there.

By default, JAX takes a negative index to count from the end, and adds a comparison, an addition and a select to each
access. In a run that is one kernel, each of the three takes as long as the access. So the functions here promise that
no index is negative or past the end, and every caller has to keep that promise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import jax
import jax.numpy as jnp

from hlobatch.lowering.arrays.where import where

IN_BOUNDS: Final[Mapping[str, Any]] = {"mode": "promise_in_bounds", "wrap_negative_indices": False}
"""Options of ``array.at[indices].get`` and ``.set`` that promise that each index is in bounds, and not negative."""


def row_of(array: Any, index: Any, axis: int = 0) -> Any:
    """The slice of an array at an index of an axis, without that axis."""
    axis %= array.ndim
    sizes = [1 if i == axis else size for i, size in enumerate(array.shape)]
    return jax.lax.squeeze(part_of(array, _starts(array, index, axis), sizes), (axis,))


def with_row(array: Any, row: Any, index: Any, axis: int = 0) -> Any:
    """The array with its slice at an index of an axis replaced; ``row`` is without that axis."""
    axis %= array.ndim
    row = jax.lax.expand_dims(jnp.asarray(row, array.dtype), (axis,))
    return with_part(array, row, _starts(array, index, axis))


def rows_of(array: Any, start: Any, count: int) -> Any:
    """``count`` rows along the first axis, from index ``start`` on."""
    return part_of(array, _starts(array, start, 0), (count, *array.shape[1:]))


def with_rows(array: Any, rows: Any, start: Any) -> Any:
    """The array with the rows along the first axis from index ``start`` on replaced."""
    return with_part(array, rows, _starts(array, start, 0))


def part_of(array: Any, starts: Sequence[Any], sizes: Sequence[int]) -> Any:
    """The slice of the given sizes that begins at ``starts``, which has an index for each axis."""
    return jax.lax.dynamic_slice(array, starts, sizes, allow_negative_indices=False)


def with_part(array: Any, part: Any, starts: Sequence[Any]) -> Any:
    """The array with the slice that begins at ``starts``, which has an index for each axis, replaced by ``part``."""
    return jax.lax.dynamic_update_slice(array, part, starts, allow_negative_indices=False)


def _starts(array: Any, index: Any, axis: int) -> list[Any]:
    """The start indices of a slice: ``index`` along the axis, and 0 along the others."""
    return [index if i == axis else index.dtype.type(0) for i in range(array.ndim)]


def places_in(mask: Any, *, unless: Any = False) -> tuple[Any, Any]:
    """Stream compaction of a mask ``bool[lanes]``, in a loop over lanes.

    Args:
        mask: The lanes to find.
        unless: A boolean scalar; if it is true, the loop makes no iteration, and no lane is found.

    Returns:
        The indices of the lanes in the mask, in the first elements of an ``i32[lanes]``, and their number.
    """

    def put(lane: Any, found: tuple[Any, Any]) -> tuple[Any, Any]:
        lanes, count = found
        return with_row(lanes, lane, count), count + row_of(mask, lane).astype(jnp.int32)

    size, none = jnp.int32(mask.shape[0]), jnp.int32(0)
    end = size if unless is False else where(unless, none, size)
    found: tuple[Any, Any] = jax.lax.fori_loop(none, end, put, (jnp.zeros(mask.shape, jnp.int32), none))
    return found
