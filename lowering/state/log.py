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
from hlobatch.lowering.arrays.stacks import push_at_once
from hlobatch.lowering.state.layout import ITEM, LOG, LOGGED, Layout, Slots, most_words
from hlobatch.typing import ArrayLike


def without_room(layout: Layout, slots: Slots, count: int) -> Any:
    """The lanes whose logs have no room for ``count`` more entries."""
    return slots[LOGGED] + np.int32(count) > layout.log_rows


def with_entry(layout: Layout, slots: Slots, number: int, words: Sequence[Any], mask: ArrayLike) -> Slots:
    """What changes where lanes of a mask log an effect, and the words of its operands, which they may share."""
    logged = slots[LOGGED]
    head = [jnp.full_like(logged, number), *([slots[ITEM]] if layout.queue else [])]
    size = layout.log_words - len(head)
    row = [jnp.stack(head, axis=1)]
    for array in words:
        row.append(jnp.broadcast_to(array, (layout.lanes, array.shape[-1])))
        size -= array.shape[-1]
    row.append(jnp.zeros((layout.lanes, size), jnp.int32))
    top = jnp.concatenate(row, axis=1)
    fits = mask if layout.drains else mask & (logged < layout.log_rows)
    (log,) = push_at_once([slots[LOG]], logged, [top], fits)
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


def entries(program: Program, log: Any, logged: Any) -> list[Entry]:
    """What lanes logged, those of one input in order.

    Args:
        program: What ran.
        log: ``i32[rows + 1, lanes, words]``.
        logged: ``i32[lanes]``, how many entries each made.
    """
    log, logged = np.asarray(log), np.asarray(logged)
    room, head = len(log) - 1, log.shape[2] - most_words(program)
    found: list[Entry] = []
    for lane in np.flatnonzero(logged).tolist():
        own = [_entry(row, lane, head) for row in log[: min(logged[lane], room), lane]]
        lost = int(logged[lane]) - room
        found += [*own, Entry(own[-1].input, None, lost)] if lost > 0 else own
    return found


def _entry(row: Any, lane: int, head: int) -> Entry:
    return Entry(int(row[1]) if head > 1 else lane, int(row[0]), row[head:])
