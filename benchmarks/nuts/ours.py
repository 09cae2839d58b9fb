"""hlobatch's contender: the recursive sampler of `examples/nuts.py`, batched."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax

import hlobatch as hb
from benchmarks import compile as ready
from benchmarks.nuts.problems import Problem
from benchmarks.workload import Prepared
from examples import nuts


def prepare(problem: Problem, **options: Any) -> Prepared:
    """The sampler, compiled; `options` are those of `hb.batch`."""
    prepared = ready.batched(sampler(problem), [start(problem)], work=gradients, **options)
    return replace(prepared, note=f"{problem.leaves_per_draw(prepared.work)}; {prepared.note}")


def sampler(problem: Problem, *, gather: bool = False) -> hb.BatchedFunction:
    """The batched sampler for one problem; `gather` as in `examples/nuts.py`."""
    sample = nuts.make_nuts(
        problem.log_density,
        step_size=problem.step_size,
        num_draws=problem.num_draws,
        max_depth=problem.max_depth,
        leapfrogs_per_leaf=problem.leapfrogs_per_leaf,
        gather=gather,
    )
    assert isinstance(sample, hb.BatchedFunction)
    return sample


def start(problem: Problem) -> nuts.Chain:
    """The chains before their first draw."""
    keys = jax.random.split(jax.random.key(1), len(problem.starts))
    chains: nuts.Chain = jax.vmap(nuts.start_chain, (None, 0, 0))(problem.log_density, keys, problem.starts)
    jax.block_until_ready(chains)
    return chains


def gradients(result: tuple[nuts.Chain, jax.Array]) -> float:
    """The number of gradients that all chains together have computed since they started."""
    chains, _ = result
    return ready.total(chains.tally.leapfrogs)


def gradient_use(stats: hb.RunStats) -> float:
    """The share of lanes in use when the gradient is computed, in the block with the most work."""
    return stats.utilization_of(max(stats.blocks, key=lambda block: block.cost * block.active).name)
