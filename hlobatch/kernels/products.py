"""``dot_general`` -> LLVM IR: loops of scalar products, or of sums of whole rows where the processor has vectors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from hlobatch.kernels.arrays import Params, Values
from hlobatch.kernels.emitter import Emitter
from hlobatch.kernels.reductions import summed
from hlobatch.kernels.rules import CALLS, OUTER_PRODUCT, Out, apply, on_arrays
from hlobatch.kernels.text import MOST_ELEMENTS_UNROLLED, Index
from hlobatch.kernels.types import FLOAT32, INT64, is_float, is_short_float, kind, number, size
from hlobatch.kernels.values import Value
from hlobatch.typing import DType

LEAST_COLUMNS_IN_VECTORS: Final = 8
"""Length of a contiguous row from which a loop over it, which LLVM vectorizes, is worth writing. Chosen by judgement
(2026-11), not measured."""
ELEMENTS_IN_A_BLOCK: Final = 4
"""Elements of a gang's product that are summed in the same loop."""
ROWS_AT_ONCE: Final = 4
"""Rows that are added in the same loop over their elements, so that each sum is loaded and stored once for all of them.
Conjugate gradients with rows of 20 to 40 elements take 0.4 to 0.6 of the time (AVX-512, 2026-11).
"""
ELEMENTS_OF_A_LANE: Final = 8
"""The same number for a lane by itself, each of whose sums LLVM takes in vectors. Conjugate gradients with matrices of
16 to 48 rows take 0.4 to 0.65 of the time that one sum after the other takes, with 100 rows 0.8 (AVX-512, 2026-11)."""
COLUMNS_OF_A_THREAD: Final = 4
"""Elements of a row that a thread of a warp sums in the same loop, so that their additions do not wait for each other.
Like ``LINES_AT_ONCE``, chosen by judgement (2026-11), not measured."""
LINES_AT_ONCE: Final = 4
"""Elements that the threads of a warp sum together in one loop, so that exchanges do not wait for each other."""


