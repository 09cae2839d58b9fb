"""A lowered program -> its control flow across calls: successors of blocks, loops, and the headers of loops.

::

    a: push_jump f, return to b by %r        a -> f
    f: …; return by %r                       f -> b, and to the block behind every other call that returns by %r

A return has an edge to every place that any call returns to, though one run of it goes to one of these. So there may be
edges that no lane takes, but every step that a lane takes is an edge.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from hlobatch.ir.ops import HALT, PushGotoOp
from hlobatch.ir.program import Block, Program


def onward(program: Program) -> Mapping[str, tuple[str, ...]]:
    """For each block, the blocks that may run next; after a return, those behind every call it may return from."""
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
            places = [call.push_block]  # a return right behind its own call
        return tuple(dict.fromkeys((*block.successors, *places)))

    return {block.name: after(block) for block in program.graph}


def never_goes_back(program: Program) -> bool:
    """Whether all edges of a lowered program lead to later blocks, so that one sweep runs each lane to its end."""
    after = onward(program)
    place = {name: index for index, name in enumerate(after)}
    return all(place.get(other, len(after)) > place[name] for name, others in after.items() for other in others)


def repeated_blocks(program: Program) -> frozenset[str]:
    """Blocks of a lowered program that a lane may run more than once."""
    after = onward(program)
    found = components(after)
    return frozenset(name for name in after if len(found[name]) > 1 or name in after[name])


def components(after: Mapping[str, Sequence[str]]) -> Mapping[str, frozenset[str]]:
    """For each block, its strongly connected component: the blocks that it reaches and that reach it, itself included.

    Found in linear time.

    Reference:
        Tarjan, "Depth-first search and linear graph algorithms", SIAM Journal on Computing 1, 1972.
    """
    found: dict[str, frozenset[str]] = {}
    lowest: dict[str, int] = {}
    unassigned: list[str] = []  # visited blocks without a component yet, in order of visit; `lowest` numbers visits

    def visit(name: str) -> tuple[str, int, Iterator[str]]:
        lowest[name] = len(lowest)
        unassigned.append(name)
        return name, lowest[name], iter(after[name])

    for first in after:
        path = [] if first in lowest else [visit(first)]
        while path:
            name, order, others = path[-1]
            for other in others:
                if other != HALT and other not in lowest:
                    path.append(visit(other))
                    break
                if other != HALT and other not in found:
                    lowest[name] = min(lowest[name], lowest[other])
            else:  # all successors have been visited
                path.pop()
                if path:
                    lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[name])
                if lowest[name] == order:  # the block is the first visited one of its component
                    members = [unassigned.pop()]
                    while members[-1] != name:
                        members.append(unassigned.pop())
                    found |= dict.fromkeys(members, frozenset(members))
    return found


def headers(program: Program) -> frozenset[str]:
    """The targets of backward edges of a lowered program; every loop and every recursion has one."""
    place = {block.name: index for index, block in enumerate(program.graph)}
    targets = ((name, block.name) for block in program.graph for name in block.targets if name != HALT)
    return frozenset(name for name, source in targets if place[name] <= place[source])


def turning_points(program: Program) -> frozenset[str]:
    """Headers that every cycle passes: between two runs of any block, a lane passes one of them."""
    after = {block.name: block.targets for block in program.graph}
    found = headers(program)
    for name, targets in after.items():
        others = found - {name}
        if name in found and name not in reachable(after, targets, others):
            found = others
    return found


def reachable(after: Mapping[str, Sequence[str]], start: Any, without: Iterable[str] = ()) -> set[str]:
    """The blocks reachable from ``start``, these included, on paths that avoid ``HALT`` and the blocks ``without``."""
    seen, left_out = set[str](), {HALT, *without}
    pending = list(start)
    while pending:
        name = pending.pop()
        if name not in seen and name not in left_out:
            seen.add(name)
            pending += after[name]
    return seen
