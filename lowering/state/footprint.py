"""A block -> the slots of the state (arrays that the loop carries) that it reads and writes.

A slot that a block does not touch is never an operand of the loop around the block (``turn.py``), and XLA copies
nothing of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from hlobatch.ir.ops import LogOp, Op, PrimOp, PushGotoOp, PushOp
from hlobatch.ir.program import STORED, Block
from hlobatch.ir.program import VariableAllocation as Alloc
from hlobatch.lowering.state.captures import Captures
from hlobatch.lowering.state.layout import ACTIVE, EXECUTIONS, FATE, ITEM, LOG, LOGGED, PC, STEPS, Layout


def capture_slot(position: int) -> str:
    """The name under which a captured array is passed to blocks."""
    return f"capture#{position}"


@dataclass(frozen=True)
class Footprint:
    """The slots of one block.

    Attributes:
        index: Program counter of the block.
        block: The block.
        layout: The state.
        captures: The program's captured arrays.
    """

    index: int
    block: Block
    layout: Layout
    captures: Captures

    @cached_property
    def pushed(self) -> list[str]:
        """Variables that the block pushes, each as often as it is pushed."""
        pushes = [op for op in self.ops if isinstance(op, (PushOp, PushGotoOp))]
        return [v for op in pushes for v in self.moved_by(op)]

    @cached_property
    def rising(self) -> Mapping[str, int]:
        """By pointer, the number of free rows that a lane needs to run the block."""
        calls, layout = self.layout.calls, self.layout
        found = {layout.pointer(v): n for v, n in Counter(self.pushed).items() if not calls.is_framed(v)}
        up = calls.moved_up(self.block)
        return found if up is None else {**found, layout.pointer(up): 1}

    def moved_by(self, op: Op) -> tuple[str, ...]:
        """Variables whose stack an operation of the block pushes to or pops from."""
        return tuple(v for v in self.layout.calls.moves(op) if self.is_full(v))

    def is_full(self, variable: str) -> bool:
        """Whether a variable has a stack."""
        return self.layout.program.alloc(variable) is Alloc.FULL

    @cached_property
    def reads(self) -> tuple[str, ...]:
        """Slots the block needs."""
        names = dict.fromkeys([PC, *self._bookkeeping])
        for op in (*self.ops, *self.block.asks):
            names.update(dict.fromkeys(self.slots_of(op)))
        names.update(dict.fromkeys(self._pointers))
        for variable in self._stacks_touched:
            names.update(dict.fromkeys(self.layout.frames(variable)))
        return tuple(names)

    def slots_of(self, op: Op) -> Iterator[str]:
        """Slots that an operation needs, besides stacks."""
        for variable in (*op.uses, *op.defs):
            if self.layout.program.alloc(variable) in (*STORED, Alloc.SHARED):
                yield from self.layout.tops(variable)
        looks_up = not self.layout.tables.isdisjoint(op.uses)
        if self.layout.queue and (looks_up or isinstance(op, LogOp)):
            yield ITEM
        if isinstance(op, LogOp):
            yield from (LOG, LOGGED)
        if isinstance(op, PrimOp):
            yield from map(capture_slot, sorted(self.captures.used_by(op)))

    @cached_property
    def writes(self) -> tuple[str, ...]:
        """Slots the block changes, in the order it gives them back."""
        program = self.layout.program
        names: dict[str, None] = dict.fromkeys([PC, *self._bookkeeping])
        for op in self.ops:
            for variable in op.defs:
                if program.alloc(variable) in STORED:
                    names.update(dict.fromkeys(self.layout.tops(variable)))
        names.update(dict.fromkeys(self._pointers))
        for variable in self.pushed:
            names.update(dict.fromkeys(self.layout.frames(variable)))
        names.update(dict.fromkeys((LOG, LOGGED) if self.logged else ()))
        return tuple(names)

    @property
    def _bookkeeping(self) -> list[str]:
        layout = self.layout
        stops = layout.max_steps is not None or (bool(self.rising) and not layout.grows)
        counts = [slot for slot in (STEPS, EXECUTIONS, ACTIVE) if slot in layout.slots]
        return [FATE, *counts] if stops else counts

    @cached_property
    def ops(self) -> Sequence[Op]:
        """The operations that run inside the loop, with pushes and pops of frames joined by ``CallFrames.moving``."""
        return self.layout.calls.moving(self.block, self.layout.program.ops_in_loop(self.block))

    @cached_property
    def logged(self) -> int:
        """How many entries the block writes to the log of each lane."""
        return sum(isinstance(op, LogOp) for op in self.ops)

    @property
    def _pointers(self) -> list[str]:
        calls, block = self.layout.calls, self.block
        frames = [counter for counter in (calls.released(block), calls.acquired(block)) if counter is not None]
        return [self.layout.pointer(v) for v in (*frames, *self._stacks_touched)]

    @cached_property
    def _stacks_touched(self) -> list[str]:
        return list(dict.fromkeys(v for op in self.ops for v in self.moved_by(op)))
