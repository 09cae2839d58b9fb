"""Reducing axes that others follow as a loop over them, each turn of which combines whole rows.

XLA makes one element of the result after the other. Where that is a long way through an array, with the next row a long
way off, LLVM does not turn the two loops around; of a short one it makes straight code, and then does many at a time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import jax
import jax.numpy as jnp

from hlobatch._jax import ir
from hlobatch.lowering.chunks import in_chunks
from hlobatch.lowering.combinations import COMBINATIONS, combination_of
from hlobatch.lowering.splice import aval_of

LONG: Final = 16
"""Rows from which a loop pays."""
TOGETHER: Final = 8
"""Rows combined in one turn: the result is read and written once for so many."""


@dataclass(frozen=True)
class Reduction:
    """A ``stablehlo.reduce`` of one array, as a function of the array and of what to begin with.

    Attributes:
        axes: That are reduced, one after the other, not the last.
        combination: One of ``COMBINATIONS``.
    """

    axes: tuple[int, ...]
    combination: str

    def __call__(self, array: Any, begin: Any) -> Any:
        """The result, ``[axes that are left]``."""
        first, last = self.axes[0], self.axes[-1] + 1
        before, after = array.shape[:first], array.shape[last:]
        count = math.prod(array.shape[first:last])
        rows = array.reshape(*before, count, *after)

        def combined(total: Any, start: Any, size: int) -> Any:
            some = jax.lax.dynamic_slice_in_dim(rows, start, size, first)
            for i in range(size):
                total = COMBINATIONS[self.combination](total, jax.lax.index_in_dim(some, i, first, keepdims=False))
            return total

        return in_chunks(combined, jnp.broadcast_to(begin, (*before, *after)), count, TOGETHER)


def reduction_of(operation: Any) -> Reduction | None:
    """What a ``stablehlo.reduce`` does; None where a loop of rows does not pay, or it combines in a way of its own."""
    if len(operation.operands) > len(("array", "begin")):
        return None
    axes = tuple(sorted(ir.DenseI64ArrayAttr(operation.attributes["dimensions"])))
    array, combination = aval_of(operation.operands[0]), combination_of(operation)
    if combination is None or math.prod(array.shape[d] for d in axes) < LONG or array.ndim - 1 in axes:
        return None
    in_a_row = axes == tuple(range(axes[0], axes[-1] + 1))
    return Reduction(axes, combination) if in_a_row else None
