"""A sum over many turns -> a loop over chunks of a few turns, each chunk unrolled, and the rest (strip mining).

A loop has two turns at least. XLA takes one of a single turn for the code in it, unless it is asked not to, which it
cannot be inside the user's ``jax.jit``; then what the loop computed is computed anew at each of its uses, and is no
array in memory. With it, the gradient of a neural ODE inside ``jax.jit`` took two thirds of the time (2026-11).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax


def in_chunks(add: Callable[[Any, Any, int], Any], total: Any, count: int, size: int) -> Any:
    """The total after all turns.

    Args:
        add: From a total, the number of the first turn of a chunk and how many turns it has, to the total after them.
        total: The total before the first turn.
        count: Turns in all.
        size: Turns in a chunk.
    """
    if size <= count < 2 * size:
        size = max(size // 2, 1)
    whole = count - count % size
    if whole:
        total = jax.lax.fori_loop(0, whole // size, lambda i, t: add(t, i * size, size), total)
    return add(total, whole, count - whole) if count > whole else total
