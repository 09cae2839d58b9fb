"""The methods of the user's classes -> the code that they run while other code is traced.

::

    sum(cards)          Python calls Cards.__iter__ by itself, whose own code adds flags as JAX does

What Python calls by itself nobody can list: iteration, descriptors, what a dataclass calls once its fields are set,
what functions of libraries ask objects for. So all methods that code reaches run what they mean
(``frontend/function_code.py``) as long as it is traced. On values that are known, that is what their own code does:
other threads may call them meanwhile.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import threading
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from hlobatch.analysis.draws import is_users_file

Meaning = Callable[[types.FunctionType], types.CodeType]
"""From a function to its code as it is meant."""
_meaning: contextvars.ContextVar[Meaning | None] = contextvars.ContextVar("hlobatch_meaning", default=None)
_LOCK: Final = threading.Lock()
_running: Final[dict[types.FunctionType, tuple[types.CodeType, int]]] = {}
"""Of methods that run other code now: their own, and how often that is wanted."""


@contextlib.contextmanager
def meant_by(meaning: Meaning) -> Iterator[None]:
    """A context in which methods run what they mean, where code is traced."""
    token = _meaning.set(meaning)
    try:
        yield
    finally:
        _meaning.reset(token)


@contextlib.contextmanager
def as_they_mean(classes: Iterable[type]) -> Iterator[None]:
    """A context in which the methods of some classes run what they mean."""
    meaning = _meaning.get()
    methods = {method: meaning(method) for kind in classes for method in methods_of(kind)} if meaning else {}
    others = {method: code for method, code in methods.items() if _has_place_for(method, code)}
    try:
        with _LOCK:
            for method, code in others.items():
                own, count = _running.get(method, (method.__code__, 0))
                _running[method], method.__code__ = (own, count + 1), code
        yield
    finally:
        with _LOCK:
            for method in others:
                own, count = _running.pop(method)
                if count > 1:
                    _running[method] = own, count - 1
                else:
                    method.__code__ = own


def _has_place_for(method: types.FunctionType, code: types.CodeType) -> bool:
    """Whether some code is another than that of a method, and sees the same variables around it."""
    return code is not method.__code__ and code.co_freevars == method.__code__.co_freevars


def methods_of(kind: type) -> Iterator[types.FunctionType]:
    """The functions of the user's that are called for objects of a class."""
    for value in vars(kind).values():
        for function in functions_in(value):
            if isinstance(function, types.FunctionType) and is_users_file(function.__code__.co_filename):
                yield function


def functions_in(value: Any) -> Iterator[Any]:
    """The functions that an attribute of a class stands for."""
    match value:
        case property():
            yield from filter(None, (value.fget, value.fset, value.fdel))
        case staticmethod() | classmethod():
            yield value.__func__
        case functools.cached_property():
            yield value.func
        case types.FunctionType():
            yield value
