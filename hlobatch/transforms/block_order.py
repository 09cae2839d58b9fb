"""Orders blocks so that lanes seldom go on to an earlier one (minimum feedback arc set). The entry stays first.

::

    entry, body, body.return, after_while   ==>   entry, after_while, body.return, body

In a ``sweep``, a lane that goes on to a later block gets there in the same turn, and one that goes on to an earlier
block waits for the next turn. In a ``chain``, too, one turn runs blocks that follow each other.

To find the order with the least weight of backward edges is the problem of the minimum feedback arc set. A greedy order
and the program's own are both improved, until no move of a block gains, and the better one is taken.

Reference: Pettis and Hansen, "Profile guided code positioning", PLDI 1990, for serial code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from hlobatch.analysis.cost import block_cost
from hlobatch.analysis.frequency import Matrix, edge_frequencies
from hlobatch.ir.program import ControlFlowGraph, Program

NEGLIGIBLE: Final = 1e-9
"""Frequencies are estimates, and what is the same may differ by rounding."""


def seldom_backward(program: Program) -> Program:
    """The lowered program with its blocks in an order in which lanes seldom go to an earlier one."""
    order = least_backward(edge_frequencies(program))
    blocks = program.graph.blocks
    if order == list(range(len(blocks))):
        return program
    return program.replace(graph=ControlFlowGraph(tuple(blocks[index] for index in order)))


def least_backward(frequencies: Matrix) -> list[int]:
    """An order of blocks with little weight of edges backwards; program order if none is found that has less."""
    starts = [list(range(len(frequencies))), _greedy(frequencies)]
    orders = [_improved(start, frequencies) for start in starts]
    return min(orders, key=lambda order: round(weight_backward(order, frequencies), 9))


def weight_backward(order: Sequence[int], frequencies: Matrix) -> float:
    """The weight of edges to an earlier block or to the same."""
    return float(np.tril(frequencies[np.ix_(order, order)]).sum())


def excess_of_a_sweep(program: Program) -> float:
    """The work of sweeps over all blocks, in the order of least backward edges, over the work that lanes need."""
    frequencies = edge_frequencies(program)
    costs = np.array([block_cost(program, block) for block in program.graph])
    needed = float(frequencies.sum(axis=1) @ costs)
    rounds = weight_backward(least_backward(frequencies), frequencies)
    return rounds * float(costs.sum()) / needed if needed else 1.0


def _greedy(frequencies: Matrix) -> list[int]:
    """An order made from both ends.

    What leads nowhere else goes last, what nothing else leads to first. Of a cycle, the block goes first that leads on
    the most and is led to the least (Eades, Lin and Smyth, Information Processing Letters 47, 1993).
    """
    front, back, left = [0], list[int](), list(range(1, len(frequencies)))
    while left:
        between = frequencies[np.ix_(left, left)]
        out, into = between.sum(axis=1) - between.diagonal(), between.sum(axis=0) - between.diagonal()
        if out.min() <= NEGLIGIBLE:
            back.insert(0, left.pop(int(out.argmin())))
        elif into.min() <= NEGLIGIBLE:
            front.append(left.pop(int(into.argmin())))
        else:
            front.append(left.pop(int((out - into).argmax())))
    return front + back


def _improved(order: list[int], frequencies: Matrix) -> list[int]:
    """An order that no move of one block improves; the first stays."""
    moved = True
    while moved:
        moved = False
        for block in range(1, len(frequencies)):
            old = order.index(block)
            rest = order[:old] + order[old + 1 :]
            weights = _backward_at(block, rest, frequencies)
            best = int(np.argmin(weights[1:])) + 1
            if weights[best] < weights[old] - NEGLIGIBLE:
                order, moved = [*rest[:best], block, *rest[best:]], True
    return order


def _backward_at(block: int, rest: Sequence[int], frequencies: Matrix) -> Matrix:
    """The weight of edges backwards from and to a block at each place among the others."""
    back_from = np.concatenate([[0.0], np.cumsum(frequencies[block, rest])])
    back_to = np.concatenate([[0.0], np.cumsum(frequencies[rest, block])])
    return np.asarray(back_from + back_to[-1] - back_to)
