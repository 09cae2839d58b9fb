"""XLA's loop with each optimization off in turn, each schedule instead of the chosen one, one thread; kernels, gangs.

Six workloads: recursion without a kernel (Fibonacci), recursion whose arguments are needed after several calls
(Takeuchi), a nested loop (Collatz), a loop over a short table in a loop (a walk), and a sampler, for a cheap density (a
Gaussian) and for a costly one on data that all chains share (logistic regression).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import jax.numpy as jnp
from jax import Array

import hlobatch as hb
from benchmarks import compile as ready
from benchmarks.nuts import ours, problems
from benchmarks.workload import Prepared, Size, Workload
from benchmarks.workloads import collatz, fibonacci, takeuchi

Prepare = Callable[..., Prepared]
"""Makes a contender from a size and options of `ready.batched`."""

PASSES: Final = tuple(field.name for field in dataclasses.fields(hb.Optimizations))
OF_OWN_CODE: Final = ("kernels", "gangs")
"""Optimizations that do not concern XLA's loop, and so have no variant without them."""


def variants() -> dict[str, dict[str, Any]]:
    """For each contender, by name, its options of `ready.batched`."""
    loop = ready.without("kernels")
    off = {f"without {name}": ready.without("kernels", name) for name in PASSES if name not in OF_OWN_CODE}
    nothing = {"without all of them": ready.without(*PASSES)}
    schedules = {f"schedule {name}": {"schedule": name} for name in ("earliest", "most_lanes", "cost", "sweep")}
    alone = {"in one thread": {"threads": 1, **loop}, "inside jax.jit": {"inside_jit": True, **loop}}
    own = {"lanes by themselves": {"dispatch": "kernel"}, "gangs of lanes": {"dispatch": "gang"}}
    return {"hlobatch": loop, **off, **nothing, **schedules, **alone, **own}


def calls(size: Size, **options: Any) -> Prepared:
    return ready.batched(
        fibonacci.fibonacci, fibonacci.numbers(size.inputs), work=fibonacci.calls,
        comparable=fibonacci.everything, **options,
    )  # fmt: skip


def calls_in_calls(size: Size, **options: Any) -> Prepared:
    return ready.batched(
        takeuchi.takeuchi, takeuchi.triples(size.inputs), work=lambda _: takeuchi.calls(size.inputs),
        comparable=fibonacci.everything, **options,
    )  # fmt: skip


def loops(size: Size, **options: Any) -> Prepared:
    return ready.batched(
        collatz.longest, collatz.starts(size.inputs), work=collatz.work, comparable=collatz.everything, **options
    )


STRIDES: Final = ((0, 3), (1, 1), (2, 4), (0, 2))


@hb.batch
def walk(place: Array) -> Array:
    """The number of strides to a goal; the length of each depends on the place where it begins."""
    count = 0
    while place < 1000:
        for remainder, stride in STRIDES:
            if place % 3 == remainder:
                place += stride
            elif stride > 3:
                place += 1
        count += len(STRIDES)
    return count


def strides(size: Size, **options: Any) -> Prepared:
    places = jnp.arange(size.inputs, dtype=jnp.int32) % 900
    return ready.batched(walk, (places,), work=ready.total, comparable=fibonacci.everything, **options)


def chains(size: Size, **options: Any) -> Prepared:
    return ours.prepare(problems.gaussian(size.inputs, num_draws=10), **options)


def regressions(size: Size, **options: Any) -> Prepared:
    return ours.prepare(problems.logistic(size.inputs, num_draws=2), **options)


def workload(name: str, of: str, unit: str, prepare: Prepare, size: Size) -> Workload:
    return Workload(
        name=f"ablation_{name}",
        title=f"Ablation: {of}",
        unit=unit,
        description=(
            "XLA's loop over all lanes. The rows are: one optimization off in each, all of them off, each schedule in "
            "place of the chosen one, the whole batch in one thread, alone and inside a user's `jax.jit`. If a row is "
            "as fast as the first, the optimization does not matter for this workload. The last row is code of its own "
            "for each lane."
        ),
        sizes=(size,),
        contenders={key: partial(prepare, **options) for key, options in variants().items()},
        roofline=None,
    )


WORKLOADS: Final = {
    made.name: made
    for made in (
        workload("fibonacci", "recursive Fibonacci", "call", calls, Size(2_000, 2_000)),
        workload("takeuchi", "the Takeuchi function", "call", calls_in_calls, Size(2_000, 2_000)),
        workload("collatz", "nested Collatz", "step", loops, Size(2_000, 2_000)),
        workload("walk", "a walk by a table of strides", "stride", strides, Size(10_000, 10_000)),
        workload("nuts", "NUTS on the correlated Gaussian", "gradient", chains, Size(100, 100)),
        workload("logistic", "NUTS on logistic regression 10,000 × 100", "gradient", regressions, Size(100, 100)),
    )
}
