"""The interface of a peer, and its preparation as a contender."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import Array

from benchmarks import compile as ready
from benchmarks.nuts.problems import Problem
from benchmarks.workload import Prepared
from examples.lockstep import count_executions


class Trace(NamedTuple):
    """The result of a peer.

    Attributes:
        draws: `Float[Array, "chains draws dim"]` or `"draws chains dim"`, as the peer stores them.
        leaves: The number of leaves of each trajectory, `Int[Array, "chains draws"]`.
    """

    draws: Array
    leaves: Array


class Peer(NamedTuple):
    """A sampler for one problem.

    Attributes:
        start: `(seed, positions[chains, dim]) -> state`.
        sample: `state -> Trace`; the function that is compiled.
    """

    start: Callable[[int, Array], Any]
    sample: Callable[[Any], Trace]


def prepare(peer: Peer, problem: Problem, lanes: int) -> Prepared:
    """Compile a peer for `lanes` chains in one batch; the batches run one after the other.

    Raises:
        ValueError: The number of chains is no multiple of `lanes`.
    """
    if len(problem.starts) % lanes:
        raise ValueError(f"{len(problem.starts)} chains cannot be run in batches of {lanes}")
    batches = [problem.starts[first : first + lanes] for first in range(0, len(problem.starts), lanes)]
    states = [jax.block_until_ready(peer.start(seed, batch)) for seed, batch in enumerate(batches)]
    anew = lambda: jax.jit(lambda state: peer.sample(state))  # noqa: E731, PLW0108  (as in `ready.jitted`)
    compilation = lambda: anew().lower(states[0]).compile()  # noqa: E731
    compiled, seconds = ready.timed_compilation(compilation)

    def run() -> list[Trace]:
        traces = [compiled(state) for state in states]
        jax.block_until_ready(traces)
        return traces

    leaves = [np.asarray(trace.leaves) for trace in run()]
    useful = ready.total(leaves)
    gradients = useful * problem.leapfrogs_per_leaf
    return Prepared(
        run=run,
        work=gradients,
        compile_seconds=seconds,
        temp_bytes=ready.temp_bytes(compiled),
        lane_use=useful / (sum(map(count_executions, leaves)) * lanes),
        note=f"{problem.leaves_per_draw(gradients)}; "
        "lanes used is an upper bound: chains that are done walk on, and can be the longest",
        compile=compilation,
    )
