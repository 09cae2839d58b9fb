"""Which blocks are compiled for few lanes as well (compaction), and for how many, given a layout and a target.

Two kinds of blocks may be worth it:

* A block that an input goes through once. Lanes come to it one by one, as they take inputs from a queue. It is compiled
  for few lanes if it costs more than all repeated blocks together, as drawing random numbers on entry may.
* A repeated block. Mostly the schedule lets an expensive one wait until many lanes are there, but when no input is
  left, fewer and fewer lanes are active. It is compiled for fewer lanes only if it takes very long.

Reference: stream compaction; ``lowering/blocks/compaction.py`` builds such a block.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hlobatch.analysis.call_frames import CallFrames
from hlobatch.analysis.cost import block_time, primitives_time
from hlobatch.analysis.machine_flow import repeated_blocks
from hlobatch.ir.physical import elements
from hlobatch.ir.program import Block
from hlobatch.lowering.blocks.compaction import Widths
from hlobatch.lowering.state.layout import Layout
from hlobatch.lowering.turns.schedule import Time
from hlobatch.targets.target import Target

LANES_TO_ONE: Final = 8
"""A block is compiled for this fraction of the lanes. More widths did not pay, and each compiles the block again."""
LEAST_TIMES_THE_OTHERS: Final = 4.0
"""Operations of a block, relative to all repeated blocks together, from which it is compiled for few lanes."""
LEAST_OPERATIONS_AN_ELEMENT: Final = 8.0
"""Operations per element that is moved to a narrower array and back, from which the narrower arrays pay."""
LONG_OPERATIONS: Final = (1e3, 4e6)
"""Operations of one lane, and of all lanes, from which a block takes very long on a CPU: about a third of a
millisecond, and not only because there are many lanes.
"""
PARTS_OF_LANES: Final = 3
"""A block that takes very long is compiled for 1/n, 2/n, … of the lanes, where n is this number."""


def widths(layout: Layout, target: Target) -> Widths:
    """By block, the numbers of lanes that it is compiled for besides all lanes; blocks without any are left out.

    There are none if the number of lanes is not known.
    """
    program, lanes = layout.program, layout.lanes
    if not (isinstance(lanes, int) and lanes > LANES_TO_ONE):
        return {}
    repeated, (long_for_one, long_for_all) = repeated_blocks(program), LONG_OPERATIONS
    computed = [primitives_time(program, block) for block in program.graph]
    returning = sum(taken for block, taken in zip(program.graph, computed, strict=True) if block.name in repeated)

    def found(block: Block, taken: float) -> tuple[int, ...]:
        if taken <= LEAST_OPERATIONS_AN_ELEMENT * _moved(layout, block):
            return ()
        if block.name in repeated:
            is_long = target.narrows_long_blocks and taken >= long_for_one and lanes * taken >= long_for_all
            return tuple(-(-lanes * part // PARTS_OF_LANES) for part in range(1, PARTS_OF_LANES)) if is_long else ()
        return (-(-lanes // LANES_TO_ONE),) if layout.queue and taken > LEAST_TIMES_THE_OTHERS * returning else ()

    every = map(found, program.graph, computed)
    return {index: few for index, few in enumerate(every) if few}


def times(calls: CallFrames, group: Sequence[int], lanes: int, step: float, widths: Widths) -> list[Time]:
    """The time of a group per lane, for few lanes and for more; ``step`` is the time besides that of its blocks.

    A repeated group counts with its time for all lanes, even if it is compiled for few: the schedule is to wait for
    other lanes as long as there are any.
    """
    program = calls.program
    blocks = [program.graph.blocks[index] for index in group]
    whole = step + sum(block_time(calls, block) for block in blocks)
    few = widths.get(group[0], ())
    if not few or blocks[0].name in repeated_blocks(program):
        return [Time(lanes, whole)]
    computed = primitives_time(program, blocks[0])  # a block with code for few lanes is the only one in its group
    return [*(Time(width, whole - computed * (1 - width / lanes)) for width in few), Time(lanes, whole)]


def _moved(layout: Layout, block: Block) -> int:
    """Elements per lane that the primitives of a block read and write."""
    program = layout.program
    primitives = program.primitives_in_loop(block)
    names = {v for op in primitives for v in (*op.uses, *op.defs) if layout.is_stored(v)}
    return sum(elements(program.var_defs[v]) for v in names)
