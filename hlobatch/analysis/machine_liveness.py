"""A lowered program -> the variables that are live after each operation, across calls.

A return has an edge to every place that its return address may name, more than any one run takes, so the sets are upper
bounds: safe for deciding that two variables may share storage.
"""

from __future__ import annotations

from collections.abc import Iterator

from hlobatch.analysis.liveness import Names, before, through, union
from hlobatch.analysis.machine_flow import onward
from hlobatch.ir.ops import HALT, Op
from hlobatch.ir.program import Block, Program


def live_in(program: Program) -> dict[str, Names]:
    """For each block, and for ``HALT``, the variables that may be read from its beginning on."""
    successors = onward(program)
    found: dict[str, Names] = {HALT: frozenset(program.vars_out)}
    found |= {block.name: frozenset() for block in program.graph}
    changed = True
    while changed:
        changed = False
        for block in reversed(program.graph.blocks):
            live = through(block, union(found[name] for name in successors[block.name]))
            changed |= found[block.name] != live
            found[block.name] = live
    return found


def live_out(program: Program) -> dict[str, Names]:
    """For each block, the variables that may be read after it."""
    found = live_in(program)
    return {name: union(found[after] for after in ends) for name, ends in onward(program).items()}


def points(program: Program) -> Iterator[tuple[Block, Op, Names]]:
    """Every operation with the variables that are live after it; blocks in order, operations backwards."""
    after = live_out(program)
    for block in program.graph:
        live = after[block.name]
        for op in reversed(block.ops):
            yield block, op, live
            live = before(op, live)
