"""TensorFlow Probability's iterative NUTS, which is written for batches of chains, on its JAX substrate."""

from __future__ import annotations

from typing import Any

import jax
from jax import Array
from tensorflow_probability.substrates import jax as tfp  # type: ignore[import-not-found,import-untyped,unused-ignore]

from benchmarks.nuts.peers.peer import Peer, Trace
from benchmarks.nuts.problems import Problem


def make(problem: Problem) -> Peer:
    """The sampler."""
    kernel = tfp.mcmc.NoUTurnSampler(
        jax.vmap(problem.log_density),
        step_size=problem.step_size,
        max_tree_depth=problem.max_depth,
        unrolled_leapfrog_steps=problem.leapfrogs_per_leaf,
    )

    def start(seed: int, positions: Array) -> Any:
        return positions, kernel.bootstrap_results(positions), jax.random.key(seed)

    def draw(state: Any, key: Array) -> tuple[Any, Trace]:
        positions, results = kernel.one_step(*state, seed=key)
        leaves = results.leapfrogs_taken // problem.leapfrogs_per_leaf
        return (positions, results), Trace(positions, leaves)

    def sample(state: Any) -> Trace:
        positions, results, key = state
        keys = jax.random.split(key, problem.num_draws)
        draws, leaves = jax.lax.scan(draw, (positions, results), keys)[1]
        return Trace(draws, leaves.T)

    return Peer(start, sample)
