"""Ablations of parts of XLA's loop over all lanes that have no switch.

Since no user would want to be without such a part, there is no option for it. Here the function that implements it is
replaced by one that does nothing, or the plain thing. Each part is measured on the program of this folder that gains
the most from it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final
from unittest import mock

import jax.numpy as jnp
from jax import Array

import hlobatch as hb
from benchmarks import compile as ready
from benchmarks.workload import Contender, Prepared, Size, Workload
from benchmarks.workloads import ablation, switches
from hlobatch.analysis.block_groups import alone
from hlobatch.analysis.call_frames import CallFrames
from hlobatch.strategy import strategy

WithoutIt = Callable[[], contextlib.AbstractContextManager[Any]]


def without(owner: Any, name: str, instead: Any = lambda *_, **__: None) -> WithoutIt:
    """A function that makes a context in which an attribute of an object is replaced."""
    return lambda: mock.patch.object(owner, name, instead)


def small_blocks(inputs: int) -> tuple[hb.BatchedFunction, tuple[Any, ...]]:
    """A program with one costly block, and many blocks of a few operations between two visits to it."""
    weights = jnp.asarray(switches.numbers(0, 48, 48) / 7)

    @hb.batch
    def count(x: Array, seed: Array) -> Array:
        i, n, j = 0, 0, 0
        while i < 30:
            x = jnp.tanh(weights @ x)
            m = seed % 13
            while m > 0:
                if m % 2 == 0:
                    j = 0
                    while j < m:
                        j += 2
                        n += 1
                    m = m // 2
                else:
                    m = m - 1
                    if n % 5 == 0:
                        n += 3
            seed = (seed * 1103515245 + 12345) & 0x7FFFFFFF
            i += 1
        return n

    return count, (jnp.asarray(switches.numbers(1, inputs, 48)), jnp.arange(inputs, dtype=jnp.int32))


def left_out(part: WithoutIt, contender: Contender, size: Size) -> Prepared:
    """A contender without a part, also when it is compiled again."""
    with part():
        prepared = contender(size)
    compilation = prepared.compile
    assert compilation is not None

    def compile_without() -> Any:
        with part():
            return compilation()

    return replace(prepared, compile=compile_without)


def workload(name: str, part: WithoutIt, contender: Contender, size: Size, description: str) -> Workload:
    title = f"Ablation of what has no switch: {name.replace('_', ' ')}"
    contenders = {"hlobatch": contender, f"hlobatch, without {name}": partial(left_out, part, contender)}
    return Workload(f"ablation_{name}", title, "unit", description, (size,), contenders, roofline=None)


WORKLOADS: Final = {
    made.name: made
    for made in (
        workload(
            "block_groups", without(strategy, "small_together", alone), partial(switches.prepare, small_blocks),
            Size(200, 200),
            "Small blocks that lead to each other run in one step (`analysis/block_groups.py`).",
        ),
        workload(
            "call_frames", without(CallFrames, "_returns", property(lambda _: frozenset())),
            partial(ablation.calls_in_calls, **ready.without("kernels")), Size(500, 500),
            "What calls of a recursion save is one frame (`analysis/call_frames.py`), in Takeuchi's function.",
        ),
    )
}  # fmt: skip
