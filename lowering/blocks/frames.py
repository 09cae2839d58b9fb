"""The pushes and pops of a block, and the state -> stacks, stack pointers and tops after them.

::

    push %n     n.frames = n.frames with row n.ptr = n, in lanes of the mask;  n.ptr = n.ptr + mask
    pop %n      n.ptr = n.ptr - mask;  n = where(mask, row n.ptr of n.frames, n)

Variables that are always pushed and popped together have one stack pointer, and are moved together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp

from hlobatch.lowering.arrays.stacks import moved_down, pop_at_once, push_at_once
from hlobatch.lowering.state.footprint import Footprint
from hlobatch.lowering.state.layout import Slots
from hlobatch.typing import ArrayLike


@dataclass
class Frames:
    """The stacks while one block runs: each method takes slots of the state and gives back those that it changes.

    Attributes:
        block: The slots that the block reads and writes.
        rows: By pointer, the row of the frame that the block restores or saves; empty if it does neither.
    """

    block: Footprint
    rows: dict[str, Any] = field(default_factory=dict)

    def full(self, slots: Slots) -> Any | None:
        """The lanes whose stacks are too full for the block's pushes; None if the block pushes nothing."""
        full = None
        for pointer, count in self.block.rising.items():
            over = slots[pointer] + count > self.block.layout.depth_of(pointer.removesuffix(".pointer"))
            full = over if full is None else full | over
        return full

    def take_and_leave(self, slots: Slots, mask: ArrayLike) -> Slots:
        """Find the row of the frame that the block restores or saves, and move the frame's pointer if need be."""
        layout, one = self.block.layout, mask.astype(jnp.int32)
        calls, changed = layout.calls, Slots()
        released, up = calls.released(self.block.block), calls.moved_up(self.block.block)
        if released is not None:
            pointer = layout.pointer(released)
            self.rows[pointer] = slots[pointer] - one
            if calls.moved_down(self.block.block) is not None:
                changed[pointer] = self.rows[pointer]
        if up is not None:
            pointer = layout.pointer(up)
            self.rows[pointer] = changed.get(pointer, slots[pointer])
            changed[pointer] = self.rows[pointer] + one
        return changed

    def push(self, variables: Sequence[str], slots: Slots, mask: ArrayLike) -> Slots:
        """Save what variables hold."""
        changed = Slots()
        for pointer, together in self._by_pointer(variables):
            now = {**slots, **changed}
            tops, stacks = self._tops_and_stacks(together, now)
            row = self.rows.get(pointer, now[pointer])
            pushed = push_at_once(list(stacks.values()), row, list(tops.values()), mask)
            changed.update(zip(stacks, pushed, strict=True))
            if pointer not in self.rows:
                changed[pointer] = now[pointer] + mask.astype(jnp.int32)
        return changed

    def pop(self, variables: Sequence[str], slots: Slots, mask: ArrayLike) -> Slots:
        """Let variables hold what was saved last."""
        changed = Slots()
        for pointer, together in self._by_pointer(variables):
            now = {**slots, **changed}
            if pointer not in self.rows:
                now[pointer] = changed[pointer] = moved_down(now[pointer], mask)
            tops, stacks = self._tops_and_stacks(together, now)
            row = self.rows.get(pointer, now[pointer])
            popped = pop_at_once(list(stacks.values()), row, list(tops.values()), mask)
            changed.update(zip(tops, popped, strict=True))
        return changed

    def _tops_and_stacks(self, variables: Sequence[str], slots: Mapping[str, Any]) -> tuple[Slots, Slots]:
        """The tops and the stacks of variables with stacks, by slot."""
        tops = [slot for variable in variables for slot in self.block.layout.tops(variable)]
        stacks = [slot for variable in variables for slot in self.block.layout.frames(variable)]
        return {slot: slots[slot] for slot in tops}, {slot: slots[slot] for slot in stacks}

    def _by_pointer(self, variables: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The variables with a stack, grouped by pointer; a variable that is named twice is in two groups."""
        waiting = [v for v in variables if self.block.is_full(v)]
        while waiting:
            pointer = self.block.layout.pointer(waiting[0])
            together = tuple(dict.fromkeys(v for v in waiting if self.block.layout.pointer(v) == pointer))
            for variable in together:
                waiting.remove(variable)
            yield pointer, together
