"""The metric: how wide the target is in each direction -> coordinates in which momenta are standard normal.

It is kept as a factor of the inverse mass matrix, which estimates the covariance: where that is diagonal, standard
deviations, `Float[Array, "dim"]`, else its lower Cholesky factor, `Float[Array, "dim dim"]`.

Reference:
    Stan Reference Manual, "Euclidean metric" and "Automatic parameter tuning".
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

PRIOR_DRAWS: Final = 5.0
"""What the prior guess of the covariance counts for, in draws (Stan's choice)."""

PRIOR_VARIANCE: Final = 1e-3
"""The prior guess: as small as to be corrected by few draws only upwards (Stan's choice)."""


def widened(scale: Array, momentum: Array) -> Array:
    """Returns the velocity of a momentum, `Float[Array, "dim"]`."""
    return scale * momentum if scale.ndim == 1 else scale @ momentum


def whitened(scale: Array, gradient: Array) -> Array:
    """Returns the gradient with respect to the coordinates of the momenta, `Float[Array, "dim"]`."""
    return scale * gradient if scale.ndim == 1 else gradient @ scale


def identity(dim: int, *, dense: bool, dtype: jnp.dtype) -> NDArray[Any]:
    """Returns the factor of a metric that changes nothing; by NumPy, so that XLA compiles nothing for it."""
    return np.eye(dim, dtype=dtype) if dense else np.ones(dim, dtype)


class Moments(NamedTuple):
    """Draws of a window, summed up.

    Attributes:
        weight: How many they are, `Float[Array, "chains"]`; a scalar where chains are pooled.
        mean: `Float[Array, "*chains dim"]`.
        scatter: squared deviations from the mean added up, `Float[Array, "*chains dim"]`, or where the metric is dense
            their outer products, `Float[Array, "*chains dim dim"]`.
    """

    weight: Array
    mean: Array
    scatter: Array


def no_moments(chains: int, dim: int, *, dense: bool, pool: bool, dtype: jnp.dtype) -> Moments:
    """Returns the moments of no draws; by NumPy, so that XLA compiles nothing for them."""
    lead = () if pool else (chains,)
    shape = (dim, dim) if dense else (dim,)
    arrays = (np.zeros(lead, dtype), np.zeros((*lead, dim), dtype), np.zeros((*lead, *shape), dtype))
    return Moments(*map(jax.device_put, arrays))


def with_draws(moments: Moments, draws: Array, counts: Array) -> Moments:
    """Returns the moments with more draws (Chan, Golub and LeVeque, 1979).

    Args:
        moments: so far.
        draws: `Float[Array, "chains rows dim"]`.
        counts: `Bool[Array, "chains rows"]`, which of them count.
    """
    weights = counts.astype(draws.dtype)
    if moments.weight.ndim == 0:
        draws, weights = draws.reshape(-1, draws.shape[-1]), weights.reshape(-1)
    total = weights.sum(axis=-1)
    mean = jnp.einsum("...n,...nd->...d", weights, draws) / jnp.maximum(total, 1.0)[..., None]
    centered = (draws - mean[..., None, :]) * weights[..., None]
    dense = moments.scatter.ndim > moments.mean.ndim
    scatter = jnp.einsum("...nd,...ne->...de" if dense else "...nd,...nd->...d", centered, centered)
    count = moments.weight + total
    share = total / jnp.maximum(count, 1.0)
    shift = mean - moments.mean
    lever = moments.weight * share
    between = shift[..., :, None] * shift[..., None, :] if dense else shift**2
    return Moments(
        count,
        moments.mean + share[..., None] * shift,
        moments.scatter + scatter + lever[(..., *[None] * (2 if dense else 1))] * between,
    )


def factor(moments: Moments) -> Array:
    """Returns the metric that a window's draws make, `Float[Array, "*chains dim"]` or `"*chains dim dim"`."""
    dense = moments.scatter.ndim > moments.mean.ndim
    count = moments.weight[(..., *[None] * (2 if dense else 1))]
    shrink = count / (count + PRIOR_DRAWS)
    variance = shrink * moments.scatter / jnp.maximum(count - 1.0, 1.0)
    prior = PRIOR_VARIANCE * (1.0 - shrink)
    if not dense:
        return jnp.sqrt(variance + prior)
    return jnp.asarray(jnp.linalg.cholesky(variance + prior * jnp.eye(moments.mean.shape[-1], dtype=variance.dtype)))


def balanced(moments: Moments) -> Array:
    """Returns the metric that positions and gradients make: how widely ones vary over how widely the others do.

    Of a normal target the gradients' variances are those of the precision matrix: 1 over the variances if nothing is
    correlated. If something is, this is between the variance as it is and the one given all else, which is what limits
    the step size.

    Args:
        moments: Of positions and gradients, one after the other, `Float[Array, "*chains 2*dim"]`.

    Reference:
        Seyboldt and others, nutpie, 2024: the diagonal metric of its default.
    """
    both = factor(moments)
    dim = both.shape[-1] // 2
    return jnp.sqrt(both[..., :dim] / both[..., dim:])
