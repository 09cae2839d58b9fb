"""Tests the condition of a loop at the end of a turn (loop rotation): one block less to run in each turn.

::

    a:                                   a:
      jump head                            %c = prim "x < 9" (%x)
    head:                                  branch %c, body, after
      %c = prim "x < 9" (%x)       ==>   body:
      branch %c, body, after               %x = prim "x + 1" (%x)
    body:                                  %c = prim "x < 9" (%x)
      %x = prim "x + 1" (%x)               branch %c, body, after
      jump head

The head of the loop, which tests the condition, is copied to the block before the loop and to the end of its body. It
has to be cheap, and to have just two predecessors: one outside the loop, or the function's entry, and one in the loop.
"""

from __future__ import annotations

from functools import partial

from hlobatch.analysis import machine_flow
from hlobatch.analysis.cost import block_cost
from hlobatch.ir.ops import BranchOp, FunctionCallOp, GotoOp, PrimOp
from hlobatch.ir.program import Block, ControlFlowGraph, Program
from hlobatch.transforms.if_conversion import MOST_OPERATIONS_SELECTED
from hlobatch.transforms.simplify_cfg import simplify_graph

_WAYS = 2


def rotate_loops(program: Program) -> Program:
    """The typed program with calls, with loop conditions tested at the end of the body."""
    rotated = program.map_graphs(partial(_rotated, program))
    return program if rotated == program else rotated


def _rotated(program: Program, graph: ControlFlowGraph) -> ControlFlowGraph:
    heads = {block.name for block in graph if _is_head(program, graph, block)}
    return simplify_graph(graph.map_blocks(lambda block: _with_head(graph, block, heads))) if heads else graph


def _is_head(program: Program, graph: ControlFlowGraph, block: Block) -> bool:
    """Whether a block is a cheap loop condition with two plain jumps to it, one of which comes from its own loop."""
    before = graph.predecessors[block.name]
    if block.sync or len(before) + (block is graph.enter_block()) != _WAYS:
        return False
    plain = all(isinstance(op, PrimOp) for op in block.instructions) and isinstance(block.terminator, BranchOp)
    jumps = all(_is_plain_jump(graph.block(name)) for name in before)
    cheap = block_cost(program, block) <= MOST_OPERATIONS_SELECTED
    return plain and jumps and block.name not in before and cheap and _in_loop(graph, block)


def _is_plain_jump(block: Block) -> bool:
    ends_in_call = bool(block.instructions) and isinstance(block.instructions[-1], FunctionCallOp)
    return isinstance(block.terminator, GotoOp) and not ends_in_call


def _in_loop(graph: ControlFlowGraph, block: Block) -> bool:
    onward = {each.name: each.terminator.successors for each in graph}
    return block.name in machine_flow.reachable(onward, onward[block.name])


def _with_head(graph: ControlFlowGraph, block: Block, heads: set[str]) -> Block:
    """The block with the condition of the loop head that it jumps to tested in place of the jump."""
    if not isinstance(block.terminator, GotoOp) or block.terminator.block not in heads:
        return block
    head = graph.block(block.terminator.block)
    return block.replace(instructions=(*block.instructions, *head.instructions), terminator=head.terminator)
