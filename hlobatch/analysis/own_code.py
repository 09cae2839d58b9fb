"""The methods of the user's classes -> the code that they run while a program is traced.

::

    sum(cards)          Python calls Cards.__iter__ by itself, whose own code adds flags as JAX does

The methods that Python calls implicitly cannot be listed: iteration, descriptors, ``__post_init__`` of a dataclass,
calls from libraries. So all methods that code reaches have their code replaced by code with Python's meaning on traced
values (``frontend/function_code.py``) as long as the code is traced. On known values that does what the original code
does, since other threads may call the methods meanwhile.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import threading
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Final

from hlobatch.prelude import is_of_prelude
from hlobatch.scoped import having
from hlobatch.values.draws import is_users_file

Meaning = Callable[[types.FunctionType, Any], types.CodeType]
"""Given a function and its source, if that is known: its code with Python's meaning on traced values."""
_meaning: contextvars.ContextVar[Meaning | None] = contextvars.ContextVar("hlobatch_meaning", default=None)
_LOCK: Final = threading.Lock()
_running: Final[dict[types.FunctionType, tuple[types.CodeType, int]]] = {}
"""Methods that run other code now: their own code, and the number of contexts that want the other one."""


def meant_by(meaning: Meaning) -> AbstractContextManager[Meaning]:
    """A context in which methods get their other code from the function ``meaning``."""
    return having(_meaning, meaning)


@contextlib.contextmanager
def as_they_mean(classes: Iterable[type]) -> Iterator[None]:
    """A context in which the methods of some classes run the code with Python's meaning on traced values."""
    meaning = _meaning.get()
    methods = {method: meaning(method, None) for kind in classes for method in methods_of(kind)} if meaning else {}
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


def as_it_means(
    function: types.FunctionType, plain: types.FunctionType | None = None, source: Any = None
) -> types.FunctionType:
    """A user's function, with code that has Python's meaning on traced values.

    Args:
        function: The function.
        plain: The function whose source it is made from, if that is another function.
        source: That source, if it is known.
    """
    meaning = _meaning.get()
    return function if meaning is None else _with_code(function, meaning(plain or function, source))


def _with_code(function: types.FunctionType, code: types.CodeType) -> types.FunctionType:
    """The function with other code and the same closure variables."""
    if code is function.__code__:
        return function
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    around = tuple(cells[name] for name in code.co_freevars)
    made = types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__, around)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _has_place_for(method: types.FunctionType, code: types.CodeType) -> bool:
    """Whether code can be run in place of a method's: it is other code, with the same closure variables."""
    return code is not method.__code__ and code.co_freevars == method.__code__.co_freevars


def methods_of(kind: type) -> Iterator[types.FunctionType]:
    """The functions of a class that are written in the user's files, or in the prelude."""
    for value in vars(kind).values():
        for function in functions_in(value):
            file = function.__code__.co_filename if isinstance(function, types.FunctionType) else ""
            if file and (is_users_file(file) or is_of_prelude(file)):
                yield function


def functions_in(value: Any) -> Iterator[Any]:
    """The functions behind an attribute of a class: itself, or those of a property or other descriptor."""
    match value:
        case property():
            yield from filter(None, (value.fget, value.fset, value.fdel))
        case staticmethod() | classmethod():
            yield value.__func__
        case functools.cached_property():
            yield value.func
        case types.FunctionType():
            yield value
