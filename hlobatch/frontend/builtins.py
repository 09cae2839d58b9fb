"""A test, ``not`` and a chained comparison on values -> functions that straight-line code calls in their place.

::

    while x:          branch on __hb_truth(x)
    not x             __hb_not(x)
    a < b < c         __hb_and(a < b, b < c)

Each function takes traced scalars, and Python objects, for which its result is Python's, so that a static condition is
decided when the program is built. Its errors have no place, which the tracing of the code adds.
"""

from __future__ import annotations

import functools
import types
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch._jax import is_tracer
from hlobatch.analysis.own_code import as_it_means
from hlobatch.diagnostics import BatchTypeError, UnsupportedSyntaxError
from hlobatch.frontend.files import is_users
from hlobatch.ir.value import is_value
from hlobatch.values.lane_failures import where
from hlobatch.values.optional import optional, there_alone
from hlobatch.values.own_containers import content


def is_array(value: Any) -> bool:
    """Whether a value is a JAX or numpy array (or scalar of theirs) rather than a Python object."""
    return isinstance(value, (jax.Array, np.ndarray, np.generic))


def scalar(value: Any, what: str) -> Any:
    """The value, which has to be a scalar; ``what`` names it in the error."""
    if np.shape(value) != ():
        raise BatchTypeError(
            f"{what} has shape {list(np.shape(value))}, it has to be a scalar",
            help="reduce it, as jnp.any(…), jnp.all(…) or jnp.max(…) do; the code runs on one example.",
        )
    return value


def truth(value: Any) -> Any:
    """A condition as a scalar boolean array, or as a Python bool where it is known when the program is built."""
    if (known := optional(value)) is None:
        return _truth(value)
    with there_alone(value), where(known.is_there):  # the object's own method is called where there is one
        result = _truth(value)
    return jnp.logical_and(known.is_there, result)


def _truth(value: Any) -> Any:
    value = content(value, "__bool__", "__len__")
    if is_value(value):
        return value.hb_truth(_truth)
    if not is_array(value):
        return _of_object(value)
    return jnp.asarray(scalar(value, "the condition")).astype(jnp.bool_)


def _of_object(value: Any) -> Any:
    """``bool(value)``, which may differ between lanes if the object's ``__bool__`` is written in Python."""
    own = getattr(type(value), "__bool__", None)
    if not isinstance(own, types.FunctionType):
        return bool(value)
    result = (as_it_means(own) if is_users(own) else own)(value)
    return _truth(result) if is_tracer(result) or type(result) is bool else bool(value)


def logical_not(value: Any) -> Any:
    """``not value``."""
    known = truth(value)
    return not known if type(known) is bool else jnp.logical_not(known)


def logical_and(*values: Any) -> Any:
    """The value of a chained comparison whose links are ``values``."""
    truths = list(map(truth, values))
    if all(type(value) is bool for value in truths):
        return all(truths)
    return functools.reduce(jnp.logical_and, truths)


def kept(value: Any, name: str) -> Any:
    """A value to be assigned; refused if it holds a function, which would not see the next value of ``name``."""
    if any(callable(leaf) and not is_array(leaf) for leaf in jax.tree.leaves(value, is_leaf=callable)):
        raise kept_error(name)
    return value


def kept_error(name: str) -> UnsupportedSyntaxError:
    """The error for a function in a variable that would not see a later value of ``name``."""
    return UnsupportedSyntaxError(
        f"a function kept in a variable uses {name!r}, which is assigned again later",
        help="use another name for the later value.",
    )


def given_twice(name: str) -> UnsupportedSyntaxError:
    """The error for a call that passes ``name`` twice to a function that changes it."""
    return UnsupportedSyntaxError(
        f"a function is given {name!r} twice, or a part of it beside it, and changes it",
        help=f"give it a copy of one, as in `{name}.copy()`.",
    )


def apart(value: Any, name: str) -> Any:
    """A part of a variable, passed beside the variable to a function that changes it: it has to be a number."""
    leaves = jax.tree.leaves(value)
    if len(leaves) != 1 or leaves[0] is not value or np.shape(value) != ():
        raise given_twice(name)
    return value


def refuse(error: Exception) -> None:
    """Raise an error about unsupported code once tracing reaches the code."""
    raise error
