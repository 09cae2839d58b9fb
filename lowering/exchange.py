"""The block between inputs: lanes that are done hand in their results and take the next inputs.

All lanes at once, by a scatter and a gather; or in a run that is one kernel, where loops cost next to nothing and few
lanes are done at a time, only those that are, one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch.lowering.blocks import Slots
from hlobatch.lowering.layout import COUNTER, HEAD, ITEM, Layout
from hlobatch.lowering.masks import masked
from hlobatch.lowering.rows import places_in, row_of, with_row
from hlobatch.lowering.stacks import IN_BOUNDS
from hlobatch.lowering.where import where


@dataclass(frozen=True)
class Exchange:
    """A turnover. Lanes for whom no input is left are done.

    Attributes:
        layout: The state of the run.
        leaving: The slot of a result, by that of the array for it, ``[inputs + 1, *event]``.
        entering: Arrays of all inputs ``[inputs, *event]``, by the slot that a lane takes its own to.
        afresh: What else a lane begins an input with, a number by slot.
    """

    layout: Layout
    leaving: Mapping[str, str]
    entering: Slots
    afresh: Mapping[str, int]

    @property
    def inputs(self) -> Any:
        """How many there are; also the number of the spare row for results of lanes that have had no input."""
        return jnp.asarray(self.layout.inputs, jnp.int32)

    def at_once(self, slots: Slots, finished: Slots) -> Slots:
        """The slots that change, of what lanes have, and of what they have and keep."""
        axis, count = self.layout.lane_axis, self.inputs
        done = slots[COUNTER] == self.layout.leave
        rows = where(done & (slots[ITEM] >= 0), slots[ITEM], count)
        following = slots[HEAD] + jnp.cumsum(done.astype(jnp.int32)) - 1
        takes = done & (following < count)
        changed: Slots = {
            HEAD: jnp.minimum(slots[HEAD] + jnp.sum(done, dtype=jnp.int32), count),
            ITEM: where(done, where(takes, following, -1), slots[ITEM]),
            COUNTER: where(done, where(takes, np.int32(0), self.layout.done), slots[COUNTER]),
        }
        values = {**finished, **slots}
        for out, top in self.leaving.items():
            results = jnp.moveaxis(values[top], axis, 0)
            changed[out] = slots[out].at[rows].set(results, **IN_BOUNDS)
        places = jnp.clip(following, 0, count - 1)
        for top, array in self.entering.items():
            changed[top] = masked(takes, jnp.moveaxis(array[places], 0, axis), slots[top], axis)
        for slot, first in self.afresh.items():
            changed[slot] = where(done, first, slots[slot])
        return changed

    def in_loops(self, slots: Slots, finished: Slots) -> Slots:
        """The same, lane after lane."""
        axis, count, head = self.layout.lane_axis, self.inputs, slots[HEAD]
        lanes, number = places_in(slots[COUNTER] == self.layout.leave)

        def exchange(i: Any, changing: Slots) -> Slots:
            lane, following = row_of(lanes, i), head + i
            takes, values, changed = following < count, {**finished, **changing}, {}
            item = row_of(slots[ITEM], lane)  # not of what changes, which XLA would copy in each turn
            row = where(item >= 0, item, count)
            for out, top in self.leaving.items():
                changed[out] = with_row(changing[out], row_of(values[top], lane, axis), row)
            for top, array in self.entering.items():
                old, new = row_of(changing[top], lane, axis), row_of(array, following)
                changed[top] = with_row(changing[top], where(takes, new, old), lane, axis)
            changed[ITEM] = with_row(changing[ITEM], where(takes, following, -1), lane)
            changed[COUNTER] = with_row(changing[COUNTER], where(takes, np.int32(0), self.layout.done), lane)
            for slot, first in self.afresh.items():
                changed[slot] = with_row(changing[slot], first, lane)
            return changed

        names = (COUNTER, ITEM, *self.leaving, *self.entering, *self.afresh)
        changed = jax.lax.fori_loop(0, number, exchange, {name: slots[name] for name in names})
        return {**changed, HEAD: jnp.minimum(head + number, count)}
