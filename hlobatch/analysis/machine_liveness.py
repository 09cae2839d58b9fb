"""Liveness in a lowered program, across calls: what may still be read once an operation is done.

A return goes to every place that its return address may name. That is more than any one run does, so the sets are upper
bounds: safe for deciding that two variables may share storage.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hlobatch.analysis.liveness import Names, before, through
from hlobatch.ir.ops import HALT, IndirectGotoOp, Op, PushGotoOp
from hlobatch.ir.program import Block, Program


def onward(program: Program) -> Mapping[str, tuple[str, ...]]:
    """For each block, where a lane may stand next; for a return, after every call that it may return from."""
    returns: dict[str, list[str]] = {}
    for block in program.graph:
        if isinstance(block.terminator, PushGotoOp):
            returns.setdefault(block.terminator.counter, [HALT]).append(block.terminator.push_block)
    return {
        block.name: tuple(returns.get(block.terminator.counter, [HALT]))
        if isinstance(block.terminator, IndirectGotoOp)
        else block.terminator.successors
        for block in program.graph
    }


def never_goes_back(program: Program) -> bool:
    """Whether every block of a lowered program leads to later ones only, so that each lane gets by in one round."""
    after = onward(program)
    place = {name: index for index, name in enumerate(after)}
    return all(place.get(other, len(after)) > place[name] for name, others in after.items() for other in others)


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
