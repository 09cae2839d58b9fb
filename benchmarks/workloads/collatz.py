"""Longest Collatz sequence among ten consecutive numbers: a loop of unequal length in a loop of equal length.

Reference:
    Lagarias, "The 3x + 1 problem and its generalizations", American Mathematical Monthly 92, 1985.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

import hlobatch as hb
from benchmarks import compile as ready
from benchmarks.workload import Prepared, Size, Workload

WIDTH = 10
"""Numbers per input."""
BLOCKS = 10_000
"""The number of different inputs; beyond the 100,000 numbers in them, sequences overflow int32."""
ROOFLINE_TIMES = 2_000


@hb.batch
def longest(start: Array) -> tuple[Array, Array, Array]:
    """The number with the longest sequence, its length, and the total length of all sequences."""
    best, most, work = start, -1, 0
    for number in range(start, start + WIDTH):
        n, steps = number, 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        work += steps
        if steps > most:
            best, most = number, steps
    return best, most, work


def starts(count: int) -> tuple[Array]:
    return (1 + WIDTH * (jnp.arange(count, dtype=jnp.int32) % BLOCKS),)


def work(result: tuple[Array, Array, Array]) -> float:
    return ready.total(result[2])


def everything(result: Any) -> Any:
    return result


def batched(size: Size, **options: Any) -> Prepared:
    return ready.batched(longest, starts(size.inputs), work=work, comparable=everything, **options)


def lockstep(size: Size) -> Prepared:
    def length(number: Array) -> Array:
        def step(state: tuple[Array, Array]) -> tuple[Array, Array]:
            n, steps = state
            return jnp.where(n % 2 == 0, n // 2, 3 * n + 1), steps + 1

        return jax.lax.while_loop(lambda state: state[0] != 1, step, (number, 0))[1]

    def one(start: Array) -> tuple[Array, Array, Array, Array]:
        def next_number(state: tuple[Array, Array, Array], number: Array) -> tuple[tuple[Array, Array, Array], Array]:
            best, most, work = state
            steps = length(number)
            better = steps > most
            return (jnp.where(better, number, best), jnp.where(better, steps, most), work + steps), steps

        state, lengths = jax.lax.scan(next_number, (start, -1, 0), start + jnp.arange(WIDTH))
        return *state, lengths

    def executions(result: Any) -> float:
        return float(result[3].max(axis=0).sum())  # all lanes wait for the slowest at each number

    return ready.lockstep(
        one,
        starts(size.inputs),
        size,
        work=work,
        comparable=lambda result: result[:3],
        executions=executions,
    )


def serial(size: Size) -> Prepared:
    import numba

    @numba.njit
    def all_inputs(start: Any) -> Any:
        result = np.empty((3, len(start)), np.int32)
        for k in range(len(start)):
            best, most, work = start[k], np.int32(-1), np.int32(0)
            for offset in range(WIDTH):
                n, steps = start[k] + np.int32(offset), np.int32(0)
                while n != 1:
                    n = n >> 1 if n & 1 == 0 else np.int32(3) * n + np.int32(1)
                    steps += 1
                work += steps
                if steps > most:
                    best, most = start[k] + np.int32(offset), steps
            result[0, k], result[1, k], result[2, k] = best, most, work
        return result[0], result[1], result[2]

    return ready.serial(all_inputs, starts(size.inputs), work=work, comparable=everything)


def roofline(size: Size) -> Prepared:
    def kernel(n: Array) -> Array:
        return jnp.where(n % 2 == 0, n // 2, 3 * n + 1)

    return ready.repeated(kernel, starts(size.lanes)[0], size, times=ROOFLINE_TIMES)


WORKLOAD = Workload(
    name="collatz",
    title="Nested Collatz",
    unit="step",
    description=(
        "Of ten consecutive numbers, the one that takes longest to reach 1. Nested loops: in lockstep every lane "
        "waits for the slowest at each of its ten numbers."
    ),
    sizes=(Size(1_000, 1_000), Size(1_000, 10_000), Size(10_000, 10_000)),
    contenders={
        "hlobatch": batched,
        "hlobatch, without gangs": partial(batched, **ready.without("gangs")),
        "lockstep vmap": lockstep,
        "numba, serial": serial,
    },
    roofline=roofline,
)
