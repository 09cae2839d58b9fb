"""The whole module ``math`` -> the meaning of its functions on values that differ between lanes.

They take numbers, not arrays, and return a Python number: a float with JAX's number of bits, or an integer.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

import jax.numpy as jnp
from jax.scipy import special

from hlobatch.frontend import exact_functions, number_theory
from hlobatch.frontend.lane_numbers import as_bool, as_float, as_index, as_int, as_number, select
from hlobatch.frontend.meaning import entries
from hlobatch.frontend.overflow import exact
from hlobatch.frontend.possible_items import items_of
from hlobatch.values.lane_failures import fails, fails_as_in_python, is_wanted
from hlobatch.values.number_tables import is_integer

_FLOATS: Final[Mapping[str, Callable[..., Any]]] = {
    "acos": jnp.arccos,
    "acosh": jnp.arccosh,
    "asin": jnp.arcsin,
    "asinh": jnp.arcsinh,
    "atan": jnp.arctan,
    "atan2": jnp.arctan2,
    "atanh": jnp.arctanh,
    "cbrt": exact_functions.cbrt,
    "copysign": jnp.copysign,
    "cos": jnp.cos,
    "cosh": jnp.cosh,
    "degrees": jnp.degrees,
    "erf": special.erf,
    "erfc": special.erfc,
    "exp": jnp.exp,
    "exp2": exact_functions.exp2,
    "expm1": jnp.expm1,
    "fabs": jnp.abs,
    "fmod": jnp.fmod,
    "gamma": exact_functions.gamma,
    "lgamma": lambda x: jnp.where((x == 1) | (x == 2), 0.0, special.gammaln(x)),  # exactly zero, as in Python
    "log10": exact_functions.log10,
    "log1p": jnp.log1p,
    "log2": exact_functions.log2,
    "nextafter": jnp.nextafter,
    "pow": jnp.power,
    "radians": jnp.radians,
    "sin": jnp.sin,
    "sinh": jnp.sinh,
    "sqrt": jnp.sqrt,
    "tan": jnp.tan,
    "tanh": jnp.tanh,
}
"""Functions of floats that return a float; most are JAX's functions, some under another name."""


_DOMAINS: Final[Mapping[str, Callable[..., Any]]] = {
    "acos": lambda x: abs(x) <= 1,
    "acosh": lambda x: x >= 1,
    "asin": lambda x: abs(x) <= 1,
    "atanh": lambda x: abs(x) < 1,
    "cos": jnp.isfinite,
    "fmod": lambda x, y: (y != 0) & jnp.isfinite(x),
    "gamma": lambda x: ((x > 0) | (jnp.floor(x) != x)) & (x != -jnp.inf),
    "lgamma": lambda x: (x > 0) | (jnp.floor(x) != x) | (x == -jnp.inf),
    "log": lambda x, base=2.0: (x > 0) & (base > 0),
    "log10": lambda x: x > 0,
    "log1p": lambda x: x > -1,
    "log2": lambda x: x > 0,
    "pow": lambda x, y: (
        ((x >= 0) & ((x != 0) | (y >= 0))) | ((x < 0) & (jnp.floor(y) == y)) | jnp.isinf(x) | jnp.isinf(y)
    ),
    "remainder": lambda x, y: (y != 0) & jnp.isfinite(x),
    "sin": jnp.isfinite,
    "sqrt": lambda x: x >= 0,
    "tan": jnp.isfinite,
}
"""The domains of functions; a NaN is in every domain."""
_LARGEST: Final = frozenset({"cosh", "exp", "exp2", "expm1", "gamma", "ldexp", "lgamma", "pow", "sinh"})
"""Functions whose values may overflow."""


