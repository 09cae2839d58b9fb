"""Where lanes of a lowered program may go from block to block, across calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hlobatch.ir.ops import HALT, PushGotoOp
from hlobatch.ir.program import Block, Program


def onward(program: Program) -> Mapping[str, tuple[str, ...]]:
    """For each block, where a lane may stand next; for a return, after every call that it may return from."""
    back: dict[str, list[str]] = {}
    for block in program.graph:
        if isinstance(block.terminator, PushGotoOp):
            back.setdefault(block.terminator.counter, [HALT]).append(block.terminator.push_block)

    def after(block: Block) -> tuple[str, ...]:
        call, end = block.terminator, block.returns
        if end is None:
            return block.successors
        places = back.get(end.counter, [HALT])
        if isinstance(call, PushGotoOp) and call.counter == end.counter:
            places = [call.push_block]  # it returns at once
        return tuple(dict.fromkeys((*block.successors, *places)))

    return {block.name: after(block) for block in program.graph}


def never_goes_back(program: Program) -> bool:
    """Whether every block of a lowered program leads to later ones only, so that each lane gets by in one round."""
    after = onward(program)
    place = {name: index for index, name in enumerate(after)}
    return all(place.get(other, len(after)) > place[name] for name, others in after.items() for other in others)


def repeated_blocks(program: Program) -> frozenset[str]:
    """Blocks of a lowered program that a lane may come back to."""
    after = onward(program)
    return frozenset(name for name in after if name in reachable(after, after[name]))


def headers(program: Program) -> frozenset[str]:
    """Blocks of a lowered program of which every loop and every recursion has one."""
    place = {block.name: index for index, block in enumerate(program.graph)}
    targets = ((name, block.name) for block in program.graph for name in block.targets if name != HALT)
    return frozenset(name for name, source in targets if place[name] <= place[source])


def turning_points(program: Program) -> frozenset[str]:
    """Some of them that are enough, of which no other has to be passed before a block is run again and again."""
    after = {block.name: block.targets for block in program.graph}
    found = headers(program)
    for name, targets in after.items():
        others = found - {name}
        if name in found and name not in reachable(after, targets, others):
            found = others
    return found


def reachable(after: Mapping[str, Sequence[str]], start: Any, without: Iterable[str] = ()) -> set[str]:
    """The blocks, ``HALT`` and some others left out, that may run from some on, themselves included."""
    seen, left_out = set[str](), {HALT, *without}
    pending = list(start)
    while pending:
        name = pending.pop()
        if name not in seen and name not in left_out:
            seen.add(name)
            pending += after[name]
    return seen
