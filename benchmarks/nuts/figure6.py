"""The paper's figure 6: one program, run in three ways.

Fully compiled, it is one XLA program. Eager and stackless (algorithm 1), Python's own stack holds the frames and JAX
runs operation by operation. The hybrid is the same with each straight line of code compiled by XLA.
"""

from __future__ import annotations

import time
from typing import Any, Final

import jax

from benchmarks.nuts import ours, problems, roofline
from benchmarks.nuts.problems import Problem
from benchmarks.workload import Prepared, Size, Workload
from hlobatch import stackless


def problem(size: Size) -> Problem:
    return problems.gaussian(size.inputs, num_draws=2)


def interpreted(size: Size, backend: stackless.Backend) -> Prepared:
    """A contender: the stackless interpreter. Its first run compiles, and fills the cache that later runs use."""
    given = problem(size)
    chains, cache = ours.start(given), dict[Any, Any]()
    began = time.perf_counter()
    program = ours.sampler(given).trace(chains).program

    def run() -> Any:
        (result,) = stackless.execute(program, backend, cache, chains)
        return jax.block_until_ready(result)

    result = run()
    seconds = time.perf_counter() - began
    return Prepared(run, ours.gradients(result), seconds, note="compile time includes the first run")


WORKLOAD: Final = Workload(
    name="nuts_figure6",
    title="NUTS, compiled, eager and hybrid (figure 6 of the paper)",
    unit="gradient",
    description="Two draws from the 100-dimensional correlated Gaussian, by the same program run in three ways.",
    sizes=(Size(1, 1), Size(10, 10), Size(100, 100)),
    contenders={
        "hlobatch": lambda size: ours.prepare(problem(size)),
        "hybrid": lambda size: interpreted(size, stackless.XlaBackend()),
        "eager": lambda size: interpreted(size, stackless.JaxBackend()),
    },
    roofline=lambda size: roofline.prepare(problem(size), size),
)
