"""Inputs -> the state in which a run starts; and, with a queue, how a lane hands in a result and takes its next input.

Without a queue, lane b is input b from start to end and its results stay where they were computed. With a queue, a lane
that has finished hands in its result and takes the next input, inside the same loop, so that L lanes stay busy on N
inputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax.numpy as jnp
import numpy as np

from hlobatch.lowering.arrays.masks import masked
from hlobatch.lowering.arrays.rows import IN_BOUNDS
from hlobatch.lowering.arrays.where import where
from hlobatch.lowering.state import fates
from hlobatch.lowering.state.inputs import Inputs
from hlobatch.lowering.state.layout import FATE, HEAD, ITEM, PC, STEPS, Layout, Slots
from hlobatch.transforms.lower_calls import return_addresses
from hlobatch.typing import ArrayLike


@dataclass(frozen=True)
class Lanes:
    """How inputs enter lanes and results leave them, as functions on arrays.

    Attributes:
        layout: The state of the run.
        share: Turnover waits for one in so many lanes.
    """

    layout: Layout
    share: int

    @cached_property
    def inputs(self) -> Inputs:
        """The array operands of the module."""
        return Inputs(self.layout)

    # Start

    def start(self, *values: Any) -> list[Any]:
        """The state before the first step."""
        given = dict(zip(self.inputs.slots, values, strict=True))
        slots = {name: jnp.zeros(aval.shape, aval.dtype) for name, aval in self.layout.slots.items()}
        for counter in return_addresses(self.layout.program):
            (top,) = self.layout.tops(counter)
            slots[top] = jnp.full_like(slots[top], self.layout.leave)
        if self.layout.queue:
            slots[PC] = jnp.full_like(slots[PC], self.layout.leave)
            slots[ITEM] = jnp.full_like(slots[ITEM], -1)
            slots |= fates.before_all(self.layout)
        else:
            slots |= self.inputs.entering(given)
        return [slots[name] for name in self.layout.slots]

    def resume(self, *state: Any) -> list[Any]:
        """The state in which a run goes on: parked lanes are back at their blocks, or done if stacks cannot grow."""
        slots = dict(zip(self.layout.slots, state, strict=True))
        return list({**slots, **fates.resumed(self.layout, slots)}.values())

    # The block between inputs

    @property
    def turnover_writes(self) -> list[str]:
        """Slots that ``turnover`` needs and changes."""
        tops = [slot for v in self.inputs.of_lanes for slot in self.layout.tops(v)]
        return [*dict.fromkeys([PC, ITEM, *self._afresh, *tops]), HEAD, *self.layout.handed_in]

    @property
    def turnover_reads(self) -> list[str]:
        """Slots that ``turnover`` needs besides: inputs, and what finished lanes hand in."""
        changed = set(self.turnover_writes)
        return [*self.inputs.slots, *(top for top in self._leaving.values() if top not in changed)]

    def turnover(self, slots: Slots) -> Slots:
        """Lanes that are done hand in their results and take the next inputs; those for whom none is left are done."""
        count = jnp.asarray(self.layout.inputs, jnp.int32)  # also the spare row, of lanes that have had no input
        done = slots[PC] == self.layout.leave
        rows = where(done & (slots[ITEM] >= 0), slots[ITEM], count)
        following = slots[HEAD] + jnp.cumsum(done.astype(jnp.int32)) - 1
        takes = done & (following < count)
        changed: Slots = {
            HEAD: jnp.minimum(slots[HEAD] + jnp.sum(done, dtype=jnp.int32), count),
            ITEM: where(done, where(takes, following, -1), slots[ITEM]),
            PC: where(done, where(takes, np.int32(0), self.layout.done), slots[PC]),
        }
        for out, top in self._leaving.items():
            changed[out] = slots[out].at[rows].set(slots[top], **IN_BOUNDS)
        places = jnp.clip(following, 0, count - 1)
        for top, array in self.inputs.entering(slots).items():
            changed[top] = masked(takes, array[places], slots[top])
        for slot, first in self._afresh.items():
            changed[slot] = where(done, first, slots[slot])
        return changed

    @property
    def _afresh(self) -> dict[str, int]:
        """By slot, its number when an input begins: empty stacks, no steps, no fate, return addresses."""
        addresses = [top for counter in return_addresses(self.layout.program) for top in self.layout.tops(counter)]
        counts = [slot for slot in (FATE, STEPS) if slot in self.layout.slots]
        return {**dict.fromkeys(addresses, self.layout.leave), **dict.fromkeys([*self.layout.pointers, *counts], 0)}

    @property
    def _leaving(self) -> dict[str, str]:
        """By the slot of an array of all results, the slot of the lanes' results that are handed in to it."""
        return {out: top for out, top in self.layout.handed_in.items() if top in self.layout.slots}

    def wants_turnover(self, waiting: ArrayLike, following: Any) -> Any:
        """Whether it is time for a turnover: enough lanes wait for it, or no lane has anything else to do."""
        return self.are_enough(waiting) | ((following >= self.layout.leave) & (waiting > 0))

    def are_enough(self, waiting: ArrayLike) -> Any:
        """Whether enough lanes wait for a turnover that it should come before other lanes run on."""
        return waiting * self.share >= self.layout.lanes
