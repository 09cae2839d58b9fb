"""Orders blocks so that lanes seldom go on to an earlier one (minimum feedback arc set). The entry stays first.

::

    entry, body, body.return, after_while   ==>   entry, after_while, body.return, body

In a ``sweep``, a lane that goes on to a later block gets there in the same turn, and one that goes on to an earlier
block waits for the next turn. In a ``chain``, too, one turn runs blocks that follow each other.

The order with the least weight of backward edges is a minimum feedback arc set, which is hard to find. A greedy order
and the program's own are both improved until moving no block helps, and the better one is taken.

Reference: Pettis and Hansen, "Profile guided code positioning", PLDI 1990, for serial code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from hlobatch.analysis.frequency import Matrix, edge_frequencies
from hlobatch.ir.program import ControlFlowGraph, Program

NEGLIGIBLE: Final = 1e-9
"""Frequencies are estimates; equal ones may differ by rounding, so smaller differences do not count."""


def seldom_backward(program: Program) -> Program:
    """The lowered program with its blocks in an order in which lanes seldom go to an earlier one."""
    order = least_backward(edge_frequencies(program))
    blocks = program.graph.blocks
    if order == list(range(len(blocks))):
        return program
    return program.replace(graph=ControlFlowGraph(tuple(blocks[index] for index in order)))


def least_backward(frequencies: Matrix) -> list[int]:
    """An order of blocks with little weight of backward edges; the program's own order unless a better one is found."""
    starts = [list(range(len(frequencies))), _greedy(frequencies)]
    orders = [_improved(start, frequencies) for start in starts]
    return min(orders, key=lambda order: round(weight_backward(order, frequencies), 9))


def weight_backward(order: Sequence[int], frequencies: Matrix) -> float:
    """The weight of the edges from a block to itself or an earlier one."""
    return float(np.tril(frequencies[np.ix_(order, order)]).sum())


def _greedy(frequencies: Matrix) -> list[int]:
    """An order built from both ends.

    A block without successors among the rest goes last, one without predecessors goes first. In a cycle, the block
    whose outgoing weight exceeds its incoming weight the most goes first (Eades, Lin and Smyth, Information Processing
    Letters 47, 1993).
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
    """An order that moving one block cannot improve; the first block stays."""
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
    """The weight of backward edges from and to a block, for each position among the other blocks."""
    back_from = np.concatenate([[0.0], np.cumsum(frequencies[block, rest])])
    back_to = np.concatenate([[0.0], np.cumsum(frequencies[rest, block])])
    return np.asarray(back_from + back_to[-1] - back_to)
