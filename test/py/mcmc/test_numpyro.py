"""Models of numpyro, sampled without changes."""

from typing import Any

import numpy as np
import pytest
from mcmc.schools import SIGMA, Y, check_moments, sampled

from hlobatch import mcmc

# Runs are short.
pytestmark = pytest.mark.filterwarnings("ignore::hlobatch.mcmc.SamplingWarning")

numpyro = pytest.importorskip("numpyro")
dist = pytest.importorskip("numpyro.distributions")


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
    draws = sampled(model)
    assert {name: array.shape[2:] for name, array in draws.items()} == {
        "mu": (),
        "tau": (),
        "eta": (8,),
        "theta": (8,),
    }
    np.testing.assert_allclose(
        draws["theta"],
        draws["mu"][..., None] + draws["tau"][..., None] * draws["eta"],
        rtol=1e-4,
        atol=1e-4,
    )
    check_moments(draws["mu"], draws["tau"])
