"""Alpha-beta search of a board game with a network at the leaves: pruning differs from board to board.

Reference:
    Knuth and Moore, "An analysis of alpha-beta pruning", Artificial Intelligence 6, 1975.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

import hlobatch as hb
from benchmarks import compile as ready
from benchmarks.workload import Prepared, Size, Workload

CELLS = 16
HIDDEN = 64
PLIES = 3
INFINITY = 1e9
ROOFLINE_TIMES = 200


class Network(NamedTuple):
    first: Array  # Float[Array, "cells hidden"]
    second: Array  # Float[Array, "hidden hidden"]
    last: Array  # Float[Array, "hidden"]


def judge(network: Network, board: Array) -> Array:
    """The value of a board for the player who holds the cells with 1."""
    return jnp.tanh(jnp.tanh(board @ network.first) @ network.second) @ network.last


@hb.batch(in_axes=(0, 0, 0, 0, 0, None))
def search(
    board: Array, player: Array, plies: Array, alpha: Array, beta: Array, network: Network
) -> tuple[Array, Array]:
    """The value of a board for the player whose turn it is, and the number of boards judged.

    Args:
        board: `Float[Array, "cells"]`, 1 and -1 where the players are, 0 at free cells.
        player: 1 or -1.
        plies: The number of moves to look ahead.
        alpha: The value that the player can already enforce.
        beta: The value above which the opponent avoids this position.
        network: Judges boards.
    """
    if plies == 0:
        return player * judge(network, board), 1
    judged = 0
    for cell in range(CELLS):
        if board[cell] == 0:
            value, below = search(board.at[cell].set(player), -player, plies - 1, -beta, -alpha, network)
            judged += below
            alpha = jnp.maximum(alpha, -value)
            if alpha >= beta:
                break
    return alpha, judged


def boards(count: int) -> Array:
    """Random positions with 5 to 10 free cells."""
    random = np.random.default_rng(50)
    result = np.zeros((count, CELLS), np.float32)
    for board in result:
        taken = random.permutation(CELLS)[: random.integers(6, 12)]
        board[taken] = np.where(np.arange(len(taken)) % 2 == 0, 1.0, -1.0)
    return jnp.asarray(result)


def network() -> Network:
    first, second = ready.uniform(51, -0.8, 0.8, CELLS, HIDDEN), ready.uniform(52, -0.3, 0.3, HIDDEN, HIDDEN)
    return Network(first, second, ready.uniform(53, -0.3, 0.3, HIDDEN))


def inputs(count: int) -> tuple[Array, Array, Array, Array, Array, Network]:
    ones = jnp.ones(count)
    return boards(count), ones, jnp.full(count, PLIES, jnp.int32), -INFINITY * ones, INFINITY * ones, network()


def work(result: tuple[Array, Array]) -> float:
    return ready.total(result[1])


def value_of(result: Any) -> Any:
    return result[0]


def batched(size: Size) -> Prepared:
    return ready.batched(search, inputs(size.inputs), work=work, comparable=value_of)


def lockstep(size: Size) -> Prepared:
    """A contender with an explicit stack; a frame holds its bounds and the next cell to try.

    The board is changed by a move, and changed back.
    """

    def one(board: Array, player: Array, plies: Array, alpha: Array, beta: Array, network: Network) -> Any:
        def visit(state: Any) -> Any:
            board, depth, alphas, betas, cells, judged, visits = state
            turn = jnp.where(depth % 2 == 0, player, -player)
            untried = (board == 0) & (jnp.arange(CELLS) >= cells[depth])
            cell = jnp.argmax(untried)
            back = ~untried.any() | (alphas[depth] >= betas[depth])
            leaf = ~back & (depth + 1 == plies)
            down = ~back & ~leaf
            played = board.at[cell].set(turn)
            value = turn * judge(network, played)
            # To the parent: undo its move, raise its alpha. At the root there is no parent; depth -1 ends the loop.
            parent = jnp.maximum(depth - 1, 0)
            undone = board.at[cells[parent] - 1].set(0.0)
            raised = alphas.at[parent].max(-alphas[depth])
            kept_root = back & (depth == 0)
            below = depth + 1
            pushed_alphas = alphas.at[below].set(-betas[depth])
            pushed_betas = betas.at[below].set(-alphas[depth])
            tried = cells.at[depth].set(cell + 1)
            alphas = jnp.where(
                leaf, alphas.at[depth].max(value), jnp.where(down, pushed_alphas, jnp.where(kept_root, alphas, raised))
            )
            return (
                jnp.where(down, played, jnp.where(back & ~kept_root, undone, board)),
                jnp.where(down, depth + 1, jnp.where(back, depth - 1, depth)),
                alphas,
                jnp.where(down, pushed_betas, betas),
                jnp.where(back, cells, jnp.where(down, tried.at[below].set(0), tried)),
                judged + leaf,
                visits + 1,
            )

        alphas, betas = jnp.full(PLIES + 1, alpha), jnp.full(PLIES + 1, beta)
        first = (board, 0, alphas, betas, jnp.zeros(PLIES + 1, jnp.int32), 0, 0)
        _, _, alphas, _, _, judged, visits = jax.lax.while_loop(lambda state: state[1] >= 0, visit, first)
        return alphas[0], judged, visits

    args = inputs(size.inputs)
    return ready.lockstep(
        one,
        args,
        size,
        in_axes=(0, 0, 0, 0, 0, None),
        work=work,
        comparable=value_of,
        executions=lambda result: float(result[2].max()),
    )


def roofline(size: Size) -> Prepared:
    def kernel(state: tuple[Array, Network]) -> tuple[Array, Network]:
        board, network = state
        return board + 1e-3 * judge(network, board)[:, None], network

    return ready.repeated(kernel, (boards(size.lanes), network()), size, times=ROOFLINE_TIMES)


WORKLOAD = Workload(
    name="tree_search",
    title="Alpha-beta search",
    unit="board",
    description=(
        f"Negamax over {PLIES} plies on boards with 5 to 10 free cells of {CELLS}; leaves are judged by a network of "
        f"{CELLS}, {HIDDEN}, {HIDDEN} and 1 units, the kernel. Recursion within a loop that pruning ends early."
    ),
    sizes=(Size(1_000, 1_000), Size(100, 1_000), Size(1_000, 10_000)),
    contenders={"hlobatch": batched, "lockstep vmap": lockstep},
    roofline=roofline,
)
