"""The step size of a chain: acceptance probabilities, draw by draw -> a step size at which their average is the target.

Reference:
    Hoffman and Gelman, "The No-U-Turn Sampler", JMLR 15, 2014, section 3.2 and algorithms 4 and 6.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from hlobatch.mcmc.metric import whitened, widened

SHRINKAGE: Final = 0.05
STABILIZATION: Final = 10.0
FORGETTING: Final = 0.75
"""Hoffman and Gelman's gamma, t0 and kappa."""

ALIKE: Final = 0.2
"""Most standard deviation over chains, in nats, of step sizes that are taken for estimates of one.

After 10 and 50 draws it was at most 0.27 and 0.13 on targets that are as wide everywhere (normals, a logistic
regression, eight schools, not centered), and at least 0.26 and 0.24 on a funnel and on eight schools, centered
(2026-11)."""

SEARCHED_ACCEPTANCE: Final = 0.8
"""The acceptance probability of one step that ends the search for a first step size."""

SEARCHED_FAR: Final = 20.0
"""The distance from 1, in nats, that ends the search at the latest."""


class StepSize(NamedTuple):
    """Dual averaging of the logarithm of the step size.

    Attributes:
        log_step: `Float[Array, ""]`, of the next draw.
        log_average: `Float[Array, ""]`, the average that becomes the final step size.
        error: `Float[Array, ""]`, the average by which acceptance has been below its target.
        anchor: `Float[Array, ""]`, the value to which steps are drawn.
        draws: `Int[Array, ""]`, the number of draws since the beginning.
    """

    log_step: Array
    log_average: Array
    error: Array
    anchor: Array
    draws: Array


def begun(log_step: Array) -> StepSize:
    """Returns dual averaging at its beginning, from a first guess, better too small than too large."""
    zero = jnp.zeros_like(log_step)
    return StepSize(log_step, zero, zero, jnp.log(10.0).astype(zero.dtype) + log_step, zero.astype(jnp.int32))


def adapted(step: StepSize, acceptance: Array, target: Array) -> StepSize:
    """Returns the step size after a draw with this acceptance probability."""
    count = step.draws + 1
    number = count.astype(step.log_step.dtype)
    weight = 1.0 / (number + STABILIZATION)
    error = (1.0 - weight) * step.error + weight * (target - acceptance)
    log_step = step.anchor - jnp.sqrt(number) / SHRINKAGE * error
    forget = number**-FORGETTING
    log_average = forget * log_step + (1.0 - forget) * step.log_average
    return StepSize(log_step, log_average, error, step.anchor, count)


def settled(step: StepSize, *, pool: bool) -> StepSize:
    """Returns the averages as the final step sizes; those of chains that made no draw stay unchanged.

    If chains are pooled and their step sizes are alike, all get the median; if they differ, each keeps its own. They
    differ where the target is narrower in one place than in another, as a funnel is: one step size for all would be too
    long for the chains in the narrow part, whose trajectories would diverge.

    Args:
        step: The step sizes of all chains. They are computed by NumPy, so that XLA compiles nothing for them.
        pool: Whether chains learn together.
    """
    log_step: NDArray[Any] = np.where(np.asarray(step.draws) > 0, step.log_average, step.log_step)
    few = 1.0 / max(int(np.asarray(step.draws).min()), 1)
    if pool and log_step.std() < ALIKE + few:
        log_step = np.full_like(log_step, np.median(log_step))
    return step._replace(log_step=jax.device_put(log_step))


class Search(NamedTuple):
    """A search for a first step size.

    It tries powers of 2: upwards from 1 if a step of 1 is accepted, until one is not, else downwards, until one is.

    Attributes:
        log_step: `Float[Array, ""]`, the step that is tried.
        direction: `Float[Array, ""]`, 1 or -1; 0 before the first try.
        is_found: `Bool[Array, ""]`.
    """

    log_step: Array
    direction: Array
    is_found: Array


class Start(NamedTuple):
    """The state of a chain from which a step is tried.

    Attributes:
        position: `Float[Array, "dim"]`.
        log_density: `Float[Array, ""]`.
        gradient: `Float[Array, "dim"]`.
        momentum: `Float[Array, "dim"]`, standard normal.
        scale: The metric.
    """

    position: Array
    log_density: Array
    gradient: Array
    momentum: Array
    scale: Array

    def half(self, search: Search) -> Array:
        """The momentum in the middle of the step that is tried."""
        return self.momentum + 0.5 * jnp.exp(search.log_step) * whitened(self.scale, self.gradient)

    def ahead(self, search: Search) -> Array:
        """The position at the end of the step that is tried."""
        return self.position + jnp.exp(search.log_step) * widened(self.scale, self.half(search))

    def judged(self, search: Search, value: Array, slope: Array) -> Search:
        """The search after a try, given the log density and its gradient at the end of the step."""
        end = self.half(search) + 0.5 * jnp.exp(search.log_step) * whitened(self.scale, slope)
        log_ratio = value - self.log_density + 0.5 * jnp.sum(self.momentum**2) - 0.5 * jnp.sum(end**2)
        is_accepted = log_ratio > jnp.log(SEARCHED_ACCEPTANCE)  # false for NaN
        wanted = jnp.where(is_accepted, 1.0, -1.0).astype(search.direction.dtype)
        direction = jnp.where(search.direction == 0.0, wanted, search.direction)
        is_found = (wanted != direction) | (jnp.abs(search.log_step) > SEARCHED_FAR)
        log_step = jnp.where(is_found, search.log_step, search.log_step + direction * math.log(2.0))
        return Search(log_step, direction, is_found)


def searching(log_density: Array) -> Search:
    """Returns the search before its first try; its numbers have the dtype of the log density."""
    zero = jnp.zeros_like(log_density)
    return Search(zero, zero, jnp.bool_(False))
