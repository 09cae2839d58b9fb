"""Maximum and minimum reductions with a derivative that is right however the code is compiled.

::

    reduce_max[axes=(0,)] x    ==>    the cotangent goes to the elements that equal the maximum, at least to one

JAX's rule compares each element with the maximum, and divides by the number of equal ones. A compiler may compute the
elements once for the reduction and again for the comparison, and round differently, for instance if it contracts a
product and a sum: then no element equals the maximum, and 0 / 0 is a NaN. Here the element that ``argmax`` finds is
always counted: ``argmax`` compares elements only with each other.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from hlobatch._jax import ClosedJaxpr, Equation, Jaxpr, called_by, in_place_of
from hlobatch.ir.evaluation import as_it_is, known_at_first, values_of
from hlobatch.typing import ArrayLike

_EXTREMES = {"reduce_max": jnp.argmax, "reduce_min": jnp.argmin}


def has_extremes(closed: ClosedJaxpr) -> bool:
    """Whether a jaxpr has a maximum or minimum reduction of floats, also in jaxprs that it calls."""
    return any(_is_extreme(e) or (_is_call(e) and has_extremes(called_by(e))) for e in closed.jaxpr.eqns)


def with_extremes(closed: ClosedJaxpr) -> Callable[..., list[Any]]:
    """The jaxpr as a function whose maximum and minimum reductions have the derivative of this module."""
    jaxpr: Jaxpr = closed.jaxpr

    def run(*arrays: ArrayLike) -> list[Any]:
        known = known_at_first(closed, arrays)
        for equation in jaxpr.eqns:
            with in_place_of(equation):
                known.update(zip(equation.outvars, _results(equation, values_of(equation.invars, known)), strict=True))
        return values_of(jaxpr.outvars, known)

    return run


def _results(equation: Equation, given: Sequence[Any]) -> Sequence[Any]:
    if _is_extreme(equation):
        axes = tuple(equation.params["axes"])
        return [_extreme(functools.partial(as_it_is, equation), _EXTREMES[equation.primitive.name], axes, *given)]
    if _is_call(equation) and has_extremes(called := called_by(equation)):
        return with_extremes(called)(*given)
    return as_it_is(equation, given)


def _is_extreme(equation: Equation) -> bool:
    is_named = equation.primitive.name in _EXTREMES
    return is_named and jnp.issubdtype(equation.invars[0].aval.dtype, jnp.floating) and bool(equation.params["axes"])


def _is_call(equation: Equation) -> bool:
    """Whether an equation is a call that has no derivative rule of its own."""
    return bool(equation.primitive.name == "jit")


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1, 2))
def _extreme(reduced: Callable[..., Any], place: Callable[..., Any], axes: tuple[int, ...], array: Any) -> Any:
    """The maximum or minimum along some axes."""
    del place, axes
    (result,) = reduced([array])
    return result


@_extreme.defjvp
def _tangent_of_extreme(
    reduced: Callable[..., Any], place: Callable[..., Any], axes: tuple[int, ...], primals: Any, tangents: Any
) -> tuple[Any, Any]:
    (array,), (tangent,) = primals, tangents
    (result,) = reduced([array])
    kept = tuple(axis for axis in range(array.ndim) if axis not in axes)

    def in_rows(one: Any) -> Any:
        return jnp.transpose(one, (*kept, *axes)).reshape(*(one.shape[axis] for axis in kept), -1)

    rows = in_rows(array)
    is_it = (rows == result[..., None]) | (jnp.arange(rows.shape[-1]) == place(rows, axis=-1)[..., None])
    share = is_it.astype(rows.dtype) / jnp.sum(is_it, axis=-1, keepdims=True).astype(rows.dtype)
    return result, jnp.sum(in_rows(tangent) * share, axis=-1)
