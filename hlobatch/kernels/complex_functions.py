"""Functions of a complex number, written in JAX by functions of its parts, from which their code is made.

Overflow, infinities and NaN are those of C's Annex G, as in XLA and in Python's ``cmath``: what is finite does not
overflow on the way, and a part that is zero stays zero, also times infinity.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import jax.numpy as jnp
import numpy as np
from jax import lax


def _parts(z: Any) -> tuple[Any, Any]:
    return lax.real(z), lax.imag(z)


def _times(zero: Any, x: Any) -> Any:
    """A product that is zero if its first factor is, even if the second one is infinite or NaN."""
    return jnp.where(zero == 0, zero, zero * x)


def _largest(x: Any) -> Any:
    return np.finfo(x.dtype).max


def length(x: Any, y: Any) -> Any:
    """The absolute value of ``x + iy``."""
    x, y = jnp.abs(x), jnp.abs(y)
    most, other = jnp.maximum(x, y), jnp.minimum(x, y)
    ratio = jnp.where(most == other, 1, other / most)  # also if both are zero, or infinite
    return most * jnp.sqrt(1 + ratio * ratio)


def absolute(z: Any) -> Any:
    """The absolute value, which is infinite if a part is, even if the other one is NaN."""
    x, y = _parts(z)
    return jnp.where(jnp.isinf(x) | jnp.isinf(y), np.inf, length(x, y))


def quotient(a: Any, b: Any) -> Any:
    """The quotient by Smith's algorithm, which divides by the larger part first to avoid overflow."""
    (ar, ai), (br, bi) = _parts(a), _parts(b)
    wide = jnp.abs(br) >= jnp.abs(bi)
    ratio = jnp.where(wide, bi, br) / jnp.where(wide, br, bi)
    under = jnp.where(wide, br, bi) + jnp.where(wide, bi, br) * ratio
    real = jnp.where(wide, ar + ai * ratio, ar * ratio + ai) / under
    imaginary = jnp.where(wide, ai - ar * ratio, ai * ratio - ar) / under
    is_lost = jnp.isnan(real) & jnp.isnan(imaginary)
    return lax.complex(*lax.cond(is_lost, lambda: _quotient_of_extremes(ar, ai, br, bi), lambda: (real, imaginary)))


def _quotient_of_extremes(ar: Any, ai: Any, br: Any, bi: Any) -> tuple[Any, Any]:
    """The parts of a quotient by zero, of infinity, or by infinity."""
    sign: Any = lambda x: jnp.copysign(jnp.where(jnp.isinf(x), 1, 0).astype(x.dtype), x)  # noqa: E731
    by_zero = (br == 0) & (bi == 0)
    of_infinity = (jnp.isinf(ar) | jnp.isinf(ai)) & jnp.isfinite(br) & jnp.isfinite(bi)
    by_infinity = (jnp.isinf(br) | jnp.isinf(bi)) & jnp.isfinite(ar) & jnp.isfinite(ai)
    infinity = jnp.asarray(np.inf, ar.dtype)
    x, y = (jnp.where(of_infinity, sign(part), part) for part in (ar, ai))
    u, v = (jnp.where(by_infinity, sign(part), part) for part in (br, bi))
    factor = jnp.where(of_infinity, infinity, jnp.where(by_infinity, 0, np.nan).astype(ar.dtype))
    of_zero = jnp.copysign(infinity, br)
    return (
        jnp.where(by_zero, of_zero * ar, factor * (x * u + y * v)),
        jnp.where(by_zero, of_zero * ai, factor * (y * u - x * v)),
    )


def square(z: Any) -> Any:
    """``z * z``, whose real part does not overflow if both parts are as large."""
    x, y = _parts(z)
    is_zero = (jnp.abs(x) == jnp.abs(y)) & jnp.isfinite(x)
    return lax.complex(jnp.where(is_zero, 0, (x - y) * (x + y)), 2 * (x * y))


def exp(z: Any) -> Any:
    """``exp(x) * (cos(y) + i sin(y))``, whose parts may be finite though ``exp(x)`` is not."""
    x, y = _parts(z)
    is_large = x > np.log(_largest(x))
    power = jnp.exp(jnp.where(is_large, x / 2, x))
    again = jnp.where(is_large, power, 1)
    return lax.complex(power * jnp.cos(y) * again, _times(_times(jnp.sin(y), power), again))


def log(z: Any) -> Any:
    """The logarithm of the absolute value, which does not overflow, and the angle."""
    x, y = _parts(z)
    scale = jnp.where(jnp.maximum(jnp.abs(x), jnp.abs(y)) > _largest(x) / 4, x.dtype.type(0.25), x.dtype.type(1))
    real = jnp.log(length(x * scale, y * scale))
    return lax.complex(jnp.where(scale < 1, real + x.dtype.type(np.log(4)), real), lax.atan2(y, x))


