"""A call that is a statement and writes into an array of NumPy's -> the assignment with the same effect.

::

    a.sort()                       a[...] = jnp.sort(a)
    a.fill(x)                      a[...] = x
    np.add(a, b, out=c)            c[...] = np.add(a, b)
    np.maximum(a, b, c)            c[...] = np.maximum(a, b)
    np.copyto(a, b)                a[...] = b
    np.put(a, i, x)                a[...] = jnp.put(a, i, x, inplace=False)

Whether ``a.sort()`` sorts an array is known only once the types are; tracing tells (``ChangesArray``). The others are
recognized by the function that they call.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch._jax import is_tracer
from hlobatch.diagnostics import BatchTypeError
from hlobatch.frontend.builtins import is_array
from hlobatch.frontend.nodes import located
from hlobatch.frontend.scopes import root_of
from hlobatch.frontend.syntax import helper
from hlobatch.values.facts import Learned, Site


def _putmask(array: Any, mask: Any, values: Any) -> Any:
    """The array after ``np.putmask``."""
    if np.ndim(values) and np.shape(values) != np.shape(array):
        raise BatchTypeError(
            "`np.putmask` repeats values that are not as many as the elements",
            help="make an array of them that has the shape of the other.",
        )
    return jnp.where(mask, values, array)


def _apart(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of JAX's that NumPy has as one that works in place, for sequences as well as arrays."""

    def meaning(*args: Any, **kwargs: Any) -> Any:
        given = [jnp.asarray(value) if isinstance(value, (list, tuple, range)) else value for value in args]
        return function(*given, **kwargs, inplace=False)

    return meaning


_PUT: Final = _apart(jnp.put)
METHODS: Final[Mapping[str, Callable[..., Any] | None]] = {
    "fill": None,
    "partition": jnp.partition,
    "put": _PUT,
    "sort": jnp.sort,
}
"""Methods that change their array, each with the function of the array that gives its new elements; those of ``fill``
are the argument."""

_FUNCTIONS: Final[Mapping[Any, Callable[..., Any]]] = {
    np.fill_diagonal: _apart(jnp.fill_diagonal),
    np.place: _apart(jnp.place),
    np.put: _PUT,
    np.put_along_axis: _apart(jnp.put_along_axis),
    np.putmask: _putmask,
}
"""Functions that change their first argument, each with the function of the arguments that gives its new elements."""


@dataclass(frozen=True, slots=True)
class ChangesArray:
    """The fact that a call of a method that is a statement changes an array in place."""


def is_method(call: ast.expr) -> bool:
    """Whether a call may be one of a method that changes an array, which stands in a variable or a part of one."""
    match call:
        case ast.Call(ast.Attribute(target, name)) if name in METHODS:
            return _is_place(target)
    return False


def check_no_array(site: Site, value: Any) -> None:
    """Check that a call of a method, which is a statement, is not one of an array.

    Raises:
        Learned: It is.
    """
    if is_array(value) and np.ndim(value):
        raise Learned(site, ChangesArray())


def are_known(*values: Any) -> bool:
    """Whether values hold no array that differs between lanes, so that Python carries out what changes them."""
    return not any(is_tracer(leaf) and np.ndim(leaf) for leaf in jax.tree.leaves(values))


def as_assignment(call: ast.Call, constant: Callable[[Any], ast.expr]) -> ast.Assign:
    """The assignment with the effect of a method of an array.

    Args:
        call: The call, for which ``is_method`` holds.
        constant: Makes an expression of an object.
    """
    assert isinstance(call.func, ast.Attribute)
    target, function = call.func.value, METHODS[call.func.attr]
    if function is None:
        return _stored(target, call.args[0] if call.args else call.keywords[0].value, call)
    return _stored(target, located(ast.Call(constant(function), [target, *call.args], call.keywords), call), call)


def of_function(call: ast.Call, function: Any, constant: Callable[[Any], ast.expr]) -> ast.Assign | None:
    """The assignment with the effect of a call of a function of NumPy's; None if it writes into no place.

    Args:
        call: The call.
        function: The function.
        constant: Makes an expression of an object.
    """
    if (new := _of_first_argument(function)) is not None:
        if not call.args or not _is_place(call.args[0]):
            return None
        return _stored(call.args[0], located(ast.Call(constant(new), call.args, call.keywords), call), call)
    if function is np.copyto and len(call.args) > 1 and not call.keywords and _is_place(call.args[0]):
        return _stored(call.args[0], call.args[1], call)
    if not callable(function) or (getattr(function, "__module__", None) or "numpy").partition(".")[0] != "numpy":
        return None
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    arguments, out = _without_out(call.args, function)
    out = named.pop("out", out)
    if out is None or not _is_place(out):
        return None
    where = named.pop("where", None) if isinstance(function, np.ufunc) else None
    keywords = [keyword for keyword in call.keywords if keyword.arg in named]
    value: ast.expr = located(ast.Call(call.func, list(arguments), keywords), call)
    value = helper("__hb_as_out", [value, out, *([where] if where is not None else [])], call)
    return _stored(out, value, call)


def _of_first_argument(function: Any) -> Callable[..., Any] | None:
    """For a function that changes its first argument, that of the arguments which gives its new elements; else None."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.ufunc) and function.__name__ == "at":
        namesake = getattr(jnp, owner.__name__, None)
        return _apart(namesake.at) if isinstance(namesake, jnp.ufunc) else None
    return next((new for known, new in _FUNCTIONS.items() if known is function), None)


def as_out(value: Any, out: Any, where: Any = True) -> Any:
    """What a function writes into an array: its value, where it is asked for.

    Raises:
        BatchTypeError: The array cannot hold it.
    """
    value, out = jnp.asarray(value), jnp.asarray(out)
    if not np.can_cast(value.dtype, out.dtype, "same_kind"):
        raise BatchTypeError(
            f"an array of {out.dtype} cannot become one of {value.dtype} in place",
            help="make it one of floats where it is made, or assign: `a[...] = …` cuts off what it cannot hold.",
        )
    if np.broadcast_shapes(value.shape, out.shape) != out.shape:
        raise BatchTypeError(
            f"what is written has shape {list(value.shape)}, and the array has {list(out.shape)}",
            help="make the array of that shape where it is made.",
        )
    return value if where is True else jnp.where(where, value, out)


def _without_out(arguments: Sequence[ast.expr], function: Any) -> tuple[Sequence[ast.expr], ast.expr | None]:
    """The arguments of an elementwise function before the array that it writes into, and that array, if it is given."""
    if isinstance(function, np.ufunc) and function.nout == 1 and len(arguments) == function.nargs:
        return arguments[:-1], arguments[-1]
    return arguments, None


def _stored(target: ast.expr, value: ast.expr, node: ast.AST) -> ast.Assign:
    whole = ast.Subscript(target, located(ast.Constant(...), node), ast.Store())
    return located(ast.Assign([located(whole, node)], value), node)


def _is_place(node: ast.expr) -> bool:
    """Whether an expression is a variable, or a part of one that may be read twice."""
    return isinstance(root_of(node), ast.Name) and not any(
        isinstance(part, (ast.Call, ast.NamedExpr, ast.Await)) for part in ast.walk(node)
    )
