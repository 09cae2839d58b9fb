"""numpyro with `chain_method="vectorized"`: its kernel under `jax.vmap`, inside the loop over draws."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from numpyro.infer.hmc import hmc  # type: ignore[import-not-found,import-untyped,unused-ignore]

from benchmarks.nuts.peers.peer import Peer, Trace
from benchmarks.nuts.problems import Problem


def make(problem: Problem) -> Peer:
    """The sampler, which has no leaves of several leapfrogs.

    Raises:
        ValueError: The problem has leaves of several leapfrogs.
    """
    if problem.leapfrogs_per_leaf != 1:
        raise ValueError("numpyro has one leapfrog per leaf")
    init_kernel, sample_kernel = hmc(lambda position: -problem.log_density(position), algo="NUTS")

    def start_chain(key: Array, position: Array) -> Any:
        return init_kernel(
            position,
            num_warmup=0,
            step_size=problem.step_size,
            inverse_mass_matrix=jnp.ones(problem.starts.shape[1]),
            adapt_step_size=False,
            adapt_mass_matrix=False,
            max_tree_depth=problem.max_depth,
            rng_key=key,
        )

    def start(seed: int, positions: Array) -> Any:
        return jax.vmap(start_chain)(jax.random.split(jax.random.key(seed), len(positions)), positions)

    def draw(state: Any, _: None) -> tuple[Any, Trace]:
        state = jax.vmap(sample_kernel)(state)
        return state, Trace(state.z, state.num_steps)

    def sample(state: Any) -> Trace:
        draws, leaves = jax.lax.scan(draw, state, length=problem.num_draws)[1]
        return Trace(draws, leaves.T)

    return Peer(start, sample)
