"""How a run starts, how inputs enter lanes and results leave them, and how a run ends.

Without a queue, lane b is input b from start to end and its results stay where they were computed. With a queue, a lane
that has finished hands in its result and takes the next input, inside the same loop, so that L lanes stay busy on N
inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from hlobatch.ir.ops import PrimOp
from hlobatch.ir.physical import lane_function
from hlobatch.ir.program import VariableAllocation as Alloc
from hlobatch.lowering.beginning import Beginning
from hlobatch.lowering.captures import Captures
from hlobatch.lowering.exchange import Exchange
from hlobatch.lowering.layout import COUNTER, HEAD, ITEM, STEPS, Layout, Slots
from hlobatch.lowering.rows import IN_BOUNDS
from hlobatch.lowering.where import where
from hlobatch.transforms.lower_calls import return_addresses


@dataclass(frozen=True)
class Lanes:
    """Entering and leaving, as functions of arrays; all arguments are flat and in the layout's order."""

    layout: Layout
    captures: Captures
    share: int
    """Turnover waits for one in so many lanes."""
    beginning: Beginning | None = None
    """What inputs begin with besides themselves, where the first block is run as they come in."""

    # Inputs

    @property
    def input_slots(self) -> list[str]:
        """The names of the inputs."""
        return [input_slot(i) for i in range(len(self.layout.input_avals))]

    def _named(self, inputs: Sequence[Any]) -> dict[str, list[Any]]:
        supply = iter(inputs)
        types = self.layout.program.var_defs
        return {v: [next(supply) for _ in types[v].tensor_leaves] for v in self.layout.program.vars_in}

    def _is_shared(self, variable: str) -> bool:
        return self.layout.program.alloc(variable) is Alloc.SHARED

    @property
    def _entering(self) -> list[str]:
        """Inputs that each lane has its own of and that the program reads."""
        return [v for v in self.layout.program.vars_in if v in self.layout.stored]

    def shared(self, captured: Sequence[Any], *inputs: Any) -> list[Any]:
        """The shared values: inputs without a batch axis, and what the entry block computes from them."""
        named = self._named(inputs)
        values = {v: named[v] for v in named if self._is_shared(v)}
        for op in self.layout.program.graph.enter_block().instructions:
            if isinstance(op, PrimOp) and op.vars_out and all(map(self._is_shared, op.vars_out)):
                op = self.captures.substituted(op, captured)
                arrays = [a for v in op.vars_in for a in values.get(v, [])]
                supply = iter(lane_function(op, self.layout.program.var_defs)(*arrays))
                for v in op.vars_out:
                    values[v] = [next(supply) for _ in self.layout.tops(v)]
        return [array for v in self.layout.shared for array in values[v]]

    def _inside(self, array: Any) -> Any:
        """``[lanes, *event]`` as the run has it."""
        return jnp.moveaxis(array, 0, self.layout.lane_axis)

    def _outside(self, array: Any) -> Any:
        """``[lanes, *event]`` of what the run has."""
        return jnp.moveaxis(array, self.layout.lane_axis, 0)

    # Start

    @property
    def start_reads(self) -> list[str]:
        """Slots that ``start`` needs."""
        if self.beginning is None or self.layout.queue:
            return self.input_slots
        return [*self.input_slots, *self.beginning.reads]

    def start(self, *values: Any) -> list[Any]:
        """The state before the first step."""
        given = dict(zip(self.start_reads, values, strict=True))
        slots = {name: jnp.zeros(aval.shape, aval.dtype) for name, aval in self.layout.slots.items()}
        for counter in return_addresses(self.layout.program):
            (top,) = self.layout.tops(counter)
            slots[top] = jnp.full_like(slots[top], self.layout.leave)
        if self.layout.queue:
            slots[COUNTER] = jnp.full_like(slots[COUNTER], self.layout.leave)
            slots[ITEM] = jnp.full_like(slots[ITEM], -1)
        else:
            named = self._named([given[slot] for slot in self.input_slots])
            for v in self._entering:
                slots |= dict(zip(self.layout.tops(v), map(self._filled, named[v]), strict=True))
            if self.beginning:
                slots |= self.beginning({**slots, **given}, self.layout.width)
        if self.layout.width != self.layout.lanes:
            are_lanes = np.arange(self.layout.width) < self.layout.lanes
            slots[COUNTER] = where(are_lanes, slots[COUNTER], self.layout.done)
        return [slots[name] for name in self.layout.slots]

    def _filled(self, array: Any) -> Any:
        """One input for each lane, and zeros where the axis of lanes is longer."""
        if self.layout.lane_axis == 0:
            return array
        more = self.layout.width - self.layout.lanes
        return self._inside(jnp.pad(array, [(0, more), *[(0, 0)] * (array.ndim - 1)]))

    def resume(self, *state: Any) -> list[Any]:
        """The state with parked lanes back at their blocks, their stacks having grown."""
        slots = dict(zip(self.layout.slots, state, strict=True))
        counter = slots[COUNTER]
        parked = (counter >= self.layout.parked) & (counter < self.layout.limited)
        slots[COUNTER] = where(parked, counter - self.layout.parked, counter)
        return list(slots.values())

    def begin_ahead(self, given: Slots) -> list[Any]:
        """What all inputs begin with, ``[inputs, *event]``, of what does not change in the run."""
        assert self.beginning
        fixed = {slot: given[slot] for slot in self.beginning.reads}
        return self.beginning.of_all(self._entering_arrays(given), fixed)

    @property
    def begun_slots(self) -> dict[str, str]:
        """For the name of each of these arrays, its slot in the state; none if they are not computed ahead."""
        return {f"{slot}.begun": slot for slot in self._begun} if self.beginning and self.beginning.is_ahead else {}

    @property
    def _begun(self) -> Sequence[str]:
        """Slots that inputs begin with besides those they are in."""
        return self.beginning.writes if self.beginning else ()

    # The block between inputs

    @property
    def turnover_writes(self) -> list[str]:
        """Slots that ``turnover`` needs and changes."""
        return [*self._taken, HEAD, *self.layout.outputs()]

    @property
    def _taken(self) -> list[str]:
        """Those of them that a lane begins an input with."""
        tops = [slot for v in self._entering for slot in self.layout.tops(v)]
        return list(dict.fromkeys([COUNTER, ITEM, *self._afresh, *tops, *self._begun]))

    @property
    def turnover_reads(self) -> list[str]:
        """Slots that ``turnover`` needs besides: inputs, what they begin with, and what finished lanes hand in."""
        changed = set(self.turnover_writes)
        results = [s for v in self.layout.program.vars_out if v in self.layout.stored for s in self.layout.tops(v)]
        begins = self.begun_slots or (self.beginning.reads if self.beginning else [])
        return [*self.input_slots, *begins, *(slot for slot in results if slot not in changed)]

    def turnover(self, slots: Slots) -> Slots:
        """Lanes that are done hand in their results and take the next inputs; those for whom none is left are done."""
        entering = self._entering_arrays(slots)
        begin = None
        if self.begun_slots:
            entering |= {slot: slots[name] for name, slot in self.begun_slots.items()}
        elif self.beginning:
            begin = self._begin_one(slots)
        exchange = Exchange(self.layout, self._leaving, self._taken, entering, self._afresh, begin)
        return (exchange.in_loops if self.layout.one_kernel else exchange.at_once)(slots)

    def _entering_arrays(self, slots: Slots) -> Slots:
        """Arrays of all inputs, by the slot that a lane takes its own to."""
        named = self._named([slots[slot] for slot in self.input_slots])
        return {top: array for v in self._entering for top, array in zip(self.layout.tops(v), named[v], strict=True)}

    def _begin_one(self, slots: Slots) -> Callable[[Slots], Slots]:
        """What makes of one input what it begins with."""
        assert self.beginning
        beginning, axis = self.beginning, self.layout.lane_axis
        fixed = {slot: slots[slot] for slot in beginning.reads}

        def begin(rows: Slots) -> Slots:
            given = {slot: jnp.expand_dims(row, axis) for slot, row in rows.items()}
            return {slot: jnp.squeeze(array, axis) for slot, array in beginning({**fixed, **given}, 1).items()}

        return begin

    @property
    def _afresh(self) -> dict[str, int]:
        """What a lane begins an input with besides it: empty stacks, no step done, and where a return leads to."""
        addresses = [top for counter in return_addresses(self.layout.program) for top in self.layout.tops(counter)]
        steps = [STEPS] if STEPS in self.layout.slots else []
        return {**dict.fromkeys(addresses, self.layout.leave), **dict.fromkeys([*self.layout.pointers, *steps], 0)}

    @property
    def _leaving(self) -> dict[str, str]:
        """Slots of results that lanes have each their own of, by where they are handed in."""
        layout = self.layout
        pairs = zip(layout.outputs(), (s for v in layout.program.vars_out for s in layout.tops(v)), strict=True)
        return {out: top for out, top in pairs if top in layout.slots}

    def wants_turnover(self, waiting: Any, following: Any) -> Any:
        """Whether it is time for turnover: a share of the lanes wait for it, or nobody can do anything else."""
        return self.are_enough(waiting) | ((following >= self.layout.leave) & (waiting > 0))

    def are_enough(self, waiting: Any) -> Any:
        """Whether so many lanes wait for turnover that the others should not go on without them."""
        return waiting * self.share >= self.layout.lanes

    # End

    def finish(self, state: Sequence[Any], shared: Sequence[Any], *, with_status: bool) -> list[Any]:
        """Results ``[inputs, *event]``; what stopped the run, or 0; if asked, what became of each input."""
        slots = dict(zip(self.layout.slots, state, strict=True))
        values = dict(zip(self.layout.shared_slots, shared, strict=True))
        results = []
        for v in self.layout.program.vars_out:
            for top in self.layout.tops(v):
                if top in values:
                    results.append(jnp.broadcast_to(values[top], (self.layout.inputs, *values[top].shape)))
                elif self.layout.queue:
                    results.append(slots[f"{top}.out"][: self.layout.inputs])
                else:
                    results.append(self._outside(slots[top])[: self.layout.inputs])
        return [*results, self._stopped(slots[COUNTER]), *([self.status(state)] if with_status else ())]

    def _stopped(self, counter: Any) -> Any:
        stopped = jnp.int32(0)
        for reason, lanes in self._reasons(counter).items():
            stopped = stopped + jnp.any(lanes).astype(jnp.int32) * reason
        return stopped

    def _reasons(self, counter: Any) -> dict[int, Any]:
        """The lanes that each reason for a stop holds for, as far as there are reasons."""
        limited = counter >= self.layout.limited
        found = {PARKED: (counter >= self.layout.parked) & ~limited} if self.layout.stacked else {}
        return found if self.layout.max_steps is None else {**found, LIMITED: limited}

    def status(self, state: Sequence[Any]) -> Any:
        """For each input: 0 where its result is there, else what stopped it, or that it never started."""
        if not self.layout.may_stop:
            return jnp.zeros(self.layout.inputs, jnp.int32)
        slots = dict(zip(self.layout.slots, state, strict=True))
        reasons = self._reasons(slots[COUNTER])
        code = sum(lanes.astype(jnp.int32) * reason for reason, lanes in reasons.items())
        if not self.layout.queue:
            return code[: self.layout.inputs]
        count = jnp.asarray(self.layout.inputs, jnp.int32)
        rows = jnp.arange(self.layout.inputs + 1, dtype=jnp.int32)
        status = where(rows >= slots[HEAD], jnp.int32(UNSTARTED), jnp.int32(0))
        held = where((code > 0) & (slots[ITEM] >= 0), slots[ITEM], count)
        return status.at[held].set(code, **IN_BOUNDS)[: self.layout.inputs]


def input_slot(position: int) -> str:
    """The name under which an input of the module is passed to what needs it."""
    return f"input#{position}"


PARKED, LIMITED, UNSTARTED = 1, 2, 4
"""What stopped an input: full stacks; no steps left; never taken from the queue."""
