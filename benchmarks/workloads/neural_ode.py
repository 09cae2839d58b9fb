"""A neural ODE in a training loop: adaptive steps through a network, for one example after another.

Each lane learns one parameter, the horizon at which its trajectories come closest to a target: the gradient of the loss
with respect to the horizon is the slope there. Its examples have different time scales, so they take different numbers
of steps, which also differ between lanes.

Reference:
    Chen et al., "Neural ordinary differential equations", NeurIPS 2018, appendix C (gradients of the horizon).
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

import hlobatch as hb
from benchmarks import compile as ready
from benchmarks.workload import Prepared, Size, Workload
from benchmarks.workloads import bogacki_shampine as method

WIDTH = 32
HIDDEN = 64
EXAMPLES = 10
"""The number of examples that a lane learns from, one by one."""
RATE = 0.2
ROOFLINE_TIMES = 100


class Network(NamedTuple):
    inner: Array  # Float[Array, "width hidden"]
    outer: Array  # Float[Array, "hidden width"]


def slope_at(network: Network, speed: Array, y: Array) -> Array:
    return speed * (jnp.tanh(y @ network.inner) @ network.outer - y)


@hb.batch(in_axes=(0, 0, 0, None))
def solve(y: Array, speed: Array, horizon: Array, network: Network) -> tuple[Array, Array, Array]:
    """The state and the slope at the horizon, and the number of steps to it."""
    slope = slope_at(network, speed, y)
    left, h, steps = horizon, method.FIRST_STEP, 0
    while left > 0:
        h = jnp.minimum(h, left)
        proposal, last, error = method.step(lambda _, y: slope_at(network, speed, y), 0.0, y, slope, h)
        if error <= 1:
            left, y, slope = left - h, proposal, last
        h = h * method.growth(error)
        steps += 1
    return y, slope, steps


def improved(horizon: Array, y: Array, slope: Array, target: Array, speed: Array) -> Array:
    """The horizon after an example."""
    gradient = jnp.mean((y - target) * slope) / speed
    return jnp.clip(horizon - RATE * gradient, 0.1, 3.0)


@hb.batch(in_axes=(0, 0, 0, None))
def train(start: Array, speeds: Array, target: Array, network: Network) -> tuple[Array, Array]:
    """The learned horizon, and the total number of steps of all solutions."""
    horizon, work = 1.0, 0
    for k in range(EXAMPLES):
        y, slope, steps = solve(start, speeds[k], horizon, network)
        horizon = improved(horizon, y, slope, target, speeds[k])
        work += steps
    return horizon, work


def inputs(count: int) -> tuple[Array, Array, Array, Network]:
    """Speeds are between 1 and 100 and mostly small: log-normal, cut off."""
    inner, outer = ready.uniform(10, -0.3, 0.3, WIDTH, HIDDEN), ready.uniform(11, -0.4, 0.4, HIDDEN, WIDTH)
    speeds = jnp.asarray(
        np.clip(np.exp(np.random.default_rng(12).normal(1.0, 1.2, (count, EXAMPLES))), 1, 100), jnp.float32
    )
    start, target = ready.uniform(13, -2.0, 2.0, count, WIDTH), ready.uniform(14, -1.0, 1.0, count, WIDTH)
    return start, speeds, target, Network(inner, outer)


def work(result: tuple[Array, Array]) -> float:
    return ready.total(result[1])


def horizon_of(result: Any) -> Any:
    return result[0]


def batched(size: Size) -> Prepared:
    return ready.batched(train, inputs(size.inputs), work=work, comparable=horizon_of)


def lockstep(size: Size) -> Prepared:
    def one(start: Array, speeds: Array, target: Array, network: Network) -> tuple[Array, Array]:
        def learn(horizon: Array, speed: Array) -> tuple[Array, Array]:
            def attempt(state: tuple[Array, ...]) -> tuple[Array, ...]:
                left, h, y, slope, steps = state
                h = jnp.minimum(h, left)
                proposal, last, error = method.step(lambda _, y: slope_at(network, speed, y), 0.0, y, slope, h)
                good = error <= 1
                y, slope = jnp.where(good, proposal, y), jnp.where(good, last, slope)
                return jnp.where(good, left - h, left), h * method.growth(error), y, slope, steps + 1

            first = (horizon, method.FIRST_STEP, start, slope_at(network, speed, start), 0)
            _, _, y, slope, steps = jax.lax.while_loop(lambda state: state[0] > 0, attempt, first)
            return improved(horizon, y, slope, target, speed), steps

        return jax.lax.scan(learn, 1.0, speeds)

    return _lockstep(one, size)


def with_diffrax(size: Size) -> Prepared:
    import diffrax

    def field(t: Array, y: Array, args: tuple[Network, Array]) -> Array:
        return slope_at(*args, y)

    def one(start: Array, speeds: Array, target: Array, network: Network) -> tuple[Array, Array]:
        def learn(horizon: Array, speed: Array) -> tuple[Array, Array]:
            solution = diffrax.diffeqsolve(
                diffrax.ODETerm(field),
                diffrax.Bosh3(),
                0.0,
                horizon,
                method.FIRST_STEP,
                start,
                (network, speed),
                stepsize_controller=diffrax.PIDController(method.RELATIVE, method.ABSOLUTE),
                max_steps=None,
                throw=False,
            )
            y = solution.ys[0]
            slope = slope_at(network, speed, y)
            return improved(horizon, y, slope, target, speed), solution.stats["num_steps"]

        return jax.lax.scan(learn, jnp.float32(1.0), speeds)

    return _lockstep(one, size)


def _lockstep(one: Any, size: Size) -> Prepared:
    def executions(result: Any) -> float:
        return float(result[1].max(axis=0).sum())  # all lanes wait for the slowest at each example

    args = inputs(size.inputs)
    axes = (0, 0, 0, None)
    return ready.lockstep(one, args, size, in_axes=axes, work=work, comparable=horizon_of, executions=executions)


def roofline(size: Size) -> Prepared:
    start, speeds, _, network = inputs(size.lanes)

    def kernel(state: Any) -> Any:
        y, slope, speed, network = state

        def one(y: Array, slope: Array, speed: Array) -> tuple[Array, Array]:
            return method.step(lambda _, y: slope_at(network, speed, y), 0.0, y, slope, 1e-3)[:2]

        return (*jax.vmap(one)(y, slope, speed), speed, network)

    return ready.repeated(kernel, (start, start, speeds[:, 0], network), size, times=ROOFLINE_TIMES)


WORKLOAD = Workload(
    name="neural_ode",
    title="Neural ODE",
    unit="step",
    description=(
        f"{EXAMPLES} examples per lane, one after another; for each an ODE is solved adaptively, by Bogacki and "
        f"Shampine's method. Its right-hand side is a network of {WIDTH}, {HIDDEN} and {WIDTH} units. Examples have "
        "time scales of their own and need from a few to hundreds of steps. The kernel is a step: three runs of "
        "the network."
    ),
    sizes=(Size(1_000, 1_000), Size(100, 1_000)),
    contenders={"hlobatch": batched, "lockstep vmap": lockstep, "diffrax, vmap": with_diffrax},
    roofline=roofline,
)
