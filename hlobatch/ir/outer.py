"""Adds the outer product of two arrays to an array, which is how the cotangent of a matrix grows.

It is a function that a jaxpr calls by its name: a kernel that runs one lane adds row by row, in place, and everything
else sees a product and a sum.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from hlobatch._jax import Equation


def _with_outer_product(total: Any, one: Any, other: Any) -> Any:
    return total + jnp.tensordot(one, other, axes=0)


_added = jax.jit(_with_outer_product)


def with_outer_product(total: Any, one: Any, other: Any) -> Any:
    """An array ``[*one.shape, *other.shape]``, with the outer product of two others added to it."""
    return _added(total, one, other)


def adds_outer_product(equation: Equation) -> bool:
    """Whether an equation of a jaxpr is a call of ``with_outer_product``."""
    return bool(equation.params.get("name") == _with_outer_product.__name__)
