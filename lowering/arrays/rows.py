"""Reading and writing rows of an array, at indices that it has.

JAX takes a negative index to count from the end, and makes three more operations of each access to see whether it does;
in one kernel each is as dear as the access.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import jax
import jax.numpy as jnp

from hlobatch.lowering.arrays.where import where

IN_BOUNDS: Final[Mapping[str, Any]] = {"mode": "promise_in_bounds", "wrap_negative_indices": False}
"""How many rows are read or written at once by ``array.at[indices]``, if each index is known to be a row's."""


def row_of(array: Any, index: Any, axis: int = 0) -> Any:
    """The row at an index of an axis, without that axis."""
    axis %= array.ndim
    sizes = [1 if i == axis else size for i, size in enumerate(array.shape)]
    return jax.lax.squeeze(part_of(array, _starts(array, index, axis), sizes), (axis,))


def with_row(array: Any, row: Any, index: Any, axis: int = 0) -> Any:
    """The array with another row there."""
    axis %= array.ndim
    row = jax.lax.expand_dims(jnp.asarray(row, array.dtype), (axis,))
    return with_part(array, row, _starts(array, index, axis))


def rows_of(array: Any, start: Any, count: int) -> Any:
    """So many rows in front, from an index on."""
    return part_of(array, _starts(array, start, 0), (count, *array.shape[1:]))


def with_rows(array: Any, rows: Any, start: Any) -> Any:
    """The array with other rows in front from there on."""
    return with_part(array, rows, _starts(array, start, 0))


def part_of(array: Any, starts: Sequence[Any], sizes: Sequence[int]) -> Any:
    """A part of the array."""
    return jax.lax.dynamic_slice(array, starts, sizes, allow_negative_indices=False)


def with_part(array: Any, part: Any, starts: Sequence[Any]) -> Any:
    """The array with another part there."""
    return jax.lax.dynamic_update_slice(array, part, starts, allow_negative_indices=False)


def _starts(array: Any, index: Any, axis: int) -> list[Any]:
    """Where a row begins."""
    return [index if i == axis else index.dtype.type(0) for i in range(array.ndim)]


def places_in(mask: Any, *, unless: Any = False) -> tuple[Any, Any]:
    """The numbers of the lanes in a mask, in front of an array of all, and how many they are; or none."""

    def put(lane: Any, found: tuple[Any, Any]) -> tuple[Any, Any]:
        lanes, count = found
        return with_row(lanes, lane, count), count + row_of(mask, lane).astype(jnp.int32)

    size, none = jnp.int32(mask.shape[0]), jnp.int32(0)
    end = size if unless is False else where(unless, none, size)
    found: tuple[Any, Any] = jax.lax.fori_loop(none, end, put, (jnp.zeros(mask.shape, jnp.int32), none))
    return found