def _checked(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that notes the lanes in which Python's function raises."""
    domain = _DOMAINS.get(name)

    def checked(*values: Any) -> Any:
        if domain is not None and is_wanted(ValueError):
            numbers = list(map(as_float, values))
            is_nan = functools.reduce(operator.or_, map(jnp.isnan, numbers))
            fails(ValueError, "math domain error", jnp.logical_not(domain(*numbers) | is_nan))
        result = function(*values)
        if name in _LARGEST and is_wanted(OverflowError):
            are_finite = functools.reduce(operator.and_, map(jnp.isfinite, map(as_float, values)))
            fails(OverflowError, "math range error", jnp.isinf(result) & are_finite)
        return result

    return checked if domain is not None or name in _LARGEST else function


def _of_floats(function: Callable[..., Any], *values: Any) -> Any:
    return as_float(function(*map(as_float, values)))


def _log(x: Any, base: Any = None, /) -> Any:
    if base is None:
        return _of_floats(jnp.log, x)
    fails_as_in_python(ZeroDivisionError, "division by zero", base == 1)
    if type(base) in (int, float):
        return _of_floats(lambda x: exact_functions.log(x, base), x)
    return _of_floats(lambda x, base: jnp.log(x) / jnp.log(base), x, base)


def _rounding(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """``floor``, ``ceil`` or ``trunc``, which return an integer."""
    return lambda x: as_int(x if is_integer(x) else function(x))


def _hypot(*coordinates: Any) -> Any:
    if len(coordinates) == 2:
        return _of_floats(jnp.hypot, *coordinates)
    sizes = [abs(as_float(c)) for c in coordinates]
    largest = functools.reduce(jnp.maximum, sizes)
    scale = jnp.where((largest > 0) & jnp.isfinite(largest), largest, 1.0)
    total = functools.reduce(operator.add, ((size / scale) ** 2 for size in sizes))
    return as_float(scale * jnp.sqrt(total))


def _dist(p: Any, q: Any, /) -> Any:
    return _hypot(*(as_float(a) - as_float(b) for a, b in zip(p, q, strict=True)))


def _fsum(numbers: Any, /) -> Any:
    """A sum whose rounding errors are added up too.

    Reference: Neumaier (1974).
    """
    total, lost = as_float(0.0), as_float(0.0)
    for item in items_of(numbers):
        number = as_float(select(item.is_there, item.value, 0))
        new = total + number
        lost = lost + jnp.where(abs(total) >= abs(number), (total - new) + number, (number - new) + total)
        total = new
    return as_float(total + jnp.where(jnp.isfinite(total), lost, 0.0))


def _prod(numbers: Any, /, *, start: Any = 1) -> Any:
    factors = (select(item.is_there, as_number(item.value), 1) for item in items_of(numbers))
    return functools.reduce(functools.partial(exact, "mul"), factors, as_number(start))


def _sumprod(p: Any, q: Any, /) -> Any:
    products = (exact("mul", as_number(a), as_number(b)) for a, b in zip(p, q, strict=True))
    return functools.reduce(functools.partial(exact, "add"), products, 0)


def _modf(x: Any, /) -> tuple[Any, Any]:
    x = as_float(x)
    whole = jnp.trunc(x)
    return as_float(jnp.copysign(jnp.where(jnp.isinf(x), 0.0, x - whole), x)), as_float(whole)


def _frexp(x: Any, /) -> tuple[Any, Any]:
    mantissa, exponent = jnp.frexp(as_float(x))
    return as_float(mantissa), as_int(exponent)


def _ldexp(x: Any, i: Any, /) -> Any:
    return as_float(jnp.ldexp(as_float(x), jnp.asarray(as_index(i, "ldexp"))))


def _isclose(a: Any, b: Any, *, rel_tol: Any = 1e-09, abs_tol: Any = 0.0) -> Any:
    """``math.isclose``; a tolerance below the precision amounts to equality."""
    a, b = as_float(a), as_float(b)
    near = jnp.abs(a - b) <= jnp.maximum(rel_tol * jnp.maximum(jnp.abs(a), jnp.abs(b)), abs_tol)
    return as_bool((a == b) | (near & jnp.isfinite(a) & jnp.isfinite(b)))


def _remainder(x: Any, y: Any, /) -> Any:
    """The remainder after the nearest multiple of ``y``; of two that are as near, after the even one."""
    x, y = as_float(x), as_float(y)
    size = jnp.abs(y)
    rest = jnp.fmod(jnp.abs(x), size)
    other = size - rest
    is_odd = jnp.fmod(jnp.abs(x) - rest, 2 * size) != 0
    is_over = (rest > other) | ((rest == other) & is_odd)
    rest = jnp.where(jnp.isinf(y), jnp.abs(x), jnp.where(is_over, rest - size, rest))
    return as_float(jnp.where(jnp.signbit(x), -rest, rest))


def _ulp(x: Any, /) -> Any:
    x = jnp.abs(as_float(x))
    above = jnp.nextafter(x, jnp.full_like(x, jnp.inf)) - x
    below = x - jnp.nextafter(x, jnp.zeros_like(x))
    return as_float(jnp.where(jnp.isfinite(x), jnp.where(jnp.isfinite(above), above, below), x))


def _fma(x: Any, y: Any, z: Any, /) -> Any:
    return _of_floats(lambda x, y, z: x * y + z, x, y, z)


def _test(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: as_bool(function(as_float(x)))


_OTHERS: Final[Mapping[str, Callable[..., Any]]] = {
    "ceil": _rounding(jnp.ceil),
    "comb": number_theory.comb,
    "factorial": number_theory.factorial,
    "floor": _rounding(jnp.floor),
    "fma": _fma,
    "frexp": _frexp,
    "gcd": number_theory.gcd,
    "hypot": _hypot,
    "isclose": _isclose,
    "isfinite": _test(jnp.isfinite),
    "isinf": _test(jnp.isinf),
    "isnan": _test(jnp.isnan),
    "isqrt": number_theory.isqrt,
    "lcm": number_theory.lcm,
    "ldexp": _checked("ldexp", _ldexp),
    "log": _checked("log", _log),
    "modf": _modf,
    "perm": number_theory.perm,
    "remainder": _checked("remainder", _remainder),
    "trunc": _rounding(jnp.trunc),
    "ulp": _ulp,
}
_OF_ITEMS: Final[Mapping[str, Callable[..., Any]]] = {"dist": _dist, "fsum": _fsum, "prod": _prod, "sumprod": _sumprod}


NAMES: Final = (*_FLOATS, *_OTHERS, *_OF_ITEMS)
"""All functions of the module, those of later releases of Python included."""


def _of_math(table: Mapping[str, Callable[..., Any]]) -> dict[Any, Callable[..., Any]]:
    """A table with the functions of ``math`` as keys, as far as this release of Python has them."""
    return {getattr(math, name): function for name, function in table.items() if hasattr(math, name)}


MEANINGS: Final = {
    **entries(
        _of_math({name: _checked(name, functools.partial(_of_floats, function)) for name, function in _FLOATS.items()}),
        converts=True,
    ),
    **entries(_of_math(_OTHERS), converts=True),
    **entries(_of_math(_OF_ITEMS), converts=True, uses_items=True),
}
