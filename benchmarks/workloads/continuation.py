"""Newton's method with line search within a continuation: three nested loops, none of a length known in advance.

Reference:
    Allgower and Georg, "Introduction to numerical continuation methods", SIAM 2003, chapter 1.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

import hlobatch as hb
from benchmarks import compile as ready
from benchmarks.workload import Prepared, Size, Workload

WIDTH = 8
STAGES = 10
MAX_NEWTON = 40
TOLERANCE = 1e-4
ROOFLINE_TIMES = 50


def residual(x: Array, strength: Array, gain: Array, right: Array, weights: Array) -> Array:
    """A function with exactly one root, since it is the gradient of a strictly convex function."""
    return x + strength * (weights.T @ jnp.tanh(gain * (weights @ x))) - right


def norm(x: Array) -> Array:
    return jnp.sqrt(jnp.sum(x * x))


def newton_step(x: Array, strength: Array, gain: Array, right: Array, weights: Array) -> Array:
    """The kernel: a Jacobian and a linear solve."""
    jacobian = jax.jacfwd(residual)(x, strength, gain, right, weights)
    return eliminate(jnp.column_stack([jacobian, -residual(x, strength, gain, right, weights)]))


def eliminate(rows: Array) -> Array:
    """Solve a linear system by Gauss and Jordan's method. The matrix is positive definite, so no pivoting is needed."""
    for k in range(WIDTH):
        pivot = rows[k] / rows[k, k]
        factors = rows[:, k].at[k].set(0.0)
        rows = (rows - factors[:, None] * pivot).at[k].set(pivot)
    return rows[:, WIDTH]


@hb.batch(in_axes=(0, 0, None))
def follow(gain: Array, right: Array, weights: Array) -> tuple[Array, Array]:
    """The root at full strength, reached by way of smaller strengths, and the number of Newton steps."""
    x, work = jnp.zeros(WIDTH), 0
    for stage in range(STAGES):
        strength = (stage + 1.0) / STAGES
        size = norm(residual(x, strength, gain, right, weights))
        for _ in range(MAX_NEWTON):
            if size <= TOLERANCE:
                break
            step = newton_step(x, strength, gain, right, weights)
            damping = 1.0
            reached = norm(residual(x + step, strength, gain, right, weights))
            while damping > 1e-3 and reached > size:
                damping = damping / 2
                reached = norm(residual(x + damping * step, strength, gain, right, weights))
            x, size = x + damping * step, reached
            work += 1
    return x, work


def inputs(count: int) -> tuple[Array, Array, Array]:
    gain = jnp.exp(ready.uniform(40, -2.0, 3.0, count))
    return gain, ready.uniform(41, -3.0, 3.0, count, WIDTH), ready.uniform(42, -1.0, 1.0, WIDTH, WIDTH)


def work(result: tuple[Array, Array]) -> float:
    return ready.total(result[1])


def root_of(result: Any) -> Any:
    return result[0]


def batched(size: Size) -> Prepared:
    return ready.batched(follow, inputs(size.inputs), work=work, comparable=root_of)


def lockstep(size: Size) -> Prepared:
    def one(gain: Array, right: Array, weights: Array) -> tuple[Array, Array]:
        def stage(x: Array, strength: Array) -> tuple[Array, Array]:
            def size_at(x: Array) -> Array:
                return norm(residual(x, strength, gain, right, weights))

            def newton(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
                x, steps, size = state
                step = newton_step(x, strength, gain, right, weights)

                def too_far(search: tuple[Array, Array]) -> Array:
                    damping, reached = search
                    return (damping > 1e-3) & (reached > size)

                def halve(search: tuple[Array, Array]) -> tuple[Array, Array]:
                    damping = search[0] / 2
                    return damping, size_at(x + damping * step)

                damping, reached = jax.lax.while_loop(too_far, halve, (jnp.float32(1.0), size_at(x + step)))
                return x + damping * step, steps + 1, reached

            def goes_on(state: tuple[Array, Array, Array]) -> Array:
                _, steps, size = state
                return (steps < MAX_NEWTON) & (size > TOLERANCE)

            return jax.lax.while_loop(goes_on, newton, (x, 0, size_at(x)))[:2]

        return jax.lax.scan(stage, jnp.zeros(WIDTH), (jnp.arange(STAGES) + 1.0) / STAGES)

    def executions(result: Any) -> float:
        return float(result[1].max(axis=0).sum())

    args = inputs(size.inputs)
    axes = (0, 0, None)
    return ready.lockstep(one, args, size, in_axes=axes, work=work, comparable=root_of, executions=executions)


def roofline(size: Size) -> Prepared:
    gain, right, weights = inputs(size.lanes)

    def kernel(state: Any) -> Any:
        x, gain, right, weights = state
        step = jax.vmap(newton_step, (0, None, 0, 0, None))(x, 1.0, gain, right, weights)
        return 0.1 * jnp.tanh(step), gain, right, weights

    return ready.repeated(kernel, (right, gain, right, weights), size, times=ROOFLINE_TIMES)


WORKLOAD = Workload(
    name="continuation",
    title="Newton in a continuation",
    unit="Newton step",
    description=(
        f"{STAGES} stages of increasing nonlinearity, in each Newton's method with a line search. The kernel is a "
        f"Jacobian and a {WIDTH} x {WIDTH} linear solve. Lanes differ in how nonlinear they are: in Newton steps "
        "and in halvings."
    ),
    sizes=(Size(1_000, 1_000), Size(100, 1_000), Size(1_000, 10_000)),
    contenders={"hlobatch": batched, "lockstep vmap": lockstep},
    roofline=roofline,
)
