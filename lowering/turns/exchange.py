"""The state -> the state after the turnover: lanes that are done hand in their results and take the next inputs.

The turnover is a scatter of results and a gather of inputs, for all lanes at once. In a run that is one kernel, where a
loop costs next to nothing and few lanes are done at a time, it is a loop over only the lanes that are done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch.lowering.arrays.masks import masked
from hlobatch.lowering.arrays.rows import IN_BOUNDS, places_in, row_of, with_row
from hlobatch.lowering.arrays.where import where
from hlobatch.lowering.state.layout import HEAD, ITEM, PC, Layout, Slots


@dataclass(frozen=True)
class Exchange:
    """A turnover. A lane for which no input is left has the program counter ``done`` from then on.

    Attributes:
        layout: The state of the run.
        leaving: By the slot of an array of all results, ``[inputs + 1, *event]``, the slot that a lane hands in to it.
        taken: Slots that change in a lane that takes an input.
        entering: By the slot that a lane copies its own row to, the array of all inputs, ``[inputs, *event]``.
        afresh: By slot, the number that it is reset to when a lane takes an input.
        begin: Runs the entry block on one input, and gives what a lane begins with, its program counter included; None
            if the lane is to begin at the entry block (see ``beginning.py``).
    """

    layout: Layout
    leaving: Mapping[str, str]
    taken: Sequence[str]
    entering: Slots
    afresh: Mapping[str, int]
    begin: Callable[[Slots], Slots] | None = None

    @property
    def inputs(self) -> Any:
        """The number of inputs, also the index of the spare row for results of lanes that have had no input."""
        return jnp.asarray(self.layout.inputs, jnp.int32)

    def at_once(self, slots: Slots) -> Slots:
        """The slots that change, computed for all lanes at once."""
        axis, count = self.layout.lane_axis, self.inputs
        done = slots[PC] == self.layout.leave
        rows = where(done & (slots[ITEM] >= 0), slots[ITEM], count)
        following = slots[HEAD] + jnp.cumsum(done.astype(jnp.int32)) - 1
        takes = done & (following < count)
        changed: Slots = {
            HEAD: jnp.minimum(slots[HEAD] + jnp.sum(done, dtype=jnp.int32), count),
            ITEM: where(done, where(takes, following, -1), slots[ITEM]),
            PC: where(done, where(takes, np.int32(0), self.layout.done), slots[PC]),
        }
        for out, top in self.leaving.items():
            results = jnp.moveaxis(slots[top], axis, 0)
            changed[out] = slots[out].at[rows].set(results, **IN_BOUNDS)
        places = jnp.clip(following, 0, count - 1)
        for top, array in self.entering.items():
            changed[top] = masked(takes, jnp.moveaxis(array[places], 0, axis), slots[top], axis)
        for slot, first in self.afresh.items():
            changed[slot] = where(done, first, slots[slot])
        return changed

    def in_loops(self, slots: Slots) -> Slots:
        """The slots that change, computed in loops over the lanes that are done.

        One loop hands in results and a second one takes inputs, since XLA copies an array in each turn of a loop that
        both reads and writes rows of it.
        """
        axis, count, head = self.layout.lane_axis, self.inputs, slots[HEAD]
        lanes, number = places_in(slots[PC] == self.layout.leave)
        leaving = self.leaving

        def hand_in(state: tuple[Any, Slots]) -> tuple[Any, Slots]:
            i, given = state
            lane = row_of(lanes, i)
            item = row_of(slots[ITEM], lane)
            row = where(item >= 0, item, count)
            changed = {out: with_row(given[out], row_of(slots[top], lane, axis), row) for out, top in leaving.items()}
            return i + 1, changed

        def take(state: tuple[Any, Slots]) -> tuple[Any, Slots]:
            i, changing = state[0] - 1, state[1]
            lane, following = row_of(lanes, i), head + i
            takes = following < count  # past the end, a lane copies the last input, but does not run it
            begun = self._begun(following)
            begun[ITEM] = where(takes, following, -1)
            begun[PC] = where(takes, begun[PC], self.layout.done)
            return i, {slot: with_row(changing[slot], value, lane, axis) for slot, value in begun.items()}

        taken = {slot: slots[slot] for slot in self.taken}
        start = jnp.int32(0), {out: slots[out] for out in leaving}
        done, given = jax.lax.while_loop(lambda state: state[0] < number, hand_in, start)
        _, changed = jax.lax.while_loop(lambda state: state[0] > 0, take, (done, taken))
        return {**given, **changed, HEAD: jnp.minimum(head + number, count)}

    def _begun(self, item: Any) -> Slots:
        """The values, by slot, that a lane begins an input with."""
        rows = {slot: row_of(array, item) for slot, array in self.entering.items()}
        first: Slots = {PC: np.int32(0), **self.afresh, **rows}
        if self.begin is None:
            return first
        return {**first, **self.begin({**rows, ITEM: jnp.minimum(item, self.inputs - 1)})}
