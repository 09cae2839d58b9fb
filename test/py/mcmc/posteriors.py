"""Posteriors of posteriordb, written down here, with the moments of its reference draws.

`posteriordb.json` holds for each the data and, of 10,000 reference draws, mean and standard deviation of each
parameter with their Monte Carlo standard errors, computed from the draws of https://github.com/stan-dev/posteriordb at
28f8d3d. The centered eight schools have the reference of those that are not: it is the same posterior.

Each log density is that of the Stan program of the same name there.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from jax.scipy.stats import beta, cauchy, norm

from hlobatch import mcmc

Draws = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Posterior:
    """A posterior, and how it is sampled.

    Attributes:
        reference: Its name in posteriordb.
        log_density: The log density, a function of parameters and data.
        init: The initial parameters of one chain.
        data: The data of posteriordb, as the log density takes them.
        constraints: The constraints of the parameters.
        postprocess: Converts parameters to those of posteriordb, in the same order.
        options: Options of `mcmc.sample`.
        divergences: Largest share of draws from divergent trajectories; 0 except for geometries known to cause them.
    """

    reference: str
    log_density: Callable[..., Any]
    init: Any
    data: tuple[Any, ...]
    constraints: Any = None
    postprocess: Callable[[Any], Any] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    divergences: float = 1e-3


@cache
def _file() -> Mapping[str, Any]:
    return json.loads(Path(__file__).with_name("posteriordb.json").read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def reference(name: str) -> Mapping[str, Mapping[str, float]]:
    """Moments by parameter: `mean`, `sd`, `mcse_mean`, `mcse_sd`."""
    return _file()[name]["reference"]  # type: ignore[no-any-return]


def data_of(name: str, *keys: str) -> tuple[Any, ...]:
    return tuple(np.asarray(_file()[name]["data"][key], np.float32) for key in keys)


SCHOOLS = "eight_schools-eight_schools_noncentered"


def eight_schools_noncentered(p: Any, y: Any, sigma: Any) -> Any:
    prior = norm.logpdf(p["eta"]).sum() + norm.logpdf(p["mu"], 0, 5) + cauchy.logpdf(p["tau"], 0, 5)
    return prior + norm.logpdf(y, p["mu"] + p["tau"] * p["eta"], sigma).sum()


def eight_schools_centered(p: Any, y: Any, sigma: Any) -> Any:
    prior = norm.logpdf(p["theta"], p["mu"], p["tau"]).sum() + norm.logpdf(p["mu"], 0, 5)
    return prior + cauchy.logpdf(p["tau"], 0, 5) + norm.logpdf(y, p["theta"], sigma).sum()


def garch11(p: Any, y: Any, sigma1: Any) -> Any:
    beta1 = (1 - p["alpha1"]) * p["share"]

    def next_variance(variance: Any, before: Any) -> Any:
        variance = p["alpha0"] + p["alpha1"] * (before - p["mu"]) ** 2 + beta1 * variance
        return variance, variance

    _, variances = jax.lax.scan(next_variance, sigma1**2, y[:-1])
    variances = jnp.concatenate([sigma1[None] ** 2, variances])
    return norm.logpdf(y, p["mu"], jnp.sqrt(variances)).sum() + jnp.log1p(-p["alpha1"])  # of beta1's bounds


def low_dim_gauss_mix(p: Any, y: Any) -> Any:
    prior = norm.logpdf(p["sigma"], 0, 2).sum() + norm.logpdf(p["mu"], 0, 2).sum() + beta.logpdf(p["theta"], 5, 5)
    parts = norm.logpdf(y[:, None], p["mu"], p["sigma"])
    return prior + jnp.logaddexp(jnp.log(p["theta"]) + parts[:, 0], jnp.log1p(-p["theta"]) + parts[:, 1]).sum()


def kidscore_momiq(p: Any, kid_score: Any, mom_iq: Any) -> Any:
    mean = p["beta"][0] + p["beta"][1] * mom_iq
    return cauchy.logpdf(p["sigma"], 0, 2.5) + norm.logpdf(kid_score, mean, p["sigma"]).sum()


def ar5(p: Any, y: Any) -> Any:
    prior = norm.logpdf(p["alpha"], 0, 10) + norm.logpdf(p["beta"], 0, 10).sum() + cauchy.logpdf(p["sigma"], 0, 2.5)
    mean = p["alpha"] + sum(p["beta"][k] * y[4 - k : len(y) - 1 - k] for k in range(5))
    return prior + norm.logpdf(y[5:], mean, p["sigma"]).sum()


def arma11(p: Any, y: Any) -> Any:
    prior = norm.logpdf(p["mu"], 0, 10) + norm.logpdf(p["phi"], 0, 2) + norm.logpdf(p["theta"], 0, 2)
    first = y[0] - (p["mu"] + p["phi"] * p["mu"])

    def next_error(error: Any, pair: Any) -> Any:
        before, now = pair
        error = now - (p["mu"] + p["phi"] * before + p["theta"] * error)
        return error, error

    _, errors = jax.lax.scan(next_error, first, (y[:-1], y[1:]))
    errors = jnp.concatenate([first[None], errors])
    return prior + cauchy.logpdf(p["sigma"], 0, 2.5) + norm.logpdf(errors, 0, p["sigma"]).sum()


def hmm_example(p: Any, y: Any) -> Any:
    mu = jnp.stack([p["mu1"], p["mu1"] + p["gap"]])
    log_transitions = jnp.log(jnp.stack([p["theta1"], p["theta2"]]))
    emissions = norm.logpdf(y[:, None], mu, 1.0)

    def forward(log_state: Any, emission: Any) -> Any:
        return logsumexp(log_state[:, None] + log_transitions, axis=0) + emission, None

    last, _ = jax.lax.scan(forward, emissions[0], emissions[1:])
    return norm.logpdf(mu[0], 3, 1) + norm.logpdf(mu[1], 10, 1) + logsumexp(last)


def blr(p: Any, regressors: Any, y: Any) -> Any:
    prior = norm.logpdf(p["beta"], 0, 10).sum() + norm.logpdf(p["sigma"], 0, 10)
    return prior + norm.logpdf(y, regressors @ p["beta"], p["sigma"]).sum()


def kilpisjarvi(p: Any, x: Any, y: Any, mu: Any, alpha_sd: Any, beta_sd: Any) -> Any:
    prior = norm.logpdf(p["alpha"], mu, alpha_sd) + norm.logpdf(p["beta"], 0, beta_sd)
    return prior + norm.logpdf(y, p["alpha"] + p["beta"] * x, p["sigma"]).sum()


def logmesquite_logvas(p: Any, regressors: Any, log_weight: Any) -> Any:
    return norm.logpdf(log_weight, regressors @ p["beta"], p["sigma"]).sum()


def _mesquite() -> tuple[Any, ...]:
    keys = ("weight", "diam1", "diam2", "canopy_height", "total_height", "density", "group")
    weight, diam1, diam2, height, total, density, group = data_of("mesquite-logmesquite_logvas", *keys)
    logs = map(np.log, (diam1 * diam2 * height, diam1 * diam2, diam1 / diam2, total, density))
    return np.stack([np.ones_like(weight), *logs, group], axis=1), np.log(weight)


SCALE = {"sigma": mcmc.positive}

POSTERIORS = {
    "eight_schools_noncentered": Posterior(
        SCHOOLS,
        eight_schools_noncentered,
        {"eta": jnp.zeros(8), "mu": 0.0, "tau": 1.0},
        data_of(SCHOOLS, "y", "sigma"),
        {"tau": mcmc.positive},
        lambda p: [p["mu"] + p["tau"] * p["eta"], p["mu"], p["tau"]],
    ),
    "eight_schools_centered": Posterior(
        SCHOOLS,
        eight_schools_centered,
        {"theta": jnp.zeros(8), "mu": 0.0, "tau": 5.0},
        data_of(SCHOOLS, "y", "sigma"),
        {"tau": mcmc.positive},
        lambda p: [p["theta"], p["mu"], p["tau"]],
        {"target_acceptance": 0.99, "num_samples": 2_000},
        divergences=0.1,
    ),
    "garch11": Posterior(
        "garch-garch11",
        garch11,
        {"mu": 5.0, "alpha0": 1.0, "alpha1": 0.5, "share": 0.5},
        data_of("garch-garch11", "y", "sigma1"),
        {"alpha0": mcmc.positive, "alpha1": mcmc.interval(0, 1), "share": mcmc.interval(0, 1)},
        lambda p: [p["mu"], p["alpha0"], p["alpha1"], (1 - p["alpha1"]) * p["share"]],
    ),
    "low_dim_gauss_mix": Posterior(
        "low_dim_gauss_mix-low_dim_gauss_mix",
        low_dim_gauss_mix,
        {"mu": jnp.array([-1.0, 1.0]), "sigma": jnp.ones(2), "theta": 0.5},
        data_of("low_dim_gauss_mix-low_dim_gauss_mix", "y"),
        {"mu": mcmc.ordered, "sigma": mcmc.positive, "theta": mcmc.interval(0, 1)},
        lambda p: [p["mu"], p["sigma"], p["theta"]],
    ),
    "kidscore_momiq": Posterior(
        "kidiq-kidscore_momiq",
        kidscore_momiq,
        {"beta": jnp.array([20.0, 0.5]), "sigma": 20.0},
        data_of("kidiq-kidscore_momiq", "kid_score", "mom_iq"),
        SCALE,
        lambda p: [p["beta"], p["sigma"]],
        {"dense": True, "jitter": 0.1},
    ),
    "arK": Posterior(
        "arK-arK",
        ar5,
        {"alpha": 0.0, "beta": jnp.zeros(5), "sigma": 1.0},
        data_of("arK-arK", "y"),
        SCALE,
        lambda p: [p["alpha"], p["beta"], p["sigma"]],
    ),
    "arma11": Posterior(
        "arma-arma11",
        arma11,
        {"mu": 0.0, "phi": 0.5, "theta": 0.0, "sigma": 1.0},
        data_of("arma-arma11", "y"),
        SCALE,
        lambda p: [p["mu"], p["phi"], p["theta"], p["sigma"]],
        {"jitter": 0.2},
    ),
    "hmm_example": Posterior(
        "hmm_example-hmm_example",
        hmm_example,
        {"theta1": jnp.array([0.5, 0.5]), "theta2": jnp.array([0.5, 0.5]), "mu1": 3.0, "gap": 7.0},
        data_of("hmm_example-hmm_example", "y"),
        {"theta1": mcmc.simplex, "theta2": mcmc.simplex, "mu1": mcmc.positive, "gap": mcmc.positive},
        lambda p: [p["theta1"], p["theta2"], p["mu1"], p["mu1"] + p["gap"]],
        {"jitter": 0.5},
    ),
    "blr": Posterior(
        "sblrc-blr",
        blr,
        {"beta": jnp.zeros(5), "sigma": 1.0},
        data_of("sblrc-blr", "X", "y"),
        SCALE,
        lambda p: [p["beta"], p["sigma"]],
    ),
    "kilpisjarvi": Posterior(
        "kilpisjarvi_mod-kilpisjarvi",
        kilpisjarvi,
        {"alpha": 9.0, "beta": 0.0, "sigma": 1.0},
        data_of("kilpisjarvi_mod-kilpisjarvi", "x", "y", "pmualpha", "psalpha", "psbeta"),
        SCALE,
        lambda p: [p["alpha"], p["beta"], p["sigma"]],
        {"dense": True, "jitter": 0.0},
    ),
    "logmesquite_logvas": Posterior(
        "mesquite-logmesquite_logvas",
        logmesquite_logvas,
        {"beta": jnp.zeros(7), "sigma": 1.0},
        _mesquite(),
        SCALE,
        lambda p: [p["beta"], p["sigma"]],
        {"dense": True},
    ),
}


def sampled(posterior: Posterior, **options: Any) -> mcmc.Result:
    """Draws of posteriordb's parameters: a list, in the order of the reference."""
    return mcmc.sample(
        posterior.log_density,
        posterior.init,
        jax.random.key(20),
        data=posterior.data,
        constraints=posterior.constraints,
        postprocess=posterior.postprocess,
        **{**posterior.options, **options},
    )


def columns(draws: Any) -> np.ndarray:
    """All parameters as columns, `[chains, draws, parameters]`."""
    leaves = jax.tree.leaves(draws)
    return np.concatenate([leaf.reshape(*leaf.shape[:2], -1) for leaf in leaves], axis=-1).astype(np.float64)
