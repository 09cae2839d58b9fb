"""Eight schools for tests of other libraries: the data, a sampled model, and a check of its draws."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch import mcmc

Y = jnp.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
SIGMA = jnp.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
CHAINS, DRAWS = 64, 300


def sampled(model: Any) -> Any:
    """Draws of a model, ``[CHAINS, DRAWS, *event]`` each."""
    return mcmc.sample(
        model.log_density,
        model.init,
        jax.random.key(0),
        chains=CHAINS,
        num_warmup=500,
        num_samples=DRAWS,
        jitter=2.0,
        postprocess=model.postprocess,
    ).draws


def check_moments(mu: Any, tau: Any) -> None:
    """Compare means with those of posteriordb's reference draws."""
    for draws, mean, sd in ((mu, 4.4105, 3.309), (tau, 3.6021, 3.198)):
        estimates = draws.mean(axis=1)
        assert abs(estimates.mean() - mean) < 5 * np.hypot(estimates.std() / 8, sd / 100)
