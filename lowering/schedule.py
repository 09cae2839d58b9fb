"""Which block runs next, given where the lanes stand.

``earliest``: the first block in the order of the program that anyone waits at (the paper). With weights: the group of
blocks whose number of waiting lanes, times its weight, is the largest; a weight that falls with the cost lets cheap
blocks run for few lanes and expensive ones only for many.

Reference: Radul et al. (2020), section 2: "always run the earliest available block in program order … more refined
heuristics are definitely possible".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from hlobatch.analysis.block_groups import Groups

Schedule = Callable[[Any], Any]
"""From the program counters, ``i32[lanes]``, to the next block, ``i32[]``; no block if none has a lane."""


def earliest(counter: Any) -> Any:
    """The smallest program counter."""
    return jnp.min(counter)


def most_wanted(weights: Sequence[float], groups: Groups) -> Schedule:
    """The group of blocks with the most waiting lanes times weight, the first of them if there are several.

    Args:
        weights: Of the groups, in order.
        groups: The blocks that run together.
    """
    count, blocks = len(groups), sum(map(len, groups))
    group_of = np.full(blocks + 1, count, np.int32)
    for index, group in enumerate(groups):
        group_of[list(group)] = index

    def schedule(counter: Any) -> Any:
        wanted = jnp.minimum(counter, blocks)
        if count < blocks:
            wanted = jnp.asarray(group_of)[wanted]
        waiting = jnp.zeros(count + 1, jnp.int32).at[wanted].add(1, mode="promise_in_bounds")[:count]
        score = waiting * jnp.asarray(np.asarray(weights), jnp.float32)
        return jnp.where(jnp.any(waiting > 0), jnp.argmax(score).astype(jnp.int32), jnp.min(counter))

    return schedule
