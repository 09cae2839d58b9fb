"""``cholesky``, ``lu`` and ``triangular_solve`` -> LLVM IR: loops over rows, whose elements are contiguous.

Results differ from LAPACK's by rounding only, since sums are taken in another order. A matrix that LAPACK cannot factor
gives NaN, as in JAX.

Reference: Golub and Van Loan (2013), "Matrix computations", sections 3.1 (triangular systems), 3.4 (partial pivoting)
and 4.2 (Cholesky).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from hlobatch.kernels.arrays import Params, Values, as_number
from hlobatch.kernels.emitter import Emitter
from hlobatch.kernels.matrices import Array, Number, Variable, between, check_type, each_between, minus_rows, total
from hlobatch.kernels.rules import Out, on_arrays
from hlobatch.kernels.text import Index
from hlobatch.kernels.types import BOOL, INT64

LEAST_COLUMNS_AS_ROWS: Final = 4
"""Number of right-hand sides from which a triangular system is solved for all at once, by operations on whole rows.
Chosen by judgement (2026-11), not measured."""


# Cholesky


@on_arrays("cholesky", uses_once=True)
def _(e: Emitter, p: Params, values: Values, out: Out) -> Values:
    ((dtype, shape),) = out
    check_type(dtype)
    result, n = e.fresh(dtype, shape), shape[-1]
    upper, row = Array.fresh(e, dtype, n, n), Array.fresh(e, dtype, n)

    def one(batch: list[Index]) -> None:
        _cholesky(Array.of(e, values[0], batch), Array.of(e, result, batch), upper, row, n)

    e.for_each_looped(shape[:-2], one)
    return [result]


def _cholesky(a: Array, lower: Array, upper: Array, row: Array, n: int) -> None:
    """Write the lower Cholesky factor of the matrix with the lower triangle ``a``; NaN if it is not positive definite.

    Rows of the upper factor are computed one after the other (algorithm 4.2.1 with rows and columns exchanged).
    """
    e, true = a.e, Number(a.e, BOOL, "true")
    is_positive = Variable(true)

    def step(i: Index) -> None:
        each_between(e, i, n, lambda j: row.__setitem__(j, a[j, i].conjugate), row)
        minus_rows(row, (i, n), (0, i), lambda k: upper[k, i].conjugate, upper)
        pivot = row[i].real
        is_positive.value = is_positive.value & (pivot > pivot.like(0))
        diagonal = pivot.sqrt().to(row.whole.dtype)
        each_between(e, i, n, lambda j: upper.__setitem__((i, j), row[j] / diagonal), upper)
        upper[i, i] = diagonal

    e.loop(n, step)
    succeeded = is_positive.value

    def result(i: Index) -> None:
        def known(j: Index) -> None:
            x = upper[j, i].conjugate
            lower[i, j] = x.where(succeeded, x.like(np.nan))

        def zero(j: Index) -> None:
            lower[i, j] = row[0].like(0).where(succeeded, row[0].like(np.nan))

        end = e.plus(i, 1)
        each_between(e, 0, end, known, lower)
        each_between(e, end, n, zero, lower)

    e.loop(n, result)


# Triangular systems


@on_arrays("triangular_solve")
def _(e: Emitter, p: Params, values: Values, out: Out) -> Values:
    ((dtype, shape),) = out
    check_type(dtype)
    a, b = values
    result, is_right = e.fresh(dtype, shape), not p["left_side"]
    count, n = shape[-2:][:: -1 if is_right else 1][1], a.shape[-1]
    is_swapped = p["transpose_a"] != is_right
    scratch = Array.fresh(e, dtype, n, count), Array.fresh(e, dtype, max(n, count))

    def one(batch: list[Index]) -> None:
        matrix, given, wanted = (Array.of(e, x, batch) for x in (a, b, result))
        system = _Triangular(
            matrix.transposed if is_swapped else matrix,
            n,
            is_lower=p["lower"] != is_swapped,
            has_ones=p["unit_diagonal"],
            is_conjugate=p["conjugate_a"],
        )
        sides = (given.transposed, wanted.transposed) if is_right else (given, wanted)
        system.solve(*sides, count, *scratch)

    e.for_each_looped(shape[:-2], one)
    return [result]


@dataclass(frozen=True)
class _Triangular:
    """A triangular matrix.

    Attributes:
        matrix: Its elements.
        n: The number of rows and columns.
        is_lower: Whether it is lower triangular.
        has_ones: Whether its diagonal is taken to be ones, whatever is stored there.
        is_conjugate: Whether its elements are the conjugates of those stored.
    """

    matrix: Array
    n: int
    is_lower: bool
    has_ones: bool = False
    is_conjugate: bool = False

    def __getitem__(self, index: tuple[Index, Index]) -> Number:
        x = self.matrix[index]
        return x.conjugate if self.is_conjugate else x

    def _divided(self, x: Number, i: Index) -> Number:
        return x if self.has_ones else x / self[i, i]

    def _others(self, i: Index, *, before: bool) -> tuple[Index, Index]:
        """The range of rows that are solved before row ``i``, or after it."""
        e = self.matrix.e
        return (0, i) if before == self.is_lower else (e.plus(i, 1), self.n)

    def _in_order(self, step: Callable[[Index], None]) -> None:
        e = self.matrix.e
        e.loop(self.n, lambda i: step(i if self.is_lower else e.minus(self.n - 1, i)))

    def solve(self, b: Array, x: Array, count: int, known: Array, scratch: Array) -> None:
        """Solve the triangular system for some right-hand sides.

        Args:
            b: The right-hand sides, as columns.
            x: Where the solution is written.
            count: The number of columns.
            known: Memory for the solution, row by row.
            scratch: Memory for a row or a column.
        """
        e = self.matrix.e
        if count >= LEAST_COLUMNS_AS_ROWS:
            self._solve_by_rows(b, x, count, known, scratch)
        elif e.processor.has_vectors and self.matrix.strides[0] == 1:
            e.loop(count, lambda c: self._solve_by_columns(b, x, c, scratch))
        else:
            e.loop(count, lambda c: self._solve_by_products(b, x, c, scratch))

    def _solve_by_rows(self, b: Array, x: Array, count: int, known: Array, row: Array) -> None:
        """Solve for all columns at once: from each row of ``b``, multiples of the rows solved before are subtracted."""
        e = self.matrix.e

        def step(i: Index) -> None:
            each_between(e, 0, count, lambda j: row.__setitem__(j, b[i, j]), row)
            minus_rows(row, (0, count), self._others(i, before=True), lambda k: self[i, k], known)

            def give(j: Index) -> None:
                known[i, j] = x[i, j] = self._divided(row[j], i)

            each_between(e, 0, count, give, known, x)

        self._in_order(step)

    def _solve_by_products(self, b: Array, x: Array, c: Index, known: Array) -> None:
        """Solve for one column, by products of rows of the matrix with the part that is solved (algorithm 3.1.1)."""

        def step(i: Index) -> None:
            zero = b[i, c].like(0)
            begin, end = self._others(i, before=True)
            sum_ = total(zero, begin, end, lambda k: self[i, k] * known[k])
            known[i] = x[i, c] = self._divided(b[i, c] - sum_, i)

        self._in_order(step)

    def _solve_by_columns(self, b: Array, x: Array, c: Index, left: Array) -> None:
        """Solve for one column, from which multiples of the matrix's columns are subtracted (algorithm 3.1.3)."""
        e = self.matrix.e
        e.loop(self.n, lambda i: left.__setitem__(i, b[i, c]))

        def step(k: Index) -> None:
            found = x[k, c] = self._divided(left[k], k)

            def subtract(i: Index) -> None:
                left[i] = left[i] - self[i, k] * found

            between(e, *self._others(k, before=False), subtract)

        self._in_order(step)


