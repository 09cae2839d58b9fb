"""An array and an index that is in bounds -> the slice at that index.

By default, JAX takes a negative index to count from the end, and adds a comparison, an addition and a select to each
access. So the functions here promise that no index is negative or past the end, and every caller has to keep that
promise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import jax

from hlobatch.typing import ArrayLike

IN_BOUNDS: Final[Mapping[str, Any]] = {"mode": "promise_in_bounds", "wrap_negative_indices": False}
"""Options of ``array.at[indices].get`` and ``.set`` that promise that each index is in bounds, and not negative."""


def row_of(array: ArrayLike, index: Any) -> Any:
    """The slice of an array at an index of its first axis, without that axis."""
    starts = [index, *[index.dtype.type(0)] * (array.ndim - 1)]
    part = jax.lax.dynamic_slice(array, starts, (1, *array.shape[1:]), allow_negative_indices=False)
    return jax.lax.squeeze(part, (0,))
