"""A lowered program -> groups of blocks that run in one step: small ones that lead to each other, and single others.

::

    body: if board[cell] == 0 goto play else next
    next: cell = cell + 1; if cell < 16 goto body else done     ==>     (body, next)  (play)  (done)
    play: push …                                                        one step: body, then next

To find the next block, and to pass over all others, takes longer than to run a block of a few operations.
"""

from __future__ import annotations

from typing import Final

from hlobatch.analysis.call_frames import CallFrames
from hlobatch.analysis.cost import block_cost
from hlobatch.ir.physical import elements
from hlobatch.ir.program import STORED, Block, Program
from hlobatch.ir.program import VariableAllocation as Alloc

MOST_OPERATIONS_OF_A_SMALL_BLOCK: Final = 32.0
"""Most operations and changed elements per lane of a small block. As of 2026-11: the search for the next block takes
several times as long as such a block (`docs/design.md`)."""

Groups = tuple[tuple[int, ...], ...]
"""Indices of blocks. Each block is in one group, and a group is in program order."""


def alone(program: Program) -> Groups:
    """A group for each block."""
    return tuple((index,) for index in range(len(program.graph.blocks)))


def small_together(program: Program) -> Groups:
    """Groups of the small blocks that lead to each other, each placed where its first block is."""
    blocks = program.graph.blocks
    place = {block.name: index for index, block in enumerate(blocks)}
    calls = CallFrames(program)
    small = {index for index, block in enumerate(blocks) if is_small(calls, block)}
    first = list(range(len(blocks)))  # for each block, the index of the first block of its group
    for index in sorted(small):
        for name in blocks[index].successors:
            other = place.get(name)
            if other in small:
                low, high = sorted((first[index], first[other]))
                first = [low if f == high else f for f in first]
    return tuple(tuple(i for i, f in enumerate(first) if f == head) for head in dict.fromkeys(first))


def is_small(calls: CallFrames, block: Block) -> bool:
    """Whether a block has few operations on few elements, and touches no stack."""
    program = calls.program
    if block.sync or any(program.alloc(v) is Alloc.FULL for v in calls.moved(block)):
        return False
    changed = {v for op in block.ops for v in op.defs if program.alloc(v) in STORED}
    stored = sum(elements(program.var_defs[v]) for v in changed)
    return block_cost(program, block) + stored <= MOST_OPERATIONS_OF_A_SMALL_BLOCK
