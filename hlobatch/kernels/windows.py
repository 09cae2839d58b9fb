"""JAX's primitives that index arrays -> LLVM IR: dynamic slices, updates of slices, gathers and scatters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hlobatch.kernels.arrays import Params, Values, windowed
from hlobatch.kernels.emitter import Emitter
from hlobatch.kernels.rules import ARRAYS, USE_ONCE, Out, Rule, apply, on_arrays
from hlobatch.kernels.text import Index
from hlobatch.kernels.types import INT64, greatest, is_complex, is_float, is_signed, kind, least, number
from hlobatch.kernels.values import Value
from hlobatch.typing import DType


def clamped(e: Emitter, i: str, most: int) -> Index:
    """An index clamped to 0 … ``most``."""
    if most <= 0:
        return 0
    return e.intrinsic("smin", INT64, e.intrinsic("smax", INT64, i, "0"), str(most))


def inside(e: Emitter, index: Value, most: int) -> Index:
    """An index clamped like ``clamped``, but by a branch, since indices are seldom outside.

    In a gang or on a GPU, where a branch makes other lanes wait, it is ``clamped``.
    """
    if most <= 0 or not _by_a_test(e, index.ref):
        return clamped(e, e.index(index), most)
    place, elsewhere, after = e.cell("i64"), e.new("outside"), e.new("inside")
    first = e.index(replace(index, ref=e.as_written(index.ref)))
    e.do(f"store i64 {first}, ptr {place}")
    e.branch(e.unlikely(e.op(f"icmp ugt i64 {first}, {most}")), elsewhere, after)
    e.label(elsewhere)
    again = e.index(replace(index, ref=e.again(index.ref, index.dtype)))
    e.do(f"store i64 {clamped(e, again, most)}, ptr {place}")
    e.jump(after)
    e.label(after)
    return e.op(f"load i64, ptr {place}")


def _by_a_test(e: Emitter, index: str) -> bool:
    """Whether to branch on an index being inside of an array: if it is not constant, and the lane runs by itself."""
    return index.startswith("%") and e.branches_alone


def _begin(e: Emitter, indices: Sequence[Value], shape: Sequence[int], window: Sequence[int]) -> list[Index]:
    """The begin of a window, clamped so that the whole window is inside of the array."""
    sizes = zip(indices, shape, window, strict=False)  # the axis of a key's words has no index
    found = [inside(e, i, n - w) for i, n, w in sizes]
    return found + [0] * (len(shape) - len(found))


@on_arrays("dynamic_slice", uses_once=True)
def _(e: Emitter, p: Params, values: Values, out: Out) -> Values:
    ((_, shape),) = out
    x, *indices = values
    return [windowed(e, x, _begin(e, indices, x.shape, shape), shape)]


@on_arrays("dynamic_update_slice", uses_once=True)
def _(e: Emitter, p: Params, values: Values, out: Out) -> Values:
    x, update, *indices = values
    begin = _begin(e, indices, x.shape, update.shape)
    new = e.to_update(x, [update])

    def one(index: list[Index]) -> None:
        at = [e.plus(i, b) for i, b in zip(index, begin, strict=True)]
        e.put(e.element(update, e.position(index, update.shape)), new, e.position(at, x.shape))

    e.each(update.shape, one, new.ref)
    return [new]


@dataclass(frozen=True)
class Windows:
    """The windows of a gather or a scatter: how indices select elements of an array.

    Attributes:
        shape: The array's shape.
        indices: The array of indices, whose last axis is one entry for each of ``to_axes``.
        to_axes: For each entry of an index, the axis of the array that it is for.
        batching: Pairs of batch axes, one of the array and one of ``indices``.
        window: For each axis of the array, the size of a window.
        inside_axes: The axes of the array that remain in a window, which are not collapsed.
    """

    shape: tuple[int, ...]
    indices: Value
    to_axes: Sequence[int]
    batching: Sequence[tuple[int, int]]
    window: Sequence[int]
    inside_axes: Sequence[int]

    def find(
        self, e: Emitter, batch: Sequence[Index], inside: Sequence[Index], *, clamp: bool, as_written: bool = False
    ) -> tuple[list[Index], str]:
        """The index of an element, and the register that says whether its whole window is inside of the array.

        Args:
            e: The emitter.
            batch: The index of the window.
            inside: The element's index within the window.
            clamp: Whether windows are moved to be inside of the array.
            as_written: Whether to use indices as the user wrote them, without adding the length to negative ones.
        """
        at: list[Index] = [0] * len(self.shape)
        is_inside = "true"
        for axis, of_indices in self.batching:
            at[axis] = batch[of_indices]
        for k, axis in enumerate(self.to_axes):
            place = e.element(self.indices, e.position([*batch, k], self.indices.shape))
            place = e.as_written(place) if as_written else e.again(place, self.indices.dtype)
            i = e.index(Value(self.indices.dtype, (), place))
            most = self.shape[axis] - self.window[axis]
            if clamp:
                at[axis] = clamped(e, i, most)
                continue
            at[axis] = i
            fits = e.op(f"icmp ule i64 {i}, {most}") if most >= 0 else "false"
            is_inside = fits if is_inside == "true" else e.op(f"and i1 {is_inside}, {fits}")
        for axis, more in zip(self.inside_axes, inside, strict=True):
            at[axis] = e.plus(at[axis], more)
        return at, is_inside

    def when_inside(
        self,
        e: Emitter,
        batch: Sequence[Index],
        inside: Sequence[Index],
        body: Callable[[Index], None],
        *,
        clamp: bool,
    ) -> None:
        """``body(place)`` with an element's position, if its window is inside of the array.

        Indices that are in registers are first tested as the user wrote them, since negative ones are rare.
        """
        if clamp or not self.indices.is_cheap or not e.branches_alone:
            at, is_inside = self.find(e, batch, inside, clamp=clamp)
            e.when(is_inside, lambda: body(e.position(at, self.shape)))
            return
        write, after = e.new("write"), e.new("on")
        place, elsewhere = e.cell("i64"), e.new("outside")
        at, is_inside = self.find(e, batch, inside, clamp=False, as_written=True)
        e.do(f"store i64 {e.position(at, self.shape)}, ptr {place}")
        e.branch(e.unlikely(e.op(f"xor i1 {is_inside}, true")), elsewhere, write)
        e.label(elsewhere)
        at, is_inside = self.find(e, batch, inside, clamp=False)
        e.do(f"store i64 {e.position(at, self.shape)}, ptr {place}")
        e.branch(is_inside, write, after)
        e.label(write)
        body(e.op(f"load i64, ptr {place}"))
        e.jump(after)
        e.label(after)


def _filler(dtype: DType, wanted: Any) -> Any:
    """The value that a gather gives for windows outside of the array, unless the user gives one."""
    if wanted is not None:
        return wanted
    if is_float(dtype) or is_complex(dtype):
        return np.nan
    return least(dtype) if is_signed(dtype) else greatest(dtype)


@on_arrays("gather")
def _(e: Emitter, p: Params, values: Values, out: Out) -> Values:
    ((dtype, shape),) = out
    x, indices = values
    numbers = p["dimension_numbers"]
    offset_axes, window = list(numbers.offset_dims), list(p["slice_sizes"])
    if len(window) < len(x.shape):  # every window has the axis of a key's words
        offset_axes, window = [*offset_axes, len(shape) - 1], [*window, x.shape[-1]]
    gone = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    windows = Windows(
        x.shape,
        indices,
        numbers.start_index_map,
        list(zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True)),
        window,
        [axis for axis in range(len(x.shape)) if axis not in gone],
    )
    fills = "FILL" in str(p["mode"])
    filler = number(_filler(dtype, p["fill_value"]), dtype)

    def element(index: list[Index]) -> str:
        batch = [i for k, i in enumerate(index) if k not in offset_axes]
        at, is_inside = windows.find(e, batch, [index[k] for k in offset_axes], clamp=not fills)
        place = e.position(at, x.shape)
        if not fills or is_inside == "true":
            return e.element(x, place)
        if is_inside == "false":
            return filler
        safe = e.op(f"select i1 {is_inside}, i64 {place}, i64 0")
        k = kind(dtype)
        return e.op(f"select i1 {is_inside}, {k} {e.element(x, safe)}, {k} {filler}")

    return [e.built(dtype, shape, element)]


def _scatter(combine: str | None) -> Rule:
    """The rule of a scatter.

    Windows that are not inside of the array are dropped, or moved inside in the mode ``CLIP``.
    """

    def emit(e: Emitter, p: Params, values: Values, out: Out) -> Values:
        x, indices, updates = values[0], values[1] if values[1].is_cheap else e.forced(values[1]), values[2]
        numbers = p["dimension_numbers"]
        window_axes = list(numbers.update_window_dims)
        if len(updates.shape) > len(window_axes) + len(indices.shape) - 1:  # keys have one axis more, of words
            window_axes.append(len(updates.shape) - 1)
        gone = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
        inside_axes = [axis for axis in range(len(x.shape)) if axis not in gone]
        window = [1] * len(x.shape)
        for axis, k in zip(inside_axes, window_axes, strict=True):
            window[axis] = updates.shape[k]
        batching = list(zip(numbers.operand_batching_dims, numbers.scatter_indices_batching_dims, strict=True))
        windows = Windows(x.shape, indices, numbers.scatter_dims_to_operand_dims, batching, window, inside_axes)
        clamp = "CLIP" in str(p["mode"])
        new = e.to_update(x, [indices, updates])

        def combined(place: Index, update: str) -> str:
            if combine:
                return apply(e, combine, x.dtype, e.element(new, place), update)
            if p["update_jaxpr"] is None:
                return update
            old = Value(x.dtype, (), e.element(new, place))
            constants = [e.constant(np.asarray(c)) for c in p["update_consts"]]
            return e.jaxpr(p["update_jaxpr"], constants, [old, replace(old, ref=update)])[0].ref

        def one(index: list[Index]) -> None:
            batch = [i for k, i in enumerate(index) if k not in window_axes]

            def write(place: Index) -> None:
                e.put(combined(place, e.element(updates, e.position(index, updates.shape))), new, place)

            windows.when_inside(e, batch, [index[k] for k in window_axes], write, clamp=clamp)

        if p["unique_indices"] and not clamp:
            e.each(updates.shape, one, new.ref)
        else:
            e.in_turn(updates.shape, window_axes, one, new.ref)
        return [new]

    return emit


ARRAYS["scatter"] = _scatter(None)
for _name in ("add", "sub", "mul", "min", "max"):
    ARRAYS[f"scatter-{_name}"] = _scatter(_name)
USE_ONCE.update(name for name in ARRAYS if name.startswith("scatter"))
