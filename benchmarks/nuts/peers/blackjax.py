"""blackjax: one chain, batched by `jax.vmap`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import blackjax  # type: ignore[import-not-found,import-untyped,unused-ignore]
import jax
import jax.numpy as jnp
from jax import Array

from benchmarks.nuts.peers.peer import Peer, Trace
from benchmarks.nuts.problems import Problem


def make(problem: Problem) -> Peer:
    """The sampler; for leaves of several leapfrogs, one step of its integrator is several leapfrogs."""
    algorithm = blackjax.nuts(
        problem.log_density,
        problem.step_size,
        jnp.ones(problem.starts.shape[1]),
        max_num_doublings=problem.max_depth,
        integrator=repeated_verlet(problem.leapfrogs_per_leaf),
    )

    def start(seed: int, positions: Array) -> Any:
        keys = jax.random.split(jax.random.key(seed), len(positions))
        return jax.vmap(algorithm.init)(positions), keys

    def draw(state: Any, key: Array) -> tuple[Any, Trace]:
        state, info = algorithm.step(key, state)
        return state, Trace(state.position, info.num_integration_steps)

    def chain(state: Any, key: Array) -> Trace:
        return jax.lax.scan(draw, state, jax.random.split(key, problem.num_draws))[1]

    return Peer(start, lambda started: jax.vmap(chain)(*started))


def repeated_verlet(times: int) -> Callable[..., Any]:
    """An integrator whose one step is `times` leapfrogs."""

    def integrator(*densities: Any) -> Callable[..., Any]:
        leapfrog = blackjax.mcmc.integrators.velocity_verlet(*densities)

        def step(state: Any, step_size: Any) -> Any:
            for _ in range(times):
                state = leapfrog(state, step_size)
            return state

        return step

    return integrator