def sqrt(z: Any) -> Any:
    """The root with a real part that is not negative."""
    x, y = _parts(z)
    is_large = jnp.maximum(jnp.abs(x), jnp.abs(y)) > _largest(x) / 4
    scale = jnp.where(is_large, x.dtype.type(1 / 16), x.dtype.type(1))
    a, b = jnp.abs(x) * scale, jnp.abs(y) * scale
    u = jnp.sqrt(0.5 * (length(a, b) + a))
    v = jnp.where(u == 0, u, 0.5 * b / jnp.where(u == 0, 1, u))
    u, v = (jnp.where(jnp.isinf(y), b, part) for part in (u, v))
    u, v = (jnp.where(is_large, 4 * part, part) for part in (u, v))
    return lax.complex(jnp.where(x >= 0, u, v), jnp.copysign(jnp.where(x >= 0, v, u), y))


def sin(z: Any) -> Any:
    x, y = _parts(z)
    return lax.complex(_times(jnp.sin(x), jnp.cosh(y)), jnp.cos(x) * jnp.sinh(y))


def cos(z: Any) -> Any:
    x, y = _parts(z)
    return lax.complex(jnp.cos(x) * jnp.cosh(y), -_times(jnp.sin(x), jnp.sinh(y)))


def sinh(z: Any) -> Any:
    x, y = _parts(z)
    return lax.complex(jnp.sinh(x) * jnp.cos(y), _times(jnp.sin(y), jnp.cosh(x)))


def cosh(z: Any) -> Any:
    x, y = _parts(z)
    return lax.complex(jnp.cosh(x) * jnp.cos(y), _times(jnp.sin(y), jnp.sinh(x)))


def _tanh(x: Any, y: Any) -> tuple[Any, Any]:
    """The parts of ``tanh(x + iy)``.

    Reference: Kahan (1987), "Branch cuts for complex elementary functions", procedure CTANH.
    """
    of_x, of_y, inverse = jnp.tanh(x), jnp.tan(y), 1 / jnp.cosh(x)
    under = 1 + (of_x * of_y) ** 2
    real, imaginary = of_x * (1 + of_y * of_y) / under, of_y / under * inverse * inverse
    is_one = jnp.isinf(x)
    return (
        jnp.where(is_one, jnp.copysign(jnp.ones_like(x), x), real),
        jnp.where(y == 0, y, jnp.where(is_one, 0, imaginary)),
    )


def tan(z: Any) -> Any:
    x, y = _parts(z)
    real, imaginary = _tanh(-y, x)
    return lax.complex(imaginary, -real)


def log1p(z: Any) -> Any:
    """``log(1 + z)``, with the digits of a small ``z``."""
    x, y = _parts(z)
    is_small = jnp.maximum(jnp.abs(x), jnp.abs(y)) < 0.5
    near = 0.5 * jnp.log1p(jnp.where(is_small, x * (x + 2) + y * y, 0))
    far = log(lax.complex(1 + x, y))
    return lax.complex(jnp.where(is_small, near, lax.real(far)), lax.imag(far))


def expm1(z: Any) -> Any:
    """``exp(z) - 1``, with the digits of a small ``z``."""
    x, y = _parts(z)
    half = jnp.sin(y / 2)
    return lax.complex(jnp.expm1(x) * jnp.cos(y) - 2 * half * half, _times(jnp.sin(y), jnp.exp(x)))


def sign(z: Any) -> Any:
    """The number of length 1 with the same angle; 0 for 0."""
    x, y = _parts(z)
    r = length(x, y)
    under = jnp.where(r == 0, 1, r)
    return lax.complex(x / under, y / under)


def power(a: Any, b: Any) -> Any:
    """``exp(b * log(a))``; 0 to a positive power is 0, to the power 0 it is 1, else NaN."""
    (x, y), (u, v) = _parts(b), _parts(log(a))
    found = exp(lax.complex(_times(x, u) - _times(y, v), _times(x, v) + _times(y, u)))
    of_zero = jnp.where(b == 0, 1, jnp.where((x > 0) & (y == 0), 0, np.nan)).astype(x.dtype)
    undefined = jnp.where(jnp.isnan(of_zero), of_zero, 0)
    return jnp.where(a == 0, lax.complex(of_zero, undefined), found)


def greater(a: Any, b: Any) -> Any:
    """The one with the greater real part, or the greater imaginary part if the real parts are equal."""
    return jnp.where(_is_less(b, a), a, b)


def smaller(a: Any, b: Any) -> Any:
    """The one with the smaller real part, or the smaller imaginary part if the real parts are equal."""
    return jnp.where(_is_less(a, b), a, b)


def _is_less(a: Any, b: Any) -> Any:
    (ar, ai), (br, bi) = _parts(a), _parts(b)
    return jnp.where(ar == br, ai < bi, ar < br)


OF_COMPLEX: Final[dict[str, Callable[..., Any]]] = {
    "abs": absolute,
    "cos": cos,
    "cosh": cosh,
    "div": quotient,
    "exp": exp,
    "exp2": lambda z: exp(z * np.log(2).astype(lax.real(z).dtype)),
    "expm1": expm1,
    "log": log,
    "log1p": log1p,
    "logistic": lambda z: quotient(jnp.ones_like(z), 1 + exp(-z)),
    "max": greater,
    "min": smaller,
    "pow": power,
    "rsqrt": lambda z: quotient(jnp.ones_like(z), sqrt(z)),
    "sign": sign,
    "sin": sin,
    "sinh": sinh,
    "sqrt": sqrt,
    "square": square,
    "tan": tan,
    "tanh": lambda z: lax.complex(*_tanh(*_parts(z))),
}
"""By name of the primitive."""
