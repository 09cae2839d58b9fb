"""JAX's operations that only move or convert data, on concrete arrays -> NumPy's, by day.

Outside of ``jax.jit``, JAX compiles a program for each operation and each shape, which takes longer than most tests: to
make an array of a list takes two. What is inside of a compiled program is not changed.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax._src.core import stage_p
from jax._src.lax import lax, slicing
from jax._src.literals import TypedNdArray

LARGEST = 100_000
"""The largest number of elements of an array that NumPy moves."""


def _staged(x: Any) -> Any:
    return x


def _converted(x: Any, new_dtype: Any, weak_type: bool, sharding: Any) -> Any:
    kinds = np.dtype(x.dtype).kind, np.dtype(new_dtype).kind
    if weak_type or sharding is not None or kinds not in {("i", "i"), ("i", "f"), ("f", "f"), ("b", "i"), ("b", "f")}:
        return None
    return x.astype(new_dtype)


def _broadcast(x: Any, shape: Any, broadcast_dimensions: Any, sharding: Any) -> Any:
    if sharding is not None:
        return None
    sizes = dict(zip(broadcast_dimensions, x.shape, strict=True))
    return np.broadcast_to(x.reshape([sizes.get(axis, 1) for axis in range(len(shape))]), shape)


def _iota(dtype: Any, shape: Any, dimension: int, sharding: Any) -> Any:
    if sharding is not None:
        return None
    along = np.arange(shape[dimension]).astype(dtype)
    return np.broadcast_to(along.reshape([-1 if axis == dimension else 1 for axis in range(len(shape))]), shape)


def _sliced(x: Any, start_indices: Any, limit_indices: Any, strides: Any) -> Any:
    return x[tuple(map(slice, start_indices, limit_indices, strides or [None] * x.ndim))]


def _dynamically_sliced(x: Any, *starts: Any, slice_sizes: Any) -> Any:
    first = [max(0, min(int(at), x.shape[i] - slice_sizes[i])) for i, at in enumerate(starts)]
    return x[tuple(slice(at, at + size) for at, size in zip(first, slice_sizes, strict=True))]


def _squeezed(x: Any, dimensions: Any) -> Any:
    return x.squeeze(tuple(dimensions))


def _reshaped(x: Any, new_sizes: Any, dimensions: Any, sharding: Any) -> Any:
    return None if sharding is not None or dimensions is not None else x.reshape(new_sizes)


MOVES: dict[Any, Callable[..., Any]] = {
    stage_p: _staged,
    lax.convert_element_type_p: _converted,
    lax.broadcast_in_dim_p: _broadcast,
    lax.iota_p: _iota,
    slicing.slice_p: _sliced,
    slicing.dynamic_slice_p: _dynamically_sliced,
    lax.squeeze_p: _squeezed,
    lax.reshape_p: _reshaped,
}
"""For each primitive, the array that it gives; None if it is left to XLA."""


def begin() -> None:
    """Let NumPy compute these primitives from now on in this process."""
    for primitive, rule in MOVES.items():
        primitive.def_impl(by_numpy(primitive.impl, rule))


def by_numpy(as_it_is: Callable[..., Any], rule: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(as_it_is)
    def impl(*args: Any, **how: Any) -> Any:
        if all(map(_is_plain, args)):
            with np.errstate(all="ignore"):
                moved = rule(*map(np.asarray, args), **how)
            if moved is not None and moved.size <= LARGEST:
                return jax.device_put(moved)
        return as_it_is(*args, **how)

    return impl


def _is_plain(array: Any) -> bool:
    """Whether an array is on the default device by default, and its type is one of NumPy's, and not weak."""
    if isinstance(array, TypedNdArray):  # an array of NumPy on its way to JAX
        return not array.weak_type and array.size <= LARGEST
    return (
        isinstance(array, jax.Array)
        and isinstance(array.dtype, np.dtype)
        and not (array.aval.weak_type or array._committed)
        and array.size <= LARGEST
    )
