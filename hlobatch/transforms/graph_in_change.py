"""A control-flow graph that is kept simplified while its blocks are replaced one by one.

A replacement lets only blocks near it be merged, threaded or dropped, and only these are looked at. The result is what
``simplify_graph`` of ``simplify_cfg.py`` would give after each replacement, so a pass that replaces many blocks takes
time in proportion to their number. Calls are not lowered yet.
"""

from __future__ import annotations

from hlobatch.ir.ops import HALT, BranchOp, FunctionCallOp, GotoOp
from hlobatch.ir.program import Block, ControlFlowGraph


class GraphInChange:
    """A graph that is simplified as its blocks are replaced.

    Attributes:
        blocks: Its blocks by name, in order.
        sources: For each block and for ``HALT``, its predecessors.
    """

    def __init__(self, graph: ControlFlowGraph) -> None:
        self.blocks = {block.name: block for block in graph}
        self.sources = {name: dict.fromkeys(sources) for name, sources in graph.predecessors.items()}
        self._entry = graph.enter_block().name
        self._changed: dict[str, None] = {}

    @property
    def graph(self) -> ControlFlowGraph:
        """The graph as it is now."""
        return ControlFlowGraph(tuple(self.blocks.values()))

    def is_only_from(self, name: str, source: str) -> bool:
        """Whether a block has ``source`` as its only predecessor."""
        return [*self.sources[name]] == [source]

    def replace(self, block: Block) -> list[str]:
        """Replace the block of the same name; returns the blocks that changed or lost predecessors by it."""
        self._changed = {}
        self._put(block)
        self._settle(block.name)
        return [name for name in self._changed if name in self.blocks]

    def _put(self, block: Block) -> None:
        before = self.blocks[block.name]
        self.blocks[block.name] = block
        self._changed[block.name] = None
        for name in block.successors:
            self.sources[name][block.name] = None
        for name in before.successors:
            if name not in block.successors:
                self._unlink(name, block.name)

    def _unlink(self, name: str, source: str) -> None:
        del self.sources[name][source]
        if name == HALT:
            return
        self._changed.update(dict.fromkeys(self.sources[name]) if len(self.sources[name]) == 1 else {})
        if not self.sources[name] and name != self._entry:
            self._drop(name)

    def _drop(self, name: str) -> None:
        for successor in self.blocks.pop(name).successors:
            self._unlink(successor, name)

    def _settle(self, name: str) -> None:
        """Simplify around a block that has changed, or whose successor has."""
        block = self.blocks[name]
        end = block.terminator
        if isinstance(end, BranchOp) and end.true_block == end.false_block:
            end = GotoOp(end.true_block, location=end.location)
            block = block.replace(terminator=end)
            self._put(block)
        if not isinstance(end, GotoOp) or end.block == name:
            return
        if not block.instructions and not block.sync and name != self._entry:
            self._thread(block, end.block)
        elif self._is_empty_entry(block, end.block):
            self._entry = end.block
            self._drop(name)
        elif self._may_follow(block, end.block):
            follower = self.blocks[end.block]
            instructions = (*block.instructions, *follower.instructions)
            self._put(block.replace(instructions=instructions, terminator=follower.terminator))
            self._settle(name)

    def _thread(self, block: Block, target: str) -> None:
        """Send control past an empty block to its successor."""
        sources = [*self.sources[block.name]]
        for source in sources:
            self._put(self.blocks[source].retarget(lambda name: target if name == block.name else name))
        for source in sources:
            if source in self.blocks:
                self._settle(source)

    def _is_empty_entry(self, block: Block, target: str) -> bool:
        """Whether a block is the entry, has no predecessor, and does nothing but go to the second block."""
        if block.name != self._entry or block.instructions or self.sources[block.name]:
            return False
        return [*self.blocks][:2] == [block.name, target]

    def _may_follow(self, block: Block, name: str) -> bool:
        """Whether the named block may be appended to one that jumps to it."""
        if name in (HALT, self._entry) or not self.is_only_from(name, block.name):
            return False
        return not self.blocks[name].sync and not (
            block.instructions and isinstance(block.instructions[-1], FunctionCallOp)
        )
