"""A boolean condition and two arrays -> a select between them: one operation, where ``jnp.where`` would be a call.

``jnp.where`` is a jitted function: for each combination of shapes and types JAX traces it, adds a function to the
module, and calls that. Most lines of a block are selects, and a fifth of the time to lower a small program went into
tracing them.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def where(condition: Any, chosen: Any, other: Any) -> Any:
    """``jnp.where`` of a boolean condition."""
    if _is_weak(chosen) and _is_weak(other):
        return jnp.where(condition, chosen, other)  # weakly typed, too, unlike the result of `lax.select`
    dtype = jnp.result_type(chosen, other)
    shape = jnp.broadcast_shapes(*map(np.shape, (condition, chosen, other)))
    arms = (jnp.broadcast_to(jax.lax.convert_element_type(arm, dtype), shape) for arm in (chosen, other))
    return jax.lax.select(jnp.broadcast_to(condition, shape), *arms)


def _is_weak(x: Any) -> bool:
    """Whether a value is weakly typed: it takes on the type of the other operand, as a Python number does."""
    return bool(getattr(x, "weak_type", not hasattr(x, "dtype")))
