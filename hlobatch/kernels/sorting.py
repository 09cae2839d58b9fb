"""``sort`` -> LLVM IR: insertion sort, which is stable, and fast for the few elements that a lane has.

Threads that run a lane together instead count, for each element, the elements that come before it.
"""

from __future__ import annotations

from typing import Any, Final

from hlobatch.kernels.arrays import Params, Values
from hlobatch.kernels.emitter import Emitter
from hlobatch.kernels.rules import Out, apply, on_arrays
from hlobatch.kernels.text import MOST_ELEMENTS_UNROLLED, Index
from hlobatch.kernels.types import BOOL, INT64, NoKernelError, is_complex, is_float, size
from hlobatch.typing import DType

MOST_ELEMENTS_INSERTED: Final = 64
"""Largest number of elements along the sorted axis. Chosen by judgement (2026-11), not measured."""


@on_arrays("sort")
def _(e: Emitter, p: Params, values: Values, out: Out) -> Values:
    axis, shape = p["dimension"], out[0][1]
    if p["num_keys"] != 1 or shape[axis] > MOST_ELEMENTS_INSERTED or is_complex(out[0][0]):
        raise NoKernelError("`sort` of many elements, or by several keys, has no code")
    if e.processor.threads_per_lane > 1 and size(shape) > MOST_ELEMENTS_UNROLLED:
        return _by_places(e, values, axis)
    arrays = [e.copied(v) for v in values]

    def line(index: list[Index]) -> None:
        def place(j: Index) -> Index:
            return e.position([*index[:axis], j, *index[axis:]], shape)

        e.loop(shape[axis], lambda i: _insert(e, arrays, place, i))

    e.each([*shape[:axis], *shape[axis + 1 :]], line, *(array.ref for array in arrays))
    return arrays


def _by_places(e: Emitter, values: Values, axis: int) -> Values:
    """Sort by counting: an element's place is the number of elements that are less, or equal and earlier."""
    arrays = [e.forced(v) for v in values]
    news = [e.fresh(v.dtype, v.shape) for v in values]
    key, shape = arrays[0], arrays[0].shape

    def one(index: list[Index]) -> None:
        i, x = index[axis], e.element(key, e.position(index, shape))

        def count(so_far: str, at: list[Index]) -> str:
            other = e.element(key, e.position([*index[:axis], at[0], *index[axis + 1 :]], shape))
            is_less, is_more = _comes_before(e, key.dtype, other, x), _comes_before(e, key.dtype, x, other)
            was_before = e.op(f"icmp slt i64 {at[0]}, {i}")
            was_as_large = e.op(f"and i1 {was_before}, {e.op(f'xor i1 {is_more}, true')}")
            is_before = e.op(f"or i1 {is_less}, {was_as_large}")
            return e.op(f"add i64 {so_far}, {e.op(f'zext i1 {is_before} to i64')}")

        place = e.fold([shape[axis]], INT64, "0", count)
        for array, new in zip(arrays, news, strict=True):
            moved = e.element(array, e.position(index, shape))
            e.put(moved, new, e.position([*index[:axis], place, *index[axis + 1 :]], shape))

    e.each(shape, one, *(new.ref for new in news))
    return news


def _insert(e: Emitter, arrays: Values, place: Any, i: Index) -> None:
    """Insert the element at ``i`` into the sorted elements before it, in all arrays."""
    key, spot = arrays[0], e.memory(INT64, 1)
    e.store(str(i), spot, INT64)
    moving = [e.element(a, place(i)) for a in arrays]

    def is_behind() -> str:
        j = e.load(spot, INT64)
        before = e.intrinsic("smax", INT64, e.op(f"sub i64 {j}, 1"), "0")
        is_before = _comes_before(e, key.dtype, moving[0], e.element(key, place(before)))
        return e.op(f"and i1 {e.op(f'icmp sgt i64 {j}, 0')}, {is_before}")

    def move() -> None:
        j = e.load(spot, INT64)
        before = e.op(f"sub i64 {j}, 1")
        for a in arrays:
            e.put(e.element(a, place(before)), a, place(j))
        e.store(before, spot, INT64)

    e.loop_while(is_behind, move)
    for a, x in zip(arrays, moving, strict=True):
        e.put(x, a, place(e.load(spot, INT64)))


def _comes_before(e: Emitter, dtype: DType, x: str, other: str) -> str:
    """Register of one boolean: whether a number sorts before another; NaN is last, and both zeros are equal."""
    is_less = apply(e, "lt", BOOL, x, other, of=dtype)
    if not is_float(dtype):
        return is_less
    is_nan = apply(e, "ne", BOOL, other, other, of=dtype)
    is_number = apply(e, "eq", BOOL, x, x, of=dtype)
    return e.op(f"or i1 {is_less}, {e.op(f'and i1 {is_nan}, {is_number}')}")
