"""How a run ends: what its results are, what stopped it, and what became of each input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import jax.numpy as jnp

from hlobatch.lowering.layout import COUNTER, HEAD, ITEM, Layout
from hlobatch.lowering.rows import IN_BOUNDS
from hlobatch.lowering.where import where

PARKED: Final = 1
"""What stopped an input: full stacks; …"""
LIMITED: Final = 2
"""… no steps left; …"""
UNSTARTED: Final = 4
"""… or it was never taken from the queue."""


def results(layout: Layout, state: Sequence[Any], shared: Sequence[Any]) -> list[Any]:
    """The arrays ``[inputs, *event]``."""
    slots = dict(zip(layout.slots, state, strict=True))
    values = dict(zip(layout.shared_slots, shared, strict=True))

    def result(top: str) -> Any:
        if top in values:
            return jnp.broadcast_to(values[top], (layout.inputs, *values[top].shape))
        all_lanes = slots[f"{top}.out"] if layout.queue else jnp.moveaxis(slots[top], layout.lane_axis, 0)
        return all_lanes[: layout.inputs]

    return [result(top) for v in layout.program.vars_out for top in layout.tops(v)]


def marked(results: Sequence[Any], status: Any) -> list[Any]:
    """The results, where those of stopped inputs are NaN, or the least number that there is, or ``False``."""

    def mark(result: Any) -> Any:
        is_stopped = (status != 0).reshape(status.shape + (1,) * (result.ndim - status.ndim))
        return where(is_stopped, _mark(result.dtype), result)

    return list(map(mark, results))


def _mark(dtype: Any) -> Any:
    if jnp.issubdtype(dtype, jnp.inexact):
        return jnp.asarray(jnp.nan, dtype)
    if jnp.issubdtype(dtype, jnp.integer):
        return jnp.asarray(int(jnp.iinfo(dtype).min), dtype)  # type: ignore[no-untyped-call]
    return jnp.zeros((), dtype)


def stopped(layout: Layout, state: Sequence[Any]) -> Any:
    """What stopped the run, a sum of reasons; 0 if every input was finished."""
    slots = dict(zip(layout.slots, state, strict=True))
    found = jnp.int32(0)
    for reason, lanes in _reasons(layout, slots[COUNTER]).items():
        found = found + jnp.any(lanes).astype(jnp.int32) * reason
    return found


def status(layout: Layout, state: Sequence[Any]) -> Any:
    """For each input: 0 where its result is there, else what stopped it, or that it never started."""
    if not layout.may_stop:
        return jnp.zeros(layout.inputs, jnp.int32)
    slots = dict(zip(layout.slots, state, strict=True))
    reasons = _reasons(layout, slots[COUNTER])
    code = sum(lanes.astype(jnp.int32) * reason for reason, lanes in reasons.items())
    if not layout.queue:
        return code[: layout.inputs]
    count = jnp.asarray(layout.inputs, jnp.int32)
    rows = jnp.arange(layout.inputs + 1, dtype=jnp.int32)
    became = where(rows >= slots[HEAD], jnp.int32(UNSTARTED), jnp.int32(0))
    held = where((code > 0) & (slots[ITEM] >= 0), slots[ITEM], count)
    return became.at[held].set(code, **IN_BOUNDS)[: layout.inputs]


def _reasons(layout: Layout, counter: Any) -> dict[int, Any]:
    """The lanes that each reason for a stop holds for, as far as there are reasons."""
    limited = counter >= layout.limited
    found = {PARKED: (counter >= layout.parked) & ~limited} if layout.stacked else {}
    return found if layout.max_steps is None else {**found, LIMITED: limited}
