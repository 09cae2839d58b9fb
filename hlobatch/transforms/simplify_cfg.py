"""Merges straight lines and identical blocks, threads jumps, turns tail calls into jumps, drops unreachable blocks.

::

    a:                      a:
      %x = prim "1" ()        %x = prim "1" ()
      jump b           ==>    %y = prim "2" ()
    b:                        halt
      %y = prim "2" ()
      jump c
    c:
      halt

A tail call, whose caller does nothing after it but return, becomes a jump: the callee returns in the caller's place. A
call in the entry block after which the program only halts becomes a jump, too: no other call is under way then, and a
function that returns with no return address left halts.

::

    a:                                                  a:
      push_jump f, return to b by %f.$return     ==>      jump f
    b:
      return by %f.$return

Blocks that end in a call, and blocks marked by ``hb.sync()``, are not merged with the blocks after or before them. The
first block stays the entry, and the order of the remaining blocks does not change.
"""

from __future__ import annotations

import collections
from collections.abc import Collection
from functools import partial
from typing import Any

from hlobatch.analysis import machine_flow
from hlobatch.ir.ops import HALT, BranchOp, FunctionCallOp, GotoOp, IndirectGotoOp, PushGotoOp, Terminator, renaming
from hlobatch.ir.program import Block, ControlFlowGraph, Program, VariableAllocation


def simplify_cfg(program: Program) -> Program:
    """The program with every graph simplified."""
    counters = {op.counter for op in program.ops if isinstance(op, PushGotoOp)}
    stacked = frozenset(v for v in counters if program.alloc(v) is VariableAllocation.FULL)
    simplified = program.map_graphs(partial(simplify_graph, stacked=stacked))
    return program if simplified == program else simplified


def simplify_graph(graph: ControlFlowGraph, stacked: Collection[str] = ()) -> ControlFlowGraph:
    """One graph, simplified until nothing changes.

    Args:
        graph: The graph.
        stacked: Return address variables that have a stack. If there are any, blocks that only return are often
            identical.
    """
    while True:
        before = graph
        graph = merge_alike(graph) if stacked else graph
        graph = merge_lines(reachable(without_empty_entry(thread_jumps(graph, stacked))))
        if graph == before:
            return before


def merge_alike(graph: ControlFlowGraph) -> ControlFlowGraph:
    """Send control to the first of several blocks with the same instructions and terminator."""
    first: dict[Any, str] = {}
    name_of = {
        block.name: first.setdefault((block.instructions, block.terminator, block.sync), block.name) for block in graph
    }
    if len(first) == len(name_of):
        return graph
    return graph.map_blocks(lambda block: block.retarget(renaming(name_of)))


def thread_jumps(graph: ControlFlowGraph, stacked: Collection[str] = ()) -> ControlFlowGraph:
    """Thread jumps to empty blocks, and turn branches with equal targets and tail calls into jumps.

    A tail call becomes a jump only if the return address has a stack: a return does not restore an address in a
    register, so that a call has to set it.
    """
    entry = graph.enter_block().name
    onward = {
        block.name: block.terminator.block
        for block in graph
        if not block.instructions and isinstance(block.terminator, GotoOp) and not block.sync and block.name != entry
    }

    def final(name: str) -> str:
        seen = set()
        while name in onward and name not in seen:
            seen.add(name)
            name = onward[name]
        return name

    def returns_for(block: Block, call: PushGotoOp) -> bool:
        """Whether the callee may return in the block's place, because nothing is left to do after the call."""
        back = graph.block(call.push_block)
        is_last = back.ops == (IndirectGotoOp(call.counter),)
        if block.name == entry and not any(entry in other.terminator.targets for other in graph):
            is_last = is_last or back.ops == (GotoOp(HALT),)
        return is_last and not back.sync and call.counter in stacked

    def threaded(block: Block) -> Terminator:
        terminator = block.terminator
        if isinstance(terminator, PushGotoOp):
            if returns_for(block, terminator):
                return GotoOp(final(terminator.goto_block), location=terminator.location)
            # A call cannot return to HALT, which is no block
            return terminator.retarget(lambda name: name if final(name) == HALT else final(name))
        terminator = terminator.retarget(final)
        if isinstance(terminator, BranchOp) and terminator.true_block == terminator.false_block:
            return GotoOp(terminator.true_block, location=terminator.location)
        return terminator

    return graph.map_blocks(lambda block: block.replace(terminator=threaded(block)))


def without_empty_entry(graph: ControlFlowGraph) -> ControlFlowGraph:
    """The graph without its first block if that only jumps to the second."""
    first, *rest = graph.blocks
    if first.instructions or not rest or first.terminator.successors != (rest[0].name,):
        return graph
    is_target = any(first.name in block.terminator.targets for block in graph)
    if not isinstance(first.terminator, GotoOp) or is_target:
        return graph
    return ControlFlowGraph(tuple(rest))


def reachable(graph: ControlFlowGraph) -> ControlFlowGraph:
    """The graph without blocks that cannot be reached from the entry."""
    reached = machine_flow.reachable({block.name: block.targets for block in graph}, [graph.enter_block().name])
    return graph.expand_blocks(lambda block: (block,) if block.name in reached else ())


def merge_lines(graph: ControlFlowGraph) -> ControlFlowGraph:
    """Append each block that has a single predecessor, which only jumps to it, to that predecessor."""
    entries = collections.Counter(t for block in graph for t in block.terminator.targets)
    entries[graph.enter_block().name] += 1
    merged: dict[str, Block] = {block.name: block for block in graph}
    for name in [block.name for block in graph]:
        while name in merged and (follower := _follower(merged, name, entries)) is not None:
            block = merged[name]
            instructions = (*block.instructions, *follower.instructions)
            merged[name] = block.replace(instructions=instructions, terminator=follower.terminator)
            del merged[follower.name]
    return ControlFlowGraph(tuple(merged.values()))


def _follower(blocks: dict[str, Block], name: str, entries: collections.Counter[str]) -> Block | None:
    """The block that can be appended to the named one; None if there is none."""
    block = blocks[name]
    if not isinstance(block.terminator, GotoOp) or block.terminator.block in (HALT, name):
        return None
    if block.instructions and isinstance(block.instructions[-1], FunctionCallOp):
        return None
    target = blocks.get(block.terminator.block)
    if target is None or entries[target.name] != 1 or target.sync:
        return None
    return target
