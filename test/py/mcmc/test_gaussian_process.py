"""A Gaussian process in the sampler: a Cholesky factor and its derivatives in kernels."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from own_code import needs_llvm

from hlobatch import mcmc

pytestmark = [pytest.mark.slow, needs_llvm, pytest.mark.filterwarnings("ignore::hlobatch.mcmc.SamplingWarning")]

POINTS = 50
X = np.linspace(0, 10, POINTS)
SQUARES = (X[:, None] - X) ** 2
Y = np.sin(X) + np.random.default_rng(0).normal(0, 0.3, POINTS)


def density(array: Any, factor: Any, solve: Any, p: Any) -> Any:
    """The log density of the logarithms of a length scale and of the noise, in NumPy or JAX."""
    scale, noise = array.exp(p[0]), array.exp(p[1])
    lower = factor(array.exp(-0.5 * SQUARES / scale**2) + (noise**2 + 1e-4) * array.eye(POINTS))
    z = solve(lower, Y)
    return -0.5 * z @ z - array.log(array.diagonal(lower)).sum() - 0.5 * p @ p


def log_density(p: Any) -> Any:
    return density(jnp, jnp.linalg.cholesky, lambda a, b: jax.scipy.linalg.solve_triangular(a, b, lower=True), p)


def test_posterior() -> None:
    """Means and standard deviations are those of the density on a grid."""
    result = mcmc.sample(
        log_density,
        jnp.zeros(2),
        jax.random.key(0),
        chains=8,
        num_warmup=200,
        num_samples=200,
        batch_options={"dispatch": "kernel"},
    )
    draws = np.asarray(result.draws).reshape(-1, 2)
    first, second = np.linspace(-1.5, 2, 36), np.linspace(-2.2, 0.3, 36)
    grid = np.stack(np.meshgrid(first, second, indexing="ij"), -1)
    logs = np.array([[density(np, np.linalg.cholesky, np.linalg.solve, p) for p in row] for row in grid])
    weights = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
    mean = np.einsum("ij,ijk->k", weights, grid)
    deviation = np.sqrt(np.einsum("ij,ijk->k", weights, (grid - mean) ** 2))
    assert max(weights[[0, -1]].sum(), weights[:, [0, -1]].sum()) < 1e-4  # the grid is wide enough
    np.testing.assert_allclose(draws.mean(0), mean, atol=0.2 * deviation.min())
    np.testing.assert_allclose(draws.std(0), deviation, rtol=0.15)
