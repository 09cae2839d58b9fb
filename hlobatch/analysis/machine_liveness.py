"""Liveness in a lowered program, across calls: what may still be read once an operation is done.

A return goes to every place that its return address may name. That is more than any one run does, so the sets are upper
bounds: safe for deciding that two variables may share storage.
"""

from __future__ import annotations

from collections.abc import Iterator

from hlobatch.analysis.liveness import Names, before, through
from hlobatch.analysis.machine_flow import onward
from hlobatch.ir.ops import HALT, Op
from hlobatch.ir.program import Block, Program


def live_out(program: Program) -> dict[str, Names]:
    """For each block, what may be read after it."""
    successors = onward(program)
    live_in: dict[str, Names] = {HALT: frozenset(program.vars_out)}
    live_in |= {block.name: frozenset() for block in program.graph}
    out: dict[str, Names] = {}
    changed = True
    while changed:
        changed = False
        for block in reversed(program.graph.blocks):
            out[block.name] = frozenset().union(*(live_in[name] for name in successors[block.name]))
            found = through(block, out[block.name])
            changed |= found != live_in[block.name]
            live_in[block.name] = found
    return out


def points(program: Program) -> Iterator[tuple[Block, Op, Names]]:
    """Every operation with what is live after it, blocks in order, operations backwards."""
    after = live_out(program)
    for block in program.graph:
        live = after[block.name]
        for op in reversed(block.ops):
            yield block, op, live
            live = before(op, live)
