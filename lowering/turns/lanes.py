"""Inputs -> the state in which a run starts; and, with a queue, how a lane hands in a result and takes its next input.

Without a queue, lane b is input b from start to end and its results stay where they were computed. With a queue, a lane
that has finished hands in its result and takes the next input, inside the same loop, so that L lanes stay busy on N
inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax.numpy as jnp
import numpy as np

from hlobatch.lowering.arrays.where import where
from hlobatch.lowering.state import fates
from hlobatch.lowering.state.inputs import Inputs
from hlobatch.lowering.state.layout import FATE, HEAD, ITEM, PC, STEPS, Layout, Slots
from hlobatch.lowering.turns.beginning import Beginning
from hlobatch.lowering.turns.exchange import Exchange
from hlobatch.transforms.lower_calls import return_addresses


@dataclass(frozen=True)
class Lanes:
    """How inputs enter lanes and results leave them, as functions on arrays.

    Attributes:
        layout: The state of the run.
        share: A turnover waits until at least one in ``share`` lanes is done.
        beginning: The entry block, if it is run outside of the loop.
    """

    layout: Layout
    share: int
    beginning: Beginning | None = None

    @cached_property
    def inputs(self) -> Inputs:
        """The array operands of the module."""
        return Inputs(self.layout)

    # Start

    @property
    def start_reads(self) -> list[str]:
        """Slots that ``start`` needs."""
        if self.beginning is None or self.layout.queue:
            return self.inputs.slots
        return [*self.inputs.slots, *self.beginning.reads]

    def start(self, *values: Any) -> list[Any]:
        """The state before the first step."""
        given = dict(zip(self.start_reads, values, strict=True))
        slots = {name: jnp.zeros(aval.shape, aval.dtype) for name, aval in self.layout.slots.items()}
        for counter in return_addresses(self.layout.program):
            (top,) = self.layout.tops(counter)
            slots[top] = jnp.full_like(slots[top], self.layout.leave)
        if self.layout.queue:
            slots[PC] = jnp.full_like(slots[PC], self.layout.leave)
            slots[ITEM] = jnp.full_like(slots[ITEM], -1)
            slots |= fates.before_all(self.layout)
        else:
            slots |= {slot: self._filled(array) for slot, array in self.inputs.entering(given).items()}
            if self.beginning:
                slots |= self.beginning({**slots, **given}, self.layout.width)
        if self.layout.width != self.layout.lanes:
            are_lanes = np.arange(self.layout.width) < self.layout.lanes
            slots[PC] = where(are_lanes, slots[PC], self.layout.done)
        return [slots[name] for name in self.layout.slots]

    def _filled(self, array: Any) -> Any:
        """One input for each lane, and zeros where the axis of lanes is longer."""
        if self.layout.lane_axis == 0:
            return array
        more = self.layout.width - self.layout.lanes
        return jnp.moveaxis(jnp.pad(array, [(0, more), *[(0, 0)] * (array.ndim - 1)]), 0, self.layout.lane_axis)

    def resume(self, *state: Any) -> list[Any]:
        """The state in which a run goes on: parked lanes are back at their blocks, or done if stacks cannot grow."""
        slots = dict(zip(self.layout.slots, state, strict=True))
        return list({**slots, **fates.resumed(self.layout, slots)}.values())

    def begin_ahead(self, given: Slots) -> list[Any]:
        """The slots after the entry block for all inputs, ``[inputs, *event]``, if it runs before the loop."""
        assert self.beginning
        fixed = {slot: given[slot] for slot in self.beginning.reads}
        return self.beginning.of_all(self.inputs.entering(given), fixed)

    @property
    def begun_slots(self) -> dict[str, str]:
        """By the name of each array computed for all inputs before the loop, the slot that a lane copies its row to."""
        return {f"{slot}.begun": slot for slot in self._begun} if self.beginning and self.beginning.is_ahead else {}

    @property
    def _begun(self) -> Sequence[str]:
        """Slots that the entry block writes, if it is run outside of the loop."""
        return self.beginning.writes if self.beginning else ()

    # Turnover

    @property
    def turnover_writes(self) -> list[str]:
        """Slots that ``turnover`` needs and changes."""
        return [*self._taken, HEAD, *self.layout.handed_in]

    @property
    def _taken(self) -> list[str]:
        """Slots that change in a lane that takes an input."""
        tops = [slot for v in self.inputs.of_lanes for slot in self.layout.tops(v)]
        return list(dict.fromkeys([PC, ITEM, *self._afresh, *tops, *self._begun]))

    @property
    def turnover_reads(self) -> list[str]:
        """Slots that ``turnover`` only reads: inputs, values that they begin with, and results of finished lanes."""
        changed = set(self.turnover_writes)
        begins = self.begun_slots or (self.beginning.reads if self.beginning else [])
        return [*self.inputs.slots, *begins, *(top for top in self._leaving.values() if top not in changed)]

    def turnover(self, slots: Slots) -> Slots:
        """Lanes that are done hand in their results and take the next inputs; those for whom none is left are done."""
        entering = self.inputs.entering(slots)
        begin = None
        if self.begun_slots:
            entering |= {slot: slots[name] for name, slot in self.begun_slots.items()}
        elif self.beginning:
            begin = self._begin_one(slots)
        exchange = Exchange(self.layout, self._leaving, self._taken, entering, self._afresh, begin)
        return (exchange.in_loops if self.layout.idiom.is_one_kernel else exchange.at_once)(slots)

    def _begin_one(self, slots: Slots) -> Callable[[Slots], Slots]:
        """The function that runs the entry block on one input."""
        assert self.beginning
        beginning, axis = self.beginning, self.layout.lane_axis
        fixed = {slot: slots[slot] for slot in beginning.reads}

        def begin(rows: Slots) -> Slots:
            given = {slot: jnp.expand_dims(row, axis) for slot, row in rows.items()}
            return {slot: jnp.squeeze(array, axis) for slot, array in beginning({**fixed, **given}, 1).items()}

        return begin

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

    def wants_turnover(self, waiting: Any, following: Any) -> Any:
        """Whether it is time for a turnover: enough lanes wait for it, or no lane has anything else to do."""
        return self.are_enough(waiting) | ((following >= self.layout.leave) & (waiting > 0))

    def are_enough(self, waiting: Any) -> Any:
        """Whether enough lanes wait for a turnover that it should come before other lanes run on."""
        return waiting * self.share >= self.layout.lanes
