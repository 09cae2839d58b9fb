"""JAX's reductions -> LLVM IR: ``reduce_*``, cumulative reductions, ``argmin`` and ``argmax``, as loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hlobatch.kernels.arrays import Params, Values
from hlobatch.kernels.emitter import Emitter
from hlobatch.kernels.rules import ARRAYS, USE_ONCE, Out, Rule, apply
from hlobatch.kernels.text import MOST_ELEMENTS_UNROLLED, Index
from hlobatch.kernels.types import (
    BOOL,
    FLOAT32,
    INT64,
    greatest,
    is_float,
    is_short_float,
    kind,
    least,
    number,
    size,
)
from hlobatch.typing import DType


def summed(e: Emitter, dtype: DType, so_far: str, value: str) -> str:
    """A sum with a term, which LLVM may reassociate, as XLA does: else no loop over terms is vectorized."""
    if is_float(dtype) and not is_short_float(dtype):
        return e.op(f"fadd reassoc contract {kind(dtype)} {so_far}, {value}")
    return apply(e, "add", dtype, so_far, value)


def _reduction(combine: str, first: Callable[[Any], Any]) -> Rule:
    def emit(e: Emitter, p: Params, values: Values, out: Out) -> Values:
        ((dtype, shape),) = out
        x, axes = values[0], list(p["axes"])
        kept = [k for k in range(len(x.shape)) if k not in axes]
        # Sums of short floats are rounded once, at the end.
        total = FLOAT32 if is_short_float(dtype) and combine == "add" else dtype

        def element(index: list[Index]) -> str:
            def joined(one: str, other: str) -> str:
                if combine == "add":
                    return summed(e, total, one, other)
                return apply(e, combine, total, one, other)

            def step(so_far: str, inner: list[Index]) -> str:
                at = dict(zip(kept, index, strict=True)) | dict(zip(axes, inner, strict=True))
                value = e.element(x, e.position([at[k] for k in range(len(x.shape))], x.shape))
                return joined(so_far, apply(e, "convert_element_type", total, value, of=dtype))

            got = e.fold([x.shape[a] for a in axes], total, number(first(total), total), step, joined)
            return apply(e, "convert_element_type", dtype, got, of=total)

        return [e.built(dtype, shape, element)]

    return emit


ARRAYS.update(
    {
        "reduce_sum": _reduction("add", lambda _: 0),
        "reduce_prod": _reduction("mul", lambda _: 1),
        "reduce_max": _reduction("max", least),
        "reduce_min": _reduction("min", greatest),
        "reduce_and": _reduction("and", lambda d: True if d == BOOL else -1),
        "reduce_or": _reduction("or", lambda _: 0),
        "reduce_xor": _reduction("xor", lambda _: 0),
    }
)


def _place_of(is_better: str) -> Rule:
    """The rule of ``argmax`` or ``argmin``, which gives the first index of the best element.

    NaN is better than any number.
    """

    def emit(e: Emitter, p: Params, values: Values, out: Out) -> Values:
        ((dtype, shape),) = out
        x, (axis,) = values[0], p["axes"]
        k = kind(x.dtype)

        def element(index: list[Index]) -> str:
            def candidate(j: Index) -> str:
                return e.element(x, e.position([*index[:axis], j, *index[axis:]], x.shape))

            def chosen(condition: str, new: list[str], old: list[str]) -> list[str]:
                kinds = zip((k, "i64"), new, old, strict=True)
                return [e.op(f"select i1 {condition}, {of} {a}, {of} {b}") for of, a, b in kinds]

            def step(old: list[str], at: list[Index]) -> list[str]:
                new = candidate(at[0])
                return chosen(_wins(e, is_better, x.dtype, new, old[0]), [new, str(at[0])], old)

            def joined(one: list[str], other: list[str]) -> list[str]:
                wins, loses = (_wins(e, is_better, x.dtype, a[0], b[0]) for a, b in ((other, one), (one, other)))
                is_before = e.op(f"icmp slt i64 {other[1]}, {one[1]}")
                is_first = e.op(f"and i1 {is_before}, {e.op(f'xor i1 {loses}, true')}")
                return chosen(e.op(f"or i1 {wins}, {is_first}"), other, one)

            first = [candidate(0), "0"]
            _, where = e.fold_several([x.shape[axis]], [x.dtype, INT64], first, step, joined)
            return apply(e, "convert_element_type", dtype, where, of=INT64)

        return [e.built(dtype, shape, element)]

    return emit


def _wins(e: Emitter, is_better: str, dtype: DType, new: str, old: str) -> str:
    """Register of one boolean: whether an element is better than the best so far."""
    wins = apply(e, is_better, BOOL, new, old, of=dtype)
    if not is_float(dtype):
        return wins
    new_is_nan, old_is_nan = (apply(e, "ne", BOOL, v, v, of=dtype) for v in (new, old))
    is_free = e.op(f"xor i1 {old_is_nan}, true")
    return e.op(f"or i1 {e.op(f'and i1 {new_is_nan}, {is_free}')}, {e.op(f'and i1 {wins}, {is_free}')}")


ARRAYS.update({"argmax": _place_of("gt"), "argmin": _place_of("lt")})


def _running(combine: str) -> Rule:
    def emit(e: Emitter, p: Params, values: Values, out: Out) -> Values:
        ((dtype, shape),) = out
        x, axis, length = values[0], p["axis"], shape[p["axis"]]
        new, others = e.fresh(dtype, shape), [*shape[:axis], *shape[axis + 1 :]]

        def joined(one: str, other: str) -> str:
            return apply(e, combine, dtype, one, other)

        def line(index: list[Index]) -> None:
            def place(i: Index) -> Index:
                j = e.minus(length - 1, i) if p["reverse"] else i
                return e.position([*index[:axis], j, *index[axis:]], shape)

            e.running(dtype, length, lambda i: e.element(x, place(i)), joined, lambda i, y: e.put(y, new, place(i)))

        if size(others) < e.processor.threads_per_lane and length > MOST_ELEMENTS_UNROLLED:
            with e.at_once():
                e.for_each_looped(others, line)
        else:
            e.each(others, line, new.ref)
        return [new]

    return emit


ARRAYS.update(
    {
        "cumsum": _running("add"),
        "cumprod": _running("mul"),
        "cummax": _running("max"),
        "cummin": _running("min"),
    }
)
USE_ONCE.update(name for name in ARRAYS if name.startswith(("reduce_", "arg", "cum")))
