"""Functions on integers that JAX lacks (``gcd``, ``isqrt``, ``comb``, …) -> code on values that differ between lanes.

Results are exact in the bits of an integer. A result with more bits wraps around, as that of a product does.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from hlobatch.frontend.builtins import is_array
from hlobatch.frontend.lane_numbers import as_index, as_int
from hlobatch.frontend.overflow import check_limit
from hlobatch.typing import DType
from hlobatch.values.lane_failures import fails_as_in_python
from hlobatch.values.number_tables import together
from hlobatch.values.whole_numbers import default


def integer(value: Any, what: str) -> Any:
    """A number that has to be an integer, as a Python integer."""
    value = as_index(value, what)
    return as_int(value) if is_array(value) else value


def isqrt(n: Any, /) -> Any:
    """The integer part of a square root: that of the floats, corrected."""
    n = integer(n, "isqrt")
    fails_as_in_python(ValueError, "isqrt() argument must be nonnegative", n < 0)
    dtype = jnp.dtype(f"uint{8 * n.dtype.itemsize}")
    whole = n.astype(dtype)
    top = 2 ** (4 * dtype.itemsize) - 1
    root = jnp.minimum(jnp.sqrt(whole.astype(default(float))), top).astype(dtype)
    root = root - (root * root > whole).astype(dtype)
    more = root + 1
    root = jnp.where((root < top) & (more * more <= whole), more, root)
    return as_int(root.astype(n.dtype))


def gcd(*numbers: Any) -> Any:
    """The greatest common divisor of all of them."""
    return functools.reduce(_pairwise(jnp.gcd, "gcd"), numbers, 0)


def lcm(*numbers: Any) -> Any:
    """The least common multiple of all of them."""
    return functools.reduce(_pairwise(jnp.lcm, "lcm"), numbers, 1)


def _pairwise(function: Any, name: str) -> Any:
    known = getattr(math, name)

    def pair(a: Any, b: Any) -> Any:
        a, b = integer(a, name), integer(b, name)
        if not is_array(a) and not is_array(b):
            return known(a, b)
        dtype = jnp.result_type(*together([jnp.asarray(a), jnp.asarray(b)]))
        return as_int(function(_size(a, dtype), _size(b, dtype)).astype(dtype))

    return pair


def _size(value: Any, dtype: DType) -> Any:
    """The absolute value of a number of a dtype, unsigned, since that of the least number needs another bit."""
    return abs(jnp.asarray(value, dtype)).astype(f"uint{8 * dtype.itemsize}")


def factorial(n: Any, /) -> Any:
    """``n!``. From some ``n`` on, all bits of the result are zero."""
    n = integer(n, "factorial")
    fails_as_in_python(ValueError, "factorial() not defined for negative values", n < 0)
    bits = 8 * n.dtype.itemsize
    known = [math.factorial(i) for i in range(bits + 3)]
    result = as_int(jnp.asarray(np.array([k % 2**bits for k in known], f"uint{bits}").astype(n.dtype))[n])
    check_limit("factorial", result, n > sum(k <= np.iinfo(n.dtype).max for k in known) - 1)
    return result


def perm(n: Any, k: Any = None, /) -> Any:
    """``n (n - 1) … (n - k + 1)``."""
    if k is None:
        return factorial(n)
    n, k = jnp.asarray(integer(n, "perm")), integer(k, "perm")
    _check_not_negative(n, k)
    result = jnp.ones((), n.dtype)
    for i in range(8 * n.dtype.itemsize + 3):
        result = jnp.where(i < k, result * (n - i), result)
    return as_int(jnp.where(k > n, 0, result))


def comb(n: Any, k: Any, /) -> Any:
    """The number of ways to choose ``k`` of ``n``.

    Unless ``k`` or ``n - k`` is less than about half the number of bits, the result has too many bits. A product of
    ``i`` successive numbers is divisible by ``i``; a divisor that it shares with the product so far is divided out
    first.
    """
    n, k = (jnp.asarray(integer(v, "comb")) for v in (n, k))
    _check_not_negative(n, k)
    fewer = jnp.minimum(k, n - k)
    result = jnp.ones((), n.dtype)
    for i in range(4 * n.dtype.itemsize + 1):
        common = jnp.asarray(np.gcd(np.arange(i + 1), i + 1).astype(n.dtype))[result % (i + 1)]
        next_ = result // common * ((n - i) // ((i + 1) // common))
        result = jnp.where(i < fewer, next_, result)
    return as_int(jnp.where((k < 0) | (k > n), 0, result))


def _check_not_negative(n: Any, k: Any) -> None:
    fails_as_in_python(ValueError, "n must be a non-negative integer", n < 0)
    fails_as_in_python(ValueError, "k must be a non-negative integer", k < 0)


def power_modulo(base: Any, exponent: Any, modulus: Any) -> Any:
    """``pow(base, exponent, modulus)``, with the sign of the modulus; a negative exponent is a power of the inverse."""
    base, exponent, modulus = (jnp.asarray(integer(v, "pow")) for v in (base, exponent, modulus))
    fails_as_in_python(ValueError, "pow() 3rd argument cannot be 0", modulus == 0)
    signed = jnp.result_type(*together([base, modulus]))
    dtype = jnp.dtype(f"uint{8 * signed.itemsize}")
    size = abs(modulus.astype(signed))
    whole, bits = size.astype(dtype), abs(exponent).astype(f"uint{8 * exponent.dtype.itemsize}")
    start = (base.astype(signed) % size).astype(dtype)
    start = _inverse_where(exponent < 0, start, whole)

    def step(state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        result, power, left = state
        result = jnp.where(left % 2 == 1, multiply_modulo(result, power, whole), result)
        return result, multiply_modulo(power, power, whole), left // 2

    one = jnp.where(whole == 1, 0, jnp.ones_like(whole))
    result, *_ = lax.while_loop(lambda state: state[2] > 0, step, (one, start, bits))
    result = result.astype(signed)
    return as_int(jnp.where((modulus < 0) & (result > 0), result - size, result))


def _inverse_where(wanted: Any, number: Any, modulus: Any) -> Any:
    """The inverse of a number modulo another where ``wanted`` holds, by Euclid's algorithm; elsewhere the number."""

    def step(state: tuple[Any, ...]) -> tuple[Any, ...]:
        old, rest, factor, other = state
        times = old // rest
        return rest, old - times * rest, other, factor - times * other

    zero, one = jnp.zeros_like(modulus), jnp.ones_like(modulus)
    begin = (number, jnp.where(wanted, modulus, zero), one, zero)
    _, _, factor, _ = lax.while_loop(lambda state: state[1] > 0, step, begin)
    is_negative = lax.clz(factor) == 0
    return jnp.where(wanted, jnp.where(is_negative, factor + modulus, factor), number)


