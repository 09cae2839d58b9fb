"""A ``stablehlo.reduce`` -> loops that combine many numbers at a time, which LLVM vectorizes.

XLA computes one element of a result after the other, and combines one number after the other for each. Where other axes
follow those that are reduced, numbers that are combined are far apart in memory, and LLVM does not always interchange
the two loops; here, each turn of a loop combines whole rows. Where no axis follows, LLVM has to keep to the order of
floating-point numbers; here, a long axis is divided into columns, which are reduced side by side.

Each turn combines the numbers that are new to it in pairs before it adds them to the total, and the columns are
combined in pairs in the end. The rounding error of a sum then grows with a small part of its length; in XLA's loop it
grows with all of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch._jax import ir
from hlobatch.lowering.module.splice import aval_of
from hlobatch.targets.cpu.chunks import in_chunks
from hlobatch.targets.cpu.combinations import COMBINATIONS, combination_of

FOR_A_LIBRARY: Final = 2048
"""Numbers in all, or products, from which XLA may want a library, then finds that a kernel calls none, and gives up:
inside a user's ``jit`` it cannot be asked to leave that."""
ROWS_A_TURN: Final = 8
"""Rows combined in one turn: the result is read and written once for so many."""
LEAST_NUMBERS_IN_COLUMNS: Final = 512
"""Numbers from which columns pay where no axis follows: fewer take less time one by one."""
COLUMNS: Final = 16
"""Into which an axis is divided that no other follows: two vectors of 32-bit numbers."""


@dataclass(frozen=True)
class Reduction:
    """A ``stablehlo.reduce`` of one array, as a function of the array and of what to begin with.

    Attributes:
        axes: That are reduced, in order.
        combination: One of ``COMBINATIONS``.
    """

    axes: tuple[int, ...]
    combination: str

    def __call__(self, array: Any, begin: Any) -> Any:
        """The result, ``[axes that are left]``."""
        for first, last in reversed(_runs(self.axes)):
            count = math.prod(array.shape[first : last + 1])
            rows = array.reshape(*array.shape[:first], count, *array.shape[last + 1 :])
            follow = first + 1 < rows.ndim
            array = self._of_rows(rows, first) if follow or count < LEAST_NUMBERS_IN_COLUMNS else self._of_columns(rows)
        return self._pair(begin, array)

    def _of_rows(self, rows: Any, axis: int) -> Any:
        """Along one axis."""
        count = rows.shape[axis]
        if self.combination == "add" and jnp.issubdtype(rows.dtype, jnp.inexact) and count >= 2 * ROWS_A_TURN:
            begun, total = 0, -jnp.zeros(np.delete(rows.shape, axis), rows.dtype)  # -0 + x is x, and less code than x
        else:
            begun = min(count, ROWS_A_TURN)
            total = self._in_pairs(rows, axis, 0, begun)

        def combined(total: Any, start: Any, size: int) -> Any:
            return self._pair(total, self._in_pairs(rows, axis, begun + start, size))

        return in_chunks(combined, total, count - begun, ROWS_A_TURN)

    def _of_columns(self, array: Any) -> Any:
        """Along the last axis, which is long."""
        rest = array.shape[-1] % COLUMNS
        whole, left = jnp.split(array, [array.shape[-1] - rest], axis=-1)
        columns = self._of_rows(whole.reshape(*whole.shape[:-1], -1, COLUMNS), array.ndim - 1)
        if rest:
            columns = jnp.concatenate([self._pair(columns[..., :rest], left), columns[..., rest:]], axis=-1)
        while columns.shape[-1] > 1:
            columns = self._pair(*jnp.split(columns, 2, axis=-1))
        return columns[..., 0]

    def _in_pairs(self, rows: Any, axis: int, start: Any, size: int) -> Any:
        """A few rows, as a balanced tree."""
        some = jax.lax.dynamic_slice_in_dim(rows, start, size, axis, allow_negative_indices=False)
        parts = [jax.lax.index_in_dim(some, i, axis, keepdims=False) for i in range(size)]
        while len(parts) > 1:
            odd = parts[len(parts) // 2 * 2 :]
            parts = [self._pair(a, b) for a, b in zip(parts[::2], parts[1::2], strict=False)] + odd
        return parts[0]

    def _pair(self, old: Any, new: Any) -> Any:
        return COMBINATIONS[self.combination](*jnp.broadcast_arrays(old, new))


def reduction_of(operation: Any) -> Reduction | None:
    """What a ``stablehlo.reduce`` does; None where a loop of ours does not pay, or it combines in a way of its own."""
    if len(operation.operands) > 2:  # an array, and what its reduction begins with
        return None
    axes = tuple(sorted(ir.DenseI64ArrayAttr(operation.attributes["dimensions"])))
    array, combination = aval_of(operation.operands[0]), combination_of(operation)
    if combination in (None, "subtract") or 0 in array.shape:
        return None
    keeps_order = jnp.issubdtype(array.dtype, jnp.inexact)
    reduced = math.prod(array.shape[d] for d in axes)
    are_many = reduced >= LEAST_NUMBERS_IN_COLUMNS or math.prod(array.shape) >= FOR_A_LIBRARY
    pays = array.ndim - 1 not in axes or (keeps_order and are_many)
    return Reduction(axes, combination) if pays else None


def _runs(axes: tuple[int, ...]) -> list[tuple[int, int]]:
    """The first and the last of axes that follow each other."""
    runs: list[tuple[int, int]] = []
    for axis in axes:
        follows = runs and runs[-1][1] == axis - 1
        runs[-1:] = [(runs[-1][0], axis)] if follows else [*runs[-1:], (axis, axis)]
    return runs
