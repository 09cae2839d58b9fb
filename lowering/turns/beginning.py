"""The entry block, if no lane comes back to it -> the values that inputs begin with, computed outside of the loop.

::

    turnover:  a lane takes input i, pc = 0              a lane takes input i, steps = 0, pc = where(i > 1, 1, halt)
    in turns:  mask  = pc == 0
               steps = where(mask, 0, steps)      ==>
               pc    = where(mask, where(i > 1, 1, halt), pc)

As one of the loop's blocks, the entry block would be tested in every turn, and its results would be masked. Without a
queue, it runs once, for all lanes, before the loop. With a queue, an entry block of a few operations on numbers runs
for the one lane that takes an input, as part of the turnover (``exchange.py``). One that costs much and gives back
little runs for all inputs before the loop, in a kernel of its own, which XLA compiles beside that of the loop.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import jax
import jax.numpy as jnp

from hlobatch.analysis.block_groups import Groups, is_small
from hlobatch.analysis.cost import block_cost
from hlobatch.analysis.machine_flow import never_goes_back, onward
from hlobatch.ir.ops import PrimOp
from hlobatch.ir.physical import elements
from hlobatch.ir.program import STORED
from hlobatch.lowering.arrays.rows import rows_of, with_rows
from hlobatch.lowering.blocks.block import BlockFunction
from hlobatch.lowering.blocks.primitives import needs_real_inputs
from hlobatch.lowering.state.captures import Captures
from hlobatch.lowering.state.layout import ITEM, Layout, Slots
from hlobatch.transforms.lower_calls import return_addresses

LEAST_OPERATIONS_AHEAD: Final = 1_000.0
"""Operations per lane from which a first block is run for all inputs ahead of the run, in a kernel of its own. With it,
quadrature, whose first block computes three values of the integrand, ran in 0.90 of the time (2026-11)."""
LEAST_OPERATIONS_AHEAD_A_NUMBER: Final = 128.0
"""Operations of such a block for each number that it gives back, at least: what is computed ahead of the run goes to
memory, for all inputs. Chosen by judgement (2026-11), not measured."""


@dataclass(frozen=True)
class Beginning:
    """The entry block, run outside of the loop.

    Attributes:
        block: The entry block.
        is_ahead: Whether it runs for all inputs before the loop.
    """

    block: BlockFunction
    is_ahead: bool

    @cached_property
    def reads(self) -> list[str]:
        """Slots that the block reads beside the state: shared values and captured arrays."""
        return [slot for slot in self.block.reads if slot not in self.block.layout.slots]

    @property
    def writes(self) -> tuple[str, ...]:
        """Slots that an input begins with; the first of them is the program counter that the entry block gives it."""
        return self.block.writes

    def __call__(self, given: Slots, lanes: int) -> Slots:
        """The slots after the block, for lanes that all stand at it; slots that are not given are blank."""
        slots = {slot: given[slot] if slot in given else self._blank(slot, lanes) for slot in self.block.reads}
        return dict(zip(self.writes, self.block.for_all(slots, lanes), strict=True))

    def _blank(self, slot: str, lanes: int) -> Any:
        """A slot's array for lanes that have not begun: return addresses are where a run ends, all else is 0."""
        layout = self.block.layout
        aval = layout.slots[slot]
        ends = {top for counter in return_addresses(layout.program) for top in layout.tops(counter)}
        first = layout.leave if slot in ends else 0
        return jnp.full(layout.of_lanes(layout.event(aval), lanes), first, aval.dtype)

    def of_all(self, inputs: Slots, fixed: Slots) -> list[Any]:
        """The slots after the block for all inputs, ``[inputs, *event]``, computed for a batch of lanes at a time."""
        layout = self.block.layout
        axis, count, size = layout.lane_axis, layout.inputs, layout.lanes

        def some(start: Any) -> list[Any]:
            given = {slot: jnp.moveaxis(rows_of(array, start, size), 0, axis) for slot, array in inputs.items()}
            given[ITEM] = start + jnp.arange(size, dtype=jnp.int32)
            return [jnp.moveaxis(array, axis, 0) for array in self({**fixed, **given}, size).values()]

        def more(i: Any, found: list[Any]) -> list[Any]:
            start = jnp.minimum(i * size, count - size)  # the last part overlaps the one before, to have full size
            return [with_rows(array, new, start) for array, new in zip(found, some(start), strict=True)]

        avals = jax.eval_shape(some, jnp.int32(0))
        blank = [jnp.zeros((count, *aval.shape[1:]), aval.dtype) for aval in avals]
        found: list[Any] = jax.lax.fori_loop(jnp.int32(0), jnp.int32(-(-count // size)), more, blank)
        return found


def beginning_of(layout: Layout, captures: Captures, groups: Groups) -> Beginning | None:
    """The entry block as it is run outside of the loop; None if it stays in the loop.

    The entry block stays in the loop if a lane may come back to it, if it moves a stack, if executions of blocks are
    counted, or if it is neither cheap enough for the turnover nor expensive enough to be a kernel of its own.
    """
    program = layout.program
    first = program.graph.enter_block()
    is_alone = layout.idiom.is_one_kernel and groups[0] == (0,) and not layout.stats and layout.max_steps is None
    comes_back = any(first.name in places for places in onward(program).values())
    if not is_alone or comes_back or never_goes_back(program):
        return None
    chosen = replace(layout, idiom=replace(layout.idiom, by_bits=False))
    block = BlockFunction(0, first, chosen, captures, in_place=False)
    if block.moves_stacks or block.logged or any(isinstance(op, PrimOp) and needs_real_inputs(op) for op in block.ops):
        return None
    if not layout.queue or is_small(layout.calls, first):
        return Beginning(block, is_ahead=False)
    changed = {v for op in block.ops for v in op.defs if program.alloc(v) in STORED}
    results = sum(elements(program.var_defs[v]) for v in changed)
    is_dear = block_cost(program, first) >= max(LEAST_OPERATIONS_AHEAD, LEAST_OPERATIONS_AHEAD_A_NUMBER * results)
    return Beginning(block, is_ahead=True) if is_dear else None
