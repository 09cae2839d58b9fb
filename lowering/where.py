"""The choice between two arrays, element by element, as one operation.

``jnp.where`` is a jitted function: for each combination of shapes and types JAX traces it, makes a function of the
module of it, and calls that. A block chooses in most of its lines, and that was a fifth of the time to lower a small
program.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def where(condition: Any, chosen: Any, other: Any) -> Any:
    """``jnp.where`` of a boolean condition."""
    if _is_weak(chosen) and _is_weak(other):
        return jnp.where(condition, chosen, other)  # what comes of it is as weak, which a choice of `lax` is not
    dtype = jnp.result_type(chosen, other)
    shape = jnp.broadcast_shapes(*map(np.shape, (condition, chosen, other)))
    return jax.lax.select(*(_full(x, t, shape) for x, t in ((condition, np.bool_), (chosen, dtype), (other, dtype))))


def _is_weak(x: Any) -> bool:
    """Whether it takes on the type of what it meets, as a Python number does."""
    return bool(getattr(x, "weak_type", not hasattr(x, "dtype")))


def _full(x: Any, dtype: Any, shape: tuple[Any, ...]) -> Any:
    """An array of that type and shape; most are already, and to see it is cheaper than to ask JAX for it."""
    if getattr(x, "dtype", None) != dtype:
        x = jax.lax.convert_element_type(x, dtype)
    return x if x.shape == shape else jnp.broadcast_to(x, shape)
