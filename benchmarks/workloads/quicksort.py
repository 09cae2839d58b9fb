"""Quicksort in place: recursion on an array of which each step changes two elements.

Reference:
    Hoare, "Quicksort", The Computer Journal 5, 1962; the partition is Lomuto's.
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

LENGTH = 128
DEPTH = LENGTH // 2
"""Largest number of waiting ranges of two or more numbers."""


@hb.batch
def quicksort(values: Array) -> tuple[Array, Array]:
    """The values in order, and the number of comparisons."""
    return sorted_between(values, 0, LENGTH, 0)


@hb.batch
def sorted_between(values: Array, begin: Array, end: Array, compared: Array) -> tuple[Array, Array]:
    if end - begin < 2:
        return values, compared
    pivot, place, i = values[end - 1], begin, begin
    while i < end - 1:
        if values[i] < pivot:
            values = values.at[i].set(values[place]).at[place].set(values[i])
            place += 1
        i += 1
    values = values.at[end - 1].set(values[place]).at[place].set(pivot)
    values, compared = sorted_between(values, begin, place, compared + end - 1 - begin)
    return sorted_between(values, place + 1, end, compared)


def inputs(count: int) -> tuple[Array]:
    """Arrays in random order, and nearly sorted ones, for which Lomuto's partition takes more steps."""
    random = np.random.default_rng(71)
    values = random.uniform(0.0, 1.0, (count, LENGTH)).astype(np.float32)
    order = random.uniform(0.0, 0.9, (count, 1))
    return (jnp.asarray(values + np.float32(4.0) * (order * np.linspace(0.0, 1.0, LENGTH)).astype(np.float32)),)


def work(result: Any) -> float:
    return ready.total(result[1])


def everything(result: Any) -> Any:
    return result


def batched(size: Size, **options: Any) -> Prepared:
    return ready.batched(quicksort, inputs(size.inputs), work=work, comparable=everything, **options)


def lockstep(size: Size) -> Prepared:
    """A contender with an explicit stack of ranges; each turn compares one element, or ends a partition."""

    def swapped(values: Array, i: Array, j: Array) -> Array:
        return values.at[i].set(values[j]).at[j].set(values[i])

    def one(values: Array) -> tuple[Array, Array]:
        def compare(state: Any) -> Any:
            values, begin, end, place, i, waiting, count, compared = state
            is_less = values[i] < values[end - 1]
            values = swapped(values, i, jnp.where(is_less, place, i))
            return values, begin, end, place + is_less, i + 1, waiting, count, compared + 1

        def leave(state: Any) -> Any:
            values, begin, end, place, _, waiting, count, compared = state
            values = swapped(values, end - 1, place)
            count -= 1
            waiting = waiting.at[count].set(jnp.stack([place + 1, end]))
            count = jnp.where(end - place > 2, count + 1, count)
            waiting = waiting.at[count].set(jnp.stack([begin, place]))
            count = jnp.where(place - begin > 1, count + 1, count)
            begin, end = waiting[jnp.maximum(count - 1, 0)]
            return values, begin, end, begin, begin, waiting, count, compared

        def turn(state: Any) -> Any:
            _, _, end, _, i, *_ = state
            return jax.lax.cond(i < end - 1, compare, leave, state)

        waiting = jnp.zeros((DEPTH + 1, 2), jnp.int32)
        first = (values, 0, LENGTH, 0, 0, waiting, 1, 0)
        state = jax.lax.while_loop(lambda state: state[6] > 0, turn, first)
        return state[0], state[7]

    return ready.lockstep(one, inputs(size.inputs), size, work=work, comparable=everything)


def serial(size: Size) -> Prepared:
    import numba

    @numba.njit
    def sort(values: Any, begin: Any, end: Any) -> Any:
        if end - begin < 2:
            return 0
        pivot, place = values[end - 1], begin
        for i in range(begin, end - 1):
            if values[i] < pivot:
                values[i], values[place] = values[place], values[i]
                place += 1
        values[end - 1], values[place] = values[place], pivot
        return end - 1 - begin + sort(values, begin, place) + sort(values, place + 1, end)

    @numba.njit
    def all_inputs(values: Any) -> Any:
        result, compared = values.copy(), np.empty(len(values), np.int32)
        for k in range(len(values)):
            compared[k] = sort(result[k], 0, LENGTH)
        return result, compared

    return ready.serial(all_inputs, inputs(size.inputs), work=work, comparable=everything)


WORKLOAD = Workload(
    name="quicksort",
    title="Quicksort",
    unit="comparison",
    description=(
        "128 numbers per lane, some nearly sorted, are sorted in place. A comparison may exchange two of "
        "them: sharing it saves nothing. In each iteration, lockstep selects between the whole old and new arrays."
    ),
    sizes=(Size(1_000, 1_000), Size(1_000, 10_000)),
    contenders={
        "hlobatch": batched,
        "hlobatch, without kernels": partial(batched, **ready.without("kernels")),
        "hlobatch, without kernels and in_place": partial(batched, **ready.without("kernels", "in_place")),
        "hlobatch, without kernels and results_in_parts": partial(
            batched, **ready.without("kernels", "results_in_parts")
        ),
        "lockstep vmap": lockstep,
        "numba, serial": serial,
    },
    roofline=None,
)
