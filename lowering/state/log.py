"""Effects that lanes leave to the host (``print``, callbacks) -> entries in each lane's log, which the host empties.

::

    log "print(x)" (%log1)                log[logged]  = (number, input, words…)
                                ==>       logged       = logged + mask

A lane whose log is full waits at its block, as a lane whose stacks are full does, until the host has done what the log
says. Where the run is part of another computation, such as a user's ``jax.jit``, the host reads logs at the end alone:
entries beyond a log's capacity are counted, and lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from hlobatch.ir.program import Program
from hlobatch.lowering.state.layout import ITEM, LOG, LOGGED, Layout, Slots, most_words


def without_room(layout: Layout, slots: Slots, count: int) -> Any:
    """The lanes whose logs have no room for ``count`` more entries."""
    return slots[LOGGED] + np.int32(count) > layout.log_rows


def with_entry(layout: Layout, slots: Slots, number: int, words: Sequence[Any], mask: Any) -> Slots:
    """The slots that change when lanes of a mask log an effect, with the words of its operands, which may be shared."""
    axis, logged = layout.lane_axis, slots[LOGGED]
    head = [jnp.full_like(logged, number), *([slots[ITEM]] if layout.queue else [])]
    size = layout.log_words - len(head)
    row = [jnp.stack(head, axis=axis + 1 if axis == 0 else 0)]
    for array in words:
        shared = array.ndim == 1
        whole = jnp.expand_dims(array, axis) if shared else array
        row.append(jnp.broadcast_to(whole, layout.of_lanes((array.shape[0 if shared or axis else 1],), layout.width)))
        size -= array.shape[0 if shared or axis else 1]
    row.append(jnp.zeros(layout.of_lanes((size,), layout.width), jnp.int32))
    top = jnp.concatenate(row, axis=1 if axis == 0 else 0)
    fits = mask if layout.drains else mask & (logged < layout.log_rows)
    (log,) = layout.idiom.push([slots[LOG]], logged, [top], fits)
    return {LOG: log, LOGGED: logged + mask.astype(jnp.int32)}


@dataclass(frozen=True)
class Entry:
    """An effect that a lane logged, or the number of entries that it lost.

    Attributes:
        input: The index of the input that the lane had.
        number: The number of the effect in the program; None where entries were lost.
        words: The words of the effect's operands, ``i32[words]``; where entries were lost, how many.
    """

    input: int
    number: int | None
    words: Any


def entries(program: Program, log: Any, logged: Any, lane_axis: int = 0) -> list[Entry]:
    """The entries that lanes logged, those of one input in order.

    Args:
        program: The program that ran.
        log: ``i32[rows + 1, lanes, words]``, or with lanes last.
        logged: ``i32[lanes]``, how many entries each made.
        lane_axis: The position of the lane axis, not counting the axis of rows.
    """
    log, logged = np.asarray(log), np.asarray(logged)
    log = np.moveaxis(log, -1, 1) if lane_axis else log
    room, head = len(log) - 1, log.shape[2] - most_words(program)
    found: list[Entry] = []
    for lane in np.flatnonzero(logged).tolist():
        own = [_entry(row, lane, head) for row in log[: min(logged[lane], room), lane]]
        lost = int(logged[lane]) - room
        found += [*own, Entry(own[-1].input, None, lost)] if lost > 0 else own
    return found


def _entry(row: Any, lane: int, head: int) -> Entry:
    return Entry(int(row[1]) if head > 1 else lane, int(row[0]), row[head:])
