"""The state of a run <-> the fate of each input (finished, stopped, parked): the one module that knows how it is kept.

::

    a lane …                      its counter       its slot `fate`     then
    is at block i                 i                 FINISHED
    is done with its input        leave             FINISHED            takes the next input, if there is a queue
    was stopped                   leave             why                 takes the next input, if there is a queue
    has full stacks, which grow   parked + i        FINISHED            goes on at block i, once the host has grown them

The state has the slot ``fate`` only where inputs can be stopped (``Layout.stops_inputs``). With a queue, a lane hands
in the fate of its input together with the result, and the slot ``fate.out`` has the fates of all inputs.
"""

from __future__ import annotations

from typing import Any, Final

import jax.numpy as jnp
import numpy as np

from hlobatch.ir.fate import NUMBER, Fate
from hlobatch.lowering.arrays.rows import IN_BOUNDS
from hlobatch.lowering.arrays.where import where
from hlobatch.lowering.state.layout import FATE, HEAD, ITEM, LOGGED, PC, Layout, Slots
from hlobatch.lowering.state.log import without_room
from hlobatch.typing import ArrayLike

OF_INPUTS: Final = f"{FATE}.out"
"""The slot of the fates of all inputs, in a run with a queue."""


def before_all(layout: Layout) -> Slots:
    """The slots of fates, before any input is taken from the queue."""
    aval = layout.slots.get(OF_INPUTS)
    return {} if aval is None else {OF_INPUTS: jnp.full(aval.shape, Fate.UNSTARTED, aval.dtype)}


def told_by(layout: Layout) -> frozenset[str]:
    """The slots from which the fates of inputs follow."""
    failure = () if layout.failure is None else (layout.failure, f"{layout.failure}.out")
    return frozenset({PC, FATE, ITEM, HEAD, OF_INPUTS, *failure}).intersection(layout.slots)


# Within a turn


def stopped(layout: Layout, slots: Slots, lanes: ArrayLike, fate: Fate) -> Slots:
    """The slots that change when the inputs of some lanes are stopped, with their new values."""
    return {
        PC: where(lanes, np.int32(layout.leave), slots[PC]),
        FATE: where(lanes, np.int32(fate), slots[FATE]),
    }


def full(layout: Layout, slots: Slots, lanes: ArrayLike, block: int) -> Slots:
    """The slots that change when some lanes at a block find their stacks full: lanes park, or inputs are stopped."""
    if not layout.grows:
        return stopped(layout, slots, lanes, Fate.PARKED)
    return parked(layout, slots, lanes, block)


def parked(layout: Layout, slots: Slots, lanes: ArrayLike, block: int) -> Slots:
    """The slots that change when some lanes park at a block, to wait for the host."""
    return {PC: where(lanes, layout.parked + block, slots[PC])}


# Between runs


def resumed(layout: Layout, slots: Slots) -> Slots:
    """The slots that change when a run goes on after the host has grown its stacks or read its logs.

    Parked lanes are back at their blocks, or are stopped if stacks no longer grow. Logs are empty.
    """
    read = {LOGGED: jnp.zeros_like(slots[LOGGED])} if layout.waits_for_host else {}
    if not (layout.stacked or read):
        return {}
    counter = slots[PC]
    are_parked = counter >= layout.parked
    back = {PC: where(are_parked, counter - layout.parked, counter)}
    if layout.grows or not layout.stacked:
        return {**read, **back}
    if not read:
        return stopped(layout, slots, are_parked, Fate.PARKED)
    # A lane whose log was full goes back to its block. If its stacks are full as well, it finds that out there.
    for_log = without_room(layout, slots, layout.most_logged)
    gone_on = {**slots, PC: where(for_log, back[PC], counter)}
    return {**read, **stopped(layout, gone_on, are_parked & ~for_log, Fate.PARKED)}


def given_up(layout: Layout, slots: Slots) -> Slots:
    """The state of a run whose stacks grow no more, from that of a run whose stacks may; see ``Layout.grows``."""
    kept = dict(slots)
    if FATE not in slots:
        kept[FATE] = jnp.zeros_like(slots[PC])
        if layout.queue:
            kept[OF_INPUTS] = _taken(layout, slots)
    return {slot: kept[slot] for slot in layout.slots}


# At the end


def reasons(layout: Layout, slots: Slots) -> Any:
    """What stopped the run, a sum of fates; 0 if every input was finished."""
    counter, found = slots[PC], jnp.int32(0)
    if layout.may_park:
        found = jnp.any(counter >= layout.parked).astype(jnp.int32) * int(Fate.PARKED)
    if layout.stretches:
        found = found + jnp.any(counter < layout.done).astype(jnp.int32) * int(Fate.RUNNING)
    if layout.failure is not None:
        failed = of_inputs(layout, slots) & np.int32(Fate.FAILED)
        found = found + jnp.max(failed, initial=0)
    if layout.stops_inputs:
        became = slots[OF_INPUTS if layout.queue else FATE]
        for fate in _that_stop(layout):
            these = jnp.any(became == fate).astype(jnp.int32) * int(fate)
            found = found | these if layout.logs else found + these  # with logs, PARKED may be in it already
    return found


def of_inputs(layout: Layout, slots: Slots) -> Any:
    """The fate of each input, ``i32[inputs]``, given the state at the end."""
    became = _of_inputs(layout, slots)
    if layout.failure is None:
        return became
    failure = slots[f"{layout.failure}.out" if layout.queue else layout.failure][: layout.inputs].astype(jnp.int32)
    failed = (became == Fate.FINISHED) & (failure != 0)
    return where(failed, np.int32(Fate.FAILED) + (failure << np.int32(NUMBER)), became)


def _of_inputs(layout: Layout, slots: Slots) -> Any:
    """The fate of each input, with inputs that raised counted as finished."""
    if not layout.may_end_early:
        return jnp.zeros(layout.inputs, jnp.int32)  # all of them finished
    of_lanes = _of_lanes(layout, slots)
    if not layout.queue:
        return of_lanes[: layout.inputs]
    became = slots[OF_INPUTS] if layout.stops_inputs else _taken(layout, slots)
    if not (layout.grows or layout.stretches or layout.may_park):
        return became[: layout.inputs]  # every lane has handed in its last input
    count = jnp.asarray(layout.inputs, jnp.int32)
    held = where(slots[ITEM] >= 0, slots[ITEM], count)
    return jnp.asarray(became).at[held].set(of_lanes, **IN_BOUNDS)[: layout.inputs]


def _that_stop(layout: Layout) -> list[Fate]:
    """The fates by which an input is stopped and its lane set free."""
    steps = [] if layout.max_steps is None else [Fate.STEPPED_OUT]
    return steps if layout.grows or not layout.stacked else [Fate.PARKED, *steps]


def _of_lanes(layout: Layout, slots: Slots) -> Any:
    """The fates of the inputs that are in lanes."""
    counter = slots[PC]
    fate = slots[FATE] if layout.stops_inputs else jnp.full_like(counter, Fate.FINISHED)
    if layout.stretches:
        fate = where(counter < layout.done, np.int32(Fate.RUNNING), fate)
    return where(counter >= layout.parked, np.int32(Fate.PARKED), fate) if layout.grows or layout.may_park else fate


def _taken(layout: Layout, slots: Slots) -> Any:
    """The fates of inputs, and of a spare one, by the queue alone: taken ones are finished, the rest unstarted."""
    rows = jnp.arange(layout.inputs + 1, dtype=jnp.int32)
    return where(rows >= slots[HEAD], np.int32(Fate.UNSTARTED), np.int32(Fate.FINISHED))
