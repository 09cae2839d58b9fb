"""Which block runs next, given where the lanes stand.

* ``earliest``: the first block in the order of the program that anyone waits at (the paper).
* ``most_lanes``: the group of blocks where the most lanes wait.
* ``least_idle``: the group whose lanes have lost the most by waiting, for the time that it takes. A cheap group runs
  for a few lanes, an expensive one when many have come, and one that few lanes ever come to when the few have waited
  for some time. It is a relative of the rule to rent until the rent has reached the price; here groups compete, so that
  what has been lost is compared with what the others have.

References:
    Radul et al. (2020), section 2: "always run the earliest available block in program order … more refined heuristics
    are definitely possible". Karlin, Manasse, Rudolph and Sleator, "Competitive snoopy caching", Algorithmica 3, 1988.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch.analysis.block_groups import Groups

Arrays = tuple[Any, ...]

AHEAD: Final = 0.3
"""What a lane will lose if it is passed over, before it is asked again: this share of the longest group's time."""


class Time(NamedTuple):
    """What a group takes."""

    lanes: int
    """For as many at most."""
    taken: float


@dataclass(frozen=True)
class Schedule:
    """How the next group is found.

    Attributes:
        memory: What is remembered from one choice to the next; zeros at first.
        choose: From the program counters, ``i32[lanes]``, and the memory, to the group that runs next, ``i32[]``, and
            the memory; no group if none has a lane.
    """

    memory: tuple[jax.ShapeDtypeStruct, ...]
    choose: Callable[..., Arrays]


def earliest(groups: Groups) -> Schedule:
    """The group of the smallest program counter."""
    return Schedule((), lambda counter: (_group_of(jnp.min(counter), groups),))


def most_lanes(groups: Groups) -> Schedule:
    """The group with the most waiting lanes, the first of them if there are several."""

    def choose(counter: Any) -> Arrays:
        waiting = _waiting(counter, groups)
        return (_best(waiting, waiting, counter),)

    return Schedule((), choose)


def least_idle(groups: Groups, times: Sequence[Sequence[Time]], patient: Sequence[bool]) -> Schedule:
    """The group with the most time lost by waiting lanes, for its own time.

    Args:
        groups: The blocks that run together.
        times: What each group takes, in any unit, for few lanes and for more.
        patient: Groups that run when nobody waits elsewhere.
    """
    longest, last = max(each[-1].taken for each in times), np.asarray(patient, np.bool_)

    def choose(counter: Any, idle: Any) -> Arrays:
        waiting = _waiting(counter, groups)
        weights = _times_for(waiting, times)
        score = (idle + waiting * (AHEAD * longest)) / weights
        best = _best(jnp.where(last, 0.0, score), waiting, counter)
        lost = waiting * weights[jnp.minimum(best, len(groups) - 1)]
        return best, jnp.where(np.arange(len(groups)) == best, 0.0, idle + lost)

    return Schedule((jax.ShapeDtypeStruct((len(groups),), np.float32),), choose)


def _times_for(waiting: Any, times: Sequence[Sequence[Time]]) -> Any:
    """What each group takes for the lanes that wait at it, ``f32[groups]``."""
    most = max(map(len, times))
    alike = [[*[each[0]] * (most - len(each)), *each] for each in times]
    limits, taken = np.asarray(alike, np.float32).transpose(2, 1, 0)
    found = jnp.asarray(taken[-1])
    for limit, less in reversed(list(zip(limits[:-1], taken[:-1], strict=True))):
        found = jnp.where(waiting <= limit, less, found)
    return found


def _waiting(counter: Any, groups: Groups) -> Any:
    """How many lanes wait at each group, ``f32[groups]``."""
    here = _group_of(counter, groups) == np.arange(len(groups), dtype=np.int32)[:, None]
    count = jnp.sum(here, axis=1, dtype=jnp.int32)  # fewer kernels than to add one for each lane
    return count.astype(jnp.float32)  # only now: LLVM adds integers several at a time


def _group_of(counter: Any, groups: Groups) -> Any:
    """The group of each program counter; one that is at no block stays as it is, which is no group."""
    count, blocks = len(groups), sum(map(len, groups))
    if count == blocks:
        return counter
    group_of = np.empty(blocks, np.int32)
    for index, group in enumerate(groups):
        group_of[list(group)] = index
    return jnp.where(counter < blocks, jnp.asarray(group_of)[jnp.minimum(counter, blocks - 1)], counter)


def _best(score: Any, waiting: Any, counter: Any) -> Any:
    """The group with the highest score among those with lanes; where there is none, a counter that is no group."""
    best = jnp.argmax(jnp.where(waiting > 0, score, -1)).astype(jnp.int32)
    return jnp.where(jnp.any(waiting > 0), best, jnp.min(counter))
