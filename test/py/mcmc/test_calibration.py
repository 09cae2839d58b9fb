"""Simulation-based calibration: parameters from the prior, data from those, and then the rank of each among its draws.

If the sampler is right, ranks are uniform. All data sets are sampled in one run: each chain has data of its own.

Reference:
    Talts, Betancourt, Simpson, Vehtari and Gelman, "Validating Bayesian inference algorithms with simulation-based
    calibration", 2018.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.stats import norm

from hlobatch import mcmc

# Runs are short.
pytestmark = pytest.mark.filterwarnings("ignore::hlobatch.mcmc.SamplingWarning")

SETS = 512
DRAWS = 63
BINS = 8
LIMIT = 37.0
"""Of chi-squared with 7 degrees of freedom, exceeded with probability 5e-6."""


def uniformity(ranks: np.ndarray) -> float:
    """Pearson's statistic of ranks from 0 to `DRAWS`, in `BINS` bins."""
    counts = np.bincount(ranks * BINS // (DRAWS + 1), minlength=BINS)
    expected = len(ranks) / BINS
    return float(((counts - expected) ** 2).sum() / expected)


def ranks(truth: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """The number of draws of each data set that are below its true value."""
    return (draws < truth[:, None]).sum(axis=1)


def regression(p: Any, x: Any, y: Any) -> Any:
    """A line through 10 points, with an unknown scale."""
    prior = norm.logpdf(p["a"]) + norm.logpdf(p["b"]) - p["sigma"]
    return prior + norm.logpdf(y, p["a"] + p["b"] * x, p["sigma"]).sum()


def hierarchy(p: Any, y: Any) -> Any:
    """Five groups around a mean, not centered."""
    prior = norm.logpdf(p["mu"]) - p["tau"] + norm.logpdf(p["z"]).sum()
    return prior + norm.logpdf(y, p["mu"] + p["tau"] * p["z"], 0.5).sum()


@pytest.mark.slow
def test_regression() -> None:
    rng = np.random.default_rng(7)
    a, b, sigma = rng.normal(size=SETS), rng.normal(size=SETS), rng.exponential(size=SETS)
    x = rng.normal(size=(SETS, 10))
    y = a[:, None] + b[:, None] * x + sigma[:, None] * rng.normal(size=x.shape)
    result = mcmc.sample(
        regression,
        {"a": 0.0, "b": 0.0, "sigma": 1.0},
        jax.random.key(3),
        data=(jnp.asarray(x, jnp.float32), jnp.asarray(y, jnp.float32)),
        data_per_chain=True,
        chains=SETS,
        constraints={"sigma": mcmc.positive},
        num_warmup=500,
        num_samples=DRAWS,
        thin=8,
    )
    for name, truth in (("a", a), ("b", b), ("sigma", sigma)):
        assert uniformity(ranks(truth, result.draws[name])) < LIMIT


@pytest.mark.slow
def test_hierarchy() -> None:
    rng = np.random.default_rng(8)
    mu, tau, z = rng.normal(size=SETS), rng.exponential(size=SETS), rng.normal(size=(SETS, 5))
    y = mu[:, None] + tau[:, None] * z + 0.5 * rng.normal(size=z.shape)
    result = mcmc.sample(
        hierarchy,
        {"mu": 0.0, "tau": 1.0, "z": jnp.zeros(5)},
        jax.random.key(4),
        data=(jnp.asarray(y, jnp.float32),),
        data_per_chain=True,
        chains=SETS,
        constraints={"tau": mcmc.positive},
        num_warmup=500,
        num_samples=DRAWS,
        thin=8,
        target_acceptance=0.95,
    )
    for truth, draws in ((mu, result.draws["mu"]), (tau, result.draws["tau"]), (z[:, 0], result.draws["z"][:, :, 0])):
        assert uniformity(ranks(truth, draws)) < LIMIT


def test_what_is_not_calibrated_is_found() -> None:
    """Draws that spread too far would fail, and right ones do not."""
    rng = np.random.default_rng(0)
    truth, draws = rng.normal(size=SETS), rng.normal(size=(SETS, DRAWS))
    assert uniformity(ranks(truth, draws)) < LIMIT
    assert uniformity(ranks(truth, 1.4 * draws)) > LIMIT
