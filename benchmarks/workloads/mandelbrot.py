"""Mandelbrot set: one cheap loop, in which some points stay for 2,000 iterations and most leave soon.

Reference:
    Mandelbrot, "Fractal aspects of the iteration of z → λz(1-z) for complex λ and z", 1980.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

import hlobatch as hb
from benchmarks import compile as ready
from benchmarks.workload import Prepared, Size, Workload

LIMIT = 2_000


@hb.batch
def escape_time(x0: Array, y0: Array) -> Array:
    """The number of iterations of z → z² + c that stay within |z| ≤ 2, up to a limit."""
    x, y, steps = 0.0, 0.0, 0
    while steps < LIMIT and x * x + y * y <= 4.0:
        x, y = x * x - y * y + x0, 2.0 * x * y + y0
        steps += 1
    return steps


def points(count: int) -> tuple[Array, Array]:
    return ready.uniform(0, -2.0, 0.5, count), ready.uniform(1, -1.2, 1.2, count)


def share_inside(steps: Any) -> tuple[Any, Any]:
    """Statistics that are equal for compilers that round differently.

    Near the border the iteration itself is chaotic.
    """
    steps = np.asarray(steps)
    return np.mean(steps == LIMIT), np.mean(np.log2(1.0 + steps))


def batched(size: Size) -> Prepared:
    return ready.batched(escape_time, points(size.inputs), work=ready.total, comparable=share_inside)


def lockstep(size: Size) -> Prepared:
    def one(x0: Array, y0: Array) -> Array:
        def stays(state: tuple[Array, Array, Array]) -> Array:
            x, y, steps = state
            return (steps < LIMIT) & (x * x + y * y <= 4.0)

        def step(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            x, y, steps = state
            return x * x - y * y + x0, 2.0 * x * y + y0, steps + 1

        return jax.lax.while_loop(stays, step, (0.0, 0.0, 0))[2]

    return ready.lockstep(
        one, points(size.inputs), size, work=ready.total, comparable=share_inside, executions=lambda steps: steps.max()
    )


def serial(size: Size) -> Prepared:
    import numba

    @numba.njit
    def all_points(x0: Any, y0: Any) -> Any:
        result = np.empty(len(x0), np.int32)
        two, four = np.float32(2.0), np.float32(4.0)
        for k in range(len(x0)):
            x, y, steps = np.float32(0.0), np.float32(0.0), 0
            while steps < LIMIT and x * x + y * y <= four:
                x, y = x * x - y * y + x0[k], two * x * y + y0[k]
                steps += 1
            result[k] = steps
        return result

    return ready.serial(all_points, points(size.inputs), work=ready.total, comparable=share_inside)


def roofline(size: Size) -> Prepared:
    x0, y0 = points(size.lanes)

    def kernel(state: tuple[Array, ...]) -> tuple[Array, ...]:
        x, y, x0, y0 = state
        return x * x - y * y + x0, 2.0 * x * y + y0, x0, y0

    return ready.repeated(kernel, (jnp.zeros_like(x0), jnp.zeros_like(y0), x0, y0), size, times=LIMIT)


WORKLOAD = Workload(
    name="mandelbrot",
    title="Mandelbrot set",
    unit="iteration",
    description=(
        "Random points of the plane; up to 2,000 iterations of z → z² + c until |z| > 2. A single loop of a "
        "handful of operations: sharing it saves nothing, and lanes differ only in their numbers of iterations."
    ),
    sizes=(Size(1_000, 1_000), Size(20_000, 20_000)),
    contenders={"hlobatch": batched, "lockstep vmap": lockstep, "numba, serial": serial},
    roofline=roofline,
)
