"""Counting solutions of the n queens puzzle below given first rows: depth-first backtracking with bit masks.

Reference:
    Richards, "Backtracking algorithms in MCPL using bit patterns and recursion", 1997.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

import hlobatch as hb
from benchmarks import compile as ready
from benchmarks.workload import Prepared, Size, Workload

QUEENS = 10
ALL = (1 << QUEENS) - 1


@hb.batch
def solutions(columns: Array, left: Array, right: Array) -> tuple[Array, Array]:
    """The number of solutions that complete a placement, and the number of positions visited.

    Args:
        columns: Taken columns, one bit each.
        left: Squares of the next row that are attacked from the upper right.
        right: Squares of the next row that are attacked from the upper left.
    """
    found, visited = 0, 1
    if columns == ALL:
        return 1, 1
    free = ALL & ~(columns | left | right)
    while free != 0:
        queen = free & -free
        free = free & ~queen
        below, visits = solutions(columns | queen, (left | queen) << 1, (right | queen) >> 1)
        found += below
        visited += visits
    return found, visited


def placements(count: int) -> tuple[Array, Array, Array]:
    """Random placements of the first one to four queens, including dead ends."""
    random = np.random.default_rng(2)
    masks = np.zeros((3, count), np.int32)
    for k in range(count):
        columns = left = right = 0
        for _ in range(random.integers(1, 5)):
            free = [1 << c for c in range(QUEENS) if not (columns | left | right) >> c & 1]
            if not free:
                break
            queen = int(random.choice(free))
            columns, left, right = columns | queen, (left | queen) << 1 & ALL, (right | queen) >> 1
        masks[:, k] = columns, left, right
    return jnp.asarray(masks[0]), jnp.asarray(masks[1]), jnp.asarray(masks[2])


def positions(result: tuple[Array, Array]) -> float:
    return ready.total(result[1])


def everything(result: Any) -> Any:
    return result


def batched(size: Size) -> Prepared:
    return ready.batched(solutions, placements(size.inputs), work=positions, comparable=everything)


def lockstep(size: Size) -> Prepared:
    """A contender with an explicit stack; a frame holds the masks and the free squares of one row."""

    def free_squares(columns: Array, left: Array, right: Array) -> Array:
        return ALL & ~(columns | left | right)

    def one(columns: Array, left: Array, right: Array) -> tuple[Array, Array]:
        def visit(state: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
            frames, depth, found, visited = state
            columns, left, right, free = frames[depth]
            queen = free & -free
            frames = frames.at[depth, 3].set(free & ~queen)
            below = jnp.stack([columns | queen, (left | queen) << 1, (right | queen) >> 1])
            solved = below[0] == ALL
            frame = jnp.append(below, free_squares(*below))
            placed = queen != 0
            frames = frames.at[depth + 1].set(jnp.where(placed, frame, frames[depth + 1]))
            deeper = jnp.where(solved, depth, depth + 1)
            return frames, jnp.where(placed, deeper, depth - 1), found + (placed & solved), visited + placed

        frames = jnp.zeros((QUEENS + 2, 4), jnp.int32)
        frames = frames.at[0].set(jnp.stack([columns, left, right, free_squares(columns, left, right)]))
        start = (frames, 0, 0, 1)
        _, _, found, visited = jax.lax.while_loop(lambda state: state[1] >= 0, visit, start)
        return found, visited

    def executions(result: Any) -> float:
        return float(2 * result[1].max())  # each position is entered and left

    return ready.lockstep(
        one, placements(size.inputs), size, work=positions, comparable=everything, executions=executions
    )


def serial(size: Size) -> Prepared:
    import numba

    @numba.njit
    def one(columns: int, left: int, right: int) -> tuple[int, int]:
        if columns == ALL:
            return 1, 1
        found, visited = 0, 1
        free = ALL & ~(columns | left | right)
        while free != 0:
            queen = free & -free
            free &= ~queen
            below, visits = one(columns | queen, (left | queen) << 1, (right | queen) >> 1)
            found += below
            visited += visits
        return found, visited

    @numba.njit
    def all_inputs(columns: Any, left: Any, right: Any) -> Any:
        result = np.empty((2, len(columns)), np.int32)
        for k in range(len(columns)):
            result[0, k], result[1, k] = one(columns[k], left[k], right[k])
        return result[0], result[1]

    return ready.serial(all_inputs, placements(size.inputs), work=positions, comparable=everything)


WORKLOAD = Workload(
    name="queens",
    title=f"{QUEENS} queens",
    unit="position",
    description=(
        f"Solutions of the {QUEENS} queens puzzle that begin with one to four given queens, by recursion within "
        "a loop. Integer operations only: as with Fibonacci, the work is control flow. Lockstep keeps a stack of rows."
    ),
    sizes=(Size(1_000, 1_000), Size(100, 1_000), Size(1_000, 10_000)),
    contenders={"hlobatch": batched, "lockstep vmap": lockstep, "numba, serial": serial},
    roofline=None,
)
