"""``eigh`` -> LLVM IR: Jacobi's rotations, which make a symmetric matrix diagonal, pair by pair of its rows.

In each sweep every pair of rows is rotated so that the off-diagonal element at their crossing becomes zero; after a few
sweeps all off-diagonal elements are negligible. The order of the pairs is the same in all lanes, unlike the steps of a
QL iteration. The signs of eigenvectors may differ from LAPACK's.

Reference: Golub and Van Loan (2013), "Matrix computations", algorithms 8.5.1 and 8.5.3 (cyclic by row).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from hlobatch.kernels.arrays import Params, Values
from hlobatch.kernels.emitter import Emitter
from hlobatch.kernels.matrices import Array, Number, Variable, between, check_type, each_between, total
from hlobatch.kernels.rules import Out, on_arrays
from hlobatch.kernels.text import Index
from hlobatch.kernels.types import BOOL, INT64, NoKernelError, is_complex

MOST_SWEEPS: Final = 30
"""The largest number of sweeps; 64 rows take less than ten."""


@on_arrays("eigh")
def _(e: Emitter, p: Params, values: Values, out: Out) -> Values:
    (dtype, shape), _ = out
    check_type(dtype)
    n = shape[-1]
    if is_complex(dtype) or p["subset_by_index"] not in (None, (0, n)):
        raise NoKernelError(f"`eigh` of {dtype}, or of some eigenvalues, has no code")
    vectors, eigenvalues = (e.fresh(*kind) for kind in out)
    a, rows = (Array.fresh(e, dtype, n, n) for _ in range(2))

    def one(batch: list[Index]) -> None:
        given = Array.of(e, values[0], batch)
        scale = _begin(given if p["lower"] else given.transposed, a, rows, n)
        _sweep(a, rows, n)
        _give(a, rows, scale, Array.of(e, eigenvalues, batch), Array.of(e, vectors, batch), n)

    e.for_each_looped(shape[:-2], one)
    return [vectors, eigenvalues]


def _begin(given: Array, a: Array, rows: Array, n: int) -> Number:
    """Copy the symmetric matrix of a lower triangle to ``a``, divided by its largest element, which is returned.

    If an element is not finite, the matrix is zero and NaN is returned. ``rows`` becomes the identity.
    """
    e, zero = a.e, Number(a.e, a.whole.dtype, "").like(0)
    largest = Variable(zero)

    def look(i: Index, j: Index) -> None:
        largest.value = largest.value.or_larger(given[i, j].abs())

    e.loop(n, lambda i: e.loop(e.plus(i, 1), lambda j: look(i, j)))
    is_finite, is_zero = largest.value.is_finite(), largest.value.is_zero()
    divisor = zero.like(1).where(is_zero, largest.value)

    def begin(i: Index, j: Index) -> None:
        a[i, j] = a[j, i] = (given[i, j] / divisor).where(is_finite, zero)
        rows[i, j] = rows[j, i] = zero

    e.loop(n, lambda i: each_between(e, 0, e.plus(i, 1), lambda j: begin(i, j), a, rows))
    each_between(e, 0, n, lambda i: rows.__setitem__((i, i), zero.like(1)), rows)
    return divisor.where(is_finite, zero.like(np.nan))


def _sweep(a: Array, rows: Array, n: int) -> None:
    """Make a matrix diagonal.

    ``rows``, at first the identity, is rotated with it, so that its rows become eigenvectors.
    """
    e, zero = a.e, Number(a.e, a.whole.dtype, "").like(0)
    square = total(zero, 0, n, lambda i: total(zero, 0, n, lambda j: a[i, j] * a[i, j]))
    least = square.sqrt() * zero.like(float(np.finfo(a.whole.dtype).eps) / max(n, 1))
    true, one = Number(e, BOOL, "true"), Number(e, INT64, "1")
    has_moved, sweeps = Variable(true), Variable(one.like(0))

    def goes_on() -> str:
        return (has_moved.value & (sweeps.value < one.like(MOST_SWEEPS))).ref

    def pair(p: Index, q: Index) -> None:
        def rotate() -> None:
            has_moved.value = true
            _rotate(a, rows, p, q, n)

        e.when((a[p, q].abs() > least).ref, rotate)

    def sweep() -> None:
        has_moved.value = Number(e, BOOL, "false")
        sweeps.value = sweeps.value + one
        e.loop(n, lambda p: between(e, e.plus(p, 1), n, lambda q: pair(p, q)))

    e.loop_while(goes_on, sweep)


def _rotate(a: Array, rows: Array, p: Index, q: Index, n: int) -> None:
    """Rotate rows p and q so that ``a[p, q]`` becomes zero, by the smaller of the two angles that do."""
    e, common = a.e, a[p, q]
    one = common.like(1)
    cotangent = (a[q, q] - a[p, p]) / (common + common)  # cotangent of twice the angle of the rotation
    size = one / (cotangent.abs() + (cotangent * cotangent + one).sqrt())
    tangent = size.with_sign_of(cotangent)
    cosine = one / (tangent * tangent + one).sqrt()
    sine = tangent * cosine
    first, second = a[p, p] - tangent * common, a[q, q] + tangent * common

    def turn(x: Array, j: Index) -> None:
        u, v = x[p, j], x[q, j]
        x[p, j], x[q, j] = cosine * u - sine * v, sine * u + cosine * v

    def mirror(j: Index) -> None:
        a[j, p], a[j, q] = a[p, j], a[q, j]

    each_between(e, 0, n, lambda j: turn(a, j), a)
    each_between(e, 0, n, mirror, a)
    a[p, p], a[q, q] = first, second
    a[p, q] = a[q, p] = one.like(0)
    each_between(e, 0, n, lambda j: turn(rows, j), rows)


def _give(a: Array, rows: Array, scale: Number, values: Array, vectors: Array, n: int) -> None:
    """Write the eigenvalues in ascending order, and their vectors as columns."""
    e, zero, one = a.e, Number(a.e, INT64, "0"), Number(a.e, INT64, "1")

    def give(i: Index) -> None:
        before, own = Variable(zero), a[i, i]

        def count(condition: Number) -> None:
            before.value = before.value + one.where(condition, zero)

        e.loop(i, lambda j: count((own < a[j, j]).negated()))
        between(e, e.plus(i, 1), n, lambda j: count(a[j, j] < own))
        place = before.value.ref
        values[place] = own * scale
        nothing = scale - scale  # NaN if the scale is NaN, else 0

        def element(j: Index) -> None:
            vectors[j, place] = rows[i, j] + nothing

        each_between(e, 0, n, element, vectors)

    e.loop(n, give)
