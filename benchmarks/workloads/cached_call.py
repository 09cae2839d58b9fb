"""The cost of a repeated call that computes next to nothing: finding its program and starting it.

Results are not awaited before the next call, as in a program that has more to do.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

import hlobatch as hb
from benchmarks import compile as ready
from benchmarks.workload import Prepared, Size, Workload

JIT = "jax.jit"


@hb.batch
def step(n: Array) -> Array:
    """One step of a Collatz sequence."""
    if n % 2 == 1:
        return 3 * n + 1
    return n // 2


def step_in_jax(n: Array) -> Array:
    return lax.cond(n % 2 == 1, lambda n: 3 * n + 1, lambda n: n // 2, n)


@hb.batch
def triangle(n: Array) -> Array:
    """The sum of 1 to n; for n = 0 the loop makes no turn."""
    total = 0
    while n > 0:
        total = total + n
        n = n - 1
    return total


def triangle_in_jax(n: Array) -> Array:
    return lax.while_loop(lambda s: s[0] > 0, lambda s: (s[0] - 1, s[1] + s[0]), (n, jnp.int32(0)))[1]


def everything(result: Any) -> Any:
    return result


def one_call(result: Any) -> float:
    del result
    return 1.0


def batched(function: hb.BatchedFunction) -> Callable[[Size], Prepared]:
    def prepare(size: Size) -> Prepared:
        args = inputs(size)
        return without_waiting(ready.batched(function, args, work=one_call, comparable=everything), function, args)

    return prepare


def in_jax(function: Callable[[Array], Array]) -> Callable[[Size], Prepared]:
    def prepare(size: Size) -> Prepared:
        args, mapped = inputs(size), jax.jit(jax.vmap(function))
        return without_waiting(ready.jitted(mapped, args, work=one_call, comparable=everything), mapped, args)

    return prepare


def inputs(size: Size) -> list[Array]:
    return [jnp.zeros(size.inputs, jnp.int32)]


def without_waiting(prepared: Prepared, function: Callable[..., Any], args: list[Array]) -> Prepared:
    function(*args)
    return replace(prepared, run=lambda: function(*args), lane_use=None)


SIZES = (Size(1, 1), Size(10, 10), Size(100, 100), Size(1_000, 1_000))

WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload(
            name="cached_call",
            title="A call like an earlier one",
            unit="call",
            description="A step of Collatz for each input. This measures the call itself, without waiting for results.",
            sizes=SIZES,
            contenders={"hlobatch": batched(step), JIT: in_jax(step_in_jax)},
            roofline=None,
        ),
        Workload(
            name="cached_call_loop",
            title="A call like an earlier one, with a loop",
            unit="call",
            description="A sum from zero to zero: a loop without iterations. Few lanes run code of their own, and "
            "Python reads one number, the status of the run. For more lanes, a program with a loop is one kernel. "
            "hlobatch adds the same time to the call as above, and XLA the rest: it makes an object for each "
            "intermediate value of a kernel in each run, and hands a program to another thread if it counts more than "
            "a thousand operations, where each loop counts as one iteration; and each input enters and leaves a lane.",
            sizes=SIZES,
            contenders={"hlobatch": batched(triangle), JIT: in_jax(triangle_in_jax)},
            roofline=None,
        ),
    )
}
