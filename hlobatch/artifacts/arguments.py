"""Checks the arguments of an artifact's call, and finds the arrays that its module takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch.artifacts.manifest import Manifest, is_wide
from hlobatch.diagnostics import BatchTypeError
from hlobatch.ir.physical import to_physical
from hlobatch.ir.types import Leaf, Static, TensorType, Type
from hlobatch.typing import ArrayLike, Arrays
from hlobatch.values.number_tables import NUMBERS
from hlobatch.values.ragged import with_containers


def arrays_of(manifest: Manifest, args: Arrays, kwargs: Mapping[str, Any], *, has_x64: bool) -> tuple[list[Any], int]:
    """The arrays as they are stored, with the batch axis first, and the size of the batch.

    Arguments that are Python objects, such as defaults, may be left out. ``has_x64`` says whether 64-bit types are
    enabled for the caller.

    Raises:
        BatchTypeError: The arguments do not fit what was exported.
    """
    types = manifest.arguments
    values = _values(manifest, args, kwargs)
    try:
        leaves = types.treedef.flatten_up_to(with_containers(values, are_bounded=False))
    except ValueError as error:
        raise BatchTypeError(
            f"{manifest.name} was exported for arguments {types}: {error}", help="pass the same pytrees of arrays."
        ) from None
    for leaf, wanted in zip(leaves, types.leaves, strict=True):
        _check_leaf(manifest.name, leaf, wanted, has_x64=has_x64)
    given = [leaf for leaf, wanted in zip(leaves, types.leaves, strict=True) if isinstance(wanted, TensorType)]
    triples = zip(given, types.tensor_leaves, manifest.axes, strict=True)
    arrays = [_batch_first(manifest.name, *triple) for triple in triples]
    size = _size(manifest, arrays)
    shared = [s for part, s in zip(types.tensors, manifest.shared, strict=True) for _ in Type(part).tensor_leaves]
    arrays = [
        jnp.broadcast_to(array, (size, *array.shape)) if axis is None and not is_shared else array
        for array, axis, is_shared in zip(arrays, manifest.axes, shared, strict=True)
    ]
    return arrays, size


def _values(manifest: Manifest, args: Arrays, kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
    """The value of each parameter."""
    parts = manifest.arguments.tensors
    if manifest.parameters is None:
        given: dict[Any, Any] = {**dict(enumerate(args)), **kwargs}
        names: list[Any] = list(range(len(parts)))
    else:
        names = list(manifest.parameters.parameters)
        try:
            given = manifest.parameters.bind_partial(*args, **kwargs).arguments
        except TypeError as error:
            raise BatchTypeError(
                f"{manifest.name}() is called wrongly: {error}", help=f"its parameters are {', '.join(names)}."
            ) from None
    left_out = {name: Type(part) for name, part in zip(names, parts, strict=True) if name not in given}
    missing = [name for name, type_ in left_out.items() if not type_.is_static]
    if missing or given.keys() - set(names):
        raise BatchTypeError(
            f"{manifest.name} was exported for arguments {manifest.arguments}, and is called with {len(args)}"
            + (f" and {', '.join(map(str, kwargs))}" if kwargs else ""),
            help="pass the same pytrees of arrays.",
        )
    return tuple(given[name] if name in given else left_out[name].rebuild([]) for name in names)


def _size(manifest: Manifest, arrays: Arrays) -> int:
    """The size of the batch, which all arrays have to agree on."""
    sizes = {array.shape[0] for array, axis in zip(arrays, manifest.axes, strict=True) if axis is not None}
    if len(sizes) > 1:
        raise BatchTypeError(f"{manifest.name} is called with batches of sizes {', '.join(map(str, sorted(sizes)))}")
    (size,) = sizes
    if manifest.batch not in (None, size):
        raise BatchTypeError(
            f"{manifest.name} was exported for a batch of size {manifest.batch}, but this one has size {size}",
            help="what is exported for a batch of size 0, or a symbolic one, runs on any.",
        )
    return int(size)


def _batch_first(name: str, leaf: ArrayLike, wanted: TensorType, axis: int | None) -> Any:
    """An array as it is stored, with its batch axis, if it has one, moved to the front."""
    shape = list(np.shape(leaf))
    size = [shape.pop(axis)] if axis is not None and -len(shape) <= axis < len(shape) else []
    if tuple(shape) != wanted.shape or len(size) != (axis is not None):
        raise BatchTypeError(
            f"{name} was exported for {wanted} per lane, but an argument has shape {list(np.shape(leaf))}",
            help="it has no batch axis." if axis is None else f"axis {axis} is the batch.",
        )
    return to_physical(jnp.moveaxis(leaf, axis, 0) if axis else leaf, wanted)


def _check_leaf(name: str, leaf: ArrayLike, wanted: Leaf, *, has_x64: bool) -> None:
    """Refuse a Python object other than the exported one, and an array that would have to be converted."""
    if isinstance(wanted, Static):
        if Static(leaf) != wanted:
            raise BatchTypeError(
                f"{name} was exported for {wanted}, but {leaf!r} is passed", help="export it for that as well."
            )
        return
    is_number = type(leaf) in NUMBERS
    if not (is_number or isinstance(leaf, (jax.Array, np.ndarray, np.generic))):
        raise BatchTypeError(f"{name} was exported for {wanted}, but an argument is {leaf!r}", help="pass an array.")
    dtype = jax.dtypes.canonicalize_dtype(jax.dtypes.result_type(leaf), allow_extended_dtype=True)
    if dtype != wanted.dtype and not (is_number and jnp.result_type(leaf, wanted.dtype) == wanted.dtype):
        message = f"{name} was exported for {wanted}, but an argument is {dtype}"
        if is_wide(wanted) and not has_x64:
            numpy = f"np.asarray(…, np.{wanted.dtype})"
            raise BatchTypeError(message, help=f"pass {numpy}: JAX makes no such arrays unless jax_enable_x64 is on.")
        raise BatchTypeError(message, help="convert it with .astype(…).")
