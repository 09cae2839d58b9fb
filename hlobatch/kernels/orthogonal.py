"""``qr``, ``geqrf`` and ``householder_product`` -> LLVM IR: Householder's reflections, one column after the other.

A reflection is kept as LAPACK has it: ``1 - tau v v'``, of which ``v`` has a one at its place on the diagonal and the
rest below it in the matrix.

Reference: Golub and Van Loan (2013), "Matrix computations", algorithms 5.1.1 (the vector of a reflection), 5.2.1 (QR)
and section 5.1.6 (what they make together, multiplied from the last to the first).
"""

from __future__ import annotations

from typing import Any

from hlobatch.kernels.arrays import Params, Values
from hlobatch.kernels.emitter import Emitter
from hlobatch.kernels.matrices import Array, Number, Variable, between, check_type, each_between, minus_rows, total
from hlobatch.kernels.rules import Out, on_arrays
from hlobatch.kernels.text import Index
from hlobatch.kernels.types import NoKernelError, is_complex


def _check_real(name: str, dtype: Any) -> None:
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
    """What is on the diagonal and above, and zeros below."""
    e, zero = source.e, Number(source.e, source.whole.dtype, "").like(0)

    def row(i: Index) -> None:
        each_between(e, 0, n, lambda j: target.__setitem__((i, j), zero), target)
        each_between(e, i, n, lambda j: target.__setitem__((i, j), source[i, j]), target)

    e.loop(m, row)


def _reflect(a: Array, taus: Array, scratch: Array, m: int, n: int) -> None:
    """Makes a matrix upper triangular by reflections, which are left where it has zeros then."""
    e = a.e

    def step(k: Index) -> None:
        taus[k] = _reflection(a.transposed.row(k), k, m)
        _apply(a, k, taus[k], scratch, m, n)

    e.loop(min(m, n), step)


def _reflection(column: Array, k: Index, m: int) -> Number:
    """The reflection of a column that leaves zeros below a place: its vector takes the place of these; gives ``tau``.

    What is squared is made smaller by the largest element, so that no square is too large or too small.
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
    """Reflects the columns behind one by what that has from its diagonal on, of which the one is not written there."""
    e, below = a.e, a.e.plus(k, 1)
    each_between(e, below, n, lambda j: products.__setitem__(j, -a[k, j]), products)
    minus_rows(products, (below, n), (below, m), lambda i: a[i, k], a)

    def update(i: Index, times: Number) -> None:
        each_between(e, below, n, lambda j: a.__setitem__((i, j), a[i, j] + times * products[j]), a)

    update(k, tau)
    each_between(e, below, m, lambda i: update(i, tau * a[i, k]), a)


def _multiply(a: Array, taus: Array, scratch: Array, m: int, n: int, count: int) -> None:
    """The first columns of what ``count`` reflections make together, in place of these."""
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
