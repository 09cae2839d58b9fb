"""The lower bound of a sampler's time: its gradients and nothing else, for the same number of chains at a time."""

from __future__ import annotations

import time
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from benchmarks import compile as ready
from benchmarks.nuts.problems import Problem
from benchmarks.workload import Prepared, Size

SECONDS = 0.5
"""The approximate seconds of one run, long enough for other load on the machine to affect it as it does the
samplers."""

DRIFT = 1e-6
"""The fraction of a gradient by which positions move, so that XLA cannot hoist the gradient out of the loop."""


def prepare(problem: Problem, size: Size) -> Prepared:
    """A contender: a loop over value and gradient of `size.lanes` chains."""
    evaluate = jax.vmap(jax.value_and_grad(problem.log_density))

    def leaf(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        positions, values = carry
        value = values
        for _ in range(problem.leapfrogs_per_leaf):
            value, gradient = evaluate(positions)
            positions = positions + DRIFT * gradient
        return positions, values + value

    positions = jnp.resize(problem.starts, (size.lanes, problem.starts.shape[1]))
    state = positions, jnp.zeros(size.lanes)
    return ready.repeated(leaf, state, size, times=repetitions(leaf, state), units=problem.leapfrogs_per_leaf)


def repetitions(kernel: Any, state: Any) -> int:
    """The number of executions of a kernel that take about `SECONDS`."""
    loop = jax.jit(lambda times, state: jax.lax.fori_loop(0, times, lambda _, state: kernel(state), state))
    jax.block_until_ready(loop(1, state))
    times, taken = 1, 0.0
    while taken < SECONDS / 5:
        times *= 2
        began = time.perf_counter()
        jax.block_until_ready(loop(times, state))
        taken = time.perf_counter() - began
    return max(1, round(times * SECONDS / taken))
