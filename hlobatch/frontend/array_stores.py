"""An array, and a value assigned to a part of it -> the array after the assignment, with NumPy's meaning.

::

    a[i] = 1.5                 a.at[i].set(1)           an array of integers takes integers
    a[x > 0] = 0        ==>    where(x > 0, 0, a)
    a[lo:hi] += 1              where((lo <= k) & (k < hi), a + 1, a)
    a[i:i + 3] = v             a scatter of one window

The code runs while it is traced. A write past the end of an array changes nothing (``past_the_end``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from hlobatch._jax import is_tracer
from hlobatch.diagnostics import BatchTypeError
from hlobatch.frontend.lane_slices import Span, Stretch, Window, is_lane_index
from hlobatch.typing import DType
from hlobatch.values.lane_arrays import LaneArray
from hlobatch.values.lane_failures import fails, is_there
from hlobatch.values.optional import optional
from hlobatch.values.whole_numbers import fits

past_the_end: Final = lax.GatherScatterMode.FILL_OR_DROP
"""Mode of a write at an index that differs between lanes: out of bounds, it is dropped."""


def taken(array: Any, key: Any) -> Any:
    """``array[key]``."""
    parts = key if isinstance(key, tuple) else (key,)
    if any(isinstance(part, Span) for part in parts):
        window = Window.of(array, parts)
        return _read(array, window)
    return array[_plain(key)]


def _read(array: Any, window: Window) -> Any:
    return lax.gather(array, window.inside, window.gathered, window.sizes, mode=lax.GatherScatterMode.CLIP)


def part(array: Any, key: Any) -> Any:
    """The operand of ``array[key] += …``: ``array[key]``, or, for a mask or a stretch, the array before masking."""
    basic, mask = _masked(array, key)
    return taken(array, key) if mask is None else array[basic]


def stored(array: Any, key: Any, value: Any) -> Any:
    """The array after ``array[key] = value``.

    Raises:
        BatchTypeError: The array cannot hold the value.
        IndexError: The key is out of bounds in every lane.
    """
    if isinstance(value, LaneArray):
        return _with_rows(array, key, value)
    value = _as_element(value, array.dtype)
    basic, mask = _masked(array, key)
    if mask is not None:
        before = array[basic]
        for axis in range(-min(value.ndim, before.ndim), 0):
            if value.shape[axis] != 1 and np.shape(mask)[axis] != 1:
                raise BatchTypeError(
                    "how many elements are assigned differs between lanes, and so no array can be assigned to them",
                    help="assign one number, or choose with `jnp.where(mask, new, old)`.",
                )
        return _replaced(array, basic, jnp.where(mask, value, before))
    return _replaced(array, key, value)


def put(array: Any, key: Any, value: Any) -> Any:
    """The array after ``array[key] += …``, where ``value`` is the new value of ``part(array, key)``.

    Raises:
        BatchTypeError: The array cannot hold the value.
    """
    if isinstance(value, LaneArray):
        return _with_rows(array, key, value)
    before = part(array, key)
    value = jnp.asarray(value)
    if before.ndim and not np.can_cast(value.dtype, before.dtype, "same_kind"):
        raise BatchTypeError(
            f"an array of {before.dtype} cannot become one of {value.dtype} in place",
            help="make it one of floats where it is made, or assign: `a[i] = …` cuts off what it cannot hold.",
        )
    value = _as_element(value, array.dtype)
    basic, mask = _masked(array, key)
    if mask is not None:
        return _replaced(array, basic, jnp.where(mask, value, before))
    return _replaced(array, key, value, is_read=True)


def _with_rows(array: Any, key: Any, value: LaneArray) -> Any:
    """The array after an array whose length differs between lanes is assigned to a slice or a mask, row by row."""
    *before, last = key if isinstance(key, tuple) else (key,)
    if before and all(_is_number(one) for one in before):
        return _replaced(array, tuple(before), _with_rows(array[tuple(before)], last, value))
    mask = _selected(array, last)
    if before or mask is None:
        raise BatchTypeError(
            "an array whose length differs between lanes is assigned, and not to a slice, or to a mask, of an array",
            help="write the items one by one: `for k, v in enumerate(y): x[i + k] = v`.",
        )
    places = (jnp.cumsum(mask.reshape(-1)) - 1).reshape(mask.shape)
    text = "could not broadcast input array into a part of another shape"
    fails(ValueError, text, (value.size != jnp.sum(mask)) & (value.size != 1))
    rows = value.items[jnp.where(value.size == 1, 0, jnp.clip(places, 0, value.capacity - 1))]
    return jnp.where(mask.reshape(*mask.shape, *[1] * (array.ndim - mask.ndim)), _as_element(rows, array.dtype), array)


def _is_number(part: Any) -> bool:
    return (isinstance(part, (int, np.integer)) and not isinstance(part, bool)) or is_lane_index(part)


def _selected(array: Any, key: Any) -> Any:
    """A mask of the rows or elements that a slice or a mask selects; None for any other key."""
    if isinstance(key, Span):
        key = Stretch(key.start, key.start + key.size, None)
    if isinstance(key, slice) and (key.step is None or key.step > 0):
        return jnp.zeros(array.shape[0], bool).at[key].set(True)
    if isinstance(key, Stretch):
        return key.mask(array.shape[0])
    return key if _is_mask(key) else None


def is_view(key: Any) -> bool:
    """Whether ``array[key]`` is a part of an array rather than a copy of one."""
    parts = key if isinstance(key, tuple) else (key,)
    basic = (int, np.integer, slice, Span, type(None), type(...))
    return all((isinstance(p, basic) and not isinstance(p, bool)) or is_lane_index(p) for p in parts)


def _plain(key: Any) -> Any:
    """A key as JAX takes it: lists become arrays."""
    if isinstance(key, tuple):
        return tuple(map(_plain, key))
    if isinstance(key, Stretch):
        return slice(key.lower, key.upper, key.step)
    if isinstance(key, list):
        return jnp.asarray(key) if any(map(is_tracer, jax.tree.leaves(key))) else np.asarray(key)
    return key


def _as_element(value: Any, dtype: DType) -> Any:
    """A value converted to the dtype of the array that stores it."""
    if isinstance(value, int) and jnp.issubdtype(dtype, jnp.integer) and not fits(value, dtype):
        raise BatchTypeError(
            f"an array of {dtype} cannot hold {value}", help="make the array one of a wider dtype where it is made."
        )
    if isinstance(value, (str, bytes, dict, set, type(None))):
        raise BatchTypeError(
            f"an array of {dtype} cannot hold {value!r}", help="use a number, and NaN or -1 for what is not there."
        )
    new = jnp.asarray(value)
    if not jnp.issubdtype(dtype, jnp.inexact):
        is_there(value, "an array of integers cannot hold")
    elif (known := optional(value)) is not None:
        new = jnp.where(known.is_there, new, jnp.nan)  # NumPy stores NaN for None
    if new.dtype == dtype:
        return new
    if jnp.issubdtype(new.dtype, jnp.complexfloating) and not jnp.issubdtype(dtype, jnp.complexfloating):
        raise BatchTypeError(
            f"an array of {dtype} cannot hold complex numbers",
            help="make the array one of complex numbers, or take the real part of the value.",
        )
    return new.astype(dtype)


def _replaced(array: Any, key: Any, value: Any, *, is_read: bool = False) -> Any:
    """An array after a value, of the array's dtype, is stored at a key.

    Args:
        array: The array.
        key: The key.
        value: The value.
        is_read: Whether the value was computed from what ``part`` gives for the key.
    """
    parts = key if isinstance(key, tuple) else (key,)
    if any(isinstance(p, Span) for p in parts):
        window = Window.of(array, parts)
        value = _without_leading_ones(value, len(window.shape))
        update = jnp.broadcast_to(value, window.shape)
        if not is_read and all(
            _size(value, axis - len(window.shape)) == window.shape[axis] > 1 for axis in window.spans
        ):
            return lax.scatter(array, window.starts, update, window.scattered, mode=past_the_end)
        # NumPy leaves out what is beyond the end.
        update = jnp.where(window.mask, update, _read(array, window))
        return lax.scatter(array, window.inside, update, window.scattered, mode=lax.GatherScatterMode.CLIP)
    _check_bounds(array, parts)
    if value.ndim:
        target = jax.eval_shape(lambda a: a[_plain(key)], array)
        value = _without_leading_ones(value, len(target.shape))
    return array.at[_plain(key)].set(value)


def _size(value: Any, axis: int) -> int:
    """The size of an axis, counted from the last; 1 for one that the value does not have."""
    return int(value.shape[axis]) if value.ndim >= -axis else 1


def _without_leading_ones(value: Any, ndim: int) -> Any:
    """A value without leading axes of size one that its target does not have."""
    while value.ndim > ndim and value.shape[0] == 1:
        value = value[0]
    return value


def _check_bounds(array: Any, parts: Sequence[Any]) -> None:
    """Refuse a key known when the program is built that is out of bounds."""
    if not all(isinstance(p, (int, np.integer, slice)) or is_lane_index(p) for p in parts):
        return
    if len(parts) > array.ndim:
        raise IndexError(f"too many indices for an array of {array.ndim} dimensions")
    for axis, (index, size) in enumerate(zip(parts, array.shape, strict=False)):
        if isinstance(index, (int, np.integer)) and not -size <= index < size:
            raise IndexError(f"index {index} is out of bounds for axis {axis} with size {size}")


def _masked(array: Any, key: Any) -> tuple[Any, Any]:
    """A key with whole axes in place of masks and stretches that differ between lanes, and the mask of its elements.

    The mask is None if the key has no such parts.
    """
    parts = list(key) if isinstance(key, tuple) else [key]
    if not any(isinstance(part, Stretch) or _is_mask(part) for part in parts):
        return key, None
    # An ellipsis becomes slices, so that each part has its own axes.
    if any(part is ... for part in parts):
        at = next(i for i, part in enumerate(parts) if part is ...)
        rest = sum(p.ndim if _is_mask(p) else 1 for p in parts if p is not ...)
        parts[at : at + 1] = [slice(None)] * (array.ndim - rest)
    basic, masks, axis = list[Any](), list[tuple[int, Any]](), 0
    for part in parts:
        if isinstance(part, Span):
            part = Stretch(part.start, part.start + part.size, None)
        if isinstance(part, Stretch):
            masks.append((len(_axes(basic)), part.mask(array.shape[axis])))
            basic.append(slice(None))
            axis += 1
        elif _is_mask(part):
            if part.shape != array.shape[axis : axis + part.ndim]:
                raise IndexError(f"a mask of shape {part.shape} for an array of shape {array.shape}")
            masks.append((len(_axes(basic)), part))
            basic += [slice(None)] * part.ndim
            axis += part.ndim
        elif isinstance(part, (int, np.integer, slice)) or is_lane_index(part):
            basic.append(part)
            axis += 1
        else:
            raise BatchTypeError(
                "a mask or a slice that differs between lanes stands beside an array of indices",
                help="choose with `jnp.where(mask, new, old)`.",
            )
    # Each mask is broadcast to the dimensions of the result.
    ndim = len(_axes(basic)) + array.ndim - axis
    chosen: Any = True
    for first, mask in masks:
        chosen = chosen & mask.reshape((1,) * first + mask.shape + (1,) * (ndim - first - mask.ndim))
    return tuple(basic), chosen


def _axes(basic: Sequence[Any]) -> list[Any]:
    """The parts of a key that keep an axis of the array."""
    return [part for part in basic if isinstance(part, slice)]


def _is_mask(part: Any) -> bool:
    return is_tracer(part) and bool(part.dtype == jnp.bool_) and part.ndim > 0
