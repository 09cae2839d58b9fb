"""Logarithms, powers of two, cube roots and factorials -> JAX's functions, with Python's value where that is exact.

::

    log2(8192)      13, of which JAX makes 12.999999
    exp2(13)        8192
    cbrt(125)       5

JAX's value is close. So it tells which power, or which root, the argument may be, and exact arithmetic tests that. The
correction is a constant for derivatives, which are those of JAX's function.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, Final

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy import special

from hlobatch.typing import DType

_MOST_POWERS: Final = 4096
"""Most powers of a base in a table; a base close to 1 would have more. Chosen by judgement (2026-11)."""


def log2(x: Any) -> Any:
    """``math.log2`` of a float."""
    near = jnp.log(x) / math.log(2)  # not `jnp.log2`: in some releases it is a primitive for which kernels have no code
    whole = _whole(near, *_exponents(2, x.dtype)).astype(x.dtype)
    return _between(x, near, exp2(whole), whole)


def log10(x: Any) -> Any:
    """``math.log10`` of a float."""
    return _by_table(math.log10, 10, x, jnp.log10(x))


def log(x: Any, base: float) -> Any:
    """``math.log(x, base)`` of a float, for a known base."""
    near = jnp.log(x) / jnp.log(jnp.asarray(base, x.dtype))
    if not base > 1 or math.log(float(np.finfo(x.dtype).max), base) > _MOST_POWERS / 2:
        return near
    return _by_table(lambda power: math.log(power, base), base, x, near)


def exp2(x: Any) -> Any:
    """``math.exp2`` of a float."""
    return jnp.power(jnp.asarray(2, x.dtype), x)


def cbrt(x: Any) -> Any:
    """``math.cbrt`` of a float."""
    near = jnp.cbrt(x)
    fraction = 2.0 ** (np.finfo(x.dtype).nmant // 3)  # the fractional bits that a root can have whose cube is exact
    root = jnp.round(near * fraction) / fraction
    return _corrected(near, jnp.where(root * root * root == x, root, near))


def gamma(x: Any) -> Any:
    """``math.gamma`` of a float."""
    near, most = special.gamma(x), {2: 9, 4: 35, 8: 171}[x.dtype.itemsize]
    whole = _whole(x, 1, most)
    known = np.array([math.gamma(k) for k in range(1, most + 1)], x.dtype)
    return _corrected(near, jnp.where(x == whole, jnp.asarray(known)[whole - 1], near))


def _by_table(function: Callable[[float], float], base: float, x: Any, near: Any) -> Any:
    powers, values = _table(function, base, x.dtype)
    least, most = _exponents(base, x.dtype)
    place = _whole(near, least, most) - least
    return _between(x, near, jnp.asarray(powers)[place], jnp.asarray(values)[place])


def _table(function: Callable[[float], float], base: float, dtype: DType) -> tuple[np.ndarray, np.ndarray]:
    """The powers of a base in a dtype, and the value of Python's function for each."""
    least, most = _exponents(base, dtype)
    powers = [float(f"1e{k}") if base == 10 else float(base) ** k for k in range(least, most + 1)]
    return np.array(powers, dtype), np.array([function(power) for power in powers], dtype)


@functools.cache
def _exponents(base: float, dtype: DType) -> tuple[int, int]:
    """The least and the greatest exponent for which a dtype has the power of a base."""
    info = np.finfo(dtype)
    return math.ceil(math.log(float(info.tiny), base) - 1e-9), math.floor(math.log(float(info.max), base) - 1e-9)


def _whole(value: Any, least: int, most: int) -> Any:
    """The integer nearest to a value; an arbitrary one for a NaN."""
    return jnp.clip(jnp.nan_to_num(jnp.round(value)), least, most).astype(jnp.int32)


def _between(x: Any, near: Any, power: Any, value: Any) -> Any:
    """A logarithm, corrected to lie on the same side of a power's logarithm as the number lies of the power.

    In 32 bits, numbers below the power have a logarithm below the integer, as in Python, whose floats have more bits.
    """
    below = value if x.dtype.itemsize >= 8 else jnp.nextafter(value, jnp.full_like(value, -jnp.inf))
    right = jnp.where(x > power, jnp.maximum(near, value), jnp.minimum(near, below))
    return _corrected(near, jnp.where(x == power, value, right))


def _corrected(near: Any, right: Any) -> Any:
    """The value ``right``, with the derivatives of the close value ``near``."""
    return near + lax.stop_gradient(jnp.where(jnp.isfinite(near), right - near, 0))
