"""Recursive adaptive quadrature of a costly integrand with a peak of its own for each lane.

Reference:
    Kuncir, "Algorithm 103: Simpson's rule integrator", Communications of the ACM 5, 1962.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

import hlobatch as hb
from benchmarks import compile as ready
from benchmarks.workload import Prepared, Size, Workload

ANGLES = 64
TOLERANCE = 1e-5
MAX_DEPTH = 14
ROOFLINE_TIMES = 200


class Problem(NamedTuple):
    frequency: Array
    peak: Array
    width: Array


def integrand(problem: Problem, x: Array) -> Array:
    """A Bessel function, itself by quadrature, and a Lorentz peak."""
    angles = jnp.linspace(0.0, jnp.pi, ANGLES)
    bessel = jnp.mean(jnp.cos(problem.frequency * x * jnp.sin(angles)))
    return bessel + problem.width**2 / ((x - problem.peak) ** 2 + problem.width**2)


@hb.batch
def refine(
    problem: Problem, low: Array, high: Array, values: Array, whole: Array, tolerance: Array, depth: Array
) -> tuple[Array, Array]:
    """The integral from `low` to `high`, and the number of times that an interval was halved.

    Args:
        problem: The integrand's parameters.
        low: Begin of the interval.
        high: End of the interval.
        values: `Float[Array, "3"]`, the integrand at both ends and in the middle.
        whole: Simpson's rule for these values.
        tolerance: The largest error allowed.
        depth: How often the interval may be halved.
    """
    middle = (low + high) / 2
    left = jnp.stack([values[0], integrand(problem, (low + middle) / 2), values[1]])
    right = jnp.stack([values[1], integrand(problem, (middle + high) / 2), values[2]])
    left_sum, right_sum = simpson(left, middle - low), simpson(right, high - middle)
    error = left_sum + right_sum - whole
    if depth == 0 or jnp.abs(error) <= 15 * tolerance:
        return left_sum + right_sum + error / 15, 1
    left_part, left_work = refine(problem, low, middle, left, left_sum, tolerance / 2, depth - 1)
    right_part, right_work = refine(problem, middle, high, right, right_sum, tolerance / 2, depth - 1)
    return left_part + right_part, left_work + right_work + 1


def simpson(values: Array, width: Array) -> Array:
    return width / 6 * (values[0] + 4 * values[1] + values[2])


def beginning(problem: Problem) -> tuple[Array, Array, Array, Array, Array, Array]:
    """The arguments of `refine` for the whole interval of a problem."""
    low, high = jnp.float32(0.0), jnp.float32(2.0)
    values = jnp.stack([integrand(problem, x) for x in (low, (low + high) / 2, high)])
    return low, high, values, simpson(values, high - low), jnp.float32(TOLERANCE), jnp.int32(MAX_DEPTH)


@hb.batch
def integral(problem: Problem) -> tuple[Array, Array]:
    low, high, values, whole, tolerance, depth = beginning(problem)
    return refine(problem, low, high, values, whole, tolerance, depth)


def inputs(count: int) -> tuple[Problem]:
    width = jnp.exp(ready.uniform(32, np.log(1e-3), np.log(1.0), count))
    return (Problem(ready.uniform(30, 1.0, 30.0, count), ready.uniform(31, 0.0, 2.0, count), width),)


def work(result: tuple[Array, Array]) -> float:
    return ready.total(result[1])


def integral_of(result: Any) -> Any:
    return result[0]


def batched(size: Size) -> Prepared:
    return ready.batched(integral, inputs(size.inputs), work=work, comparable=integral_of)


def computed_once(truth: Array) -> Array:
    """The same boolean, as a reduction.

    XLA duplicates cheap code in each loop that needs its result, and fuses sums and products in one copy and not in the
    other. An error near the tolerance then counts as small for the stack and as large for its top: of 10,000 integrals,
    9 were wrong in the first digits, and one alone did not end. Reductions are not duplicated.
    """
    return jnp.any(jnp.stack([truth, jnp.zeros_like(truth)]))


def lockstep(size: Size) -> Prepared:
    """A contender with an explicit stack of intervals."""

    def one(problem: Problem) -> tuple[Array, Array]:
        def pack(low: Array, high: Array, values: Array, whole: Array, tolerance: Array, depth: Array) -> Array:
            return jnp.concatenate([jnp.stack([low, high, whole, tolerance, depth.astype(jnp.float32)]), values])

        def visit(state: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
            stack, top, total, halved = state
            low, high, whole, tolerance, depth = stack[top, :5]
            values = stack[top, 5:]
            middle = (low + high) / 2
            left = jnp.stack([values[0], integrand(problem, (low + middle) / 2), values[1]])
            right = jnp.stack([values[1], integrand(problem, (middle + high) / 2), values[2]])
            left_sum, right_sum = simpson(left, middle - low), simpson(right, high - middle)
            error = left_sum + right_sum - whole
            done = computed_once((depth == 0) | (jnp.abs(error) <= 15 * tolerance))
            pushed = stack.at[top].set(pack(middle, high, right, right_sum, tolerance / 2, depth - 1))
            pushed = pushed.at[top + 1].set(pack(low, middle, left, left_sum, tolerance / 2, depth - 1))
            total = jnp.where(done, total + left_sum + right_sum + error / 15, total)
            return jnp.where(done, stack, pushed), jnp.where(done, top - 1, top + 1), total, halved + 1

        stack = jnp.zeros((MAX_DEPTH + 2, 8)).at[0].set(pack(*beginning(problem)))
        first = (stack, 0, 0.0, 0)
        _, _, total, halved = jax.lax.while_loop(lambda state: state[1] >= 0, visit, first)
        return total, halved

    def executions(result: Any) -> float:
        return float(result[1].max())

    return ready.lockstep(one, inputs(size.inputs), size, work=work, comparable=integral_of, executions=executions)


def roofline(size: Size) -> Prepared:
    (problem,) = inputs(size.lanes)

    def kernel(state: tuple[Array, Problem]) -> tuple[Array, Problem]:
        x, problem = state
        two = jax.vmap(integrand)(problem, x) + jax.vmap(integrand)(problem, x + 0.5)
        return two, problem

    return ready.repeated(kernel, (problem.peak, problem), size, times=ROOFLINE_TIMES)


WORKLOAD = Workload(
    name="quadrature",
    title="Adaptive quadrature",
    unit="halving",
    description=(
        "Simpson's rule, which recursively halves intervals until it is accurate. The integrand is a sum of "
        f"{ANGLES} cosines and a peak that is narrow in some lanes and broad in others. The kernel is two values of "
        "the integrand."
    ),
    sizes=(Size(1_000, 1_000), Size(100, 1_000), Size(1_000, 10_000)),
    contenders={"hlobatch": batched, "lockstep vmap": lockstep},
    roofline=roofline,
)
