"""A ``stablehlo.dot_general`` -> a loop that adds up outer products, which LLVM vectorizes.

In a kernel that calls no library, XLA multiplies one pair of numbers at a time. In a sum of outer products, LLVM
multiplies as many pairs at a time as fit in a register. The inner product of two vectors is computed as elementwise
products and a reduction (``reductions.py``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import jax
import jax.numpy as jnp

from hlobatch._jax import stablehlo
from hlobatch.lowering.module.splice import aval_of
from hlobatch.targets.cpu.chunks import in_chunks
from hlobatch.targets.cpu.reductions import FOR_A_LIBRARY, Reduction

PRODUCTS_A_TURN: Final = 4
"""Outer products added at a time: the sum is read and written once for so many."""

LEAST_COLUMNS_IN_ROWS: Final = 16
"""Columns that are enough for a row of them to be worked on at a time, without turning the result around."""
LEAST_ROWS_OR_COLUMNS: Final = 8
"""Rows or columns below which LLVM may as well multiply one pair at a time."""
Axes = tuple[int, ...]


@dataclass(frozen=True)
class Contraction:
    """A ``stablehlo.dot_general``, as a function of its two operands.

    Attributes:
        summed: Axes of either operand that are summed over.
        batch: Axes of either operand that both and the result have.
        dtype: Of the result.
    """

    summed: tuple[Axes, Axes]
    batch: tuple[Axes, Axes]
    dtype: Any

    def __call__(self, lhs: Any, rhs: Any) -> Any:
        """The result, ``[batch, axes of the left alone, axes of the right alone]``."""
        wide = accumulator(self.dtype)
        if self._is_inner(lhs, rhs):
            return self._inner(lhs.astype(wide), rhs.astype(wide)).astype(self.dtype)
        left, rows = _contracted_first(lhs.astype(wide), self.summed[0], self.batch[0])
        right, columns = _contracted_first(rhs.astype(wide), self.summed[1], self.batch[1])
        batch = [lhs.shape[d] for d in self.batch[0]]
        if math.prod(columns) >= min(math.prod(rows), LEAST_COLUMNS_IN_ROWS):
            total = _sum_of_products(left, right)
        else:
            total = jnp.swapaxes(_sum_of_products(right, left), -1, -2)
        return total.reshape((*batch, *rows, *columns)).astype(self.dtype)

    def _is_inner(self, lhs: Any, rhs: Any) -> bool:
        """Whether each number of the result is the inner product of two vectors."""
        axes = zip(self.summed, self.batch, (lhs.ndim, rhs.ndim), strict=True)
        return all(len(summed) + len(batch) == count for summed, batch, count in axes)

    def _inner(self, lhs: Any, rhs: Any) -> Any:
        both = zip((lhs, rhs), self.batch, self.summed, strict=True)
        left, right = (each.transpose((*batch, *summed)) for each, batch, summed in both)
        products = (left * right).reshape(*(lhs.shape[d] for d in self.batch[0]), -1)
        return Reduction((products.ndim - 1,), "add")(products, products.dtype.type(0))


def accumulator(dtype: Any) -> Any:
    """The type in which products are added up to a result of a type: as XLA's libraries do, wider than 16 bits."""
    return jnp.float32 if jnp.issubdtype(dtype, jnp.floating) and jnp.dtype(dtype).itemsize < 4 else dtype


def contraction_of(operation: Any) -> Contraction | None:
    """What a ``stablehlo.dot_general`` does; None if no row of its result is long enough for it to pay."""
    contraction = any_contraction_of(operation)
    return contraction if contraction and _pays(operation, contraction) else None


def any_contraction_of(operation: Any) -> Contraction | None:
    """What a ``stablehlo.dot_general`` does; None if it has no numbers to multiply."""
    dims = stablehlo.DotDimensionNumbers(operation.attributes["dot_dimension_numbers"])
    summed = tuple(dims.lhs_contracting_dimensions), tuple(dims.rhs_contracting_dimensions)
    batch = tuple(dims.lhs_batching_dimensions), tuple(dims.rhs_batching_dimensions)
    is_empty = any(0 in aval_of(operand).shape for operand in operation.operands)
    return None if is_empty else Contraction(summed, batch, aval_of(operation.results[0]).dtype)


def _pays(operation: Any, contraction: Contraction) -> bool:
    """Whether LLVM had better multiply several pairs at a time, where XLA would one."""
    result, first = aval_of(operation.results[0]), len(contraction.batch[0])
    rows = aval_of(operation.operands[0]).ndim - len(contraction.summed[0])
    sizes = math.prod(result.shape[first:rows]), math.prod(result.shape[rows:])
    products = math.prod(result.shape) * _summed(operation, contraction.summed[0])
    return bool(max(sizes) >= LEAST_ROWS_OR_COLUMNS or products >= FOR_A_LIBRARY)


def _summed(operation: Any, axes: Axes) -> int:
    """How many products are added up to each number."""
    shape = aval_of(operation.operands[0]).shape
    return math.prod(shape[d] for d in axes)


def _contracted_first(array: Any, summed: Sequence[int], batch: Sequence[int]) -> tuple[Any, list[int]]:
    """``[sum, batch…, free]``, and the sizes of the free axes.

    Where there are no batch axes, none of one element stands for them: XLA would choose another layout, and copy.
    """
    free = [d for d in range(array.ndim) if d not in (*summed, *batch)]
    count, rows = (math.prod(array.shape[d] for d in axes) for axes in (summed, free))
    turned = array.transpose((*summed, *batch, *free))
    return turned.reshape(count, *(array.shape[d] for d in batch), rows), [array.shape[d] for d in free]


def _sum_of_products(left: Any, right: Any) -> Any:
    """``[batch…, rows, columns]``, of ``[sum, batch…, rows]`` and ``[sum, batch…, columns]``."""
    count, *batch, rows = left.shape

    def added(total: Any, first: Any, size: int) -> Any:
        a, b = (jax.lax.dynamic_slice_in_dim(each, first, size, allow_negative_indices=False) for each in (left, right))
        return sum((a[i, ..., :, None] * b[i, ..., None, :] for i in range(size)), total)

    total = jnp.zeros((*batch, rows, right.shape[-1]), right.dtype)
    return in_chunks(added, total, count, PRODUCTS_A_TURN)
