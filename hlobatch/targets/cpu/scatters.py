"""A ``stablehlo.scatter`` -> a loop over its updates, each a slice that is written in place."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch._jax import stablehlo
from hlobatch.lowering.arrays.rows import part_of, row_of, with_part
from hlobatch.lowering.arrays.where import where
from hlobatch.targets.cpu.combinations import COMBINATIONS, combination_of

Axes = tuple[int, ...]


@dataclass(frozen=True)
class Scatter:
    """A ``stablehlo.scatter`` of one array, as a function of the array, the indices and the updates.

    Attributes:
        windows: Axes of the updates that make up a slice.
        inserted: Axes of the array in which a slice is one wide, and has no axis.
        batch: Axes of the array along which the places go with the indices.
        indices_batch: The axes of the indices for them.
        indexed: The axis of the array that each number of an index is for.
        index_axis: The axis of the indices along which they are numbers of one index.
        combination: One of ``COMBINATIONS``.
    """

    windows: Axes
    inserted: Axes
    batch: Axes
    indices_batch: Axes
    indexed: Axes
    index_axis: int
    combination: str

    def __call__(self, array: Any, indices: Any, updates: Any) -> Any:
        """The array with the updates; one that would reach over an edge is left out."""
        indices = indices[..., None] if self.index_axis == indices.ndim else jnp.moveaxis(indices, self.index_axis, -1)
        places = [d for d in range(updates.ndim) if d not in self.windows]
        sizes = [updates.shape[d] for d in places]
        starts = self._starts(indices, array.ndim).reshape(-1, array.ndim)
        updates = updates.transpose((*places, *self.windows)).reshape(math.prod(sizes), *self._window(array, updates))
        edges = jnp.asarray(array.shape) - jnp.asarray(updates.shape[1:])
        fits = jnp.all((starts >= 0) & (starts <= edges), axis=-1)

        def write(i: Any, array: Any) -> Any:
            start = list(row_of(starts, i))
            old = part_of(array, start, updates.shape[1:])
            new = COMBINATIONS[self.combination](old, row_of(updates, i))
            return with_part(array, where(row_of(fits, i), new, old), start)

        return jax.lax.fori_loop(0, math.prod(sizes), write, array)

    def _window(self, array: Any, updates: Any) -> list[int]:
        """The size of a slice along each axis of the array."""
        supply = iter(updates.shape[d] for d in self.windows)
        return [1 if d in (*self.inserted, *self.batch) else next(supply) for d in range(array.ndim)]

    def _starts(self, indices: Any, rank: int) -> Any:
        """Where each slice starts, ``i32[…, rank]``, or ``i64`` where the indices are as wide."""
        places = indices.shape[:-1]
        dtype = jnp.int64 if indices.dtype.itemsize == np.dtype(np.int64).itemsize else jnp.int32
        starts = [jnp.zeros(places, dtype)] * rank
        for position, axis in enumerate(self.indexed):
            starts[axis] = indices[..., position].astype(dtype)
        for axis, along in zip(self.batch, self.indices_batch, strict=True):
            along -= along > self.index_axis
            starts[axis] = jax.lax.broadcasted_iota(dtype, places, along)
        return jnp.stack(starts, axis=-1)


def scatter_of(operation: Any) -> Scatter:
    """What a ``stablehlo.scatter`` of one array does."""
    dims = stablehlo.ScatterDimensionNumbers(operation.attributes["scatter_dimension_numbers"])
    combination = combination_of(operation)
    assert combination is not None, "targets/cpu/whole_runs.py lets no other scatter pass"
    return Scatter(
        tuple(dims.update_window_dims),
        tuple(dims.inserted_window_dims),
        tuple(dims.input_batching_dims),
        tuple(dims.scatter_indices_batching_dims),
        tuple(dims.scattered_dims_to_operand_dims),
        dims.index_vector_dim,
        combination,
    )
