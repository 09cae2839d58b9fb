"""A lowered program -> how often a lane goes from block to block, estimated from the graph alone.

A branch that can stay in a loop does so nine times in ten. Other branches take both sides equally often, and a return
goes to each of its return points equally often.

Reference: Wu and Larus, "Static branch frequency and program profile analysis", MICRO 1994.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hlobatch.analysis.machine_flow import components, onward
from hlobatch.ir.program import Program

STAYS: Final = 0.9
"""Probability that a branch that can leave a loop stays in it."""
ENDLESS: Final = 1e-6
"""Probability that a lane ends at any step, so that an endless loop has a finite frequency too."""

Matrix = NDArray[np.float64]


def edge_frequencies(program: Program) -> Matrix:
    """For each pair of blocks, in program order, how often a lane goes from the first to the second; ``[n, n]``.

    All of them, and the ends of runs, sum to one.
    """
    after = onward(program)
    loops = components(after)
    place = {name: index for index, name in enumerate(after)}
    chances = np.zeros((len(after), len(after) + 1))  # the last column is for lanes that halt
    for name, successors in after.items():
        for successor, chance in zip(successors, _chances(successors, loops[name]), strict=True):
            chances[place[name], place.get(successor, -1)] += chance
    inside = chances[:, :-1] * (1 - ENDLESS)
    start = np.eye(len(after))[0]
    visits = np.linalg.solve(np.eye(len(after)) - inside.T, start)  # expected visits of each block in a run
    return np.asarray(visits[:, None] * inside / visits.sum())


def _chances(successors: Sequence[str], loop: Collection[str]) -> list[float]:
    """The probability of each successor of a block in a loop."""
    staying = [successor for successor in successors if successor in loop]
    leaving = len(successors) - len(staying)
    if not staying or not leaving:
        return [1 / len(successors)] * len(successors)
    return [STAYS / len(staying) if s in staying else (1 - STAYS) / leaving for s in successors]
