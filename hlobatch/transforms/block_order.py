"""Puts expensive blocks last: under the earliest-first schedule they wait for lanes that can still reach them.

::

    entry, leapfrog, join, choose   ==>   entry, join, choose, leapfrog

A lane stands at an expensive block until every other lane stands at one too, or is done: cheap blocks run early and
often, costly ones late and full. The entry stays first. Among expensive blocks, and among the others, program order
stays.

Reference: paper section 2, "always run the earliest available block in program order … more refined heuristics are
definitely possible".
"""

from __future__ import annotations

import statistics
from typing import Final

from hlobatch.analysis.cost import block_cost
from hlobatch.analysis.machine_liveness import onward
from hlobatch.ir.ops import HALT
from hlobatch.ir.program import ControlFlowGraph, Program

EXPENSIVE: Final = 0.25
"""Share of the work of all blocks that run repeatedly, from which one of them is expensive …"""
OUTSTANDING: Final = 4.0
"""… if it is also this many times the work of the median one …"""
WORTH_WAITING: Final = 200.0
"""… and at least so many operations per lane: for less it does not pay to wait."""


def expensive_last(program: Program) -> Program:
    """The lowered program with its expensive blocks at the end."""
    entry, *rest = program.graph.blocks
    repeated = repeated_blocks(program)
    costs = {block.name: block_cost(block) for block in rest if block.name in repeated}
    threshold = max(
        EXPENSIVE * sum(costs.values()), OUTSTANDING * statistics.median_low(costs.values() or [0.0]), WORTH_WAITING
    )
    late = [block for block in rest if block.sync or costs.get(block.name, 0.0) > threshold]
    early = [block for block in rest if block not in late]
    return program.replace(graph=ControlFlowGraph((entry, *early, *late))) if late and early else program


def repeated_blocks(program: Program) -> frozenset[str]:
    """Blocks of a lowered program that a lane may come back to."""
    after = {name: {n for n in names if n != HALT} for name, names in onward(program).items()}
    return frozenset(name for name in after if name in _closure(after, after[name]))


def _closure(after: dict[str, set[str]], start: set[str]) -> set[str]:
    seen: set[str] = set()
    pending = list(start)
    while pending:
        name = pending.pop()
        if name not in seen:
            seen.add(name)
            pending += after[name]
    return seen
