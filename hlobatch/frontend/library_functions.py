"""``operator``, ``functools``, ``itertools`` and ``cmath`` -> the meaning of their functions on values of a lane.

Most of them work on any values, and are called unchanged; if they call a function, it is enough that this one has its
meaning. This module has the others, which compare, choose, or need numbers.
"""

from __future__ import annotations

import cmath
import functools
import itertools
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

import jax.numpy as jnp

from hlobatch.frontend.builtins import logical_not
from hlobatch.frontend.container_methods import count, index
from hlobatch.frontend.items import item
from hlobatch.frontend.lane_numbers import as_bool, as_complex, as_float, as_index, as_number
from hlobatch.frontend.meaning import Meaning, entries
from hlobatch.frontend.python_functions import absolute
from hlobatch.frontend.python_numbers import operate, power
from hlobatch.frontend.sequences import compare, contains

_COMPARISONS: Final = ("lt", "le", "eq", "ne", "ge", "gt", "is_", "is_not")
_OPERATIONS: Final = ("add", "sub", "mul", "truediv", "floordiv", "mod", "lshift", "rshift", "neg", "pos")
_OPERATOR: Final[Mapping[Any, Callable[..., Any]]] = {
    **{getattr(operator, name): functools.partial(compare, name) for name in _COMPARISONS},
    **{getattr(operator, name): functools.partial(operate, name) for name in _OPERATIONS},
    operator.abs: absolute,
    operator.contains: contains,
    operator.countOf: lambda items, value: count(list(items), value),
    operator.getitem: item,
    operator.index: lambda value: as_index(value, "index"),
    operator.indexOf: lambda items, value: index(list(items), value),
    operator.not_: logical_not,
    operator.pow: lambda base, exponent: power(as_number(base), as_number(exponent), False),
    operator.truth: as_bool,
}


# Complex numbers


def _complex(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: as_complex(function(as_complex(value)))


def _log(value: Any, base: Any = None, /) -> Any:
    result = jnp.log(as_complex(value))
    return as_complex(result if base is None else result / jnp.log(as_complex(base)))


def _phase(value: Any, /) -> Any:
    return as_float(jnp.angle(as_complex(value)))


def _polar(value: Any, /) -> tuple[Any, Any]:
    return as_float(jnp.abs(as_complex(value))), _phase(value)


def _rect(size: Any, angle: Any, /) -> Any:
    size, angle = as_float(size), as_float(angle)
    return as_complex(size * jnp.cos(angle), size * jnp.sin(angle))


_OF_COMPLEX: Final = {
    "acos": jnp.arccos,
    "acosh": jnp.arccosh,
    "asin": jnp.arcsin,
    "asinh": jnp.arcsinh,
    "atan": jnp.arctan,
    "atanh": jnp.arctanh,
    "cos": jnp.cos,
    "cosh": jnp.cosh,
    "exp": jnp.exp,
    "log10": jnp.log10,
    "sin": jnp.sin,
    "sinh": jnp.sinh,
    "sqrt": jnp.sqrt,
    "tan": jnp.tan,
    "tanh": jnp.tanh,
}
_CMATH: Final[Mapping[Any, Callable[..., Any]]] = {
    **{getattr(cmath, name): _complex(function) for name, function in _OF_COMPLEX.items()},
    cmath.log: _log,
    cmath.phase: _phase,
    cmath.polar: _polar,
    cmath.rect: _rect,
    cmath.isfinite: lambda value: as_bool(jnp.isfinite(as_complex(value))),
    cmath.isinf: lambda value: as_bool(jnp.isinf(as_complex(value))),
    cmath.isnan: lambda value: as_bool(jnp.isnan(as_complex(value))),
}

MEANINGS: Final[Mapping[Any, Meaning]] = {**entries(_OPERATOR), **entries(_CMATH, converts=True)}
OPERATORS: Final = frozenset(_OPERATOR)
"""Functions that act like operators."""
CALLERS: Final = frozenset(
    {
        functools.reduce,
        itertools.accumulate,
        itertools.dropwhile,
        itertools.filterfalse,
        itertools.groupby,
        itertools.starmap,
        itertools.takewhile,
    }
)
"""Functions that call a function among their arguments, which is then wrapped to have its meaning."""
