"""Small programs that one optimization is for, with it and without it.

Each is a program that a user may well write. The ablations of larger programs (`ablation.py`) turn off every
optimization in turn, most of which do nothing there. Lanes run in the form that is chosen for the program.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import jax.numpy as jnp
import numpy as np
from jax import Array

import hlobatch as hb
from benchmarks import compile as ready
from benchmarks.workload import Prepared, Size, Workload
from benchmarks.workloads.fibonacci import everything

Program = Callable[[int], tuple[hb.BatchedFunction, tuple[Any, ...]]]
"""Makes a function and a batch of its inputs, given their number."""


def numbers(seed: int, *shape: int) -> np.ndarray[Any, Any]:
    """Normally distributed numbers from a fixed seed."""
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def histogram(inputs: int) -> tuple[hb.BatchedFunction, tuple[Any, ...]]:
    """Counts in a list that each lane indexes by its own numbers."""

    @hb.batch
    def moment(seed: Array) -> Array:
        counts = [0] * 48
        draws = 0
        while draws < 200:
            seed = (seed * 1103515245 + 12345) & 0x7FFFFFFF
            counts[(seed >> 8) % 48] += 1
            draws += 1
        return sum(counts[k] * k for k in range(48))

    return moment, (jnp.arange(inputs, dtype=jnp.int32),)


def descent(inputs: int, *, at_once: bool) -> tuple[hb.BatchedFunction, tuple[Any, ...]]:
    """Gradient descent until steps are short; the data of the gradient is shared by all lanes and constant."""
    data = jnp.asarray(numbers(0, 200, 20) / 15)
    starts = jnp.asarray(numbers(1, inputs, 20)) * jnp.linspace(0.1, 3, inputs)[:, None]

    @hb.batch(in_axes=(0, None))
    def steps_of(x: Array, data: Array) -> Array:
        steps = 0
        while jnp.sum(x * x) > 1e-3:
            x = x - 0.2 * ((data.T @ data) @ x)
            steps += 1
        return steps

    @hb.batch(in_axes=(0, None))
    def steps_in_statements(x: Array, data: Array) -> Array:
        steps = 0
        while jnp.sum(x * x) > 1e-3:
            gram = data.T @ data
            x = x - 0.2 * (gram @ x)
            steps += 1
        return steps

    return steps_of if at_once else steps_in_statements, (starts, data)


def solving(inputs: int) -> tuple[hb.BatchedFunction, tuple[Any, ...]]:
    """An iteration with the inverse of a matrix that the function captures."""
    half = numbers(0, 100, 100)
    matrix = jnp.asarray(half @ half.T / 100 + np.eye(100, dtype=np.float32))
    starts = jnp.asarray(numbers(1, inputs, 100)) * jnp.linspace(0.1, 3, inputs)[:, None]

    @hb.batch
    def steps_of(x: Array) -> Array:
        steps = 0
        while jnp.sum(x * x) > 1e-2:
            x = x - 0.5 * (jnp.linalg.inv(matrix) @ x)
            steps += 1
        return steps

    return steps_of, (starts,)


def series(inputs: int) -> tuple[hb.BatchedFunction, tuple[Any, ...]]:
    """A loop of two hundred turns, the same in every lane, inside of a loop whose length differs between lanes."""

    @hb.batch
    def steps_of(x: Array) -> Array:
        steps = 0
        while x < 10.0:
            total = 0.0
            for i in range(200):
                total = total * 0.9 + jnp.sin(x + i)
            x = x + 0.1 * abs(total) + 0.1
            steps += 1
        return steps

    return steps_of, (jnp.linspace(0, 9, inputs, dtype=jnp.float32),)


def diagnostics(inputs: int) -> tuple[hb.BatchedFunction, tuple[Any, ...]]:
    """A loop that also computes values that it does not use."""

    @hb.batch
    def steps_of(x: Array) -> Array:
        steps = 0
        while jnp.sum(x * x) > 1e-3:
            basis = jnp.linalg.qr(x.reshape(4, 4))[0]
            spread = jnp.abs(basis).max()  # noqa: F841  (that nobody reads it is the point)
            x = x * 0.9
            steps += 1
        return steps

    return steps_of, (jnp.asarray(numbers(1, inputs, 16)),)


def pairs(inputs: int) -> tuple[hb.BatchedFunction, tuple[Any, ...]]:
    """A state of two parts, one of which each step changes."""

    @hb.batch
    def total(n: Array, board: Array) -> Array:
        state = (n, board)
        total = 0
        while state[0] > 1:
            state = (state[0] // 2, state[1]) if state[0] % 2 == 0 else (3 * state[0] + 1, state[1])
            total += state[1][state[0] % 64]
        return total

    return total, (jnp.arange(1, inputs + 1, dtype=jnp.int32), jnp.ones((inputs, 64), jnp.int32))


def search(inputs: int) -> tuple[hb.BatchedFunction, tuple[Any, ...]]:
    """A loop with an exit in its middle."""

    @hb.batch
    def first_above(x: Array, most: Array) -> Array:
        turns = 0
        while turns < most:
            if x > 100.0:
                return turns
            x = x * 1.001 + 0.01
            turns += 1
        return -1

    return first_above, (jnp.linspace(0, 60, inputs, dtype=jnp.float32), 5 * jnp.arange(inputs, dtype=jnp.int32))


def ring(inputs: int) -> tuple[hb.BatchedFunction, tuple[Any, ...]]:
    """Ten steps on a ring of numbers; three hundred thousand for one input."""

    @hb.batch
    def turned(steps: Array, x: Array) -> Array:
        i = 0
        while i < steps:
            x = x * 0.999 if i % 2 == 0 else jnp.roll(x, 1) + 0.001
            i += 1
        return x

    return turned, (jnp.full(inputs, 10).at[inputs // 3].set(300_000), jnp.ones((inputs, 256), jnp.float32))


def tree(inputs: int) -> tuple[hb.BatchedFunction, tuple[Any, ...]]:
    """A recursion that keeps a thousand numbers across three calls."""

    @hb.batch
    def total(x: Array, n: Array) -> Array:
        half = x * 0.5
        if n <= 0:
            return half
        first = total(jnp.clip(x[0] + x, -1, 1), n - 1)[0]
        second = total(jnp.clip(x - first, -1, 1), n - 2)[1]
        return half + first + second + total(jnp.clip(x * second, -1, 1), n - 3)

    return total, (jnp.asarray(numbers(1, inputs, 1000)), jnp.arange(inputs, dtype=jnp.int32) % 8)


def prepare(program: Program, size: Size, **options: Any) -> Prepared:
    function, inputs = program(size.inputs)
    return ready.batched(function, inputs, work=lambda _: float(size.inputs), comparable=everything, **options)


def workload(name: str, switch: str, program: Program, size: Size, description: str) -> Workload:
    return Workload(
        name=f"ablation_{name}",
        title=f"Ablation of `{switch}`: {name}",
        unit="input",
        description=description,
        sizes=(size,),
        contenders={
            "hlobatch": partial(prepare, program),
            f"hlobatch, without {switch}": partial(prepare, program, **ready.without(switch)),
        },
        roofline=None,
    )


WORKLOADS: Final = {
    made.name: made
    for made in (
        workload(
            "histogram", "merge_lists", histogram, Size(500, 500),
            "Each lane counts two hundred random numbers in a list of 48.",
        ),
        workload(
            "statement", "hoist_shared", partial(descent, at_once=False), Size(100, 100),
            "A statement in a loop computes what is the same for all lanes: a product of data that they share.",
        ),
        workload(
            "expression", "split_shared", partial(descent, at_once=True), Size(100, 100),
            "The same product as a part of a statement.",
        ),
        workload(
            "inverse", "fold_constants", solving, Size(16, 16),
            "A loop inverts a matrix from outside of the function, the same in all runs.",
        ),
        workload(
            "series", "uniform_loops", series, Size(500, 500),
            "A loop of two hundred turns in every lane, inside of one that goes on until a lane is done.",
        ),
        workload(
            "diagnostics", "dead_code", diagnostics, Size(200, 200),
            "A loop decomposes a matrix, and nobody reads what it finds; without that, a run is one kernel.",
        ),
        workload(
            "pairs", "split_aggregates", pairs, Size(1_000, 1_000),
            "A pair of a number and a board is a new pair in each step, with the same board.",
        ),
        workload(
            "search", "rotate_loops", search, Size(1_000, 1_000),
            "A `return` in the middle of a loop, before its condition holds no longer.",
        ),
        workload(
            "ring", "few_lanes", ring, Size(1_000, 1_000),
            "Inputs go ten steps, one of them three hundred thousand, in a program of floats without a stack.",
        ),
        Workload(
            name="ablation_tree",
            title="Ablation of `pop_push`: tree",
            unit="input",
            description="A recursion keeps a thousand numbers across three calls, inside of a `jax.jit`.",
            sizes=(Size(100, 100),),
            contenders={
                "hlobatch": partial(prepare, tree, inside_jit=True),
                "hlobatch, without kernels": partial(prepare, tree, inside_jit=True, **ready.without("kernels")),
                "hlobatch, without kernels and pop_push": partial(
                    prepare, tree, inside_jit=True, **ready.without("kernels", "pop_push")
                ),
            },
            roofline=None,
        ),
    )
}  # fmt: skip
