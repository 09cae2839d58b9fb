"""An ODE that is stiff in a window of time of its own for each lane, solved from one output time to the next.

All lanes need about the same total number of steps, at different times: between two output times, nearly all lanes wait
for the few that are in their window.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

import hlobatch as hb
from benchmarks import compile as ready
from benchmarks.workload import Prepared, Size, Workload
from benchmarks.workloads import bogacki_shampine as method

WIDTH = 16
OUTPUTS = 50
INTERVAL = 0.2
STIFFNESS = 500.0
WINDOW = 0.1
ROOFLINE_TIMES = 500


def slope_at(t: Array, y: Array, window: Array, coupling: Array) -> Array:
    """Relaxation towards a moving point, fast while `t` is in the window."""
    rate = 1.0 + STIFFNESS * jnp.exp(-(((t - window) / WINDOW) ** 2))
    return -rate * (coupling @ (y - jnp.cos(t)))


@hb.batch(in_axes=(0, 0, None))
def solve(y: Array, window: Array, coupling: Array) -> tuple[Array, Array]:
    """The mean state at each output time, and the number of steps."""
    outputs = jnp.zeros(OUTPUTS)
    h, work = method.FIRST_STEP, 0
    for k in range(OUTPUTS):
        end = INTERVAL * (k + 1)
        left = INTERVAL
        slope = slope_at(end - left, y, window, coupling)
        while left > 0:
            h = jnp.minimum(h, left)
            proposal, last, error = method.step(lambda t, y: slope_at(t, y, window, coupling), end - left, y, slope, h)
            if error <= 1:
                left, y, slope = left - h, proposal, last
            h = h * method.growth(error)
            work += 1
        outputs = outputs.at[k].set(jnp.mean(y))
    return outputs, work


def inputs(count: int) -> tuple[Array, Array, Array]:
    random = np.random.default_rng(20).normal(size=(WIDTH, WIDTH))
    coupling = 0.5 * np.eye(WIDTH) + random @ random.T / (6 * WIDTH)
    window = ready.uniform(21, 0.0, OUTPUTS * INTERVAL, count)
    return ready.uniform(22, -1.0, 1.0, count, WIDTH), window, jnp.asarray(coupling, jnp.float32)


def work(result: tuple[Array, Array]) -> float:
    return ready.total(result[1])


def outputs_of(result: Any) -> Any:
    return result[0]


def batched(size: Size) -> Prepared:
    return ready.batched(solve, inputs(size.inputs), work=work, comparable=outputs_of)


def lockstep(size: Size) -> Prepared:
    def one(y: Array, window: Array, coupling: Array) -> tuple[Array, Array]:
        def field(t: Array, y: Array) -> Array:
            return slope_at(t, y, window, coupling)

        def interval(state: tuple[Array, Array], end: Array) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
            def attempt(state: tuple[Array, ...]) -> tuple[Array, ...]:
                left, h, y, slope, steps = state
                h = jnp.minimum(h, left)
                proposal, last, error = method.step(field, end - left, y, slope, h)
                good = error <= 1
                y, slope = jnp.where(good, proposal, y), jnp.where(good, last, slope)
                return jnp.where(good, left - h, left), h * method.growth(error), y, slope, steps + 1

            y, h = state
            first = (jnp.float32(INTERVAL), h, y, field(end - INTERVAL, y), 0)
            _, h, y, _, steps = jax.lax.while_loop(lambda state: state[0] > 0, attempt, first)
            return (y, h), (jnp.mean(y), steps)

        ends = INTERVAL * (jnp.arange(OUTPUTS) + 1)
        return jax.lax.scan(interval, (y, jnp.float32(method.FIRST_STEP)), ends)[1]

    def executions(result: Any) -> float:
        return float(result[1].max(axis=0).sum())

    args = inputs(size.inputs)
    axes = (0, 0, None)
    return ready.lockstep(one, args, size, in_axes=axes, work=work, comparable=outputs_of, executions=executions)


def roofline(size: Size) -> Prepared:
    y, window, coupling = inputs(size.lanes)

    def kernel(state: Any) -> Any:
        t, y, slope, window, coupling = state

        def one(t: Array, y: Array, slope: Array, window: Array) -> tuple[Array, Array]:
            return method.step(lambda t, y: slope_at(t, y, window, coupling), t, y, slope, 1e-3)[:2]

        return (t + 1e-3, *jax.vmap(one)(t, y, slope, window), window, coupling)

    return ready.repeated(kernel, (0 * window, y, y, window, coupling), size, times=ROOFLINE_TIMES)


WORKLOAD = Workload(
    name="stiff",
    title="ODE with a stiff window",
    unit="step",
    description=(
        f"{WIDTH} coupled equations, with the state wanted at {OUTPUTS} times. In a short window, at another time "
        "for each lane, explicit steps have to be 500 times as short. All lanes do about the same work, but not at "
        "the same time."
    ),
    sizes=(Size(1_000, 1_000), Size(100, 1_000), Size(1_000, 10_000)),
    contenders={"hlobatch": batched, "lockstep vmap": lockstep},
    roofline=roofline,
)
