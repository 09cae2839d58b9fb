"""The problems that samplers are given: densities, starts of chains, step sizes.

A problem is the same for every sampler: one step size and the identity as the mass matrix, nothing adapted, so that
samplers differ in speed only. Chains start from the sampled distribution, or close to it, so that the measurement has
no phase of convergence.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import jax.numpy as jnp
import numpy as np
from jax import Array

from examples import targets
from examples.normal_approximation import find_mode, scatter, step_size_for
from examples.targets import LogDensity

MAX_DEPTH = 8
"""Largest number of doublings of a trajectory, in every workload."""

CORRELATION = 0.87
"""Correlation of neighboring regressors, with which some trajectories double once more than others."""


@dataclass(frozen=True)
class Problem:
    """A density, and all settings of a sampler for it.

    Attributes:
        log_density: The log density of one position.
        starts: The positions where chains start, `Float[Array, "chains dim"]`.
        step_size: The step size of the leapfrog.
        num_draws: The number of draws of each chain.
        leapfrogs_per_leaf: Steps from leaf to leaf of a trajectory.
        max_depth: Largest number of doublings of a trajectory.
    """

    log_density: LogDensity
    starts: Array
    step_size: float
    num_draws: int
    leapfrogs_per_leaf: int = 1
    max_depth: int = MAX_DEPTH

    def leaves_per_draw(self, gradients: float) -> str:
        """A note on the mean number of leaves per draw, given a sampler's gradients for all draws."""
        draws = len(self.starts) * self.num_draws
        return f"{gradients / (draws * self.leapfrogs_per_leaf):.1f} leaves a draw"

    def with_four_leapfrogs(self) -> Problem:
        """The problem with leaves four steps apart, as in the paper; the longest trajectories keep their length."""
        return replace(self, leapfrogs_per_leaf=4, max_depth=self.max_depth - 2)


def gaussian(chains: int, num_draws: int, dim: int = 100, correlation: float = 0.7) -> Problem:
    """A correlated Gaussian; trajectories double three to six times (section 4.2 of the paper)."""
    covariance = targets.ar1_covariance(dim, correlation)
    target = targets.correlated_gaussian(covariance)
    starts = scatter(np.zeros(dim), np.linalg.inv(covariance), chains)
    return Problem(target.log_density, starts, step_size_for(np.linalg.inv(covariance)), num_draws)


@cache
def _logistic(correlation: float) -> tuple[LogDensity, np.ndarray, np.ndarray]:
    target = targets.logistic_regression(correlation=correlation)
    return target.log_density, *find_mode(target.log_density, len(target.coefficients))


def logistic(chains: int, num_draws: int, correlation: float = CORRELATION) -> Problem:
    """The posterior of 100 coefficients given 10,000 data points (section 4.1 of the paper).

    Args:
        chains: The number of chains.
        num_draws: The number of draws of each chain.
        correlation: The correlation of neighboring regressors; at 0 all trajectories are equally long.
    """
    log_density, mode, precision = _logistic(correlation)
    starts = scatter(mode, precision, chains)
    return Problem(log_density, starts, step_size_for(precision), num_draws)


FUNNEL_DIM = 10
FUNNEL_SCALE = 3.0
"""Standard deviation of the first coordinate, the log variance of all others."""


def funnel(chains: int, num_draws: int) -> Problem:
    """Neal's funnel: where the first coordinate is large, the others are wide and trajectories long.

    Reference: Neal, "Slice sampling", Annals of Statistics 31, 2003, section 8.
    """

    def log_density(position: Array) -> Array:
        log_variance, others = position[0], position[1:]
        inside = jnp.exp(-log_variance) * (others @ others) + (FUNNEL_DIM - 1) * log_variance
        return -0.5 * (log_variance / FUNNEL_SCALE) ** 2 - 0.5 * inside

    normal = np.random.default_rng(1).normal(size=(chains, FUNNEL_DIM))
    log_variance = FUNNEL_SCALE * normal[:, :1]
    starts = np.concatenate([log_variance, np.exp(0.5 * log_variance) * normal[:, 1:]], axis=1)
    return Problem(log_density, jnp.asarray(starts, jnp.float32), step_size=0.2, num_draws=num_draws)


def eight_schools(chains: int, num_draws: int) -> Problem:
    """The effects of coaching in eight schools, not centered: a hierarchical model of ten parameters."""
    target = targets.eight_schools()
    normal = np.random.default_rng(2).normal(size=(chains, len(target.mean)))
    starts = jnp.asarray(target.mean + target.sd * normal, jnp.float32)
    return Problem(target.log_density, starts, step_size=0.35, num_draws=num_draws)
