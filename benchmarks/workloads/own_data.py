"""Searches and solvers whose lanes each have a table, or a matrix, of their own that never changes."""

from functools import partial
from typing import Any, Final

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

import hlobatch as hb
from benchmarks import compile as ready
from benchmarks.workload import Prepared, Size, Workload

NUMBERS: Final = 10_000
ROWS: Final = 200
TOLERANCE: Final = 1e-6


@hb.batch
def search(table: Array, x: Array) -> Array:
    """The position of `x` in a sorted table by binary search, which reads fourteen of its numbers."""
    low, high = 0, table.shape[0]
    while low < high:
        middle = (low + high) // 2
        if table[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


def search_in_lax(table: Array, x: Array) -> Array:
    def turn(bounds: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = bounds
        middle = (low + high) // 2
        is_below = table[middle] < x
        return jnp.where(is_below, middle + 1, low), jnp.where(is_below, high, middle)

    return lax.while_loop(lambda bounds: bounds[0] < bounds[1], turn, (0, table.shape[0]))[0]


@hb.batch
def solve(matrix: Array, b: Array) -> tuple[Array, Array]:
    """The solution of a linear system by conjugate gradients, and the number of iterations."""
    x, residual, direction, square, turns = jnp.zeros_like(b), b, b, b @ b, 0
    while square > TOLERANCE:
        image = matrix @ direction
        step = square / (direction @ image)
        x, residual = x + step * direction, residual - step * image
        direction, square = residual + (residual @ residual) / square * direction, residual @ residual
        turns += 1
    return x, turns


def solve_in_lax(matrix: Array, b: Array) -> tuple[Array, Array]:
    def turn(state: tuple[Array, ...]) -> tuple[Array, ...]:
        x, residual, direction, square, turns = state
        image = matrix @ direction
        step = square / (direction @ image)
        residual = residual - step * image
        after = residual @ residual
        return x + step * direction, residual, residual + after / square * direction, after, turns + 1

    start = jnp.zeros_like(b), b, b, b @ b, 0
    x, *_, turns = lax.while_loop(lambda state: state[3] > TOLERANCE, turn, start)
    return x, turns


def tables(size: Size) -> tuple[Array, Array]:
    found = np.sort(np.random.default_rng(0).standard_normal((size.inputs, NUMBERS)).astype(np.float32))
    return jnp.asarray(found), jnp.asarray(found[:, 77])


def systems(size: Size) -> tuple[Array, Array]:
    noise = np.random.default_rng(0).standard_normal((size.inputs, ROWS, ROWS)).astype(np.float32)
    return jnp.asarray(noise @ noise.transpose(0, 2, 1) / ROWS + np.eye(ROWS, dtype=np.float32)), jnp.asarray(
        noise[:, 0]
    )


def turns(result: Any) -> float:
    return ready.total(result[1])


def rounded(result: Any) -> Any:
    return np.round(result[0], 1)


def searches(size: Size, **options: Any) -> Prepared:
    return ready.batched(search, tables(size), work=lambda _: size.inputs, comparable=np.asarray, **options)


def searches_in_lockstep(size: Size) -> Prepared:
    return ready.lockstep(search_in_lax, tables(size), size, work=lambda _: size.inputs, comparable=np.asarray)


def solutions(size: Size, **options: Any) -> Prepared:
    return ready.batched(solve, systems(size), work=turns, comparable=rounded, **options)


def solutions_in_lockstep(size: Size) -> Prepared:
    return ready.lockstep(solve_in_lax, systems(size), size, work=turns, comparable=rounded)


WORKLOADS: Final = {
    made.name: made
    for made in (
        Workload(
            name="own_table",
            title="Binary search, a table for each lane",
            unit="lookup",
            description=(
                "Each lane searches for a number in a sorted table of its own, and reads fourteen of its "
                f"{NUMBERS:,} numbers. The numbers of iterations differ by at most one: this measures the cost "
                "of tables."
            ),
            sizes=(Size(200, 200), Size(2_000, 2_000)),
            contenders={
                "hlobatch": searches,
                "hlobatch, without kernels": partial(searches, **ready.without("kernels")),
                "hlobatch, without kernels and tables": partial(searches, **ready.without("kernels", "tables")),
                "lockstep vmap": searches_in_lockstep,
            },
            roofline=None,
            control=True,
        ),
        Workload(
            name="own_matrix",
            title="Conjugate gradients, a matrix for each lane",
            unit="turn",
            description=(
                f"Each lane solves its own system of {ROWS} equations. Lanes take about the same number of iterations, "
                "and an iteration is a product of the matrix and a vector: this measures the cost of a "
                "matrix that never changes."
            ),
            sizes=(Size(64, 64),),
            contenders={
                "hlobatch": solutions,
                "hlobatch, without kernels": partial(solutions, **ready.without("kernels")),
                "hlobatch, without kernels and light_ties": partial(
                    solutions, **ready.without("kernels", "light_ties")
                ),
                "lockstep vmap": solutions_in_lockstep,
            },
            roofline=None,
            control=True,
        ),
    )
}
