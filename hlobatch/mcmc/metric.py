"""The metric: the width of the target in each direction -> coordinates in which momenta are standard normal.

It is stored as a factor of the inverse mass matrix, which estimates the covariance: standard deviations,
`Float[Array, "dim"]`, where that is diagonal, else its lower Cholesky factor, `Float[Array, "dim dim"]`.

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
"""The weight of the prior guess of the covariance, in draws (Stan's choice)."""

PRIOR_VARIANCE: Final = 1e-3
"""The prior guess of a variance: so small that a few draws can only increase it (Stan's choice)."""


def widened(scale: Array, momentum: Array) -> Array:
    """Returns the velocity of a momentum, `Float[Array, "dim"]`."""
    return scale * momentum if scale.ndim == 1 else scale @ momentum


def whitened(scale: Array, gradient: Array) -> Array:
    """Returns the gradient with respect to the coordinates of the momenta, `Float[Array, "dim"]`."""
    return scale * gradient if scale.ndim == 1 else gradient @ scale


def identity(dim: int, *, dense: bool, dtype: jnp.dtype) -> NDArray[Any]:
    """Returns the factor of the identity metric; by NumPy, so that XLA compiles nothing for it."""
    return np.eye(dim, dtype=dtype) if dense else np.ones(dim, dtype)


class Moments(NamedTuple):
    """The moments of the draws of a window.

    Attributes:
        weight: The number of draws, `Float[Array, "chains"]`; a scalar where chains are pooled.
        mean: `Float[Array, "*chains dim"]`.
        scatter: The sum of squared deviations from the mean, `Float[Array, "*chains dim"]`, or, for a dense metric, of
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
    """Returns the moments with further draws (Chan, Golub and LeVeque, 1979).

    Args:
        moments: The moments so far.
        draws: `Float[Array, "chains rows dim"]`.
        counts: `Bool[Array, "chains rows"]`, the draws that count.
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
    """Returns the metric estimated from a window's draws, `Float[Array, "*chains dim"]` or `"*chains dim dim"`."""
    dense = moments.scatter.ndim > moments.mean.ndim
    count = moments.weight[(..., *[None] * (2 if dense else 1))]
    shrink = count / (count + PRIOR_DRAWS)
    variance = shrink * moments.scatter / jnp.maximum(count - 1.0, 1.0)
    prior = PRIOR_VARIANCE * (1.0 - shrink)
    if not dense:
        return jnp.sqrt(variance + prior)
    return jnp.asarray(jnp.linalg.cholesky(variance + prior * jnp.eye(moments.mean.shape[-1], dtype=variance.dtype)))


def balanced(moments: Moments) -> Array:
    """Returns the metric estimated from positions and gradients: the root of the ratio of their standard deviations.

    For a normal target, the gradients' variances are the diagonal of the precision matrix: 1 over the variances if
    nothing is correlated. With correlations, the result is between the marginal variance and the conditional one given
    all other elements, which limits the step size.

    Args:
        moments: Of positions and gradients, one after the other, `Float[Array, "*chains 2*dim"]`.

    Reference:
        Seyboldt and others, nutpie, 2024: the diagonal metric of its default.
    """
    both = factor(moments)
    dim = both.shape[-1] // 2
    return jnp.sqrt(both[..., :dim] / both[..., dim:])
