"""A function of the user's that JAX traces as a whole -> the function, with Python's meaning on traced values.

::

    def votes(a, b):                              def votes(a, b):
        return (a > 1) + (b > 1)       ==>            return __hb_operate("add", __hb_compare("gt", a, 1), …)

Control flow stays Python's: if it depends on a value that differs between lanes, tracing fails and the function is
followed. Functions that it calls have their meaning in Python, too.
"""

from __future__ import annotations

import functools
import types
import weakref
from collections.abc import Callable
from typing import Any, Final

from hlobatch.analysis.objects import ATOMS
from hlobatch.diagnostics import HloBatchError, UnsupportedSyntaxError
from hlobatch.frontend.files import is_users
from hlobatch.frontend.lane_numbers import differs, parts
from hlobatch.frontend.nested import Closure
from hlobatch.frontend.source import Source, source_of

_CODES: Final[weakref.WeakKeyDictionary[types.FunctionType, types.CodeType]] = weakref.WeakKeyDictionary()
"""The code with Python's meaning on traced values, of functions that have been called."""


def as_meant(function: Any, args: Any = ()) -> Callable[..., Any]:
    """A function of the user's with Python's meaning on traced values; any other object unchanged.

    Args:
        function: The object that is called.
        args: The arguments of the call; if none of them can be traced, the function's own code runs.
    """
    if isinstance(function, Closure):
        return functools.partial(_of_closure, function)
    if isinstance(function, functools.partial):
        given = (function.args, function.keywords)
        return functools.partial(as_meant(function.func, (given, args)), *given[0], **given[1])
    if isinstance(function, types.MethodType):
        inner = as_meant(function.__func__, (function.__self__, args))
        return function if inner is function.__func__ else types.MethodType(inner, function.__self__)
    if isinstance(function, types.FunctionType):
        if not is_users(function) or all(isinstance(part, ATOMS) for part in parts(args)):
            return function
        return _with_code(function, _code(function, None))
    if isinstance(function, type):
        return function  # its methods have been given their code (``analysis/own_code.py``)
    own = getattr(type(function), "__call__", None)  # noqa: B004  # that of the class, as a function
    if isinstance(own, types.FunctionType) and not isinstance(function, type) and is_users(own):
        return functools.partial(_with_code(own, _code(own, None)), function)
    return function  # type: ignore[no-any-return]


def is_traced_alone(statement: str) -> bool:
    """Raise where rewritten code of a traced function reaches a statement that only a program can carry out.

    Raises:
        UnsupportedSyntaxError: Always.
    """
    raise UnsupportedSyntaxError(
        f"a function with a `{statement}` is traced where it cannot be followed",
        help="decorate it with @hb.batch, and call it from a statement.",
    )


def matched(subject: Any) -> Any:
    """The subject of a ``match`` that Python carries out, since nothing in it differs between lanes.

    Raises:
        UnsupportedSyntaxError: Something in it differs between lanes.
    """
    if differs(subject) or not all(isinstance(part, ATOMS) for part in parts(subject)):
        is_traced_alone("match")
    return subject


def _of_closure(function: Closure, *args: Any, **kwargs: Any) -> Any:
    plain = function.plain()
    source = function.template.source
    return _with_code(plain, _code(source.function, source))(*args, **kwargs)


def _with_code(function: types.FunctionType, code: types.CodeType) -> types.FunctionType:
    """The function with other code, and the same closure variables."""
    if code is function.__code__:
        return function
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    around = tuple(cells[name] for name in code.co_freevars)
    made = types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__, around)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def code_of(function: types.FunctionType) -> types.CodeType:
    """The code of a function of the user's with Python's meaning on traced values."""
    return _code(function, None)


def _code(function: types.FunctionType, source: Source | None) -> types.CodeType:
    """The code of a function with Python's meaning on traced values; its own if that is the same, or cannot be made."""
    from hlobatch.frontend.function_code import code_as_meant, is_meant  # noqa: PLC0415  # it imports this module

    if function not in _CODES:
        if is_meant(function.__code__):
            return function.__code__
        try:
            _CODES[function] = code_as_meant(source or source_of(function))
        except HloBatchError:  # it has no source, or uses its variables as objects
            _CODES[function] = function.__code__
    return _CODES[function]
