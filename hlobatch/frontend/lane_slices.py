"""Slices whose bounds differ between lanes -> windows of a size that all lanes share, and masks along an axis.

::

    a[i : i + 3]         Span(i, 3)                 a window: a gather or a scatter
    a[lo:hi]             Stretch(lo, hi, None)      a mask, (lo <= k) & (k < hi), along the axis
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from hlobatch._jax import is_tracer
from hlobatch.diagnostics import BatchTypeError
from hlobatch.frontend.lane_numbers import as_index
from hlobatch.values.optional import is_optional, optional


@dataclass(frozen=True)
class Span:
    """A slice whose start differs between lanes, and whose length does not.

    Attributes:
        start: A scalar.
        size: The length.
    """

    start: Any
    size: int


@dataclass(frozen=True)
class Stretch:
    """A slice whose bounds differ between lanes.

    Attributes:
        lower: The start: a scalar, or None as in a slice.
        upper: The end, a scalar or None.
        step: The step, a scalar or None.
    """

    lower: Any
    upper: Any
    step: Any

    def mask(self, size: int) -> Any:
        """The mask of the elements of an axis that it selects.

        Raises:
            BatchTypeError: It has a negative step.
        """
        step = 1 if self.step is None else self.step
        if is_tracer(step):
            step = jnp.maximum(step, 1)
        elif step < 1:
            raise BatchTypeError(
                "a slice that goes backwards has bounds that differ between lanes",
                help="write the same elements forwards, or assign to one item after the other in a loop.",
            )
        place = jnp.arange(size)
        lower = 0 if self.lower is None else jnp.clip(from_start(self.lower, size), 0, size)
        chosen = place >= lower
        if self.upper is not None:
            chosen &= place < from_start(self.upper, size)
        return chosen if type(step) is int and step == 1 else chosen & ((place - lower) % step == 0)


def slice_of(lower: Any, upper: Any, step: Any, length: Any) -> slice | Span | Stretch:
    """The key in ``a[lower:upper:step]``.

    Args:
        lower: The start, a number or None.
        upper: The end, a number or None.
        step: The step, a number or None.
        length: ``upper - lower``, if the syntax shows that all lanes share it; else None.
    """
    if any(map(is_optional, (lower, upper))):
        length = None
    lower, upper, step = integers(*without_none(lower, upper, step))
    if not any(map(is_tracer, (lower, upper, step))):
        return slice(lower, upper, step)
    if length is not None and not is_tracer(length):
        return Span(lower, max(int(length), 0))
    return Stretch(lower, upper, step)


def without_none(lower: Any, upper: Any, step: Any) -> tuple[Any, Any, Any]:
    """The bounds of a slice, some of which are None in some lanes, with the numbers that None stands for.

    Raises:
        BatchTypeError: These depend on the direction, which is not known to be forwards.
    """
    if not any(map(is_optional, (lower, upper, step))):
        return lower, upper, step
    step = _or(step, 1)
    if step is not None and (is_tracer(step) or step < 1) and any(map(is_optional, (lower, upper))):
        raise BatchTypeError(
            "a bound of a slice is None in some lanes, and the slice may go backwards",
            help="test it before, as in `if n is None:`, and write a slice for each case.",
        )
    return _or(lower, 0), _or(upper, np.iinfo(np.int32).max), step


def integers(*bounds: Any) -> tuple[Any, ...]:
    """The bounds of a slice, of which those that differ between lanes are integers.

    Raises:
        BatchTypeError: One is a float or a complex number.
    """
    return tuple(as_index(bound, "a slice") if is_tracer(bound) else bound for bound in bounds)


def _or(bound: Any, otherwise: int) -> Any:
    known = optional(bound)
    return bound if known is None else jnp.where(known.is_there, bound, otherwise)


def is_lane_index(key: Any) -> bool:
    """Whether a key is an integer that may differ between lanes."""
    return is_tracer(key) and key.ndim == 0 and jnp.issubdtype(key.dtype, jnp.integer)


def from_start(bound: Any, size: int) -> Any:
    """An index counted from the beginning of an axis."""
    return jnp.where(bound < 0, bound + size, bound)


def _along(axis: int, mask: Any, ndim: int) -> Any:
    """The mask of an axis as one of an array; that of the whole array where the axis is -1."""
    return mask if axis < 0 else mask.reshape([-1 if one == axis else 1 for one in range(ndim)])


@dataclass(frozen=True)
class Window:
    """A contiguous part of an array, of a size that all lanes share.

    Attributes:
        starts: Its first index along each axis, an array. It may not fit into the array.
        sizes: Its size along each axis.
        collapsed: The axes that the part does not keep.
        inside: The first index of a window of the same size that fits, along each axis, an array.
        mask: The elements of that window which the key selects, as ``[*shape]`` or with axes of size one.
        spans: The axes of the part whose first index differs between lanes.
    """

    starts: Any
    sizes: tuple[int, ...]
    collapsed: tuple[int, ...]
    inside: Any
    mask: Any
    spans: tuple[int, ...]

    @classmethod
    def of(cls, array: Any, parts: Sequence[Any]) -> Window:
        """The window of a key, all of whose parts are numbers, spans, or slices without a step."""
        parts = list(parts)
        if ... in [part for part in parts if part is ...]:
            at = next(i for i, part in enumerate(parts) if part is ...)
            parts[at : at + 1] = [slice(None)] * (array.ndim - len(parts) + 1)
        parts += [slice(None)] * (array.ndim - len(parts))
        starts, sizes, collapsed = list[Any](), list[int](), list[int]()
        masks, spans, kept = list[tuple[int, Any]](), list[int](), 0
        for axis, (part, size) in enumerate(zip(parts, array.shape, strict=True)):
            if isinstance(part, Span):
                start, length = from_start(part.start, size), part.size
                place = jnp.clip(start, 0, max(size - length, 0)) + jnp.arange(length)
                masks.append((kept, (place >= start) & (place < from_start(part.start + length, size))))
                spans.append(kept)
            elif isinstance(part, slice):
                start, stop, step = part.indices(size)
                length = max(stop - start, 0)
                if step != 1:
                    raise BatchTypeError(
                        "a slice with a step stands beside one that begins where the lane says",
                        help="assign to one item after the other in a loop.",
                    )
            else:
                start, length = from_start(part, size), 1
                collapsed.append(axis)
                masks.append((-1, (start >= 0) & (start < size)))
                kept -= 1
            if length > size:
                raise IndexError(f"a slice of {length} elements of an axis that has {size}")
            starts.append(jnp.asarray(start, jnp.int32))
            sizes.append(length)
            kept += 1
        first = jnp.stack(starts)
        inside = jnp.clip(first, 0, jnp.asarray(array.shape) - jnp.asarray(sizes))
        mask = functools.reduce(jnp.logical_and, (_along(axis, one, kept) for axis, one in masks), jnp.asarray(True))
        return cls(first, tuple(sizes), tuple(collapsed), inside, mask, tuple(spans))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the part."""
        return tuple(size for axis, size in enumerate(self.sizes) if axis not in self.collapsed)

    @property
    def _axes(self) -> tuple[int, ...]:
        return tuple(range(len(self.sizes)))

    @property
    def gathered(self) -> Any:
        return lax.GatherDimensionNumbers(tuple(range(len(self.shape))), self.collapsed, self._axes)

    @property
    def scattered(self) -> Any:
        return lax.ScatterDimensionNumbers(tuple(range(len(self.shape))), self.collapsed, self._axes)
