"""Draws of posteriors have the means and standard deviations that posteriordb's reference draws have.

Chains are independent replicates: each gives one estimate of a moment, and what they differ by is the Monte Carlo
error of their mean; the reference has its own. Their difference, divided by both errors, is compared with a normal
quantile at which a correct sampler fails one of all comparisons here with probability `ALARM_RATE`. Seeds are fixed.
"""

from statistics import NormalDist

import numpy as np
import pytest
from mcmc import posteriors

# Runs are short.
pytestmark = pytest.mark.filterwarnings("ignore::hlobatch.mcmc.SamplingWarning")

ALARM_RATE = 1e-4
COMPARISONS = 150
LIMIT = 1.03 * NormalDist().inv_cdf(1 - ALARM_RATE / COMPARISONS / 2)


@pytest.mark.slow  # by day, test_numpyro.py compares the moments of eight schools
@pytest.mark.parametrize("name", posteriors.POSTERIORS)
def test_moments_are_those_of_posteriordb(name: str) -> None:
    posterior = posteriors.POSTERIORS[name]
    result = posteriors.sampled(posterior, **{"num_warmup": 500, "num_samples": 400, "chains": 64, **posterior.options})
    reference = posteriors.reference(posterior.reference)
    draws = posteriors.columns(result.draws)
    assert draws.shape[-1] == len(reference)
    assert result.stats["diverging"].mean() < posterior.divergences
    chains = len(draws)
    means = draws.mean(axis=1)
    squares = ((draws - draws.mean(axis=(0, 1))) ** 2).mean(axis=1)
    sd = np.sqrt(squares.mean(axis=0))
    errors = {
        "mean": means.std(axis=0, ddof=1) / np.sqrt(chains),
        "sd": squares.std(axis=0, ddof=1) / np.sqrt(chains) / (2 * sd),
    }
    for moment, found in (("mean", means.mean(axis=0)), ("sd", sd)):
        expected = np.array([row[moment] for row in reference.values()])
        error = np.hypot(errors[moment], [row[f"mcse_{moment}"] for row in reference.values()])
        deviations = (found - expected) / error
        told = dict(zip(reference, deviations.round(1).tolist(), strict=True))
        assert (abs(deviations) < LIMIT).all(), f"{moment}, in standard errors: {told}"
