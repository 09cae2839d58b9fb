"""A prior, a likelihood and draws from the prior -> draws from the posterior, and its evidence: `smc`.

Particles go from the prior to the posterior by way of `prior * likelihood ** temperature`, with temperatures from 0 to
1. At each temperature they are weighted and resampled, and each then makes a few draws of the No-U-Turn Sampler, in the
same program as chains of `sample`, with the temperature as an argument. So particles reach all modes that the prior
covers, even if no chain would move between them.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import jax
import numpy as np
from jax import Array

import hlobatch as hb
from hlobatch.mcmc.chains import STATISTICS, Chain, Limits
from hlobatch.mcmc.checks import MOST_DOUBLINGS, checked_count, checked_data, checked_key, checked_number
from hlobatch.mcmc.compiling import quickly_compiled
from hlobatch.mcmc.density import LogDensity
from hlobatch.mcmc.errors import ArgumentError
from hlobatch.mcmc.kept import kept
from hlobatch.mcmc.parameters import Parameters, scalar
from hlobatch.mcmc.programs import Programs, Shape, is_followed_for, programs_for, what_to_keep
from hlobatch.mcmc.run import MOST_LEAPFROGS
from hlobatch.mcmc.start import Given, parameters_of, unknown
from hlobatch.mcmc.tempering import Floats, log_mean_exp, next_temperature, resampled
from hlobatch.typing import ArrayLike, PyTree

MOST_TEMPERATURES: Final = 10_000
"""The most temperatures; a run that needs more fails."""

GAIN: Final = 1.0
"""The change of the log step size over the deviation of the acceptance rate from its target. It is large, since the
rate at a temperature is a mean over all particles, and so is known well."""


class Tempered(NamedTuple):
    """Draws from a posterior, and a record of the run.

    Attributes:
        draws: Pytree of the parameters, each `[particles, ...]`, all of the same weight.
        log_evidence: The logarithm of the mean of the likelihood over the prior.
        temperatures: The temperatures, from 0 to 1.
        acceptance_rate: The mean Metropolis probability of the moves at each temperature but the first.
        step_size: The step size at each temperature but the first.
        n_steps: The number of leapfrog steps of all particles together.
        seconds: The time taken, in seconds, compilation included.
    """

    draws: PyTree
    log_evidence: float
    temperatures: Floats
    acceptance_rate: Floats
    step_size: Floats
    n_steps: int
    seconds: float

    def __repr__(self) -> str:
        particles = np.shape(jax.tree.leaves(self.draws)[0])[0]
        return (
            f"{particles:,} particles at {len(self.temperatures)} temperatures, in {self.seconds:.1f} s\n"
            f"evidence     exp({self.log_evidence:.2f})\n"
            f"moves        accepted {100 * self.acceptance_rate.mean():.0f} %, {self.n_steps:,} leapfrog steps"
        )


@hb.at_the_call
def smc(  # noqa: PLR0913  # the settings of the sampler
    log_prior: LogDensity,
    log_likelihood: LogDensity,
    init: PyTree,
    key: Array,
    *,
    data: tuple[PyTree, ...] = (),
    particles: int | None = None,
    moves: int = 5,
    share: float = 0.5,
    constraints: PyTree = None,
    postprocess: Callable[[PyTree], PyTree] | None = None,
    dense: bool = False,
    target_acceptance: float = 0.8,
    max_depth: int = 6,
) -> Tempered:
    """Draw from a posterior by sequential Monte Carlo: from the prior to the posterior by tempered likelihoods.

    It is for posteriors with several modes between which no chain of `sample` moves, and for evidences. More particles
    give better results; a lower `share` gives fewer temperatures. The log evidence has an error, which can be seen from
    runs with other keys.

    Args:
        log_prior: The log density of the prior of one particle, up to a constant: `log_prior(parameters)`, a scalar.
        log_likelihood: `log_likelihood(parameters, *data)`, a scalar. It may be minus infinity.
        init: Draws from the prior: a function from a key to the parameters of one particle, or a pytree of arrays
            `[particles, ...]`. They have to be draws of `log_prior`, or the evidence is wrong.
        key: A typed key, `jax.random.key(0)`.
        data: Arguments of `log_likelihood` after the parameters, shared by all particles.
        particles: Number of particles, if `init` does not determine it.
        moves: Number of draws that each particle makes at each temperature.
        share: The effective number of particles over their number, once they are weighted for the next temperature.
            That temperature is found from it by bisection.
        constraints: Bijectors for parameters that may not be any number, as `sample` takes them.
        postprocess: From the parameters of one particle to what is kept of it; None keeps the parameters.
        dense: Whether the metric, that of the particles at each temperature, has correlations.
        target_acceptance: The mean acceptance rate that the step size is adapted to, between 0 and 1.
        max_depth: Number of doublings of a trajectory, at most.

    Returns:
        Draws of all particles, the log evidence, and a record of the temperatures.

    Raises:
        ArgumentError: An argument is invalid, or the likelihood of a particle is not a number.

    Examples:
        >>> import jax, jax.numpy as jnp
        >>> from jax.scipy.stats import norm
        >>> from hlobatch import mcmc
        >>> found = mcmc.smc(
        ...     lambda x: norm.logpdf(x, 0, 10),
        ...     lambda x: jnp.logaddexp(norm.logpdf(x, -6, 0.5), norm.logpdf(x, 6, 0.5)),  # twice as high at each mode
        ...     lambda key: 10 * jax.random.normal(key),
        ...     jax.random.key(0), particles=500,
        ... )
        >>> bool(0.4 < (found.draws > 0).mean() < 0.6), bool(abs(found.log_evidence + 2.71) < 0.3)
        (True, True)
    """
    began = time.perf_counter()
    key = checked_key(key)
    moves = checked_count("moves", moves, 1)
    max_depth = checked_count("max_depth", max_depth, 1, MOST_DOUBLINGS)
    target_acceptance = checked_number("target_acceptance", target_acceptance, 0.0, 1.0)
    share = checked_number("share", share, 0.0, 1.0)
    parameters, count = parameters_of(init, constraints, particles, "particles")
    if not callable(init) and particles is not None:
        raise ArgumentError(
            "init with particles= would be one point, and not draws from the prior.",
            help="give a function from a key to a draw, or an axis of particles in front of each array.",
        )
    data = checked_data(data, count, per_chain=False)
    density = tempered_by(log_prior, log_likelihood)
    of_density = (np.zeros((), parameters.dtype), *data)
    leaves, structure = jax.tree.flatten(of_density)
    types = structure, tuple((leaf.shape, leaf.dtype) for leaf in leaves)
    followed = is_followed_for(density, parameters, types, True)
    if followed:
        density = in_lanes(density)
    shape = Shape(parameters, dense, False, True, True, max_depth, followed, ())
    programs = programs_for(density, shape)
    keys = programs.keys(key, count, moves)
    given = Given(init, parameters, count, one_for_all=False, jitter=0.0)
    run = Smc(
        programs=programs,
        likelihood=likelihood_of(log_likelihood, parameters, followed=followed),
        data=data,
        keys=keys,
        moves=moves,
        acceptance=target_acceptance,
        positions=given.at(0, keys, lambda keys, _: keys),
        coins=np.random.default_rng(np.asarray(jax.random.key_data(key)).reshape(-1)),
    )
    run.to_the_posterior(share)
    keep, _ = what_to_keep(postprocess, parameters)
    return run.result(keep, time.perf_counter() - began)


@functools.lru_cache(maxsize=16)
def tempered_by(log_prior: LogDensity, log_likelihood: LogDensity) -> Callable[..., Any]:
    """Returns the log density at a temperature; the temperature is the first of its data."""

    def density(parameters: PyTree, temperature: Array, *data: PyTree) -> Any:
        return log_prior(parameters) + temperature * log_likelihood(parameters, *data)

    return density


@functools.lru_cache(maxsize=16)
def in_lanes(density: LogDensity) -> Callable[..., Any]:
    """Returns the density as a function that lanes run: a program follows calls into no other function of hlobatch."""
    return hb.batch(density)


@kept
def likelihood_of(
    log_likelihood: LogDensity, parameters: Parameters, *, followed: bool
) -> Callable[[Array, PyTree], Array]:
    """Returns a function from positions, `Float[Array, "particles dim"]`, and the data to log likelihoods."""

    def of_position(position: Array, data: PyTree) -> Array:
        tree, _ = parameters.at(position)
        return scalar(log_likelihood(tree, *data), position.dtype)

    if followed:
        return hb.batch(of_position, in_axes=(0, None))
    return quickly_compiled(jax.vmap(of_position, (0, None)))


@dataclass
class Smc:
    """Particles between two temperatures.

    Attributes:
        programs: The compiled functions.
        likelihood: `(positions, data) -> log likelihoods`.
        data: The data of the likelihood.
        keys: The keys of the places of particles; a resampled particle takes the key of its new place.
        moves: The number of draws of each particle at a temperature.
        acceptance: The acceptance rate to which the step size is adapted.
        positions: The positions of the particles, `Float[Array, "particles dim"]`.
        coins: The generator of random numbers for resampling.
        temperatures: The temperatures so far.
        log_evidence: The log evidence so far.
        correction: The learned addition to the logarithm of the step size that is found where moves begin.
        rates: The acceptance rates so far.
        step_sizes: The step sizes so far.
        n_steps: The number of leapfrog steps so far.
    """

    programs: Programs
    likelihood: Callable[[Array, PyTree], Array]
    data: PyTree
    keys: Array
    moves: int
    acceptance: float
    positions: PyTree
    coins: np.random.Generator
    temperatures: list[float] = field(default_factory=lambda: [0.0])
    log_evidence: float = 0.0
    correction: float = 0.0
    rates: list[float] = field(default_factory=list)
    step_sizes: list[float] = field(default_factory=list)
    n_steps: int = 0

    def to_the_posterior(self, share: float) -> None:
        """Takes the particles to temperature 1."""
        while self.temperatures[-1] < 1.0:
            log_likelihood, before = self.checked_likelihood(), self.temperatures[-1]
            temperature = next_temperature(log_likelihood, before, share)
            if temperature <= before or len(self.temperatures) > MOST_TEMPERATURES:
                raise ArgumentError(
                    f"no temperature above {before:g} leaves {share:g} of the particles.",
                    help="give more particles, a lower share, or a prior under which the likelihood differs less.",
                )
            log_weights = (temperature - before) * log_likelihood
            self.log_evidence += log_mean_exp(log_weights)
            self.temperatures.append(temperature)
            self.positions = np.asarray(self.positions)[resampled(log_weights, self.coins.random())]
            self.move(temperature)

    def checked_likelihood(self) -> Floats:
        """The log likelihood of each particle.

        Raises:
            ArgumentError: One is not a number or is infinite, or no particle has any likelihood.
        """
        found = np.asarray(self.likelihood(self.positions, self.data), np.float64)
        if np.isnan(found).any() or np.isposinf(found).any():
            first = int(np.argmax(~(found < np.inf)))
            raise ArgumentError(
                f"the log likelihood of particle {first} is {found[first]}.",
                help="where there is none, let it be -jnp.inf; init has to give draws from the prior.",
            )
        if not np.isfinite(found).any():
            raise ArgumentError("no particle has any likelihood.", help="give more particles, or another prior.")
        return found

    def move(self, temperature: float) -> None:
        """Makes the draws of all particles at a temperature, with one step size."""
        programs, count = self.programs, len(self.positions)
        dtype = self.positions.dtype
        data = (jax.device_put(np.asarray(temperature, dtype)), *self.data)
        made = np.full(count, self.moves * (len(self.temperatures) - 1), np.int32)
        noise = programs.noise(self.keys, made, self.moves)
        nothing, _ = programs.nothing_learned(1)
        _, scale = programs.learn(nothing, self.positions[None], np.ones((1, count), bool))
        point, step = programs.begin(unknown(self.positions), self.positions, noise.momentum, scale, data)
        log_step = np.full(count, float(np.median(step.log_step)) + self.correction, dtype)
        limits = Limits(*jax.device_put((np.int32(MOST_LEAPFROGS), np.int32(0), np.asarray(self.acceptance, dtype))))
        first, until, log_steps = jax.device_put((made, made + np.int32(self.moves), log_step))
        chain = Chain(self.keys, first, point, step._replace(log_step=log_steps))
        chains, drawn = programs.advance(chain, noise, first, until, limits, scale, data)
        self.positions = np.asarray(chains.point.position)
        self.step_sizes.append(float(np.exp(log_step[0])))
        self.take_account_of(np.asarray(drawn.statistics))

    def take_account_of(self, statistics: Any) -> None:
        """Adapts the step size of the next moves to the statistics of the last ones."""
        rate = float(statistics[..., STATISTICS.index("acceptance_rate")].mean())
        self.rates.append(rate)
        self.n_steps += int(statistics[..., STATISTICS.index("n_steps")].sum(dtype=np.int64))
        self.correction += GAIN * (rate - self.acceptance)

    def result(self, keep: Callable[[ArrayLike], PyTree], seconds: float) -> Tempered:
        """The result of the run, given what to keep of positions and the seconds that it took."""
        draws = jax.tree.map(lambda leaf: np.asarray(leaf)[:, 0], keep(self.positions[:, None]))
        temperatures, rates, sizes = (np.asarray(told) for told in (self.temperatures, self.rates, self.step_sizes))
        return Tempered(draws, self.log_evidence, temperatures, rates, sizes, self.n_steps, seconds)
