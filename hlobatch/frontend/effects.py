"""``print`` and JAX's ``debug.print`` and ``debug.callback`` in code that is being traced -> effects on the host."""

from __future__ import annotations

import builtins
import io
import logging
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import jax

from hlobatch._jax import is_tracer
from hlobatch.frontend.files import is_users
from hlobatch.ir.boxed import in_python
from hlobatch.ir.effects import lane_print
from hlobatch.ir.walk import around, walked
from hlobatch.ir.words import python_number
from hlobatch.values.boxes import boxed
from hlobatch.values.draws import names_of
from hlobatch.values.optional import with_flags

EFFECTS: Final = (jax.debug.print, jax.debug.callback)
"""JAX's own functions with an effect on the host; traced code calls them unchanged."""


_LISTENERS: Final = (logging.Logger, logging.LoggerAdapter, io.IOBase)


def has_host_do(function: Any) -> bool:
    """Whether a function is one of JAX's with an effect on the host and no result."""
    return any(function is effect for effect in EFFECTS)


@dataclass(frozen=True, eq=False)
class Shows:
    """A function that prints values on the host, as an object that traced code does not call.

    Attributes:
        function: The function.
    """

    function: Callable[..., Any]


def prints(function: Any) -> bool:
    """Whether a function of the user's may print, itself or in a callee; JAX would run that print while it traces."""
    return any(_named(one).get("print") is print for one in _called(function) if "print" in names_of(one))


def _called(function: Any) -> Iterator[types.FunctionType]:
    """A function of the user's, and those that it names, directly or through others."""

    def is_followed(value: Any) -> bool:
        return isinstance(value, types.FunctionType) and is_users(value)

    return walked([function], lambda one: _named(one).values(), enters=is_followed)


def _named(function: types.FunctionType) -> dict[str, Any]:
    """The values of the names in the code of a function."""
    known = function.__globals__
    return {n: known.get(n, getattr(builtins, n, None)) for n in names_of(function)} | around(function)


def printed(shows: Shows, *values: Any) -> None:
    """Have the host show values, some of which differ between lanes.

    Args:
        shows: The function that prints, called with values on the host.
        *values: The values.
    """
    leaves, treedef = jax.tree.flatten(boxed(with_flags(values), (), with_flags))
    places = [i for i, leaf in enumerate(leaves) if is_tracer(leaf)]
    operands = [leaves[i] for i in places]
    known = [None if is_tracer(leaf) else leaf for leaf in leaves]

    def show(*arrays: Any) -> None:
        filled = list(known)
        for i, array in zip(places, arrays, strict=True):
            filled[i] = python_number(array)
        shows.function(*in_python(jax.tree.unflatten(treedef, filled)))

    jax.debug.callback(show, *operands)


def print_values(*values: Any, **how: Any) -> None:
    """``print`` as a part of an expression, where only the values are known and not their source text."""
    printed(Shows(lambda shown, told: lane_print(*shown, **told)), values, how)


def speaks(function: Any) -> bool:
    """Whether a function logs or warns, or writes to a file, which no lane can do."""
    owner = getattr(function, "__self__", None)
    return getattr(function, "__module__", None) in ("logging", "warnings", "_warnings") or isinstance(
        owner, _LISTENERS
    )
