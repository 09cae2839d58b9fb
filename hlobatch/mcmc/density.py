"""A log density -> whether lanes have to run it, since it loops or calls itself and JAX cannot trace it.

A density that JAX can trace is traced, and stays one piece of straight-line code in the sampler's program. Any other
one becomes functions of that program, and its gradient goes forward and back in the lane.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import jax
from jax import Array

import hlobatch as hb
from hlobatch.mcmc.errors import ArgumentError
from hlobatch.typing import ArrayLike, PyTree

LogDensity: TypeAlias = Callable[..., ArrayLike]
"""A user's log density: parameters, and data behind them, -> a scalar, up to a constant."""


def is_followed(log_density: Callable[[Array, PyTree], Array], position: PyTree, data: PyTree) -> bool:
    """Whether lanes have to run a log density, since JAX cannot trace it, or it calls a batched function.

    Args:
        log_density: A function of a position and the data.
        position: The shape of a position.
        data: The shapes of the data of one chain.

    Raises:
        Exception: The density has another error.
    """

    def probe(position: Array, data: PyTree) -> Array:
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
