"""Puts some primitives of a program with explicit stacks into blocks of their own, so that lanes can wait before them.

::

    body:                                        body:
      %x = prim "x + 1" (%x)                       %x = prim "x + 1" (%x)
      %g = prim "gradient(x)" (%x)       ==>       jump body.errand
      %x = prim "x - g" (%x, %g)                 body.errand:
      jump head                                    %g = prim "gradient(x)" (%x)
                                                   jump body.after
                                                 body.after:
                                                   %x = prim "x - g" (%x, %g)
                                                   jump head

What is computed once for all lanes stays at the beginning of the program.
"""

from __future__ import annotations

from collections.abc import Callable

from hlobatch.analysis.allocation import allocate
from hlobatch.ir.names import NewNames
from hlobatch.ir.ops import GotoOp, Op, PrimOp
from hlobatch.ir.program import Block, Program


def set_apart(program: Program, wanted: Callable[[PrimOp], bool]) -> tuple[Program, tuple[str, ...]]:
    """The program with each wanted primitive in a block of its own, and the names of these blocks."""
    fresh, found = NewNames(block.name for block in program.graph), list[str]()

    def parts(block: Block) -> list[Block]:
        blocks, name, ops = list[Block](), block.name, list[Op]()
        once = [op for op in block.instructions if program.is_computed_once(op)]
        for op in (*once, *(op for op in block.instructions if not program.is_computed_once(op))):
            if not isinstance(op, PrimOp) or program.is_computed_once(op) or not wanted(op):
                ops.append(op)
                continue
            alone, after = fresh(f"{block.name}.errand"), fresh(f"{block.name}.after")
            blocks.append(Block(name, tuple(ops), GotoOp(alone), block.location, block.sync and not blocks))
            blocks.append(Block(alone, (op,), GotoOp(after), op.location))
            found.append(alone)
            name, ops = after, []
        return [*blocks, block.replace(name=name, instructions=tuple(ops), sync=block.sync and not blocks)]

    graph = program.graph.expand_blocks(parts)
    return (allocate(program.replace(graph=graph)), tuple(found)) if found else (program, ())
