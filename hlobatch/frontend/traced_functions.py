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
from collections.abc import Callable
from typing import Any

from hlobatch.analysis.objects import ATOMS
from hlobatch.analysis.own_code import as_it_means
from hlobatch.diagnostics import UnsupportedSyntaxError
from hlobatch.frontend.files import is_users
from hlobatch.frontend.lane_numbers import differs, parts
from hlobatch.frontend.nested import Closure, by_another_name
from hlobatch.prelude import is_of_prelude


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
        is_written = is_users(function) or is_of_prelude(function.__code__.co_filename)
        if not is_written or all(isinstance(part, ATOMS) for part in parts(args)):
            return function
        return as_it_means(function)
    if isinstance(function, type):
        return function  # the methods of a class have been given their code (``analysis/own_code.py``)
    own = getattr(type(function), "__call__", None)  # noqa: B004  # that of the class, as a function
    if isinstance(own, types.FunctionType) and not isinstance(function, type) and is_users(own):
        return functools.partial(as_it_means(own), function)
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
    """The value of a call of an inner function.

    Raises:
        UnsupportedSyntaxError: It assigns variables around it, of which a call by another name has copies.
    """
    if function.template.changed:
        raise by_another_name(function.template.source.node.name)
    plain = function.plain()
    source = function.template.source
    return as_it_means(plain, source.function, source)(*args, **kwargs)
