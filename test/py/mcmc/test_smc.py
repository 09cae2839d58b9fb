"""`smc`: evidences that are known exactly, modes that no chain moves between, and invalid arguments."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.stats import norm

from hlobatch import mcmc
from hlobatch.mcmc.tempering import effective_share, next_temperature, resampled

KEY = jax.random.key(0)
MODES = np.array([[-20.0, 10.0], [20.0, 0.0]])
WEIGHTS = np.array([0.3, 0.7])
WIDE, NARROW = 15.0, 0.5


def log_prior(x: Any) -> Any:
    return norm.logpdf(x, 0, WIDE).sum()


def log_likelihood(x: Any, modes: Any) -> Any:
    """A likelihood with two normal modes, so that the posterior is known exactly."""
    return jax.nn.logsumexp(jnp.log(WEIGHTS) + norm.logpdf(x, modes, NARROW).sum(axis=-1))


def from_prior(key: Any) -> Any:
    return WIDE * jax.random.normal(key, (2,))


def in_modes(modes: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The evidence of each mode."""
    variance = WIDE**2 + NARROW**2
    return WEIGHTS * np.exp(-0.5 * (modes**2).sum(axis=1) / variance) / (2 * np.pi * variance)


def test_evidence_and_modes_are_those_of_the_conjugate_model() -> None:
    found = mcmc.smc(log_prior, log_likelihood, from_prior, KEY, data=(jnp.asarray(MODES),), particles=1_000)
    exact = in_modes(MODES)
    assert found.log_evidence == pytest.approx(np.log(exact.sum()), abs=0.35)
    right = found.draws[:, 0] > 0
    assert right.mean() == pytest.approx(exact[1] / exact.sum(), abs=0.12)
    shrunk = MODES / (1 + (NARROW / WIDE) ** 2)
    for mode, own in zip(shrunk, (found.draws[~right], found.draws[right]), strict=True):
        np.testing.assert_allclose(own.mean(axis=0), mode, atol=0.15)
        np.testing.assert_allclose(own.std(axis=0), NARROW, atol=0.1)
    assert found.temperatures[0] == 0.0
    assert found.temperatures[-1] == 1.0
    assert (np.diff(found.temperatures) > 0).all()
    assert abs(found.acceptance_rate.mean() - 0.8) < 0.1
    assert "1,000 particles" in repr(found)


@pytest.mark.slow
def test_evidences_are_right_on_average() -> None:
    """The mean over many keys of the estimated evidence divided by the exact one is 1."""
    exact = in_modes(MODES).sum()
    ratios = [
        np.exp(mcmc.smc(log_prior, log_likelihood, from_prior, key, data=(MODES,), particles=400).log_evidence) / exact
        for key in jax.random.split(KEY, 40)
    ]
    assert abs(np.mean(ratios) - 1.0) < 4 * np.std(ratios) / np.sqrt(len(ratios))
    assert np.std(ratios) < 0.3


@pytest.mark.slow
def test_chains_stay_in_their_mode() -> None:
    """The number of draws of a mode from `sample` depends on how many chains start near it."""
    start = jnp.asarray(MODES[[0, 0, 0, 1]])
    with pytest.warns(mcmc.SamplingWarning, match="Chains do not agree"):
        found = mcmc.sample(
            lambda x: log_prior(x) + log_likelihood(x, MODES), start, KEY, num_warmup=200, num_samples=200
        )
    assert ((found.draws[..., 0] > 0) == np.array([False, False, False, True])[:, None]).all()


@pytest.mark.slow
def test_a_likelihood_that_loops_and_a_parameter_that_is_positive() -> None:
    """A likelihood with a loop, which lanes run; with an exponential prior the evidence is known."""

    def root(a: Any) -> Any:
        x = 1.0 + a
        while abs(x * x - a) > 1e-6 * a:
            x = (x + a / x) / 2
        return x

    def of_counts(p: Any, y: Any) -> Any:
        rate = root(p["rate"] ** 2)
        return jnp.sum(y * jnp.log(rate) - rate - jax.scipy.special.gammaln(y + 1.0))

    y = jnp.array([3.0, 5.0, 4.0])
    found = mcmc.smc(
        lambda p: -p["rate"],
        of_counts,
        lambda key: {"rate": jax.random.exponential(key)},
        KEY,
        data=(y,),
        particles=500,
        constraints={"rate": mcmc.positive},
    )
    gammaln = jax.scipy.special.gammaln
    exact = gammaln(13.0) - 13 * np.log(4.0) - gammaln(y + 1.0).sum()
    assert found.log_evidence == pytest.approx(float(exact), abs=0.3)
    assert found.draws["rate"].mean() == pytest.approx(13 / 4, abs=0.2)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_temperatures_leave_the_share_that_is_wanted(share: float) -> None:
    log_likelihood = 300.0 * np.random.default_rng(0).normal(size=1_000)
    log_likelihood[:10] = -np.inf
    temperature = next_temperature(log_likelihood, 0.1, share)
    assert 0.1 < temperature < 0.2
    assert effective_share((temperature - 0.1) * log_likelihood) == pytest.approx(share, rel=1e-6)
    assert next_temperature(1e-3 * log_likelihood, 0.1, 0.2) == 1.0


def test_particles_are_chosen_as_often_as_they_weigh() -> None:
    log_weights = np.random.default_rng(0).normal(size=500)
    wanted = 500 * np.exp(log_weights) / np.exp(log_weights).sum()
    for uniform in (0.0, 0.3, np.nextafter(1.0, 0.0)):
        assert (abs(np.bincount(resampled(log_weights, uniform), minlength=500) - wanted) < 1.0 + 1e-9).all()


@pytest.mark.parametrize(
    ("init", "options", "words"),
    [
        (jnp.zeros(2), {"particles": 10}, "not draws from the prior"),
        (from_prior, {}, "(.|\n)*say how many there are: particles=64"),
        (from_prior, {"particles": 0}, "particles=0 has to be 1 or more"),
        (from_prior, {"particles": 4, "share": 1.0}, "share=1.0"),
        (jnp.array([[0.0, 1.0], [jnp.nan, 1.0]]), {}, "log likelihood of particle 1 is nan"),
        (jnp.full((3, 2), 1e30), {}, "no particle has any likelihood"),
    ],
)
def test_what_cannot_be_meant(init: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(mcmc.ArgumentError, match=words):
        mcmc.smc(log_prior, log_likelihood, init, KEY, data=(jnp.asarray(MODES),), **options)
