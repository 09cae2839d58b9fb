"""The normal approximation of a log-concave density: where chains start and how far they step."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from examples.targets import LogDensity

Floats = NDArray[np.floating[Any]]

NEWTON_STEPS = 8
"""Enough for single precision; the last one changes the mode by less than 1e-6."""


def find_mode(log_density: LogDensity, dim: int) -> tuple[Floats, Floats]:
    """Returns the mode, by Newton's method, and the precision there.

    They are `Float[ndarray, "dim"]` and `Float[ndarray, "dim dim"]`.
    """
    gradient_at, hessian_at = jax.jit(jax.grad(log_density)), jax.jit(jax.hessian(log_density))
    mode: Any = np.zeros(dim)
    precision: Any = np.eye(dim)
    for _ in range(NEWTON_STEPS):
        position = jnp.asarray(mode, jnp.float32)
        precision = -np.asarray(hessian_at(position), np.float64)
        mode = mode + np.linalg.solve(precision, np.asarray(gradient_at(position), np.float64))
    return mode, precision


def scatter(mode: Floats, precision: Floats, chains: int, *, spread: float = 1.0) -> Array:
    """Returns starts around a mode, `Float[Array, "chains dim"]`.

    They are draws from the normal distribution of this precision, `spread` times as far from the
    mode: overdispersed if that is above 1.
    """
    normal = np.random.default_rng(2).normal(size=(chains, len(mode)))
    # With precision = root @ root.T, the inverse transpose of the root scatters by its inverse.
    scattered = np.linalg.solve(np.linalg.cholesky(precision).T, normal.T).T
    return jnp.asarray(mode + spread * scattered, jnp.float32)


def step_size_for(precision: Floats) -> float:
    """Returns the step size at which the leapfrog's acceptance is near 0.8.

    On a normal target of frequencies `w[i]` its energy error has a variance that grows with the sum
    of `(step * w[i]) ** 4`, and the sum of `w ** 4` is the squared Frobenius norm of the precision.

    Reference:
        Beskos et al., "Optimal tuning of the hybrid Monte Carlo algorithm", Bernoulli 19, 2013.
    """
    return float(1.6 / np.sqrt(np.linalg.norm(precision)))