@dataclass(frozen=True)
class _Product:
    """A product of arrays.

    Attributes:
        e: The emitter.
        a: The first factor.
        b: The second factor.
        axes: ``dimension_numbers`` of JAX: for each factor its contracted axes, and for each its batch axes.
        total: The type of the sums; those of short floats are taken in float32 and rounded once.
    """

    e: Emitter
    a: Value
    b: Value
    axes: Any
    total: Any

    def free(self, which: int) -> list[int]:
        """The axes of a factor that are neither contracted nor batch axes."""
        x, (over, batch) = (self.a, self.b)[which], self.axes
        return [k for k in range(len(x.shape)) if k not in over[which] and k not in batch[which]]

    @property
    def inner(self) -> list[int]:
        """Sizes of the contracted axes."""
        return [self.a.shape[k] for k in self.axes[0][0]]

    def number(self, which: int, at: dict[int, Index], more: Index = 0) -> str:
        """Element of a factor, converted to the type of the sums.

        ``at`` is its index by axis, ``more`` is added to its position.
        """
        x = (self.a, self.b)[which]
        place = self.e.position([at.get(k, 0) for k in range(len(x.shape))], x.shape)
        return apply(
            self.e, "convert_element_type", self.total, self.e.element(x, self.e.plus(place, more)), of=x.dtype
        )

    def places(self, which: int, batch: list[Index], free: list[Index], inner: list[Index]) -> dict[int, Index]:
        """A factor's index, by axis; the last free axes may be omitted."""
        over, shared = self.axes[0][which], self.axes[1][which]
        return dict(zip([*shared, *over], [*batch, *inner], strict=True)) | dict(
            zip(self.free(which), free, strict=False)
        )

    def element(self, index: list[Index], dtype: DType) -> str:
        """An element of the result: the sum over the contracted axes."""
        e = self.e
        zero = number(0, self.total)
        got = e.fold(self.inner, self.total, zero, lambda so_far, at: self.with_term(so_far, index, at), self.joined)
        return apply(e, "convert_element_type", dtype, got, of=self.total)

    def with_term(self, so_far: str, index: list[Index], inner: list[Index]) -> str:
        """The partial sum of an element of the result, with the term at the index ``inner`` of the contracted axes."""
        shared, of_a = len(self.axes[1][0]), len(self.free(0))
        batch, left, right = index[:shared], index[shared : shared + of_a], index[shared + of_a :]
        a = self.number(0, self.places(0, batch, left, inner))
        return self.more(so_far, a, self.number(1, self.places(1, batch, right, inner)))

    def joined(self, one: str, other: str) -> str:
        """The sum of two partial sums."""
        return summed(self.e, self.total, one, other)

    def more(self, so_far: str, a: str, b: str) -> str:
        """A partial sum with the term ``a * b``, as a fused multiply-add where the processor has one."""
        if is_float(self.total) and not is_short_float(self.total):
            product = self.e.op(f"fmul contract {kind(self.total)} {a}, {b}")
        else:
            product = apply(self.e, "mul", self.total, a, b)
        return summed(self.e, self.total, so_far, product)

    def in_blocks(self, shape: tuple[int, ...], dtype: DType, together: int) -> Value:
        """The result, ``together`` neighboring elements in one loop, so that operands they share are loaded once."""
        e = self.e
        new, zero = e.fresh(dtype, shape), number(0, self.total)

        def block(outer: list[Index], first: Index, count: int) -> None:
            indices = [[*outer, e.plus(first, k)] for k in range(count)]

            def step(so_far: list[str], inner: list[Index]) -> list[str]:
                return [self.with_term(total, index, inner) for total, index in zip(so_far, indices, strict=True)]

            for total, index in zip(
                e.fold_several(self.inner, [self.total] * count, [zero] * count, step), indices, strict=True
            ):
                e.put(apply(e, "convert_element_type", dtype, total, of=self.total), new, e.position(index, shape))

        def line(outer: list[Index]) -> None:
            whole, rest = divmod(shape[-1], together)
            e.loop(whole, lambda k: block(outer, e.times(k, together), together))
            if rest:
                block(outer, shape[-1] - rest, rest)

        e.for_each_looped(shape[:-1], line)
        return new

    def by_columns(self, shape: tuple[int, ...], dtype: DType) -> Value:
        """The result for a warp: each thread has elements of the last axis, as far apart as there are threads."""
        e, threads = self.e, self.e.processor.threads_per_lane
        new, zero, count = e.fresh(dtype, shape), number(0, self.total), shape[-1]

        def line(outer: list[Index]) -> None:
            for first in range(0, count, threads * COLUMNS_OF_A_THREAD):
                steps = range(first, min(count, first + threads * COLUMNS_OF_A_THREAD), threads)
                e.each_of(threads, partial(some, outer, steps), new.ref)

        def some(outer: list[Index], steps: range, thread: Index) -> None:
            columns = [e.plus(thread, step) for step in steps]
            last = columns[-1]
            if steps[-1] + threads > count:
                columns[-1] = e.intrinsic("smin", INT64, str(last), str(count - 1))
            indices = [[*outer, column] for column in columns]

            def step(so_far: list[str], inner: list[Index]) -> list[str]:
                return [self.with_term(total, index, inner) for total, index in zip(so_far, indices, strict=True)]

            totals = e.fold_several(self.inner, [self.total] * len(steps), [zero] * len(steps), step)
            for total, column in zip(totals, [*columns[:-1], last], strict=True):
                x = apply(e, "convert_element_type", dtype, total, of=self.total)
                put = partial(e.put, x, new, e.position([*outer, column], shape))
                if column is last and steps[-1] + threads > count:
                    e.when(e.op(f"icmp slt i64 {column}, {count}"), put)
                else:
                    put()

        with e.at_once():
            e.for_each_looped(shape[:-1], line)
        return new

    def by_lines(self, shape: tuple[int, ...], dtype: DType) -> Value:
        """The result for a warp: its threads compute a few elements together, each with some terms of the sums."""
        e = self.e
        new, zero = e.fresh(dtype, shape), number(0, self.total)

        def some(first: Index, count: int) -> None:
            places = [e.plus(first, k) for k in range(count)]
            indices = [e.unravelled(place, shape) for place in places]

            def step(so_far: list[str], inner: list[Index]) -> list[str]:
                return [self.with_term(total, index, inner) for total, index in zip(so_far, indices, strict=True)]

            def joined(some: list[str], others: list[str]) -> list[str]:
                return [self.joined(one, other) for one, other in zip(some, others, strict=True)]

            totals = e.fold_several(self.inner, [self.total] * count, [zero] * count, step, joined)
            for total, place in zip(totals, places, strict=True):
                e.put(apply(e, "convert_element_type", dtype, total, of=self.total), new, place)

        whole, rest = divmod(size(shape), LINES_AT_ONCE)
        with e.at_once():
            e.loop(whole, lambda k: some(e.times(k, LINES_AT_ONCE), LINES_AT_ONCE))
            if rest:
                some(size(shape) - rest, rest)
        return new

    @property
    def varying(self) -> tuple[int, int]:
        """The factor that the last axis of the result comes from, and that axis of it (-1 if it has no free axis)."""
        which = 1 if self.free(1) else 0
        return which, self.free(which)[-1] if self.free(which) else -1

    def of_threads(self, shape: tuple[int, ...], dtype: DType) -> Value | None:
        """The result for a warp, if neighboring threads can read neighboring elements; else None."""
        threads, (which, axis) = self.e.processor.threads_per_lane, self.varying
        if threads == 1 or size(shape) <= MOST_ELEMENTS_UNROLLED:
            return None
        x = (self.a, self.b)[which]
        is_last = axis == len(x.shape) - 1
        if is_last and shape[-1] > threads:
            return self.by_columns(shape, dtype)
        has_lines = not is_last and len(x.shape) - 1 in self.axes[0][which]
        return self.by_lines(shape, dtype) if has_lines and size(self.inner) >= threads else None

    def in_rows(self, shape: tuple[int, ...]) -> Value:
        """The result as sums of rows of the second factor, several at a time, each times a number of the first."""
        e, shared, of_a, inner = self.e, len(self.axes[1][0]), len(self.free(0)), self.inner
        new = e.built(self.total, shape, lambda _: number(0, self.total))

        def rows(result: list[Index], which: list[list[Index]]) -> None:
            batch, left, right = result[:shared], result[shared : shared + of_a], result[shared + of_a :]
            factors = [self.number(0, self.places(0, batch, left, k)) for k in which]
            sources, first = [self.places(1, batch, right, k) for k in which], e.position([*result, 0], shape)

            def one(j: Index) -> None:
                place = e.plus(first, j)
                so_far = e.element(new, place)
                for a, source in zip(factors, sources, strict=True):
                    so_far = self.more(so_far, a, self.number(1, source, j))
                e.put(so_far, new, place)

            e.loop(shape[-1], one)

        def line(index: list[Index]) -> None:
            result, outer = index[: len(shape) - 1], index[len(shape) - 1 :]
            whole, rest = divmod(inner[-1], ROWS_AT_ONCE)

            def block(first: Index, count: int) -> None:
                rows(result, [[*outer, e.plus(first, k)] for k in range(count)])

            e.loop(whole, lambda k: block(e.times(k, ROWS_AT_ONCE), ROWS_AT_ONCE))
            if rest:
                block(inner[-1] - rest, rest)

        if inner:
            e.for_each_looped([*shape[:-1], *inner[:-1]], line)
        else:
            e.for_each_looped(shape[:-1], lambda index: rows(index, [[]]))
        return new


