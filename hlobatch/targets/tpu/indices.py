"""Reads and writes at indices of each lane's own -> operations on tiles, in which a TPU moves nothing.

An element is selected from all elements of the lane's array.

::

    y = x[i]        ==>      y = sum over k of where(k == i, x[k], 0)
    x[i] = y        ==>      x[k] = where(k == i, y, x[k]), for all k at once
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import jax.numpy as jnp
import numpy as np
from jax import lax

from hlobatch.kernels.types import NoKernelError
from hlobatch.targets.tpu.rules import all_indices, rule, shape_of
from hlobatch.targets.tpu.tile import TILE, Tile, as_bits, full

COMBINED: Final[dict[str, Callable[[Tile, Tile], Tile]]] = {
    "scatter": lambda _old, new: new,
    "scatter-add": jnp.add,
    "scatter-sub": jnp.subtract,
    "scatter-mul": jnp.multiply,
    "scatter-min": jnp.minimum,
    "scatter-max": jnp.maximum,
}


def _index(place: Tile) -> Tile:
    """An index as a signed number; an unsigned one above the largest of them is out of bounds either way."""
    if jnp.issubdtype(place.dtype, jnp.unsignedinteger):
        place = jnp.minimum(place, np.iinfo(np.int32).max)
    return place.astype(jnp.int32)


def _is_at(x: Tile, places: Sequence[Tile]) -> Tile:
    """Whether each element is at the index that a lane gives, one number for each of the lane's axes."""
    found = jnp.ones((), bool)
    for axis, place in enumerate(places):
        found = found & (lax.broadcasted_iota(jnp.int32, x.shape, axis) == place)
    return found


def _element(x: Tile, places: Sequence[Tile]) -> Tile:
    """The element at an index of the lane's own: of all elements, all but one count as nothing."""
    if x.dtype == np.bool_:
        return _element(x.astype(jnp.int32), places) != 0
    axes = tuple(range(len(places)))
    return as_bits(jnp.sum(jnp.where(_is_at(x, places), as_bits(x, jnp.int32), 0), axes, dtype=jnp.int32), x.dtype)


def _changed(x: Tile, places: Sequence[Tile], element: Tile, where: Tile | bool = True) -> Tile:
    return jnp.where(_is_at(x, places) & where, element, x)


@rule("dynamic_slice")
def _(equation: Any, given: Sequence[Tile]) -> Tile:
    x, *begins = given
    shape = shape_of(equation.outvars[0])
    for axis, (begin, n, whole) in enumerate(zip(begins, shape, x.shape, strict=False)):
        if n == whole:
            continue
        begin = jnp.clip(_index(begin), 0, whole - n)
        rows = jnp.moveaxis(x, axis, 0) if axis else x
        parts = [_element(rows, [begin + k]) for (k,) in all_indices([n])]
        x = jnp.stack(parts, axis)
    return x


@rule("dynamic_update_slice")
def _(equation: Any, given: Sequence[Tile]) -> Tile:
    x, update, *begins = given
    shape = shape_of(equation.invars[1])
    sizes = zip(begins, shape, x.shape, strict=False)
    begins = [jnp.clip(_index(begin), 0, whole - n) for begin, n, whole in sizes]
    begins += [full(0, jnp.int32)] * (len(shape) - len(begins))
    for index in all_indices(shape):
        x = _changed(x, [begin + k for begin, k in zip(begins, index, strict=True)], update[index])
    return x


def _windows(
    equation: Any, indices: Tile, batch: tuple[int, ...], to_axes: Sequence[int], batching: Any, window: Sequence[int]
) -> tuple[list[Tile], Tile]:
    """The first index of a window for each axis of the array, and whether the whole window is inside of it."""
    shape, clips = shape_of(equation.invars[0]), "FILL" not in str(equation.params["mode"])
    places, is_inside = [full(0, jnp.int32)] * len(shape), jnp.ones(TILE, bool)
    for axis, of_indices in zip(*batching, strict=True):
        places[axis] = full(batch[of_indices], jnp.int32)
    for k, axis in enumerate(to_axes):
        place, most = _index(indices[(*batch, k)]), shape[axis] - window[axis]
        is_inside = is_inside & (place >= 0) & (place <= most)
        places[axis] = jnp.clip(place, 0, most) if clips else place
    return places, jnp.ones(TILE, bool) if clips else is_inside


@rule("gather")
def _(equation: Any, given: Sequence[Tile]) -> Tile:
    (x, indices), p, shape = given, equation.params, shape_of(equation.outvars[0])
    numbers, window = p["dimension_numbers"], list(p["slice_sizes"])
    offsets = list(numbers.offset_dims)
    if len(window) < x.ndim - len(TILE):  # a key has an axis of words
        offsets, window = [*offsets, len(shape) - 1], [*window, x.shape[-3]]
    gone = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    inner = [axis for axis in range(len(window)) if axis not in gone]
    batching = numbers.operand_batching_dims, numbers.start_indices_batching_dims
    is_float, filler = jnp.issubdtype(x.dtype, jnp.inexact), p["fill_value"]
    if filler is None and "FILL" in str(p["mode"]):
        of = x.dtype if is_float or x.dtype == np.bool_ else np.iinfo(x.dtype)
        filler = jnp.nan if is_float else True if x.dtype == np.bool_ else of.min if of.min < 0 else of.max
    found = []
    for index in all_indices(shape):
        batch = tuple(i for k, i in enumerate(index) if k not in offsets)
        places, is_inside = _windows(equation, indices, batch, numbers.start_index_map, batching, window)
        for axis, k in zip(inner, offsets, strict=True):
            places[axis] = places[axis] + index[k]
        element = _element(x, places)
        found.append(element if filler is None else jnp.where(is_inside, element, full(filler, x.dtype)))
    return jnp.stack(found).reshape(*shape, *TILE)


@rule(*COMBINED)
def _(equation: Any, given: Sequence[Tile]) -> Tile:
    (x, indices, updates), p, shape = given, equation.params, shape_of(equation.invars[2])
    numbers, combined = p["dimension_numbers"], COMBINED[equation.primitive.name]
    if equation.primitive.name == "scatter" and p["update_jaxpr"] is not None and p["update_jaxpr"].eqns:
        raise NoKernelError("`scatter` with a function of the user's has no code in tiles")
    inside = list(numbers.update_window_dims)
    if len(shape) > len(inside) + len(shape_of(equation.invars[1])) - 1:  # a key has an axis of words
        inside.append(len(shape) - 1)
    gone = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    inner = [axis for axis in range(x.ndim - len(TILE)) if axis not in gone]
    window = [1] * (x.ndim - len(TILE))
    for axis, k in zip(inner, inside, strict=True):
        window[axis] = shape[k]
    batching, to_axes = (
        (numbers.operand_batching_dims, numbers.scatter_indices_batching_dims),
        numbers.scatter_dims_to_operand_dims,
    )
    for index in all_indices(shape):
        batch = tuple(i for k, i in enumerate(index) if k not in inside)
        places, is_inside = _windows(equation, indices, batch, to_axes, batching, window)
        for axis, k in zip(inner, inside, strict=True):
            places[axis] = places[axis] + index[k]
        x = _changed(x, places, combined(x, updates[index]), is_inside)
    return x
