"""The program counters of all lanes -> the block, or group of blocks, that runs next.

* ``earliest``: the first block in the order of the program at which a lane waits (the paper).
* ``most_lanes``: the group of blocks where the most lanes wait.
* ``least_idle``: the group with the greatest ratio of the time that lanes have lost by waiting at it to the time that
  it takes to run. A cheap group runs for a few lanes, an expensive one when many have come, and one that few lanes ever
  come to when those have waited for some time. It is a relative of the ski-rental rule, to rent until the rents add up
  to the price; here groups compete, so the ratio of one group is compared with those of the others.

References:
    Radul et al. (2020), section 2: "always run the earliest available block in program order … more refined heuristics
    are definitely possible". Karlin, Manasse, Rudolph and Sleator, "Competitive snoopy caching", Algorithmica 3, 1988.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch.analysis.block_groups import Groups
from hlobatch.lowering.arrays.rows import row_of
from hlobatch.lowering.arrays.where import where
from hlobatch.typing import ArrayLike

Arrays = tuple[Any, ...]

SHARE_LOST_AHEAD: Final = 0.3
"""The time that a lane is expected to lose if it is passed over, as a share of the longest group's time."""


class Time(NamedTuple):
    """The time that a group takes to run."""

    lanes: int
    """The most lanes that it holds for."""
    taken: float


@dataclass(frozen=True)
class Schedule:
    """A rule that finds the next group.

    Attributes:
        memory: Shapes and dtypes of the values that are remembered from one choice to the next; zeros at first.
        choose: From the program counters, ``i32[lanes]``, and the memory, to the group that runs next, ``i32[]``,
            and the new memory. Where no group has a lane, the counter past the last block stands for the group if a
            lane is there, and else one after it.
        leaving: From the program counters to the number of lanes past the last block, ``i32[]``; ``choose`` counts
            them, too.
    """

    memory: tuple[jax.ShapeDtypeStruct, ...]
    choose: Callable[..., Arrays]
    leaving: Callable[[Any], Any]


def earliest(groups: Groups) -> Schedule:
    """The group of the smallest program counter."""
    past = _past(groups)
    return Schedule(
        (),
        lambda counter: (_group_of(jnp.min(counter), groups),),
        lambda counter: jnp.sum(counter == past, dtype=jnp.int32),
    )


def most_lanes(groups: Groups) -> Schedule:
    """The group with the most waiting lanes, the first of them if there are several."""

    def choose(counter: ArrayLike) -> Arrays:
        (lanes,) = counter.shape
        if isinstance(lanes, int) and lanes * _size(groups) <= np.iinfo(np.int32).max:
            return (_counter_of(_most(_counts(counter, groups), groups), groups),)
        waiting = _waiting(counter, groups)
        return (_counter_of(_best(waiting, waiting, groups), groups),)

    return Schedule((), choose, partial(_leaving, groups=groups))


def least_idle(groups: Groups, times: Sequence[Sequence[Time]], patient: Sequence[bool]) -> Schedule:
    """The group with the greatest ratio of the time that lanes have lost by waiting at it to its own time.

    Args:
        groups: The blocks that run together.
        times: The times of each group, in any unit, for ascending numbers of lanes.
        patient: For each group, whether it runs only when no lane waits elsewhere.
    """
    longest, last = max(each[-1].taken for each in times), np.asarray([*patient, False, False])
    taken = [*times, *[[Time(0, 1.0)]] * 2]

    def choose(counter: ArrayLike, idle: Any) -> Arrays:
        waiting = _waiting(counter, groups)
        weights = _times_for(waiting, taken)
        score = (idle + waiting * (SHARE_LOST_AHEAD * longest)) / weights
        best = _best(where(last, 0.0, score), waiting, groups)
        lost = waiting * row_of(weights, best)
        return _counter_of(best, groups), where(np.arange(len(taken)) == best, 0.0, idle + lost)

    return Schedule((jax.ShapeDtypeStruct((len(taken),), np.float32),), choose, partial(_leaving, groups=groups))


def _times_for(waiting: ArrayLike, times: Sequence[Sequence[Time]]) -> Any:
    """The time of each group for the number of lanes that wait at it."""
    most = max(map(len, times))
    alike = [[*[each[0]] * (most - len(each)), *each] for each in times]
    limits, taken = np.asarray(alike, np.float32).transpose(2, 1, 0)
    found = jnp.asarray(taken[-1])
    for limit, less in reversed(list(zip(limits[:-1], taken[:-1], strict=True))):
        found = where(waiting <= limit, less, found)
    return found


def _waiting(counter: ArrayLike, groups: Groups) -> Any:
    """How many lanes wait at each group, how many are past the last block, and 0: ``f32[groups + 2]``."""
    return _counts(counter, groups).astype(jnp.float32)  # converted last: LLVM vectorizes a sum of integers


def _leaving(counter: ArrayLike, groups: Groups) -> Any:
    return _counts(counter, groups)[len(groups)]


def _counts(counter: ArrayLike, groups: Groups) -> Any:
    nowhere = -1
    places = np.asarray([*range(len(groups)), _past(groups), nowhere], np.int32)
    here = _group_of(counter, groups) == places[:, None]
    return jnp.sum(here, axis=1, dtype=jnp.int32)  # fewer kernels than a scatter that adds 1 for each lane


def _past(groups: Groups) -> int:
    """The counter past the last block."""
    return sum(map(len, groups))


def _group_of(counter: ArrayLike, groups: Groups) -> Any:
    """The group of each program counter; a counter at no block is returned as it is, and is no group's index."""
    count, blocks = len(groups), _past(groups)
    if count == blocks:
        return counter
    group_of = np.empty(blocks, np.int32)
    for index, group in enumerate(groups):
        group_of[list(group)] = index
    return where(counter < blocks, jnp.asarray(group_of)[jnp.minimum(counter, blocks - 1)], counter)


def _best(score: Any, waiting: ArrayLike, groups: Groups) -> Any:
    """The index of the group with the highest score among those with lanes; the next two stand for no group.

    One reduction finds it: the last two have scores below those of groups, and the very last has one without a lane.
    """
    places = np.arange(len(groups) + 2)
    none = places - len(groups)
    scores = where(none < 0, score, np.float32(-1))
    return jnp.argmax(where(waiting > 0, scores, np.where(none > 0, -2, -3).astype(np.float32))).astype(jnp.int32)


def _size(groups: Groups) -> int:
    """A power of two above the number of groups and of the two indices that stand for none."""
    return 1 << (len(groups) + 2).bit_length()


def _most(counts: Any, groups: Groups) -> Any:
    """The index of the group with the highest count, the first of them; the next two stand for no group.

    Each group has one number: its count in the high bits and, in the low bits, its distance from the last group, so
    that the first one wins a tie. LLVM vectorizes a maximum of integers, but not the search for the place of a maximum.
    """
    size, past = _size(groups), len(groups)
    places = np.arange(past + 2, dtype=np.int32)
    behind = np.where(places < past, size - 1 - places, places == past).astype(np.int32)
    in_front = counts * np.where(places < past, size, 0).astype(np.int32)
    greatest = jnp.max(where(counts > 0, in_front + behind, np.where(places > past, 0, -1).astype(np.int32)))
    return where(greatest >= size, size - 1 - (greatest & (size - 1)), past + 1 - greatest)


def _counter_of(best: Any, groups: Groups) -> Any:
    """The counter for an index of ``_best``: the group, the counter past the last block, or one after it."""
    more = _past(groups) - len(groups)
    return where(best < len(groups), best, best + more) if more else best
