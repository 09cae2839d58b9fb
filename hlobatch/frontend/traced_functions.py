"""A function of the user's that JAX traces as a whole -> the same, meaning on traced values what it means in Python.

::

    def votes(a, b):                              def votes(a, b):
        return (a > 1) + (b > 1)       ==>            return __hb_operate("add", __hb_compare("gt", a, 1), …)

Control flow stays Python's: where it depends on what differs between lanes, tracing fails and the function is followed.
What such a function calls means what it does in Python, too.
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
"""Of functions that have been called: the code as it is meant."""


def as_meant(function: Any, args: Any = ()) -> Callable[..., Any]:
    """What a function of the user's does, to be called on values that are traced; any other object as it is.

    Args:
        function: What is called.
        args: What it is called with: where nothing in it may be traced, the function's own code runs.
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
        return function  # whose methods have the code that they mean (``analysis/own_code.py``)
    own = getattr(type(function), "__call__", None)  # noqa: B004  # its class's, as a function
    if isinstance(own, types.FunctionType) and not isinstance(function, type) and is_users(own):
        return functools.partial(_with_code(own, _code(own, None)), function)
    return function  # type: ignore[no-any-return]


def is_traced_alone(statement: str) -> bool:
    """Where the code of a function as it is meant comes to a statement that means something only in a program.

    Raises:
        UnsupportedSyntaxError: Always.
    """
    raise UnsupportedSyntaxError(
        f"a function with a `{statement}` is traced where it cannot be followed",
        help="decorate it with @hb.batch, and call it from a statement.",
    )


def matched(subject: Any) -> Any:
    """The subject of a ``match``, which is Python's if nothing in it differs between lanes.

    Raises:
        UnsupportedSyntaxError: Something does.
    """
    if differs(subject) or not all(isinstance(part, ATOMS) for part in parts(subject)):
        is_traced_alone("match")
    return subject


def _of_closure(function: Closure, *args: Any, **kwargs: Any) -> Any:
    plain = function.plain()
    source = function.template.source
    return _with_code(plain, _code(source.function, source))(*args, **kwargs)


def _with_code(function: types.FunctionType, code: types.CodeType) -> types.FunctionType:
    """The function with other code, which sees the same variables around it."""
    if code is function.__code__:
        return function
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    around = tuple(cells[name] for name in code.co_freevars)
    made = types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__, around)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def code_of(function: types.FunctionType) -> types.CodeType:
    """The code of a function of the user's as it is meant."""
    return _code(function, None)


def _code(function: types.FunctionType, source: Source | None) -> types.CodeType:
    """The code of a function as it is meant; its own where nothing in it means anything else, or that is not known."""
    from hlobatch.frontend.function_code import code_as_meant, is_meant  # noqa: PLC0415  # which call what is made here

    if function not in _CODES:
        if is_meant(function.__code__):
            return function.__code__
        try:
            _CODES[function] = code_as_meant(source or source_of(function))
        except HloBatchError:  # it has no source, or looks at its variables as objects
            _CODES[function] = function.__code__
    return _CODES[function]
