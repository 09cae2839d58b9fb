"""A walk over a board that takes one input of a thousand very much longer than all others."""

from functools import partial
from typing import Any, Final

import jax.numpy as jnp
from jax import Array, lax

import hlobatch as hb
from benchmarks import compile as ready
from benchmarks.workload import Prepared, Size, Workload

SQUARES: Final = 81
SHORT, LONG = 10, 30_000
"""The numbers of steps of most inputs, and of the long one."""


@hb.batch
def walk(steps: Array, board: Array) -> Array:
    """The board after some steps around it; positive squares become -1, others grow."""
    i = 0
    while i < steps:
        if board[i % SQUARES] > 0:
            board = board.at[i % SQUARES].set(-1)
        else:
            board = board.at[i % SQUARES].add(1)
        i += 1
    return board.sum()


def walk_in_lax(steps: Array, board: Array) -> Array:
    def turn(state: tuple[Array, Array]) -> tuple[Array, Array]:
        i, board = state
        square = board[i % SQUARES]
        return i + 1, board.at[i % SQUARES].set(jnp.where(square > 0, -1, square + 1))

    return lax.while_loop(lambda state: state[0] < steps, turn, (0, board))[1].sum()


def inputs(size: Size) -> tuple[Array, Array]:
    steps = jnp.full(size.inputs, SHORT).at[size.inputs // 3].set(LONG)
    return steps, jnp.ones((size.inputs, SQUARES), jnp.int32)


def steps_of(size: Size) -> float:
    return float(SHORT * (size.inputs - 1) + LONG)


def walks(size: Size, **options: Any) -> Prepared:
    return ready.batched(walk, inputs(size), work=lambda _: steps_of(size), comparable=jnp.asarray, **options)


def walks_in_lockstep(size: Size) -> Prepared:
    return ready.lockstep(walk_in_lax, inputs(size), size, work=lambda _: steps_of(size), comparable=jnp.asarray)


WORKLOAD = Workload(
    name="slow_tail",
    title="One input takes very long",
    unit="step",
    description=(
        f"Inputs walk {SHORT} steps over a board of {SQUARES} squares, one of them {LONG:,}: when the others are done, "
        "a turn should cost no more than one lane."
    ),
    sizes=(Size(1_000, 1_000),),
    contenders={
        "hlobatch": walks,
        "hlobatch, without kernels": partial(walks, **ready.without("kernels")),
        "hlobatch, without kernels and few_lanes": partial(walks, **ready.without("kernels", "few_lanes")),
        "lockstep vmap": walks_in_lockstep,
    },
    roofline=None,
)
