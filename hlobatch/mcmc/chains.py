"""Chains, and noise -> the chains some draws later, and these draws: the batched program, with a lane for each chain.

A chain makes draws one after the other inside the program, so that it does not wait for the trajectories of others. It
stops at a given draw, when its noise is used up, or after a number of leapfrog steps, so that all chains stop at about
the same time, however long their trajectories are. Warm-up and sampling are the same program.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

import hlobatch as hb
from hlobatch.mcmc.nuts import FlatLogDensity, Noise, Point, Tally, make_transition, select
from hlobatch.mcmc.step_size import StepSize, adapted
from hlobatch.typing import DType, PyTree

STATISTICS: Final = ("diverging", "energy", "acceptance_rate", "tree_depth", "n_steps", "lp", "step_size")
"""The statistics of each draw; the names are arviz's, where it has one."""

OPTIMIZATIONS: Final = hb.Optimizations(few_lanes=False)
"""Chains stop at about the same time: a program for the last few of them would take longer to compile than it saves."""


class Chain(NamedTuple):
    """A chain between two draws.

    Attributes:
        key: `Key[Array, ""]`, of all its noise; never rewritten.
        made: `Int[Array, ""]`, the number of its draws, those of the warm-up included.
        point: The last draw.
        step: The step size, and the state of its adaptation.
    """

    key: Array
    made: Array
    point: Point
    step: StepSize


class Limits(NamedTuple):
    """The limits of a call, and the parameters of adaptation; the same for all chains.

    Attributes:
        leapfrogs: `Int[Array, ""]`, steps after which no other draw is begun.
        warmup: `Int[Array, ""]`, draws during which the step size is adapted.
        acceptance: `Float[Array, ""]`, the acceptance probability to which it is adapted.
    """

    leapfrogs: Array
    warmup: Array
    acceptance: Array


class Drawn(NamedTuple):
    """The draws of a chain in one call; the rows of draws that it did not make are zero.

    Attributes:
        positions: `Float[Array, "rows dim"]`; `"rows 2*dim"`, with the gradients behind them, if those are wanted.
        statistics: `Float[Array, "rows statistics"]`.
    """

    positions: Array
    statistics: Array


def noise_for(key: Array, made: Array, rows: int, dim: int, dtype: DType, max_depth: int) -> Noise:
    """Returns the noise of the next draws of all chains; that of a draw depends on its chain and its number alone.

    The draws of all chains are on one axis inside: with two nested axes, XLA takes twice as long to compile it.

    Args:
        key: The keys of the chains, `Key[Array, "chains"]`.
        made: The numbers of draws that the chains have made, `Int[Array, "chains"]`.
        rows: The number of draws of each chain.
        dim: The number of elements of a position.
        dtype: The dtype of a position.
        max_depth: The most doublings of a trajectory.
    """
    shape = (len(made), rows)
    numbers = made[:, None] + jnp.arange(rows)
    keys = jnp.broadcast_to(key[:, None], shape)
    of_draw = partial(noise_of_draw, dim=dim, dtype=dtype, max_depth=max_depth)
    noise = jax.vmap(of_draw)(keys.reshape(-1), numbers.reshape(-1))
    return Noise(*(x.reshape(shape + x.shape[1:]) for x in noise))


def noise_of_draw(key: Array, number: Array, dim: int, dtype: DType, max_depth: int) -> Noise:
    """Returns the noise of one draw of a chain, given the chain's key."""
    own, leaves = jax.vmap(jax.random.fold_in, (None, 0))(key, jnp.stack([2 * number, 2 * number + 1]))
    lowest = jnp.nextafter(jnp.array(-1.0, dtype), jnp.array(0.0, dtype))
    spread = jax.random.uniform(own, (dim + 2 * max_depth,), dtype, lowest, 1.0)
    momentum = np.sqrt(2.0).astype(dtype) * jax.lax.erf_inv(spread[:dim])
    return Noise(momentum, 0.5 + 0.5 * spread[dim:].reshape(max_depth, 2), leaves)


def make_advance(
    log_density: FlatLogDensity,
    max_depth: int,
    *,
    followed: bool,
    shared_scale: bool,
    shared_data: bool,
    gradients: bool,
    options: Any,
) -> hb.BatchedFunction[..., tuple[Chain, Drawn]]:
    """Returns `advance(chains, noise, first, until, limits, scale, data) -> (chains, drawn)`, batched over chains.

    Row 0 of a chain's `noise` and `drawn` is the draw number `first`, and the chain stops before the draw `until`.

    Args:
        log_density: A function of a position and the data.
        max_depth: The most doublings of a trajectory.
        followed: Whether lanes have to run the density.
        shared_scale: Whether all chains have one metric; else each has its own.
        shared_data: Whether all chains have the same data.
        gradients: Whether the gradients at the draws are returned.
        options: Options of `hb.batch`, such as `lanes`.
    """
    transition = make_transition(log_density, max_depth, followed=followed)
    in_axes = (0, 0, 0, 0, None, None if shared_scale else 0, None if shared_data else 0)

    @hb.batch(in_axes=in_axes, **{"optimizations": OPTIMIZATIONS, "max_stack_depth": max_depth + 2, **options})
    def advance(
        chain: Chain, noise: Noise, first: Array, until: Array, limits: Limits, scale: Array, data: PyTree
    ) -> tuple[Chain, Drawn]:
        rows, dim = noise.momentum.shape
        positions = jnp.zeros((rows, 2 * dim if gradients else dim), noise.momentum.dtype)
        statistics = jnp.zeros((rows, len(STATISTICS)), positions.dtype)
        leapfrogs = jnp.int32(0)
        point, step, made = chain.point, chain.step, chain.made
        row = made - first
        while (row < len(noise.momentum)) & (made < until) & (leapfrogs < limits.leapfrogs):
            of_draw = jax.tree.map(lambda of_rows, row=row: of_rows[row], noise)
            step_size = jnp.exp(step.log_step)
            point, tally, depth = transition(point, of_draw, step_size, scale, data)
            acceptance = tally.acceptance / tally.leapfrogs
            drawn = jnp.concatenate([point.position, point.gradient]) if gradients else point.position
            positions = positions.at[row].set(drawn)
            statistics = statistics.at[row].set(statistics_of(point, tally, depth, step_size))
            step = select_adapted(made < limits.warmup, step, acceptance, limits.acceptance)
            leapfrogs += tally.leapfrogs
            made += 1
            row += 1
        return Chain(chain.key, made, point, step), Drawn(positions, statistics)

    return advance


def statistics_of(point: Point, tally: Tally, depth: Array, step_size: Array) -> Array:
    """Returns the statistics of a draw, in the order of ``STATISTICS``."""
    acceptance = tally.acceptance / tally.leapfrogs
    found = (tally.diverged, point.energy, acceptance, depth, tally.leapfrogs, point.log_density, step_size)
    return jnp.stack([x.astype(point.position.dtype) for x in found])


def select_adapted(warming: Array, step: StepSize, acceptance: Array, target: Array) -> StepSize:
    """Returns the step size after a draw, which changes it in the warm-up only."""
    return select(warming, adapted(step, acceptance, target), step)
