"""Numbers, variables, arrays and loops of generated code, in which algorithms on matrices are written.

A factorization then reads as in a textbook: ``row[j] = row[j] - x * a[k, j]`` emits the operations, for one lane or for
all lanes of a gang. Loop counters are the same in all lanes, so a gang accesses the same element of each lane's matrix
at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from hlobatch.kernels.emitter import Emitter
from hlobatch.kernels.reductions import summed
from hlobatch.kernels.rules import apply
from hlobatch.kernels.text import Index, strides
from hlobatch.kernels.types import BOOL, NoKernelError, is_complex, is_float, is_short_float, kind, number, part_type
from hlobatch.kernels.values import Value
from hlobatch.typing import DType

ROWS_AT_ONCE: Final = 4
"""Rows that are subtracted from another row in one loop over its elements, so that each element is loaded and stored
once for all of them. Chosen by judgement (2026-11), not measured."""


@final
@dataclass(frozen=True)
class Number:
    """A number in a register, whose operators emit code; a product and the sum that it is a term of may be fused.

    Attributes:
        e: The emitter.
        dtype: The number's type.
        ref: The register, or the constant.
    """

    e: Emitter
    dtype: DType
    ref: str

    def _apply(self, name: str, *others: Number, to: Any = None) -> Number:
        dtype = self.dtype if to is None else np.dtype(to)
        operands = [self.ref, *(other.ref for other in others)]
        return Number(self.e, dtype, apply(self.e, name, dtype, *operands, of=self.dtype))

    def _contracted(self, name: str, other: Number) -> Number:
        if not is_float(self.dtype):
            return self._apply(name, other)
        return Number(self.e, self.dtype, self.e.op(f"f{name} contract {kind(self.dtype)} {self.ref}, {other.ref}"))

    def like(self, x: float) -> Number:
        """A constant of the same type."""
        return Number(self.e, self.dtype, number(x, self.dtype))

    def __add__(self, other: Number) -> Number:
        return self._contracted("add", other)

    def __sub__(self, other: Number) -> Number:
        return self._contracted("sub", other)

    def __mul__(self, other: Number) -> Number:
        return self._contracted("mul", other)

    def __truediv__(self, other: Number) -> Number:
        return self._apply("div", other)

    def __neg__(self) -> Number:
        return self._apply("neg")

    def __lt__(self, other: Number) -> Number:
        return self._apply("lt", other, to=BOOL)

    def __gt__(self, other: Number) -> Number:
        return self._apply("gt", other, to=BOOL)

    def __and__(self, other: Number) -> Number:
        return self._apply("and", other)

    def negated(self) -> Number:
        """The negation of a condition."""
        return self._apply("not")

    def is_zero(self) -> Number:
        return self._apply("eq", self.like(0), to=BOOL)

    def is_finite(self) -> Number:
        return self._apply("is_finite", to=BOOL)

    def sqrt(self) -> Number:
        return self._apply("sqrt")

    def abs(self) -> Number:
        return self._apply("abs")

    def or_larger(self, other: Number) -> Number:
        """The larger of two numbers; NaN if one of them is."""
        return self._apply("max", other)

    def with_sign_of(self, other: Number) -> Number:
        """The number with the sign of another one; also for -0."""
        return Number(self.e, self.dtype, self.e.intrinsic("copysign", self.dtype, self.ref, other.ref))

    def plus_in_any_order(self, term: Number) -> Number:
        """The sum with a term, which LLVM may reassociate so that vectors add up parts of a sum."""
        return Number(self.e, self.dtype, summed(self.e, self.dtype, self.ref, term.ref))

    @property
    def conjugate(self) -> Number:
        """The complex conjugate; a real number is its own."""
        return self._apply("conj") if is_complex(self.dtype) else self

    @property
    def real(self) -> Number:
        """The real part, as a real number."""
        return self._apply("real", to=part_type(self.dtype)) if is_complex(self.dtype) else self

    @property
    def taxicab(self) -> Number:
        """The absolute value; for a complex number the sum of those of both parts, by which LAPACK chooses pivots."""
        if not is_complex(self.dtype):
            return self.abs()
        return self.real.abs() + self._apply("imag", to=part_type(self.dtype)).abs()

    def to(self, dtype: DType) -> Number:
        """The number in another type."""
        dtype = np.dtype(dtype)
        ref = apply(self.e, "convert_element_type", dtype, self.ref, of=self.dtype)
        return Number(self.e, dtype, ref)

    def where(self, condition: Number, otherwise: Number) -> Number:
        """The number where a condition holds, else ``otherwise``."""
        ref = apply(self.e, "select_n", self.dtype, condition.ref, otherwise.ref, self.ref, of=BOOL)
        return Number(self.e, self.dtype, ref)


@final
class Variable:
    """A mutable number."""

    def __init__(self, first: Number) -> None:
        self._e, self._dtype, self._cell = first.e, first.dtype, first.e.cell(kind(first.dtype))
        self.value = first

    @property
    def value(self) -> Number:
        """The present value."""
        return Number(self._e, self._dtype, self._e.op(f"load {kind(self._dtype)}, ptr {self._cell}"))

    @value.setter
    def value(self, x: Number) -> None:
        self._e.do(f"store {kind(self._dtype)} {x.ref}, ptr {self._cell}")


@final
@dataclass(frozen=True)
class Array:
    """An array in memory, or a part of one.

    Attributes:
        e: The emitter.
        whole: The array that contains it.
        first: The position of its first element in ``whole``.
        strides: For each axis, the distance between neighbors in ``whole``.
    """

    e: Emitter
    whole: Value
    first: Index
    strides: tuple[int, ...]

    @classmethod
    def of(cls, e: Emitter, whole: Value, batch: Sequence[Index] = ()) -> Array:
        """The part of an array at the index ``batch`` of its first axes."""
        steps, place = strides(whole.shape), e.position(batch, whole.shape[: len(batch)])
        rest = steps[len(batch) :]
        size = steps[len(batch) - 1] if batch else 0
        return cls(e, whole, e.times(place, size), tuple(rest))

    @classmethod
    def fresh(cls, e: Emitter, dtype: DType, *shape: int) -> Array:
        """A new array, whose elements are not yet set."""
        return cls.of(e, e.fresh(dtype, shape))

    @property
    def transposed(self) -> Array:
        return Array(self.e, self.whole, self.first, self.strides[::-1])

    def row(self, i: Index) -> Array:
        """The part at index ``i`` of the first axis."""
        first = self.e.plus(self.first, self.e.times(i, self.strides[0]))
        return Array(self.e, self.whole, first, self.strides[1:])

    def _place(self, index: Index | tuple[Index, ...]) -> Index:
        e, place = self.e, self.first
        for i, step in zip(index if isinstance(index, tuple) else (index,), self.strides, strict=True):
            place = e.plus(place, e.times(i, step))
        return place

    def __getitem__(self, index: Index | tuple[Index, ...]) -> Number:
        return Number(self.e, self.whole.dtype, self.e.element(self.whole, self._place(index)))

    def __setitem__(self, index: Index | tuple[Index, ...], x: Number) -> None:
        self.e.put(x.ref, self.whole, self._place(index))


def between(e: Emitter, first: Index, end: Index, body: Callable[[Index], None]) -> None:
    """``body(i)`` for each i from ``first`` up to, but without, ``end``."""
    e.loop(e.minus(end, first), lambda i: body(e.plus(first, i)))


def each_between(e: Emitter, first: Index, end: Index, body: Callable[[Index], None], *targets: Array) -> None:
    """``body(i)`` for each i from ``first`` up to, but without, ``end``, in any order.

    No iteration reads what another one writes.

    Args:
        e: The emitter.
        first: The first i.
        end: The end of the range.
        body: Emits the code for an i.
        *targets: All arrays that the body writes.
    """
    e.each_of(e.minus(end, first), lambda i: body(e.plus(first, i)), *(target.whole.ref for target in targets))


def total(first: Number, begin: Index, end: Index, term: Callable[[Index], Number]) -> Number:
    """The sum of ``first`` and of ``term(i)`` for each i from ``begin`` up to, but without, ``end``."""
    e, dtype = first.e, first.dtype

    def step(so_far: str, i: Index) -> str:
        return Number(e, dtype, so_far).plus_in_any_order(term(e.plus(begin, i))).ref

    def joined(one: str, other: str) -> str:
        return summed(e, dtype, one, other)

    return Number(e, dtype, e.sum_of(dtype, first.ref, first.like(0).ref, e.minus(end, begin), step, joined))


def minus_rows(
    row: Array,
    columns: tuple[Index, Index],
    rows: tuple[Index, Index],
    factor: Callable[[Index], Number],
    matrix: Array,
) -> None:
    """Subtract multiples of a matrix's rows from a row, in a range of columns (a ``gaxpy``).

    Args:
        row: The row that is changed, in memory apart from the matrix.
        columns: The first column, and the end of the range.
        rows: The first row of the matrix, and the end of the range.
        factor: Gives the factor of each row.
        matrix: The matrix.
    """
    e, (first, end) = row.e, rows
    count = e.minus(end, first)
    blocks = count // ROWS_AT_ONCE if isinstance(count, int) else e.op(f"udiv i64 {count}, {ROWS_AT_ONCE}")

    def subtract(which: Sequence[Index]) -> None:
        factors, sources = [factor(k) for k in which], [matrix.row(k) for k in which]

        def one(j: Index) -> None:
            x = row[j]
            for times, source in zip(factors, sources, strict=True):
                x = x - times * source[j]
            row[j] = x

        each_between(e, *columns, one, row)

    def block(b: Index) -> None:
        k = e.plus(first, e.times(b, ROWS_AT_ONCE))
        subtract([e.plus(k, more) for more in range(ROWS_AT_ONCE)])

    e.loop(blocks, block)
    between(e, e.plus(first, e.times(blocks, ROWS_AT_ONCE)), end, lambda k: subtract([k]))


def check_type(dtype: DType) -> None:
    """Raise ``NoKernelError`` for floats of 16 bits, for which no library has factorizations."""
    if is_short_float(dtype):
        raise NoKernelError(f"factorizations of {dtype} have no code")
