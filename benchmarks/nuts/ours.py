"""hlobatch's contender: the recursive sampler of ``examples/nuts.py``, batched."""

from __future__ import annotations

import time
from typing import Any

import jax
import numpy as np

import hlobatch as hb
from benchmarks.nuts.problems import Problem
from benchmarks.workload import Prepared
from examples import nuts


def sampler(problem: Problem, lanes: int | None = None, **options: Any) -> hb.BatchedFunction:
    """Returns the batched sampler for one problem, with so many chains in flight at once."""
    sample = nuts.make_nuts(
        problem.log_density,
        step_size=problem.step_size,
        num_draws=problem.num_draws,
        max_depth=problem.max_depth,
        leapfrogs_per_leaf=problem.leapfrogs_per_leaf,
    )
    assert isinstance(sample, hb.BatchedFunction)
    return hb.batch(sample.__hlobatch_function__, lanes=lanes, **options)


def start(problem: Problem) -> nuts.Chain:
    """Returns the chains before their first draw."""
    keys = jax.random.split(jax.random.key(1), len(problem.starts))
    started = jax.vmap(nuts.start_chain, (None, 0, 0))
    return jax.block_until_ready(started(problem.log_density, keys, problem.starts))


def prepare(problem: Problem, lanes: int, **options: Any) -> Prepared:
    """Compiles, and runs once to count what the chains want."""
    batched, chains = sampler(problem, lanes, **options), start(problem)
    began = time.perf_counter()
    traced = batched.trace(chains)
    compiled = traced.lower().compile()
    seconds = time.perf_counter() - began
    (after, _), stats = batched.with_stats(chains)
    return Prepared(
        run=lambda: jax.block_until_ready(compiled(chains)),
        work=float(gradients(after)),
        compile_seconds=seconds,
        temp_bytes=compiled.memory_analysis().temp_size_in_bytes,
        lane_use=gradient_lane_use(stats),
        note=traced.plan.choice.reason,
    )


def gradients(chains: nuts.Chain) -> int:
    """Returns the gradients that all chains together have needed since they started."""
    return int(np.asarray(chains.tally.leapfrogs, np.int64).sum())


def gradient_lane_use(stats: hb.RunStats) -> float:
    """Returns the share of lanes in use where the gradient is computed: in the costliest block."""
    return stats.utilization_of(max(stats.blocks, key=lambda block: block.cost).name)
