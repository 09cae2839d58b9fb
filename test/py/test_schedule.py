"""Which group of blocks runs next."""

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlobatch.lowering.turns.schedule import Schedule, Time, _best, _most, earliest, least_idle, most_lanes

ALONE = ((0,), (1,), (2,))
NOBODY = 3
LANES = 100


def always(*taken: float) -> list[list[Time]]:
    """Each group takes as long for a few lanes as for all."""
    return [[Time(LANES, each)] for each in taken]


def first_choice(schedule: Schedule, *counters: int) -> int:
    blank = [np.zeros(aval.shape, aval.dtype) for aval in schedule.memory]
    return int(schedule.choose(np.array(counters, np.int32), *blank)[0])


def test_earliest_is_the_smallest_counter() -> None:
    assert first_choice(earliest(ALONE), 2, 1, NOBODY) == 1
    assert first_choice(earliest(((0,), (1, 3), (2,))), 3, NOBODY + 1, 2) == 2
    assert first_choice(earliest(((0,), (1, 3), (2,))), 3, NOBODY + 1) == 1


def test_most_lanes_takes_the_first_of_several() -> None:
    assert first_choice(most_lanes(ALONE), 2, 1, 2, 1, 0) == 1


@given(st.lists(st.integers(0, 5) | st.integers(0, 1_000_000), min_size=3, max_size=60))
def test_the_most_lanes_are_found_in_whole_numbers(counts: list[int]) -> None:
    """As in a search through groups: the first with the highest count; then lanes past the last, then none."""
    *waiting, past, _ = counts
    groups = tuple((i,) for i in range(len(waiting)))
    expected = waiting.index(max(waiting)) if any(waiting) else len(groups) + (past == 0)
    found = _most(np.array([*waiting, past, 0], np.int32), groups)
    floats = np.array([*waiting, past, 0], np.float32)
    assert int(found) == int(_best(floats, floats, groups)) == expected


def test_lanes_are_counted_for_the_group_together() -> None:
    assert first_choice(most_lanes(((0, 2), (1,))), 0, 2, 2, 1, 1) == 0


@pytest.mark.parametrize(
    "schedule", [earliest(ALONE), most_lanes(ALONE), least_idle(ALONE, always(1, 1, 1), [False, True, False])]
)
@pytest.mark.parametrize("counter", [NOBODY, NOBODY + 1, NOBODY + 7])
def test_where_nobody_waits_no_group_is_next(schedule: Schedule, counter: int) -> None:
    """Whether any lane is just past the last block is all that counts of the others."""
    assert min(first_choice(schedule, counter, counter + 1), NOBODY + 1) == min(counter, NOBODY + 1)


def test_cheap_runs_for_few_and_dear_for_many() -> None:
    schedule = least_idle(ALONE, always(1, 100, 1), [False] * 3)
    assert first_choice(schedule, *[1] * 50, 2) == 2
    assert first_choice(schedule, *[1] * 50, NOBODY) == 1


def test_a_patient_group_runs_when_all_others_are_empty() -> None:
    schedule = least_idle(ALONE, always(1, 1, 100), [True, False, False])
    assert first_choice(schedule, *[0] * 50, 2) == 2
    assert first_choice(schedule, *[0] * 50, NOBODY) == 0


def test_few_lanes_at_a_rare_dear_group_run_when_they_have_waited_long_enough() -> None:
    """Not at once, as the one with more lanes is as dear, and not only when nobody else is left."""
    schedule = least_idle(((0,), (1,)), always(100, 100), [False, False])
    counter = np.array([0] * 10 + [1] * 90, np.int32)
    memory = [np.zeros(aval.shape, aval.dtype) for aval in schedule.memory]
    chosen = []
    for _ in range(40):
        following, *memory = jax.device_get(schedule.choose(counter, *memory))
        chosen.append(int(following))
    assert 2 <= chosen.count(0) <= 12
    assert chosen[0] == 1


def test_a_group_that_takes_less_for_few_lanes_runs_for_few() -> None:
    """Twenty lanes wait elsewhere; four are few, five are not."""
    times = [[Time(4, 10.0), Time(LANES, 100.0)], [Time(LANES, 50.0)]]
    schedule = least_idle(((0,), (1,)), times, [False, False])
    assert first_choice(schedule, *[0] * 4, *[1] * 19) == 0
    assert first_choice(schedule, *[0] * 5, *[1] * 19) == 1
    assert first_choice(schedule, *[0] * 4, *[1] * 21) == 1
