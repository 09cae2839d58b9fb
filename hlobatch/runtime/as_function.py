"""Derivative and batching rules of a primitive that stands for a function: those of the function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax

from hlobatch._jax import NOT_MAPPED, is_zero, zero_like
from hlobatch.gradients.arrays import is_differentiable, with_values
from hlobatch.typing import Arrays

Function = Callable[..., list[Any]]
"""Maps the operands of a primitive to its results."""


def jvp_of(function: Function, primals: Arrays, tangents: Arrays) -> Any:
    """The results of a function and their tangents; operands whose tangent is a symbolic zero are constants."""
    moving = [i for i, t in enumerate(tangents) if not is_zero(t)]

    def of_moving(*some: Any) -> list[Any]:
        return function(*with_values(primals, moving, some))

    return jax.jvp(of_moving, [primals[i] for i in moving], [tangents[i] for i in moving])


def linearize_of(function: Function, has_tangent: Sequence[bool], values: Arrays) -> Any:
    """The results, whether each has a tangent, the residuals (none), and the function that is linear in tangents."""
    moving = [i for i, has in enumerate(has_tangent) if has]

    def of_moving(*some: Any) -> list[Any]:
        return function(*with_values(values, moving, some))

    results, linear = jax.linearize(of_moving, *(values[i] for i in moving))
    nonzero = list(map(is_differentiable, results))

    def of_tangents(_: Any, *tangents: Any) -> list[Any]:
        found = linear(*(tangents[i] for i in moving))
        return [t if is_one else zero_like(x) for t, is_one, x in zip(found, nonzero, results, strict=True)]

    return results, nonzero, [], of_tangents


def batched(function: Function, operands: Arrays, dims: Sequence[Any]) -> Any:
    """The results of a function mapped over an axis of some operands, and the mapped axis of each result."""
    results = jax.vmap(function, [None if d is NOT_MAPPED else d for d in dims])(*operands)
    return results, [0] * len(results)
