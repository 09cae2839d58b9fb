"""Operations, one after another -> basic blocks.

Invariant: a ``FunctionCallOp`` is the last instruction of its block, so that what lives across a call is what lives at
the end of a block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from hlobatch.diagnostics import UNKNOWN, Location
from hlobatch.ir.ops import HALT, FunctionCallOp, GotoOp, Op, Terminator
from hlobatch.ir.program import Block, ControlFlowGraph


@dataclass
class BlockBuilder:
    """Collects the blocks of one function in source order.

    Attributes:
        blocks: The blocks that are closed.
        before_end: Called before control leaves the open block, also for a callee.
    """

    blocks: list[Block] = field(default_factory=list)
    before_end: Callable[[], None] | None = None
    _taken: set[str] = field(default_factory=set)
    _open: str | None = None
    _ops: list[Op] = field(default_factory=list)
    _location: Location = UNKNOWN
    _sync: bool = False

    def name(self, stem: str) -> str:
        """A block name not given out before."""
        name, count = stem, 1
        while name in self._taken:
            count += 1
            name = f"{stem}.{count}"
        self._taken.add(name)
        return name

    @property
    def is_open(self) -> bool:
        """Whether control can reach the code that comes next."""
        return self._open is not None

    def start(self, name: str, location: Location, sync: bool = False) -> None:
        """Begin a block; control falls into it from an open one."""
        if self._open is not None:
            self.end(GotoOp(name, location=location))
        self._open, self._ops, self._location, self._sync = name, [], location, sync

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """A context that drops the blocks and operations that were added in it if an error leaves it."""
        before = len(self.blocks), self._open, list(self._ops), self._location, self._sync
        try:
            yield
        except BaseException:
            count, self._open, self._ops, self._location, self._sync = before
            del self.blocks[count:]
            raise

    def finish(self) -> None:
        """Call ``before_end`` at the end of the open block, before the host or a callee may run."""
        if self._open is not None and self.before_end is not None:
            self.before_end()

    def add(self, op: Op) -> None:
        """Append an operation to the open block, if control can reach it."""
        if not self.is_open:
            return
        if isinstance(op, FunctionCallOp):
            self.finish()
        self._ops.append(op)
        if isinstance(op, FunctionCallOp):
            self.start(self.name(f"after_{op.function}"), op.location)

    def end(self, terminator: Terminator) -> None:
        """Close the open block; code that comes next is unreachable until a block starts."""
        self.finish()
        if self._open is None:
            return
        block = Block(self._open, tuple(self._ops), terminator, self._location, self._sync)
        self.blocks.append(block)
        self._open = None

    def is_reached(self, name: str) -> bool:
        """Whether a block so far goes to one of this name."""
        return any(name in block.terminator.successors for block in self.blocks)

    def returns(self, but: str | None) -> bool:
        """Whether some reachable block other than ``but``, if there is one, returns from the function."""
        known, pending = {block.name: block for block in self.blocks}, [self.blocks[0].name]
        while pending:
            block = known.pop(pending.pop(), None)
            if block is None or block.name == but:
                continue
            if HALT in block.terminator.successors:
                return True
            pending.extend(block.terminator.successors)
        return False

    def graph(self) -> ControlFlowGraph:
        return ControlFlowGraph(tuple(self.blocks))