def _with_outer_product(e: Emitter, p: Params, values: Values, out: Out) -> Values:
    """Add the outer product of two arrays to a third, row by row, in place if possible."""
    total, one, other = values
    one, other = e.forced(one), e.forced(other)
    new = e.to_update(total, [one, other])
    width = size(other.shape)

    def row(index: list[Index]) -> None:
        place = e.position(index, one.shape)
        number_of_row, first = e.element(one, place), e.times(place, width)

        def add(j: Index) -> None:
            at = e.plus(first, j)
            term = apply(e, "mul", total.dtype, number_of_row, e.element(other, j))
            e.put(summed(e, total.dtype, e.element(new, at), term), new, at)

        e.each_of(width, add, new.ref)

    with e.at_once():
        e.for_each_looped(list(one.shape), row)
    return [new]


CALLS[OUTER_PRODUCT] = _with_outer_product


@on_arrays("dot_general", uses_once=True)
def _(e: Emitter, p: Params, values: Values, out: Out) -> Values:
    ((dtype, shape),) = out
    a, b = values if not shape else [x if x.is_cheap else e.forced(x) for x in values]
    product = _Product(e, a, b, p["dimension_numbers"], FLOAT32 if is_short_float(dtype) else dtype)
    free = product.free(1)
    has_rows = free and free[-1] == len(b.shape) - 1 and shape[-1] >= LEAST_COLUMNS_IN_VECTORS
    has_rows = has_rows and size(b.shape) > MOST_ELEMENTS_UNROLLED
    if e.processor.has_vectors and has_rows and product.total == dtype:
        return [product.in_rows(shape)]
    if (divided := product.of_threads(shape, dtype)) is not None:
        return [divided]
    if e.processor.width > 1 and shape and size(product.inner) > 1:
        return [product.in_blocks(shape, dtype, ELEMENTS_IN_A_BLOCK)]
    if e.processor.has_vectors and shape and size(product.inner) >= LEAST_COLUMNS_IN_VECTORS:
        return [product.in_blocks(shape, dtype, ELEMENTS_OF_A_LANE)]
    return [e.built(dtype, shape, lambda index: product.element(index, dtype))]
