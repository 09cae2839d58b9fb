"""``round(x, digits)`` -> the multiple of a power of ten that is nearest to a number; halves go to the even multiple.

The digits may differ between lanes. Like NumPy, this module rounds the product ``x * 10**digits``. Unlike NumPy, and
like Python, it takes the product's own rounding error into account, so that ``round(2.675, 2)`` is 2.67: the float is
less than the decimal number. With more than 22 digits the power of ten is not exact, and the last digit may differ.
"""

from __future__ import annotations

from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch._jax import is_tracer, weakly

_TENS: Final = np.array([float(f"1e{k}") for k in range(309)])
"""The powers of ten that a float of 64 bits can hold."""


def rounded_float(number: jax.Array, digits: Any) -> Any:
    """A float, rounded to ``digits`` places after the point; itself where its precision ends before these places."""
    info = jnp.finfo(number.dtype)  # type: ignore[no-untyped-call]
    tens = _TENS[float(info.max) >= _TENS]
    scale = _of_table(tens, digits, number)
    more, less = number * scale, number / scale
    rounded_more = _nearest(more, _error_of_product(number, scale, more)) / scale
    is_precise = jnp.abs(more) < 2.0 ** (info.nmant + 1)  # false for an infinity and NaN
    remainder = (number - less * scale) - _error_of_product(less, scale, less * scale)
    rounded_less = _where(digits <= -len(tens), jnp.zeros_like(number), _nearest(less, remainder) * scale)
    result = _where(digits >= 0, jnp.where(is_precise, rounded_more, number), rounded_less)
    return weakly(result, number.dtype) if number.weak_type else result


def _nearest(value: jax.Array, error: jax.Array) -> Any:
    """The integer nearest to an exact value, given the nearest float, and the sign by which the exact value exceeds it.

    An exact value beside a half has a nearest float on its side of the half, or the half itself.
    """
    below, nearest = jnp.floor(value), jnp.round(value)
    return jnp.where((value - below == 0.5) & (error != 0), jnp.where(error > 0, below + 1, below), nearest)


def _error_of_product(x: jax.Array, y: Any, product: jax.Array) -> Any:
    """The exact product of two floats, less the nearest float (Dekker 1971, algorithm Mul12)."""
    digits = (jnp.finfo(x.dtype).nmant + 2) // 2  # type: ignore[no-untyped-call]

    def halves(value: Any) -> tuple[Any, Any]:
        large = value * np.asarray(2.0**digits + 1, x.dtype)
        high = large - (large - value)
        return high, value - high

    (a, b), (c, d) = halves(x), halves(y)
    return b * d - (((product - a * c) - b * c) - a * d)


def rounded_integer(number: jax.Array, digits: Any) -> Any:
    """An integer, rounded to a multiple of ``10**-digits``; itself if that is no integer."""
    tens = np.array([10**k for k in range(20) if 10**k <= np.iinfo(number.dtype).max], number.dtype)
    unit = _of_table(tens, _where(digits < 0, digits, 0), number)
    below = number // unit * unit
    half, is_odd = unit // 2, number // unit % 2 == 1
    is_up = (number - below > half) | ((number - below == half) & is_odd)
    result = below + jnp.where((unit > 1) & is_up, unit, 0)
    result = _where(digits <= -len(tens), jnp.zeros_like(number), result)
    return weakly(result, number.dtype) if number.weak_type else result


def _of_table(tens: np.ndarray, digits: Any, number: jax.Array) -> Any:
    """The power of ten with as many zeros as there are digits, of the number's dtype; the largest if there is none."""
    if not is_tracer(digits):
        return tens[min(abs(int(digits)), len(tens) - 1)].astype(number.dtype)
    return jnp.asarray(tens, number.dtype)[jnp.minimum(jnp.abs(digits), len(tens) - 1)]


def _where(condition: Any, value: Any, otherwise: Any) -> Any:
    """``jnp.where``, or one of the values if the condition is known."""
    return jnp.where(condition, value, otherwise) if is_tracer(condition) else value if condition else otherwise
