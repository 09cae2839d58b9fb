"""What XLA's loop over all lanes is made of, with one part of it left out: parts that have no switch.

They persuade XLA's CPU backend to make good code of the loop. Nobody would want to be without one, so there is nothing
to switch them off by: here, the function that does it is replaced by one that does nothing, or the plain thing. Each
is measured on the program that gains the most by it, of those in this folder.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final
from unittest import mock

import jax.numpy as jnp
import numpy as np
from jax import Array

import hlobatch as hb
from benchmarks import compile as ready
from benchmarks import registry
from benchmarks.nuts import ours, problems
from benchmarks.workload import Contender, Prepared, Size, Workload
from benchmarks.workloads import ablation, switches
from hlobatch.analysis.block_groups import alone
from hlobatch.analysis.call_frames import CallFrames
from hlobatch.lowering import to_stablehlo
from hlobatch.lowering.arrays.stacks import pop_at_once, push_at_once
from hlobatch.lowering.turns.exchange import Exchange
from hlobatch.runtime import packing
from hlobatch.strategy import properties, strategy
from hlobatch.targets.cpu import held, idioms, in_loops, passes
from hlobatch.targets.cpu.turns_at_once import TurnsAtOnce, turns_at_once

WithoutIt = Callable[[], contextlib.AbstractContextManager[Any]]


def without(owner: Any, name: str, instead: Any = lambda *_, **__: None) -> WithoutIt:
    """Within it, something else stands in the place of a function."""
    return lambda: mock.patch.object(owner, name, instead)


def without_loops(*operations: str) -> WithoutIt:
    """Within it, XLA is given some operations as they are, which it gets loops of ours in the place of."""
    return without(in_loops, "LOOPS", {name: of for name, of in in_loops.LOOPS.items() if name not in operations})


def both(*parts: WithoutIt) -> WithoutIt:
    """Within it, several parts are left out."""

    @contextlib.contextmanager
    def all_left_out() -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            for part in parts:
                stack.enter_context(part())
            yield

    return all_left_out


def lanes_in_front(arrays: Sequence[Any], axis: int, there: int) -> list[Any]:
    """Arrays whose lanes are last, with lanes where one that has them in front has them."""
    return [jnp.moveaxis(array, -1, there) if axis else array for array in arrays]


def push(stacks: Any, pointer: Any, tops: Any, mask: Any, axis: int, by_bits: bool) -> list[Any]:
    """A push by a scatter, as in several kernels."""
    del by_bits
    pushed = push_at_once(lanes_in_front(stacks, axis, 1), pointer, lanes_in_front(tops, axis, 0), mask)
    return [jnp.moveaxis(array, 1, -1) if axis else array for array in pushed]


def pop(stacks: Any, pointer: Any, tops: Any, mask: Any, axis: int, by_bits: bool) -> list[Any]:
    """A pop by a gather."""
    del by_bits
    popped = pop_at_once(lanes_in_front(stacks, axis, 1), pointer, lanes_in_front(tops, axis, 0), mask)
    return [jnp.moveaxis(array, 0, -1) if axis else array for array in popped]


def starts(inputs: int) -> tuple[hb.BatchedFunction, tuple[Any, ...]]:
    """What each lane starts from takes longer to compute than its loop."""

    @hb.batch
    def turns_of(x: Array, most: Array) -> Array:
        z = x + jnp.arange(32) * 0.1
        for _ in range(6):
            z = jnp.sin(z) + jnp.exp(-z * z) * x
        y = jnp.sum(z)
        turns = 0
        while turns < most:
            if abs(y) > 300.0:
                return turns
            y = y * 1.01 + 0.01
            turns += 1
        return -1

    return turns_of, (jnp.linspace(-2, 2, inputs, dtype=jnp.float32), jnp.arange(inputs, dtype=jnp.int32) % 60)


def mixtures(inputs: int) -> tuple[hb.BatchedFunction, tuple[Any, ...]]:
    """A few turns of a loop that carries a dozen numbers."""

    @hb.batch
    def mixed(a: Array, b: Array, c: Array, d: Array) -> tuple[Array, ...]:
        e, f, g, h, i, j, k, m = a + b, b + c, c + d, d + a, a - b, b - c, c - d, d - a
        turns = 0
        while turns < 3 and a < 1e6:
            a, b, c, d, e, f = b * 1.1, c + a, d - b, e * 0.9, f + 1, g * a * 0.1
            g, h, i, j, k, m = h - c, i + d, j * 0.5, k + e, m - f, a + g
            turns += 1
        return a, b, c, d, e, f, g, h, i, j, k, m

    return mixed, tuple(jnp.asarray(switches.numbers(seed, inputs)) for seed in range(4))


def small_blocks(inputs: int) -> tuple[hb.BatchedFunction, tuple[Any, ...]]:
    """One costly block, and between two visits to it many of a few operations."""
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


def orbits(inputs: int) -> tuple[hb.BatchedFunction, tuple[Any, ...]]:
    """A loop with six numbers of each lane that stay as they are."""

    @hb.batch
    def turns_of(a: Array, b: Array, c: Array, d: Array, e: Array, f: Array) -> Array:
        x, y, turns = 0.1, 0.2, 0
        while x * x + y * y < 100.0 and turns < 500:
            x, y = a * x * (1 - x) + b * y - c * 0.01, d * y * (1 - y) + e * x + f * 0.01
            turns += 1
        return turns

    rng = np.random.default_rng(0)
    return turns_of, tuple(jnp.asarray(rng.uniform(0.2, 2.5, inputs), jnp.float32) for _ in range(6))


def hops(inputs: int) -> tuple[hb.BatchedFunction, tuple[Any, ...]]:
    """Rows of a table are added up, each found by a number that takes some operations."""
    table = jnp.asarray(switches.numbers(0, 1000, 64))

    @hb.batch
    def total(x: Array, most: Array) -> Array:
        turns, rows = 0, jnp.zeros(64)
        while turns < most:
            k = (x * 1103515245 + 12345) % 1000
            x = jnp.where(k % 3 == 0, k * k + x, jnp.where(k % 5 == 1, x // 2 + k * 17, x * 3 + k)) % 999331
            rows = rows + table[(x * 7 + k) % 1000]
            turns += 1
            if rows[0] > 200.0:
                return rows
        return rows

    return total, (jnp.arange(inputs, dtype=jnp.int32) + 7, jnp.arange(inputs, dtype=jnp.int32) % 80)


def without_riders(*arguments: Any) -> TurnsAtOnce | None:
    """Several turns at once, with arrays of their own for what stays as it is."""
    found = turns_at_once(*arguments)
    return None if found is None else replace(found, riders={})


def of(name: str) -> Contender:
    """What runs another workload as it is."""
    return registry.find(name).contenders["hlobatch"]


def left_out(part: WithoutIt, contender: Contender, size: Size) -> Prepared:
    """A contender without a part; what it compiles later, too."""
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


def schools(size: Size) -> Prepared:
    """Sixty draws of each chain on the eight schools."""
    return ours.prepare(problems.eight_schools(size.inputs, 60))


in_jit: Final = partial(ablation.loops, inside_jit=True)
begins_in_loop: Final = without(to_stablehlo, "beginning_of")

WORKLOADS: Final = {
    made.name: made
    for made in (
        workload(
            "beginning", begins_in_loop, partial(switches.prepare, starts), Size(3_000, 3_000),
            "A first block that no lane comes back to is run as inputs come in, or ahead (`turns/beginning.py`).",
        ),
        workload(
            "exchange", both(without(Exchange, "in_loops", Exchange.at_once), begins_in_loop),
            of("collatz"), Size(1_000, 10_000),
            "Only the lanes that are done exchange a result for an input (`turns/exchange.py`), on Collatz.",
        ),
        workload(
            "held", without(passes, "hold"), of("nuts_hierarchical"), Size(100, 300),
            "What is broadcast several times is computed once (`targets/cpu/held.py`), in NUTS on the eight schools.",
        ),
        workload(
            "trigonometry", without_loops("stablehlo.sine", "stablehlo.cosine"), of("stiff"), Size(1_000, 1_000),
            "Sines and cosines are polynomials (`targets/cpu/trigonometry.py`), in the stiff equation.",
        ),
        workload(
            "reductions", without_loops("stablehlo.reduce"), of("stiff"), Size(1_000, 1_000),
            "Reductions are loops over rows (`targets/cpu/reductions.py`), in the stiff equation.",
        ),
        workload(
            "contractions", without_loops("stablehlo.dot_general"), of("neural_ode"), Size(100, 100),
            "Products are sums of outer products (`targets/cpu/contractions.py`), in the neural ODE.",
        ),
        workload(
            "stack_loops", both(without(idioms, "push_in_loops", push), without(idioms, "pop_in_loops", pop)),
            of("tree_search"), Size(100, 100),
            "Pushes and pops go through rows (`targets/cpu/stack_loops.py`), in the search of a tree.",
        ),
        workload(
            "twofold", without(passes, "reduce_twofold"), in_jit, Size(1_000, 1_000),
            "Reductions are of one array twice (`targets/cpu/twofold.py`), in Collatz inside a `jax.jit`.",
        ),
        workload(
            "turns_at_once", without(idioms, "turns_at_once"), of("mandelbrot"), Size(16, 16),
            "A block that goes on to itself makes several turns in one loop (`targets/cpu/turns_at_once.py`).",
        ),
        workload(
            "riders", without(idioms, "turns_at_once", without_riders), partial(switches.prepare, orbits),
            Size(1_000, 1_000),
            "What stays as it is in several turns is no array of the loop (`targets/cpu/turns_at_once.py`).",
        ),
        workload(
            "held_rows", without(held, "_places_rows", lambda _: False), partial(switches.prepare, hops),
            Size(500, 500),
            "The place that a row is gathered from is computed once (`targets/cpu/held.py`).",
        ),
        workload(
            "packing", without(packing, "MOST_BYTES_PACKED", -1), partial(switches.prepare, mixtures), Size(8, 8),
            "A small state is given back as few arrays (`runtime/packing.py`).",
        ),
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
        workload(
            "turns_of_all", without(properties, "turns_of_all"), schools, Size(1_000, 1_000),
            "Lanes that all turn equally often in a loop around all others take new inputs together.",
        ),
    )
}  # fmt: skip
