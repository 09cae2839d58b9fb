"""Models of numpyro, sampled as they stand."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlobatch import mcmc

numpyro = pytest.importorskip("numpyro")
dist = pytest.importorskip("numpyro.distributions")

Y = jnp.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
SIGMA = jnp.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def eight_schools(sigma: Any, y: Any = None) -> None:
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("schools", 8):
        eta = numpyro.sample("eta", dist.Normal(0, 1))
        theta = numpyro.deterministic("theta", mu + tau * eta)
        numpyro.sample("y", dist.Normal(theta, sigma), obs=y)


def test_eight_schools() -> None:
    """Its sites, constrained and deterministic, with the moments of posteriordb's reference draws."""
    model = mcmc.from_numpyro(eight_schools, SIGMA, y=Y)
    result = mcmc.sample(
        model.log_density,
        model.init,
        jax.random.key(0),
        chains=64,
        num_warmup=500,
        num_samples=300,
        jitter=2.0,
        postprocess=model.postprocess,
    )
    assert {name: array.shape[2:] for name, array in result.draws.items()} == {
        "mu": (),
        "tau": (),
        "eta": (8,),
        "theta": (8,),
    }
    np.testing.assert_allclose(
        result.draws["theta"],
        result.draws["mu"][..., None] + result.draws["tau"][..., None] * result.draws["eta"],
        rtol=1e-4,
        atol=1e-4,
    )
    for name, mean, sd in (("mu", 4.4105, 3.309), ("tau", 3.6021, 3.198)):
        estimates = result.draws[name].mean(axis=1)
        assert abs(estimates.mean() - mean) < 5 * np.hypot(estimates.std() / 8, sd / 100)