def multiply_modulo(a: Any, b: Any, modulus: Any) -> Any:
    """``a * b % modulus`` of unsigned numbers less than the modulus; the product has twice as many bits.

    A two-digit number is divided by a one-digit one, with digits of half the bits.

    Reference: Warren, Hacker's Delight (2012), figure 9-3.
    """
    dtype = modulus.dtype
    bits = 8 * dtype.itemsize
    half, low = bits // 2, 2 ** (bits // 2) - 1
    high_part, low_part = _product(a, b)
    shift = lax.clz(modulus)  # with the top bit of the divisor set, an estimated digit is too large by 2 at most
    divisor = modulus << shift
    top, bottom = divisor >> half, divisor & low
    carried = jnp.where(shift == 0, 0, low_part >> ((bits - shift) % bits))
    rest, low_part = (high_part << shift) | carried, low_part << shift
    for digit in (low_part >> half, low_part & low):
        quotient = rest // top
        left = rest - quotient * top
        for _ in range(2):
            is_large = (left <= low) & ((quotient > low) | (quotient * bottom > ((left << half) | digit)))
            quotient, left = jnp.where(is_large, quotient - 1, quotient), jnp.where(is_large, left + top, left)
        rest = ((rest << half) | digit) - quotient * divisor
    return rest >> shift


def _product(a: Any, b: Any) -> tuple[Any, Any]:
    """The upper and the lower half of the bits of a product of unsigned numbers."""
    bits = 8 * a.dtype.itemsize
    half, low = bits // 2, 2 ** (bits // 2) - 1
    (a1, a0), (b1, b0) = ((x >> half, x & low) for x in (a, b))
    cross = a1 * b0 + (a0 * b0 >> half)
    other = a0 * b1 + (cross & low)
    return a1 * b1 + (cross >> half) + (other >> half), a * b
