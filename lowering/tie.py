"""A function on slots -> the same function, tied to the loop it runs in.

A block that may be passed over stands in a loop that turns once or not at all. What it computes from registers that it
does not change does not change in that loop, so XLA would move it out, to where it runs whether or not the block does.
Here, such registers are first chosen by a condition on a scalar that the loop does change: to XLA they change too. The
choice is fused into whatever reads the register. Where XLA can be asked to leave loops as they are, nothing is tied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax.numpy as jnp

from hlobatch.lowering.trim import Trimmed
from hlobatch.lowering.where import where


def tied(part: Trimmed, slots: Sequence[str], anchor: str) -> Trimmed:
    """The function with what it reads in ``slots`` tied to a scalar that it writes, and that is never negative."""
    if not slots:
        return part
    reads = part.reads if anchor in part.reads else (*part.reads, anchor)
    position = reads.index(anchor)
    places = frozenset(reads.index(slot) for slot in slots)

    def run(*values: Any) -> list[Any]:
        always = values[position] >= 0  # which XLA does not know
        given = (_if(always, v) if i in places else v for i, v in enumerate(values[: len(part.reads)]))
        return part.run(*given)

    return replace(part, reads=reads, run=run)


def _if(always: Any, array: Any) -> Any:
    """The array, by way of a choice that always falls on it."""
    return where(always, array, jnp.zeros((), array.dtype))
