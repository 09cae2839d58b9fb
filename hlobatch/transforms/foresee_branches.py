"""Copies a branch for paths on which its outcome is known, so that they skip it (jump threading).

::

    entry:                                   entry:
      %err = prim "inf" ()                     %err = prim "inf" ()
      jump while                               jump while.2
    while:                                   while.2:
      %c = prim "err > 0.1" (%err)             %c = prim "err > 0.1" (%err)
      branch %c, body, after                   jump body
    body:                               ==>  while:
      %new = prim "step(x)" (%x)               %c = prim "err > 0.1" (%err)
      %err = prim "abs(new - x)" (%new, %x)    branch %c, body, after
      jump while                             body:
    after:                                     …
      %$result = prim "new" (%new)

After this, a loop whose condition is known to hold at first gives a value to the variables that its body assigns. The
copies are additional blocks, so this is done only where a variable would have no value otherwise. It runs on a program
whose types are known, before primitives are specialized.

Reference: jump threading; Mueller and Whalley, Avoiding conditional branches by code replication (PLDI 1995).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hlobatch.analysis.known_values import Known, KnownValues
from hlobatch.ir.names import unused
from hlobatch.ir.ops import BranchOp, FunctionCallOp, GotoOp, renaming
from hlobatch.ir.program import Block, ControlFlowGraph, Function
from hlobatch.ir.types import Static, Type
from hlobatch.transforms.simplify_cfg import reachable

Way = list[tuple[Block, str]]
"""A path: blocks, each with the successor that control goes to next."""


def foresee_branches(function: Function, types: Mapping[str, Type]) -> Function:
    """The function with branches copied for the paths on which their outcome is known.

    Args:
        function: A function whose primitives still run the user's Python.
        types: Types of the variables.
    """
    values, graph = KnownValues(types), function.graph
    at_ends = values.at_ends(graph)
    taken = {block.name for block in graph}

    def with_copies(block: Block) -> Iterator[Block]:
        known = at_ends.get(block.name)
        ways = {} if known is None else {name: _way(graph, values, name, known) for name in block.successors}
        copies = {name: _copies(way, taken) for name, way in ways.items() if way}
        onward = renaming({name: made[0].name for name, made in copies.items()})
        yield block.retarget(onward)
        for made in copies.values():
            yield from made

    return function.replace(graph=reachable(graph.expand_blocks(with_copies)))


def _way(graph: ControlFlowGraph, values: KnownValues, name: str, known: Known) -> Way:
    """The path that control takes from a block, up to the last branch with a known outcome; empty if there is none."""
    way: Way = []
    decided = 0
    while name in graph and all(block.name != name for block, _ in way):
        block = graph.block(name)
        if any(isinstance(op, FunctionCallOp) for op in block.instructions):
            break
        known = values.after(block, known)
        onward = _next(block, values, known)
        if onward is None:
            break
        way.append((block, onward))
        decided = len(way) if isinstance(block.terminator, BranchOp) else decided
        name = onward
    return way[:decided]


def _next(block: Block, values: KnownValues, known: Known) -> str | None:
    """The successor that control goes to from a block; None if that is not known."""
    terminator = block.terminator
    if isinstance(terminator, GotoOp):
        return terminator.block
    condition = values.of(terminator.cond_var, known) if isinstance(terminator, BranchOp) else None
    leaf = condition.leaves[0] if condition is not None and condition.leaves else None
    if not isinstance(terminator, BranchOp) or not isinstance(leaf, Static):
        return None
    return terminator.true_block if leaf.value else terminator.false_block


def _copies(way: Way, taken: set[str]) -> list[Block]:
    """Copies of the blocks of a path, each of which jumps to the next."""
    names: list[str] = []
    for block, _ in way:
        names.append(unused(block.name, taken, separator="."))
        taken.add(names[-1])
    ends = [*names[1:], way[-1][1]]
    return [
        block.replace(name=name, terminator=GotoOp(end, location=block.location))
        for (block, _), name, end in zip(way, names, ends, strict=True)
    ]
