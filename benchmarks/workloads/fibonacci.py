"""Fibonacci numbers by double recursion, the paper's first example: next to no work per call, all of it is control.

Reference:
    Radul et al., "Automatically batching control-intensive programs for modern accelerators", MLSys 2020, figure 1.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

import hlobatch as hb
from benchmarks import compile as ready
from benchmarks.peers import tfp
from benchmarks.workload import Prepared, Size, Workload

LARGEST = 15


@hb.batch
def fibonacci(n: Array) -> Array:
    if n <= 1:
        return 1
    return fibonacci(n - 2) + fibonacci(n - 1)


def numbers(count: int) -> tuple[Array]:
    return (jnp.arange(count, dtype=jnp.int32) % (LARGEST + 1),)


def calls(result: Any) -> float:
    """The number of calls.

    Each leaf of the tree of calls adds 1 to the result, and a binary tree has one inner node less.
    """
    return 2 * ready.total(result) - np.size(result)


def everything(result: Any) -> Any:
    return result


def batched(size: Size) -> Prepared:
    return ready.batched(fibonacci, numbers(size.inputs), work=calls, comparable=everything)


def batched_case(size: Size) -> Prepared:
    """A contender with the dispatch of the paper: one multi-way conditional per block."""
    return ready.batched(fibonacci, numbers(size.inputs), work=calls, comparable=everything, dispatch="case")


def batched_depth(size: Size, depth: int) -> Prepared:
    """A contender whose stacks have room for `depth` frames from the start."""
    return ready.batched(fibonacci, numbers(size.inputs), work=calls, comparable=everything, max_stack_depth=depth)


def lockstep(size: Size) -> Prepared:
    def one(n: Array) -> Array:
        def call(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            stack, depth, leaves = state
            n = stack[depth - 1]
            leaf = n <= 1
            pushed = stack.at[depth - 1].set(n - 1).at[depth].set(n - 2)
            return jnp.where(leaf, stack, pushed), jnp.where(leaf, depth - 1, depth + 1), leaves + leaf

        stack = jnp.zeros(LARGEST + 2, jnp.int32).at[0].set(n)
        return jax.lax.while_loop(lambda state: state[1] > 0, call, (stack, 1, 0))[2]

    def executions(leaves: Any) -> float:
        return float(2 * leaves.max() - 1)

    return ready.lockstep(one, numbers(size.inputs), size, work=calls, comparable=everything, executions=executions)


def serial(size: Size) -> Prepared:
    import numba

    @numba.njit
    def one(n: int) -> int:
        if n <= 1:
            return 1
        return one(n - 2) + one(n - 1)

    @numba.njit
    def all_inputs(n: Any) -> Any:
        result = np.empty(len(n), np.int32)
        for k in range(len(n)):
            result[k] = one(n[k])
        return result

    return ready.serial(all_inputs, numbers(size.inputs), work=calls, comparable=everything)


def predecessor(size: Size) -> Prepared:
    """A contender: TFP's auto_batching under XLA, in an interpreter of its own."""
    return tfp.fibonacci(np.asarray(numbers(size.inputs)[0]).tolist(), work=calls, comparable=everything)


WORKLOAD = Workload(
    name="fibonacci",
    title="Recursive Fibonacci",
    unit="call",
    description=(
        f"Inputs 0 to {LARGEST} by double recursion; the unit is a call. There is no kernel that a batch could "
        "share: this measures the cost of control flow. Lockstep keeps an explicit stack of pending calls. The rows "
        "with stacks of a given number of frames show whether unused frames cost time."
    ),
    sizes=(Size(10_000, 10_000),),
    contenders={
        "hlobatch": batched,
        "hlobatch, case": batched_case,
        **{f"hlobatch, stacks of {depth:,}": partial(batched_depth, depth=depth) for depth in (16, 1_024)},
        "TFP auto_batching": predecessor,
        "lockstep vmap": lockstep,
        "numba, serial": serial,
    },
    roofline=None,
)
