"""A control: a loop of the same length in every lane, around a dense layer. Nothing diverges."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

import hlobatch as hb
from benchmarks import compile as ready
from benchmarks.workload import Prepared, Size, Workload

WIDTH = 64
STEPS = 100


@hb.batch(in_axes=(0, None))
def layers(x: Array, weights: Array) -> Array:
    """One dense layer, applied `STEPS` times."""
    for _ in range(STEPS):
        x = jnp.tanh(x @ weights)
    return x


def inputs(count: int) -> tuple[Array, Array]:
    return ready.uniform(7, -1.0, 1.0, count, WIDTH), ready.uniform(8, -0.2, 0.2, WIDTH, WIDTH)


def everything(result: Any) -> Any:
    return result


def work(result: Any) -> float:
    return float(STEPS * len(result))


def batched(size: Size) -> Prepared:
    return ready.batched(layers, inputs(size.inputs), work=work, comparable=everything)


def lockstep(size: Size) -> Prepared:
    def one(x: Array, weights: Array) -> Array:
        return jax.lax.fori_loop(0, STEPS, lambda _, x: jnp.tanh(x @ weights), x)

    args = inputs(size.inputs)
    return ready.lockstep(
        one, args, size, in_axes=(0, None), work=work, comparable=everything, executions=lambda _: float(STEPS)
    )


def roofline(size: Size) -> Prepared:
    def kernel(state: tuple[Array, Array]) -> tuple[Array, Array]:
        x, weights = state
        return jnp.tanh(x @ weights), weights

    return ready.repeated(kernel, inputs(size.lanes), size, times=STEPS)


WORKLOAD = Workload(
    name="fixed_count",
    title="Loop of fixed length",
    unit="step",
    description=f"A dense layer of {WIDTH} units, {STEPS} times over, the same in every lane: `jax.vmap` is as good.",
    sizes=(Size(10, 10), Size(100, 100), Size(1_000, 1_000)),
    contenders={"hlobatch": batched, "lockstep vmap": lockstep},
    roofline=roofline,
    control=True,
)
