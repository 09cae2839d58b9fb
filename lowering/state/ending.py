"""The state when no lane has anything left to do -> the results, what stopped the run, and the fate of each input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from hlobatch.lowering.arrays.where import where
from hlobatch.lowering.state import fates
from hlobatch.lowering.state.layout import Layout
from hlobatch.typing import DType


def results(layout: Layout, state: Sequence[Any], shared: Sequence[Any]) -> list[Any]:
    """The result arrays, ``[inputs, *event]``; sums over all inputs are without the first axis."""
    slots = dict(zip(layout.slots, state, strict=True))
    values = dict(zip(layout.shared_slots, shared, strict=True))

    def result(top: str) -> Any:
        if top in values:
            return jnp.broadcast_to(values[top], (layout.inputs, *values[top].shape))
        if top in layout.not_of_lanes:
            return slots[top]
        all_lanes = slots[f"{top}.out"] if layout.queue else slots[top]
        return all_lanes[: layout.inputs]

    return [result(top) for v in layout.results for top in layout.tops(v)]


def marked(results: Sequence[Any], status: Any) -> list[Any]:
    """The results, with those of stopped inputs replaced by NaN, by the least integer, or by ``False``."""

    def mark(result: Any) -> Any:
        is_stopped = (status != 0).reshape(status.shape + (1,) * (result.ndim - status.ndim))
        return where(is_stopped, _mark(result.dtype), result)

    return list(map(mark, results))


def _mark(dtype: DType) -> Any:
    if jnp.issubdtype(dtype, jnp.inexact):
        return jnp.asarray(jnp.nan, dtype)
    if jnp.issubdtype(dtype, jnp.integer):
        return jnp.asarray(int(jnp.iinfo(dtype).min), dtype)  # type: ignore[no-untyped-call]
    return jnp.zeros((), dtype)


def stopped(layout: Layout, state: Sequence[Any]) -> Any:
    """What stopped the run, a sum of fates; 0 if every input was finished."""
    return fates.reasons(layout, dict(zip(layout.slots, state, strict=True)))


def status(layout: Layout, state: Sequence[Any]) -> Any:
    """The fate of each input."""
    return fates.of_inputs(layout, dict(zip(layout.slots, state, strict=True)))
