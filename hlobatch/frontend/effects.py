"""``print`` and JAX's ``debug.print`` and ``debug.callback`` in code that is being traced -> what the host is to do."""

from __future__ import annotations

import builtins
import io
import logging
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import jax
import numpy as np

from hlobatch._jax import is_tracer
from hlobatch.analysis.boxes import boxed
from hlobatch.analysis.draws import names_of
from hlobatch.analysis.optional import with_flags
from hlobatch.frontend.files import is_users
from hlobatch.ir.boxed import in_python
from hlobatch.ir.effects import lane_print
from hlobatch.ir.walk import around, walked

EFFECTS: Final = (jax.debug.print, jax.debug.callback)
"""JAX's own functions that have the host do something, which code that is traced calls as it stands."""


_LISTENERS: Final = (logging.Logger, logging.LoggerAdapter, io.IOBase)


def has_host_do(function: Any) -> bool:
    """Whether a function of JAX has the host do something, and gives nothing."""
    return any(function is effect for effect in EFFECTS)


@dataclass(frozen=True, eq=False)
class Shows:
    """What prints values on the host, as an object: code that is traced does not run it.

    Attributes:
        function: Does it.
    """

    function: Callable[..., Any]


def prints(function: Any) -> bool:
    """Whether a function of the user's may print, itself or by one that it calls: JAX would do so while it traces."""
    return any(_named(one).get("print") is print for one in _called(function) if "print" in names_of(one))


def _called(function: Any) -> Iterator[types.FunctionType]:
    """A function of the user's, and those that it names, and those that these name."""

    def is_followed(value: Any) -> bool:
        return isinstance(value, types.FunctionType) and is_users(value)

    return walked([function], lambda one: _named(one).values(), enters=is_followed)


def _named(function: types.FunctionType) -> dict[str, Any]:
    """What the names in the code of a function stand for."""
    known = function.__globals__
    return {n: known.get(n, getattr(builtins, n, None)) for n in names_of(function)} | around(function)


def printed(shows: Shows, *values: Any) -> None:
    """Have the host show values, of which some differ between lanes.

    Args:
        shows: Prints, given the values as the host has them.
        *values: Those that it shows.
    """
    leaves, treedef = jax.tree.flatten(boxed(with_flags(values), (), with_flags))
    places = [i for i, leaf in enumerate(leaves) if is_tracer(leaf)]
    are_numbers = [bool(getattr(leaves[i], "weak_type", False)) for i in places]
    operands = [leaves[i] for i in places]
    known = [None if is_tracer(leaf) else leaf for leaf in leaves]

    def show(*arrays: Any) -> None:
        filled = list(known)
        for i, array, is_number in zip(places, arrays, are_numbers, strict=True):
            filled[i] = _as_number(array) if is_number else array
        shows.function(*in_python(jax.tree.unflatten(treedef, filled)))

    jax.debug.callback(show, *operands)


def print_values(*values: Any, **how: Any) -> None:
    """``print``, where it is a part of an expression, so that its values are all that is known of it."""
    printed(Shows(lambda shown, told: lane_print(*shown, **told)), values, how)


def _as_number(array: Any) -> Any:
    """A Python number; one of 32 bits has no digits that nobody wrote."""
    if np.shape(array):
        return array
    number = np.asarray(array).item()
    return float(str(np.asarray(array))) if isinstance(number, float) else number


def speaks(function: Any) -> bool:
    """Whether a function is one of Python's that tell somebody something, which no lane can do."""
    owner = getattr(function, "__self__", None)
    return getattr(function, "__module__", None) in ("logging", "warnings", "_warnings") or isinstance(
        owner, _LISTENERS
    )
