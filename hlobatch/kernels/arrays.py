"""JAX's primitives that move elements -> LLVM IR: reshapes, transposes, broadcasts, static slices, concatenations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any, Final

from hlobatch.kernels.emitter import Emitter
from hlobatch.kernels.rules import Out, apply, on_arrays
from hlobatch.kernels.text import Index, strides
from hlobatch.kernels.types import INT64, NoKernelError, is_complex, is_narrow, kind, number, size
from hlobatch.kernels.values import Value
from hlobatch.typing import DType

MOST_INDICES_JOINED: Final = 4
"""Largest number of scalars whose concatenation is kept as registers rather than stored, such as an index of several
axes. Chosen by judgement (2026-11), not measured."""

Params = dict[str, Any]
Values = list[Value]


def viewed(e: Emitter, x: Value, shape: tuple[int, ...]) -> Value:
    """The array in another shape of the same size, in the same memory."""
    if not shape:
        return Value(x.dtype, (), e.element(x, 0))
    if x.shape:
        return replace(x, shape=shape)
    return Value(x.dtype, shape, "", None, lambda _: x.ref, is_cheap=True)


def windowed(e: Emitter, x: Value, begin: Sequence[Index], shape: tuple[int, ...]) -> Value:
    """The window of an array that begins at an index: a view if its elements are contiguous, else a copy."""
    first = next((k for k, n in enumerate(shape) if n != 1), len(shape))
    place = e.position(begin, x.shape)
    reach = sum((n - 1) * stride for n, stride in zip(shape, strides(x.shape), strict=True))
    e.check(place, size(x.shape) - reach if size(shape) else None)
    if size(shape) <= 1 or shape[first + 1 :] == x.shape[first + 1 :]:
        if x.element is not None:
            return replace(x, shape=shape, element=lambda i: e.element(x, e.plus(place, i)))
        return e.window(x, place, shape)

    def element(index: list[Index]) -> str:
        return e.element(x, e.plus(place, e.position(index, x.shape)))

    return e.built(x.dtype, shape, element)


def as_number(e: Emitter, i: Index, dtype: DType) -> str:
    """An index as a number of a dtype."""
    return number(i, dtype) if isinstance(i, int) else apply(e, "convert_element_type", dtype, i, of=INT64)


@on_arrays("reshape", "squeeze", uses_once=True)
def _(e: Emitter, p: Params, values: Values, out: Out) -> Values:
    if p.get("dimensions") is not None and "new_sizes" in p:
        raise NoKernelError("`reshape` of axes in another order has no code")
    return [viewed(e, values[0], out[0][1])]


@on_arrays("optimization_barrier", uses_once=True)
def _(e: Emitter, p: Params, values: Values, out: Out) -> Values:
    return values


@on_arrays("bitcast_convert_type", uses_once=True)
def _(e: Emitter, p: Params, values: Values, out: Out) -> Values:
    ((dtype, shape),) = out
    x = values[0]
    if x.shape == shape:
        return [e.map(lambda a: apply(e, "bitcast_convert_type", dtype, a, of=x.dtype), dtype, shape, x)]
    if any(is_narrow(d) or is_complex(d) for d in (dtype, x.dtype)):
        raise NoKernelError(f"`bitcast_convert_type` of {x.dtype} to {dtype} has no code")
    is_divided, x = len(shape) > len(x.shape), e.forced(x)

    def element(index: list[Index]) -> str:
        if is_divided:
            return _part_of_bits(e, e.element(x, e.position(index[:-1], x.shape)), x.dtype, index[-1], dtype)
        parts = [e.element(x, e.position([*index, k], x.shape)) for k in range(x.shape[-1])]
        return _joined_bits(e, parts, x.dtype, dtype)

    return [e.built(dtype, shape, element)]


def _part_of_bits(e: Emitter, x: str, dtype: DType, k: Index, to: DType) -> str:
    """The ``k``-th number of a smaller type in the bits of a number; the least significant one is the first."""
    whole, part, bits = f"i{8 * dtype.itemsize}", f"i{8 * to.itemsize}", e.times(k, 8 * to.itemsize)
    if whole != "i64" and not isinstance(bits, int):
        bits = e.op(f"trunc i64 {bits} to {whole}")
    shifted = e.op(f"lshr {whole} {_as_bits(e, x, dtype)}, {bits}")
    found = e.op(f"trunc {whole} {shifted} to {part}")
    return found if kind(to) == part else e.op(f"bitcast {part} {found} to {kind(to)}")


def _joined_bits(e: Emitter, parts: Sequence[str], dtype: DType, to: DType) -> str:
    """The number whose bits are those of several smaller ones, of which the first is the least significant."""
    whole, part, total = f"i{8 * to.itemsize}", f"i{8 * dtype.itemsize}", "0"
    for k, x in enumerate(parts):
        wide = e.op(f"zext {part} {_as_bits(e, x, dtype)} to {whole}")
        total = e.op(f"or {whole} {total}, {e.op(f'shl {whole} {wide}, {8 * dtype.itemsize * k}')}")
    return total if kind(to) == whole else e.op(f"bitcast {whole} {total} to {kind(to)}")


def _as_bits(e: Emitter, x: str, dtype: DType) -> str:
    k, bits = kind(dtype), f"i{8 * dtype.itemsize}"
    return x if k == bits else e.op(f"bitcast {k} {x} to {bits}")


@on_arrays("select_n", uses_once=True)
def _(e: Emitter, p: Params, values: Values, out: Out) -> Values:
    ((dtype, shape),) = out
    which = values[0]
    if which.shape and which.shape != shape:  # keys are stored as words, with one axis more
        narrow = e.forced(which)
        which = e.built(
            which.dtype, shape, lambda index: e.element(narrow, e.position(index[: len(narrow.shape)], narrow.shape))
        )
    return [e.map(lambda *xs: apply(e, "select_n", dtype, *xs, of=which.dtype), dtype, shape, which, *values[1:])]


@on_arrays("iota")
def _(e: Emitter, p: Params, values: Values, out: Out) -> Values:
    ((dtype, shape),) = out
    if len(shape) == 1:
        return [Value(dtype, shape, "", None, lambda i: as_number(e, i, dtype), is_cheap=True)]
    return [e.built(dtype, shape, lambda index: as_number(e, index[p["dimension"]], dtype))]


@on_arrays("empty", "empty2")
def _(e: Emitter, p: Params, values: Values, out: Out) -> Values:
    """Zeros, as XLA has them."""
    ((dtype, shape),) = out
    zero = Value(dtype, (), number(0, dtype))
    return [viewed(e, zero, shape) if shape else zero]


@on_arrays("broadcast_in_dim", uses_once=True)
def _(e: Emitter, p: Params, values: Values, out: Out) -> Values:
    ((dtype, shape),) = out
    x, axes = values[0], list(p["broadcast_dimensions"])
    axes += range(len(shape) - (len(x.shape) - len(axes)), len(shape))  # keys are stored as words, with one axis more
    if size(x.shape) == size(shape) or not x.shape:
        return [viewed(e, x, shape)]
    x = x if x.is_cheap else e.forced(x)

    def element(index: list[Index]) -> str:
        within = [index[a] if n != 1 else 0 for a, n in zip(axes, x.shape, strict=True)]
        return e.element(x, e.position(within, x.shape))

    return [e.where_used(dtype, shape, element, x)]


@on_arrays("transpose")
def _(e: Emitter, p: Params, values: Values, out: Out) -> Values:
    ((dtype, shape),) = out
    order = [*p["permutation"], *range(len(p["permutation"]), len(shape))]

    def element(index: list[Index]) -> str:
        return e.element(values[0], e.position([index[order.index(k)] for k in range(len(shape))], values[0].shape))

    return [e.built(dtype, shape, element)]


@on_arrays("rev")
def _(e: Emitter, p: Params, values: Values, out: Out) -> Values:
    ((dtype, shape),) = out

    def element(index: list[Index]) -> str:
        sizes = enumerate(zip(index, shape, strict=True))
        return e.element(
            values[0], e.position([e.minus(n - 1, i) if k in p["dimensions"] else i for k, (i, n) in sizes], shape)
        )

    return [e.built(dtype, shape, element)]


@on_arrays("slice", uses_once=True)
def _(e: Emitter, p: Params, values: Values, out: Out) -> Values:
    ((dtype, shape),) = out
    x = values[0]
    begin = [*p["start_indices"], *[0] * (len(shape) - len(p["start_indices"]))]
    if not p["strides"] or all(step == 1 for step in p["strides"]):
        return [windowed(e, x, begin, shape)]
    steps = [*p["strides"], *[1] * (len(shape) - len(p["strides"]))]

    def element(index: list[Index]) -> str:
        at = [e.plus(e.times(i, step), first) for i, first, step in zip(index, begin, steps, strict=True)]
        return e.element(x, e.position(at, x.shape))

    return [e.built(dtype, shape, element)]


@on_arrays("unstack")
def _(e: Emitter, p: Params, values: Values, out: Out) -> Values:
    x, axis = values[0], p["axis"]
    window = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    begin = [0] * len(x.shape)
    return [
        viewed(e, windowed(e, x, [*begin[:axis], k, *begin[axis + 1 :]], window), shape)
        for k, (_, shape) in enumerate(out)
    ]


@on_arrays("stack", uses_once=True)
def _(e: Emitter, p: Params, values: Values, out: Out) -> Values:
    ((dtype, shape),) = out
    new, axis = e.fresh(dtype, shape), p["axis"]

    def write(k: int, x: Value) -> None:
        def one(index: list[Index]) -> None:
            place = e.position([*index[:axis], k, *index[axis:]], shape)
            e.put(e.element(x, e.position(index, x.shape)), new, place)

        e.each(x.shape, one, new.ref)

    with e.at_once():
        for k, x in enumerate(values):
            write(k, x)
    return [new]


@on_arrays("concatenate", uses_once=True)
def _(e: Emitter, p: Params, values: Values, out: Out) -> Values:
    ((dtype, shape),) = out
    if len(shape) == 1 and shape[0] <= MOST_INDICES_JOINED and all(x.is_cheap and x.shape == (1,) for x in values):
        return [_numbers(e, dtype, [e.element(x, 0) for x in values])]
    new, axis = e.fresh(dtype, shape), p["dimension"]

    def write(begin: int, x: Value) -> None:
        def one(index: list[Index]) -> None:
            at = [e.plus(i, begin) if k == axis else i for k, i in enumerate(index)]
            e.put(e.element(x, e.position(index, x.shape)), new, e.position(at, shape))

        e.each(x.shape, one, new.ref)

    with e.at_once():
        for begin, x in zip(accumulate((x.shape[axis] for x in values), initial=0), values, strict=False):
            write(begin, x)
    return [new]


def _numbers(e: Emitter, dtype: DType, numbers: Sequence[str]) -> Value:
    """An array of a few numbers that stay in registers; an element at an unknown index is selected."""

    def element(i: Index) -> str:
        if isinstance(i, int):
            return numbers[i]
        return apply(e, "select_n", dtype, i, *numbers, of=INT64)

    return Value(dtype, (len(numbers),), "", None, element, is_cheap=True)


@on_arrays("split")
def _(e: Emitter, p: Params, values: Values, out: Out) -> Values:
    x, axis, begin, results = values[0], p["axis"], 0, []
    for dtype, shape in out:

        def element(index: list[Index], begin: int = begin) -> str:
            at = [e.plus(i, begin) if k == axis else i for k, i in enumerate(index)]
            return e.element(x, e.position(at, x.shape))

        results.append(e.built(dtype, shape, element))
        begin += shape[axis]
    return results


@on_arrays("pad")
def _(e: Emitter, p: Params, values: Values, out: Out) -> Values:
    ((dtype, shape),) = out
    x, filler = values
    if any(low < 0 or high < 0 for low, high, _ in p["padding_config"]):
        raise NoKernelError("`pad` by less than nothing has no code")
    filling = e.element(filler, 0)
    new = e.built(dtype, shape, lambda _: filling)
    if not shape:
        return [x]

    def one(index: list[Index]) -> None:
        sides = zip(index, p["padding_config"], strict=True)
        at = [e.plus(e.times(i, within + 1), low) for i, (low, _, within) in sides]
        e.put(e.element(x, e.position(index, x.shape)), new, e.position(at, shape))

    e.each(x.shape, one, new.ref)
    return [new]
