"""The least that a sampler can take: its gradients and nothing else, for as many chains at a time."""

from __future__ import annotations

import time
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from benchmarks.nuts.problems import Problem
from benchmarks.workload import Prepared

SECONDS = 0.5
"""Time of one run, about: enough for the clock, and for the machine to reach its usual speed."""

DRIFT = 1e-6
"""Positions change by so much of a gradient, so that no gradient is computed once for all."""


def prepare(problem: Problem, lanes: int) -> Prepared:
    """Compiles a loop over value and gradient of ``lanes`` chains, and finds how often to run it."""
    evaluate = jax.vmap(jax.value_and_grad(problem.log_density))
    positions = jnp.resize(problem.starts, (lanes, problem.starts.shape[1]))

    def loop(positions: Array, leaves: Array) -> tuple[Array, Array]:
        def leaf(_: Any, carry: tuple[Array, Array]) -> tuple[Array, Array]:
            positions, values = carry
            for _ in range(problem.leapfrogs_per_leaf):
                value, gradient = evaluate(positions)
                positions = positions + DRIFT * gradient
            return positions, values + value

        return jax.lax.fori_loop(0, leaves, leaf, (positions, jnp.zeros(lanes)))

    began = time.perf_counter()
    compiled = jax.jit(loop).lower(positions, jnp.int32(1)).compile()
    seconds = time.perf_counter() - began

    def run(leaves: int) -> float:
        began = time.perf_counter()
        jax.block_until_ready(compiled(positions, jnp.int32(leaves)))
        return time.perf_counter() - began

    leaves = 1
    while (taken := run(leaves)) < SECONDS / 5:
        leaves = max(2 * leaves, int(leaves * SECONDS / 5 / max(taken, 1e-6)))
    leaves = max(1, round(leaves * SECONDS / taken))
    return Prepared(
        run=lambda: jax.block_until_ready(compiled(positions, jnp.int32(leaves))),
        work=float(leaves * lanes * problem.leapfrogs_per_leaf),
        compile_seconds=seconds,
        temp_bytes=compiled.memory_analysis().temp_size_in_bytes,
        lane_use=1.0,
    )
