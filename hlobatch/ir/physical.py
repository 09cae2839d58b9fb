"""Leaves of types -> arrays that can be masked, stacked and passed anywhere.

A typed PRNG key is stored as its words (``uint32[…, 2]`` for the default generator); everything else is stored as it
is. All state of all executors is physical; user code sees the logical values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch._jax import keys_of
from hlobatch.ir.ops import PrimOp
from hlobatch.ir.types import TensorType, Type, grouped


@lru_cache(maxsize=4096)
def physical(leaf: TensorType) -> TensorType:
    """The type of the array that stores a value of type ``leaf``."""
    if not leaf.is_key:
        return TensorType(leaf.dtype, leaf.shape)
    data = jax.eval_shape(jax.random.key_data, leaf.aval)
    return TensorType(np.dtype(data.dtype), tuple(data.shape))


def to_physical(value: Any, leaf: TensorType) -> Any:
    """The array that stores a logical value; a Python number becomes an array of the leaf's dtype."""
    if leaf.is_key:
        return jax.random.key_data(value)
    value = jnp.asarray(value)
    return value if value.dtype == leaf.dtype else value.astype(leaf.dtype)


def from_physical(value: Any, leaf: TensorType) -> Any:
    """The logical value of a stored array."""
    if not leaf.is_key:
        return value
    return keys_of(value, leaf)


@lru_cache(maxsize=1)
def key_dtypes() -> tuple[Any, ...]:
    """The dtypes of typed keys, one for each of JAX's own generators."""
    generators = ("threefry2x32", "rbg", "unsafe_rbg")
    return tuple(jax.eval_shape(lambda name=name: jax.random.key(0, impl=name)).dtype for name in generators)


def flatten(value: Any, type_: Type) -> list[Any]:
    """The arrays that store a value of a type."""
    return [to_physical(v, t) for v, t in zip(type_.flatten(value), type_.tensor_leaves, strict=True)]


def rebuild(arrays: list[Any], type_: Type) -> Any:
    """The value of a type that is stored in ``arrays``."""
    return type_.rebuild([from_physical(a, t) for a, t in zip(arrays, type_.tensor_leaves, strict=True)])


def array_bytes(array: Any) -> int:
    """Size in bytes of anything that has a shape and a dtype."""
    return int(math.prod(array.shape) * array.dtype.itemsize)


def elements(type_: Type) -> int:
    """Number of elements that a variable of a type stores per lane."""
    return sum(math.prod(physical(leaf).shape) for leaf in type_.tensor_leaves)


def array_count(type_: Type) -> int:
    """Number of arrays that a variable of a type is stored in."""
    return len(type_.tensor_leaves)


def lane_function(op: PrimOp, types: Mapping[str, Type]) -> Callable[..., list[Any]]:
    """A primitive as a function from the stored arrays of ``vars_in`` to those of ``vars_out``, for one lane."""
    in_types = [types[name] for name in op.vars_in]
    out_types = [types[name] for name in op.vars_out]

    def run(*arrays: Any) -> list[Any]:
        values = list(map(rebuild, grouped(arrays, in_types), in_types))
        results = op.function(*values)
        return [array for value, t in zip(results, out_types, strict=True) for array in flatten(value, t)]

    return run
