"""The state of many lanes, few of which have something left to do <-> the state of those few (stream compaction).

::

    pc   [3, done, done, 0, done]             pc   [3, 0]
    x    [a, b,    c,    d, e]         <->    x    [a, d]

When no input is left to take, fewer and fewer lanes are active, and a turn takes as long for one lane as for all. The
last few go on as a run of their own, without a queue (``runtime/tail.py``). Afterwards their state is written back to
the lanes they came from, so that the code that hands in results or grows stacks need not know. All other lanes stay as
they were.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from hlobatch.lowering.arrays.masks import masked
from hlobatch.lowering.arrays.rows import IN_BOUNDS
from hlobatch.lowering.arrays.where import where
from hlobatch.lowering.state.layout import HEAD, ITEM, LOG, LOGGED, PC, Layout, Slots
from hlobatch.typing import ArrayLike


@dataclass(frozen=True)
class Narrowing:
    """The conversion of a run's state to fewer lanes, and back.

    Attributes:
        wide: The layout of the state of all lanes.
        narrow: The layout of the state of the few lanes, which has the same depth of stacks, and no queue.
    """

    wide: Layout
    narrow: Layout

    def lanes(self, slots: Slots) -> Any:
        """The lanes that go on, ``i32[few]``: those with something left to do, and others behind them if need be."""
        return jnp.argsort(~self._at_work(slots), stable=True)[: self.narrow.lanes].astype(jnp.int32)

    def inputs(self, slots: Slots, lanes: ArrayLike) -> Any:
        """The indices of the lanes' inputs, ``i32[few]``; for a lane without an input, any index."""
        if not self.wide.queue:
            return jnp.minimum(lanes, self.wide.inputs - 1)
        return jnp.maximum(slots[ITEM].at[lanes].get(**IN_BOUNDS), 0)

    def narrowed(self, slots: Slots, lanes: ArrayLike) -> Slots:
        """The state of some lanes."""
        narrow = self.narrow
        found: Slots = {}
        for slot in narrow.slots:
            if slot in (LOG, LOGGED):  # the host has read it
                found[slot] = jnp.zeros(narrow.slots[slot].shape, narrow.slots[slot].dtype)
                continue
            if slot in narrow.not_of_lanes:
                found[slot] = slots[slot]
                continue
            found[slot] = jnp.moveaxis(self._taken(slots[slot], slot, lanes), 0, self._axis(slot))
        works = np.arange(narrow.lanes) < jnp.sum(self._at_work(slots), dtype=jnp.int32)
        return found | {PC: where(works, found[PC], narrow.done)}

    def widened(self, slots: Slots, few: Slots, lanes: ArrayLike) -> Slots:
        """The state of all lanes, given the state before and the new state of the few lanes that went on."""
        narrow, wide = self.narrow, self.wide
        counter = few[PC]
        few = few | {PC: where(counter >= narrow.parked, counter - narrow.parked + wide.parked, counter)}
        works = self._at_work(slots).at[lanes].get(**IN_BOUNDS)
        found = dict(slots)
        for slot in narrow.slots:
            if slot in narrow.not_of_lanes:
                found[slot] = few[slot]
                continue
            axis = self._axis(slot)
            new = jnp.moveaxis(few[slot], axis, 0)
            if slot == LOG and wide.queue:
                new = self._with_inputs(new, slots, lanes)
            new = masked(works, new, self._taken(slots[slot], slot, lanes))
            place = (slice(None),) * axis
            found[slot] = jnp.asarray(slots[slot]).at[(*place, lanes)].set(jnp.moveaxis(new, 0, axis), **IN_BOUNDS)
        return found

    def _with_inputs(self, log: Any, slots: Slots, lanes: ArrayLike) -> Any:
        """Logs of few lanes, ``[few, rows, words]``, whose entries get the index of the input as second word."""
        inputs = jnp.broadcast_to(self.inputs(slots, lanes)[:, None, None], (*log.shape[:-1], 1))
        return jnp.concatenate([log[..., :1], inputs, log[..., 1:]], axis=-1)

    def _at_work(self, slots: Slots) -> Any:
        """The lanes that wait at a block, as a mask."""
        return jnp.asarray(slots[PC]) < self.wide.blocks

    def _taken(self, array: ArrayLike, slot: str, lanes: ArrayLike) -> Any:
        """What some lanes have of an array, lanes in front."""
        axis = self._axis(slot)
        return jnp.moveaxis(jnp.take(array, lanes, axis=axis, mode="clip"), axis, 0)

    def _axis(self, slot: str) -> int:
        """Where an array has the axis of lanes; a stack has one of rows in front."""
        return int(slot in self.wide.buffers)


def lanes_left(layout: Layout, slots: Mapping[str, Any]) -> int:
    """How many lanes have something left to do, where no input is left to take; else 0."""
    if layout.queue and int(slots[HEAD]) < layout.inputs:
        return 0
    return int(np.sum(np.asarray(slots[PC]) < layout.blocks))
