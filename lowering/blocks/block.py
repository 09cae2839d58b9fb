"""A block -> a function on the state of a run, for all lanes that wait at the block.

::

    fib.after_fib.return:                 mask  = pc == 4
      pop %l                              l.ptr = l.ptr - mask;  l = where(mask, l.frames[l.ptr], l)
      %r = prim "l + r" (%l, %r)   ==>    r     = where(mask, l + r, r)
      return by %fib.$return              pc    = where(mask, $return, pc);  pop $return

The function takes the slots (arrays of the state) that the block reads and gives back those that it writes. A slot that
the block does not touch is never an operand of the loop or branch that the function is called in, so XLA copies nothing
of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hlobatch.ir.ops import PrimOp
from hlobatch.ir.physical import array_count
from hlobatch.jax_primitives import UPDATES
from hlobatch.lowering.blocks.block_run import BlockRun
from hlobatch.lowering.blocks.compaction import Everyone, Widths
from hlobatch.lowering.blocks.primitives import needs_real_inputs
from hlobatch.lowering.state.captures import Captures
from hlobatch.lowering.state.footprint import Footprint
from hlobatch.lowering.state.layout import PC, Layout


@dataclass(frozen=True)
class BlockFunction(Footprint):
    """One block as a function on slots.

    Attributes:
        widths: Widths of narrower arrays that its primitives run on if few enough lanes wait at it, ascending.
        in_place: Whether arrays of which a primitive changes a part are updated in place.
    """

    widths: tuple[int, ...] = ()
    in_place: bool = True

    @cached_property
    def updated(self) -> frozenset[str]:
        """Variables with an array that the block updates in place."""
        primitives = [op for op in self.ops if isinstance(op, PrimOp) and self._may_update(op)]
        return frozenset(v for op in primitives for v in op.vars_out if v in op.vars_in and any(self._places(v)))

    def targets(self, op: PrimOp) -> dict[int, int]:
        """By the position of a result that is written to the slot of an argument, that argument's position.

        Only such results may be updates in place. Empty if the primitive updates nothing.
        """
        if not self._may_update(op):
            return {}
        given = [slot for v in op.vars_in for slot in self._places(v)]
        positions = {slot: i for i, slot in enumerate(given) if slot is not None}
        results = [slot for v in op.vars_out for slot in self._places(v)]
        return {i: positions[slot] for i, slot in enumerate(results) if slot in positions}

    def _may_update(self, op: PrimOp) -> bool:
        return self.in_place and not needs_real_inputs(op) and not UPDATES.isdisjoint(op.code.primitives)

    def _places(self, variable: str) -> Sequence[str | None]:
        """The slots of a variable's arrays; None for one that is not stored, is summed, or has one number per lane."""
        layout = self.layout
        if not layout.is_stored(variable) or variable in layout.summed:
            return [None] * array_count(layout.program.var_defs[variable])
        return [top if layout.slots[top].ndim > 1 else None for top in layout.tops(variable)]

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        """The values of the slots written, given those of the slots read; only lanes that wait at the block change."""
        slots = dict(zip(self.reads, values, strict=True))
        return BlockRun(self, slots, Everyone(slots[PC] == self.index)).result()


def block_functions(
    layout: Layout, captures: Captures, widths: Widths, *, in_place: bool = True
) -> list[BlockFunction]:
    """The functions of all blocks, in program order; ``widths`` by index."""
    graph = layout.program.graph
    return [BlockFunction(i, block, layout, captures, widths.get(i, ()), in_place) for i, block in enumerate(graph)]