# LU


@on_arrays("lu", uses_once=True)
def _(e: Emitter, p: Params, values: Values, out: Out) -> Values:
    (dtype, shape), _, (of_order, _) = out
    check_type(dtype)
    m, n = shape[-2:]
    result = e.copied(values[0])
    pivots, order = (e.fresh(kind_, shape_) for kind_, shape_ in out[1:])
    row = Array.fresh(e, dtype, n)

    def one(batch: list[Index]) -> None:
        places = Array.of(e, pivots, batch), Array.of(e, order, batch)
        e.loop(m, lambda i: places[1].__setitem__(i, Number(e, of_order, as_number(e, i, of_order))))
        _factor(Array.of(e, result, batch), *places, row, m, n)

    e.for_each_looped(shape[:-2], one)
    return [result, pivots, order]


def _factor(a: Array, pivots: Array, order: Array, row: Array, m: int, n: int) -> None:
    """Replace a matrix by its triangular factors, with partial pivoting (algorithm 3.4.1)."""
    e = a.e

    def step(k: Index) -> None:
        pivot = _largest_below(a, k, m)
        pivots[k] = Number(e, INT64, pivot).to(pivots.whole.dtype)
        order[k], order[pivot] = order[pivot], order[k]

        def exchange(j: Index) -> None:
            row[j], other = a[pivot, j], a[k, j]
            a[pivot, j] = other
            a[k, j] = row[j]

        each_between(e, 0, n, exchange, row, a)
        divisor = row[k]
        divisor = divisor.like(1).where(divisor.is_zero(), divisor)

        def eliminate(i: Index) -> None:
            times = a[i, k] / divisor
            a[i, k] = times

            def subtract(j: Index) -> None:
                a[i, j] = a[i, j] - times * row[j]

            between(e, e.plus(k, 1), n, subtract)

        each_between(e, e.plus(k, 1), m, eliminate, a)

    e.loop(min(m, n), step)


def _largest_below(a: Array, k: Index, m: int) -> str:
    """The row of the largest element of column ``k``, from the diagonal down; the first one if several are equal."""
    e = a.e
    largest, place = Variable(a[k, k].taxicab), Variable(Number(e, INT64, str(k)))

    def compare(i: Index) -> None:
        x, so_far = a[i, k].taxicab, largest.value
        is_larger = x > so_far
        place.value = Number(e, INT64, str(i)).where(is_larger, place.value)
        largest.value = x.where(is_larger, so_far)

    between(e, e.plus(k, 1), m, compare)
    return place.value.ref


@on_arrays("lu_pivots_to_permutation")
def _(e: Emitter, p: Params, values: Values, out: Out) -> Values:
    ((dtype, shape),) = out
    (pivots,) = values
    result = e.fresh(dtype, shape)

    def one(batch: list[Index]) -> None:
        order, exchanged = Array.of(e, result, batch), Array.of(e, pivots, batch)
        e.loop(shape[-1], lambda i: order.__setitem__(i, Number(e, dtype, as_number(e, i, dtype))))

        def exchange(k: Index) -> None:
            other = exchanged[k].to(INT64).ref
            order[k], order[other] = order[other], order[k]

        e.loop(pivots.shape[-1], exchange)

    e.for_each_looped(shape[:-1], one)
    return [result]
