"""``qr``, ``geqrf`` and ``householder_product`` -> LLVM IR: Householder's reflections, one column after the other.

A reflection is stored as in LAPACK: it is ``1 - tau v v'``, where ``v`` is zero above the diagonal, one on it (not
stored), and its rest is stored below the diagonal of the matrix.

Reference: Golub and Van Loan (2013), "Matrix computations", algorithms 5.1.1 (the vector of a reflection), 5.2.1 (QR)
and section 5.1.6 (the product of all reflections, formed from the last to the first).
"""

from __future__ import annotations

from hlobatch.kernels.arrays import Params, Values
from hlobatch.kernels.emitter import Emitter
from hlobatch.kernels.matrices import Array, Number, Variable, between, check_type, each_between, minus_rows, total
from hlobatch.kernels.rules import Out, on_arrays
from hlobatch.kernels.text import Index
from hlobatch.kernels.types import NoKernelError, is_complex
from hlobatch.typing import DType


def _check_real(name: str, dtype: DType) -> None:
    check_type(dtype)
    if is_complex(dtype):
        raise NoKernelError(f"`{name}` of {dtype} has no code")


@on_arrays("geqrf", uses_once=True)
def _(e: Emitter, p: Params, values: Values, out: Out) -> Values:
    (dtype, shape), (_, of_taus) = out
    _check_real("geqrf", dtype)
    m, n = shape[-2:]
    result, taus, scratch = e.copied(values[0]), e.fresh(dtype, of_taus), Array.fresh(e, dtype, n)
    e.for_each_looped(
        shape[:-2], lambda batch: _reflect(Array.of(e, result, batch), Array.of(e, taus, batch), scratch, m, n)
    )
    return [result, taus]


@on_arrays("householder_product", uses_once=True)
def _(e: Emitter, p: Params, values: Values, out: Out) -> Values:
    ((dtype, shape),) = out
    _check_real("householder_product", dtype)
    m, n = shape[-2:]
    result, taus, scratch = e.copied(values[0]), e.forced(values[1]), Array.fresh(e, dtype, n)

    def one(batch: list[Index]) -> None:
        _multiply(Array.of(e, result, batch), Array.of(e, taus, batch), scratch, m, n, taus.shape[-1])

    e.for_each_looped(shape[:-2], one)
    return [result]


@on_arrays("qr", uses_once=True)
def _(e: Emitter, p: Params, values: Values, out: Out) -> Values:
    (dtype, of_q), (_, of_r) = out[:2]
    _check_real("qr", dtype)
    if p["pivoting"]:
        raise NoKernelError("`qr` with pivots has no code")
    (m, k), n = of_q[-2:], of_r[-1]
    q, r = e.fresh(dtype, of_q), e.fresh(dtype, of_r)
    a, taus = Array.fresh(e, dtype, m, n), Array.fresh(e, dtype, min(m, n))
    scratch = Array.fresh(e, dtype, max(k, n))

    def one(batch: list[Index]) -> None:
        given, left, right = (Array.of(e, x, batch) for x in (values[0], q, r))
        e.loop(m, lambda i: each_between(e, 0, n, lambda j: a.__setitem__((i, j), given[i, j]), a))
        _reflect(a, taus, scratch, m, n)
        _copy_upper(a, right, k, n)
        e.loop(m, lambda i: each_between(e, 0, min(k, n), lambda j: left.__setitem__((i, j), a[i, j]), left))
        _multiply(left, taus, scratch, m, k, min(m, n))

    e.for_each_looped(of_q[:-2], one)
    return [q, r]


def _copy_upper(source: Array, target: Array, m: int, n: int) -> None:
    """Copy the diagonal of a matrix and all above it, with zeros below."""
    e, zero = source.e, Number(source.e, source.whole.dtype, "").like(0)

    def row(i: Index) -> None:
        each_between(e, 0, n, lambda j: target.__setitem__((i, j), zero), target)
        each_between(e, i, n, lambda j: target.__setitem__((i, j), source[i, j]), target)

    e.loop(m, row)


def _reflect(a: Array, taus: Array, scratch: Array, m: int, n: int) -> None:
    """Make a matrix upper triangular by reflections, whose vectors are stored below the diagonal."""
    e = a.e

    def step(k: Index) -> None:
        taus[k] = _reflection(a.transposed.row(k), k, m)
        _apply(a, k, taus[k], scratch, m, n)

    e.loop(min(m, n), step)


def _reflection(column: Array, k: Index, m: int) -> Number:
    """Find the reflection that makes a column zero below ``k``; its vector is stored there, and ``tau`` is returned.

    Elements are divided by the largest one before they are squared, so that no square overflows or underflows.
    """
    e, first, begin = column.e, column[k], column.e.plus(k, 1)
    zero, one = first.like(0), first.like(1)
    largest = Variable(zero)

    def look(i: Index) -> None:
        largest.value = largest.value.or_larger(column[i].abs())

    between(e, begin, m, look)
    nothing_below = largest.value.is_zero()
    scale = one.where(nothing_below, largest.value.or_larger(first.abs()))
    smaller = one / scale

    def square(x: Number) -> Number:
        return (x * smaller) * (x * smaller)

    norm = scale * total(square(first), begin, m, lambda i: square(column[i])).sqrt()
    diagonal = first.where(nothing_below, -norm.with_sign_of(first))
    factor = one / one.where(nothing_below, first - diagonal)
    each_between(e, begin, m, lambda i: column.__setitem__(i, column[i] * factor), column)
    column[k] = diagonal
    return zero.where(nothing_below, (diagonal - first) / diagonal)


def _apply(a: Array, k: Index, tau: Number, products: Array, m: int, n: int) -> None:
    """Apply the reflection in column ``k``, from its diagonal on with an implicit one, to the columns behind it."""
    e, below = a.e, a.e.plus(k, 1)
    each_between(e, below, n, lambda j: products.__setitem__(j, -a[k, j]), products)
    minus_rows(products, (below, n), (below, m), lambda i: a[i, k], a)

    def update(i: Index, times: Number) -> None:
        each_between(e, below, n, lambda j: a.__setitem__((i, j), a[i, j] + times * products[j]), a)

    update(k, tau)
    each_between(e, below, m, lambda i: update(i, tau * a[i, k]), a)


def _multiply(a: Array, taus: Array, scratch: Array, m: int, n: int, count: int) -> None:
    """Replace ``count`` reflections by the first ``n`` columns of their product."""
    e, zero = a.e, Number(a.e, a.whole.dtype, "").like(0)
    one = zero.like(1)

    def unit(j: Index) -> None:
        e.loop(m, lambda i: a.__setitem__((i, j), zero))
        a[j, j] = one

    each_between(e, count, n, unit, a)

    def step(so_far: Index) -> None:
        k = e.minus(count - 1, so_far)
        tau, below = taus[k], e.plus(k, 1)
        each_between(e, below, n, lambda j: a.__setitem__((k, j), zero), a)
        _apply(a, k, tau, scratch, m, n)
        each_between(e, below, m, lambda i: a.__setitem__((i, k), -(tau * a[i, k])), a)
        a[k, k] = one - tau

    e.loop(count, step)
