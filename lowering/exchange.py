"""Results of lanes to the rows of their inputs, and the next inputs into the lanes.

All lanes at once, by a scatter and a gather; or in a run that is one kernel, where loops cost next to nothing and few
lanes are done at a time, only those that are, one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from hlobatch.lowering.blocks import Slots
from hlobatch.lowering.stacks import IN_BOUNDS, masked


@dataclass(frozen=True)
class Places:
    """Which lanes exchange what, all ``[lanes]``.

    Attributes:
        done: Lanes that have finished an input, or have had none yet.
        takes: Those for whom there is another.
        out: The row that each lane's result goes to, the spare last one if it has none.
        following: The input that each lane takes, some input if it takes none.
    """

    done: Any
    takes: Any
    out: Any
    following: Any


def exchange_at_once(
    slots: Slots, finished: Slots, leaving: Mapping[str, str], entering: Slots, places: Places, axis: int
) -> Slots:
    """The slots that change.

    Args:
        slots: What lanes have, and the arrays for results ``[inputs + 1, *event]``.
        finished: What lanes have and keep.
        leaving: The slot of a result, by that of the array for it.
        entering: Arrays of all inputs ``[inputs, *event]``, by the slot that a lane takes its own to.
        places: Who takes what.
        axis: Of lanes.
    """
    values = {**finished, **slots}
    changed = {}
    for out, top in leaving.items():
        rows = jnp.moveaxis(values[top], axis, 0)
        changed[out] = slots[out].at[places.out].set(rows, **IN_BOUNDS)
    for top, array in entering.items():
        changed[top] = masked(places.takes, jnp.moveaxis(array[places.following], 0, axis), slots[top], axis)
    return changed


def exchange_in_loops(
    slots: Slots, finished: Slots, leaving: Mapping[str, str], entering: Slots, places: Places, axis: int
) -> Slots:
    """The same, lane after lane."""
    lanes, count = _first(places.done)

    def exchange(i: Any, changing: Slots) -> Slots:
        lane = lanes[i]
        values = {**finished, **changing}
        changed = {}
        for out, top in leaving.items():
            row = jax.lax.dynamic_index_in_dim(values[top], lane, axis, keepdims=False)
            changed[out] = jax.lax.dynamic_update_index_in_dim(changing[out], row, places.out[lane], 0)
        for top, array in entering.items():
            old = jax.lax.dynamic_index_in_dim(changing[top], lane, axis, keepdims=False)
            new = jax.lax.dynamic_index_in_dim(array, places.following[lane], keepdims=False)
            row = jnp.where(places.takes[lane], new, old)
            changed[top] = jax.lax.dynamic_update_index_in_dim(changing[top], row, lane, axis)
        return {**changing, **changed}

    changing = {name: slots[name] for name in (*leaving, *entering)}
    return dict(jax.lax.fori_loop(0, count, exchange, changing))


def _first(mask: Any) -> tuple[Any, Any]:
    """The numbers of the lanes in a mask, in front of an array of all, and how many they are."""

    def put(lane: Any, found: tuple[Any, Any]) -> tuple[Any, Any]:
        lanes, count = found
        return jax.lax.dynamic_update_index_in_dim(lanes, lane, count, 0), count + mask[lane].astype(jnp.int32)

    lanes, count = jax.lax.fori_loop(
        jnp.int32(0), jnp.int32(mask.shape[0]), put, (jnp.zeros(mask.shape, jnp.int32), jnp.int32(0))
    )
    return lanes, count
