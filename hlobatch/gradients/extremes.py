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

from hlobatch._jax import Equation
from hlobatch.ir.evaluation import as_it_is

_EXTREMES = {"reduce_max": jnp.argmax, "reduce_min": jnp.argmin}


def is_extreme(equation: Equation) -> bool:
    """Whether an equation is a maximum or minimum reduction of floats."""
    is_named = equation.primitive.name in _EXTREMES
    return is_named and jnp.issubdtype(equation.invars[0].aval.dtype, jnp.floating) and bool(equation.params["axes"])


def of_extreme(equation: Equation, given: Sequence[Any]) -> list[Any]:
    """The result of such a reduction, with the derivative of this module."""
    axes = tuple(equation.params["axes"])
    return [_extreme(functools.partial(as_it_is, equation), _EXTREMES[equation.primitive.name], axes, *given)]


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
