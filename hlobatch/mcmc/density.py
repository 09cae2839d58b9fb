"""A log density -> one that lanes can run, and whether they have to: it loops or calls itself, as JAX cannot trace it.

What JAX can trace is traced: straight-line code stays one piece in the sampler's program. All else becomes functions of
that program, a gradient of which goes forward and back in the lane.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax import Array

import hlobatch as hb
from hlobatch.mcmc.errors import ArgumentError


def is_followed(log_density: Callable[[Array, Any], Array], position: Any, data: Any) -> bool:
    """Whether lanes have to run a log density, since JAX cannot trace it, or it calls a batched function.

    Args:
        log_density: Of a position and the data.
        position: The shape of a position.
        data: The shapes of the data of one chain.

    Raises:
        Exception: What is wrong with it otherwise.
    """

    def probe(position: Array, data: Any) -> Array:
        return log_density(position, data)

    try:
        jax.eval_shape(jax.value_and_grad(log_density), position, data)
        one = jax.ShapeDtypeStruct((1, *position.shape), position.dtype)
        hb.batch(probe, in_axes=(0, None), follow=False).trace(one, data)
    except ArgumentError:
        raise
    except (jax.errors.JAXTypeError, hb.HloBatchError, RecursionError):
        return True
    return False
