"""A call in code that is being traced -> its value, with the meaning that the function has in Python.

::

    sum(xs)                      __hb_call(sum, xs)
    math.isqrt(n)        ==>     __hb_call(math.isqrt, n)
    best.get(k, 0)               __hb_call(best.get, k, 0)

Functions of Python, of its library and of NumPy need numbers that are known. What they mean on values that differ
between lanes stands in tables, from a function to a function on traced values; there is a module of them for each
subject. The function is found by the object, and not by its name. If no value differs between lanes, the function
itself is called.
"""

from __future__ import annotations

import enum
import functools
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import jax

from hlobatch._jax import is_tracer
from hlobatch.analysis.lane_failures import by_python, is_there
from hlobatch.analysis.mutation import has_changed
from hlobatch.analysis.reach import parts as found_in
from hlobatch.diagnostics import UnsupportedSyntaxError
from hlobatch.frontend import (
    container_methods,
    heaps,
    library_functions,
    math_functions,
    numpy_functions,
    python_functions,
)
from hlobatch.frontend.effects import print_values
from hlobatch.frontend.lane_numbers import parts
from hlobatch.frontend.meaning import Function, Meaning
from hlobatch.frontend.traced_functions import as_meant
from hlobatch.ir.choice import Choice
from hlobatch.ir.growing import Growing

_MEANINGS: Final[Mapping[Any, Meaning]] = {
    **numpy_functions.MEANINGS,
    **math_functions.MEANINGS,
    **library_functions.MEANINGS,
    **heaps.MEANINGS,
    **python_functions.MEANINGS,
}
_METHODS: Final[Mapping[tuple[type, str], Function]] = {**container_methods.METHODS, **numpy_functions.METHODS}
_CALLERS: Final[frozenset[Any]] = python_functions.CALLERS | library_functions.CALLERS


def call(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """The value of ``function(*args, **kwargs)``."""
    if isinstance(function, functools.partial):
        return call(function.func, *function.args, *args, **{**function.keywords, **kwargs})
    if isinstance(function, Choice):
        return function.each(lambda one: _unchanging(one, args, kwargs))
    if len(args) == 1 and not kwargs and isinstance(args[0], Choice) and function in _OF_OBJECTS:
        return args[0].each(function)
    if function is print:
        return print_values(*args, **kwargs)
    known = _known(function)
    if known in _CALLERS:
        args = tuple(map(_as_meant, args))
        kwargs = {name: _as_meant(value) for name, value in kwargs.items()}
    meaning = _meaning(known)
    if meaning is not None or getattr(known, "__module__", None) in _OF_ARRAYS:
        for argument in args:
            is_there(argument, f"`{getattr(function, '__name__', function)}` of")
    if meaning is not None and meaning.uses_items:  # what an iterator gives is not known before
        args = tuple(list(value) if isinstance(value, Iterator) else value for value in args)
    if meaning is not None and _has_to_be_meant(known, meaning, args, kwargs):
        return meaning.function(*args, **kwargs)
    method = _method(function)
    if method is not None and _holds(is_tracer, (function.__self__, args, kwargs)):
        with by_python():
            return method(function.__self__, *args, **kwargs)
    if isinstance(function, (types.BuiltinMethodType, type)) and not _holds(is_tracer, (args, kwargs)):
        with by_python():
            return function(*args, **kwargs)
    return as_meant(function, (args, kwargs))(*args, **kwargs)


def _unchanging(function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """The value of a call of one of several functions, of which each lane has one, and all are called.

    Raises:
        UnsupportedSyntaxError: It changes an object, which it would do in every lane.
    """
    known = [replace(part, may_grow=False) for value in (function, *args, *kwargs.values()) for part in found_in(value)]
    result = call(function, *args, **kwargs)
    if has_changed(known):
        raise UnsupportedSyntaxError(
            "which of several functions is called depends on the lane, and one of them changes an object in place",
            help="call each by its name, under an `if`.",
        )
    return result


def _has_to_be_meant(function: Any, meaning: Meaning, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Whether Python's function itself cannot be called with some arguments."""
    holds_arrays = _holds(is_tracer if meaning.converts else _is_jax, (args, kwargs))
    calls = function in _CALLERS and _holds(callable, (args, kwargs))
    return holds_arrays or calls or any(isinstance(value, Growing) for value in args)


_OF_ARRAYS: Final = ("jax.numpy", "jax.lax", "jax.nn")
"""Modules whose functions compute with what they are given."""
_OF_OBJECTS: Final = (len, int, float, abs, ord)
"""Functions of a Python object that is another one in each lane."""


def has_meaning(function: Any) -> bool:
    """Whether calls of an object may mean something else than JAX makes of them."""
    known = _known(function)
    has_own = known is print or known in _CALLERS or _meaning(known) is not None or _method(function) is not None
    return has_own or isinstance(function, Choice)


def known_functions() -> dict[str, list[str]]:
    """The names of the functions that have a meaning, by the module that they are of."""
    own = {*python_functions.MEANINGS, *python_functions.CALLERS}.difference(python_functions.REFUSED)
    return {
        "Python": sorted(function.__name__ for function in own),
        "`math`": sorted(math_functions.NAMES),
        "containers": [f"{kind.__name__}.{name}" for kind, name in _METHODS],
    }


def _meaning(function: Any) -> Meaning | None:
    if isinstance(function, type) and issubclass(function, enum.Enum):
        member = python_functions.integer_member if issubclass(function, int) else container_methods.member
        return Meaning(functools.partial(member, function), converts=True)
    return _MEANINGS.get(function)


def _known(function: Any) -> Any:
    """What the tables know an object by."""
    try:
        hash(function)
    except Exception:  # noqa: BLE001  # the user's own
        return None
    return function


def _method(function: Any) -> Function | None:
    if not isinstance(function, types.BuiltinMethodType) or isinstance(function.__self__, types.ModuleType):
        return None
    kinds = type(function.__self__).__mro__
    return next((_METHODS[kind, function.__name__] for kind in kinds if (kind, function.__name__) in _METHODS), None)


def _as_meant(value: Any) -> Any:
    """A function that is given to another, with its meaning."""
    return functools.partial(call, value) if callable(value) and has_meaning(value) else value


def _is_jax(value: Any) -> bool:
    """Whether a value is an array of JAX's, of which what is computed while code is traced is not known either."""
    return isinstance(value, jax.Array)


def _holds(kind: Callable[[Any], bool], value: Any) -> bool:
    return any(map(kind, parts(value)))
