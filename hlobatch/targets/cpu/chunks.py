"""Many equal turns as a loop over a few at a time, each turn of the loop straight code, and the rest after it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax


def in_chunks(add: Callable[[Any, Any, int], Any], total: Any, count: int, size: int) -> Any:
    """What has been added up in the end.

    Args:
        add: From a total, the number of a first turn and how many there are, to the total after them.
        total: To begin with.
        count: Turns in all.
        size: Turns at a time.
    """
    whole = count - count % size
    if whole:
        total = jax.lax.fori_loop(0, whole // size, lambda i, t: add(t, i * size, size), total)
    return add(total, whole, count - whole) if count > whole else total
