"""A program made with more room, after it was made with less, is the one made with that room at first."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from programs import PROGRAMS
from programs.refused import REFUSED
from programs.table import Program

import hlobatch as hb
from hlobatch.runtime import kernel_plan
from hlobatch.runtime.plan import Plan
from hlobatch.runtime.room import MORE_ROOM, holds_containers
from hlobatch.transforms import attempts
from hlobatch.transforms.attempts import Lessons

ALLOWED = [program for program in PROGRAMS if program.name not in REFUSED]


def made_twice(batched: hb.BatchedFunction[..., Any], *args: Any, **static: Any) -> tuple[Plan, str, str]:
    """The plan of a call, and its program with more room: made after that plan, and made at first."""
    call = batched._bind(args, static)
    plan, lessons = batched._new_plan(call, 1, Lessons())
    again, first = (batched._new_plan(call, MORE_ROOM, known)[0].specialized for known in (lessons, Lessons()))
    return plan, str(again), str(first)


def of_a_list(n):
    items, k = [], 0
    while k < n:
        items.append(3 * k)
        k += 1
    return items[n // 2] + len(items)


def of_pairs(n):
    items, seen = [], {}
    for k in range(n):
        items.append((k, k * k % 17))
        seen[k % 200] = k
    return sum([x * y for x, y in items]) + len(seen)


def put(items, x):
    items.append(x)
    if len(items) % 3 == 0:
        return items[-2]
    return x


def of_a_helper(n):
    items, last = [], -1
    for k in range(n):
        if k % 3:
            last = put(items, k)
    try:
        return items[n] + last
    except IndexError:
        return items[-1]


def of_unequal_lists(n):
    rows = [[], [], []]
    for k in range(n):
        rows[k % 3].append(k)
    return sum([sum(row) for row in rows])


FUNCTIONS = [of_a_list, of_pairs, of_a_helper, of_unequal_lists]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_program_with_more_room_is_the_one_made_at_first(function: Callable[..., Any]) -> None:
    """Regression: it had one more check for each message that named the room."""
    _, again, first = made_twice(hb.batch(function), np.array([3, 5], np.int32))
    assert again == first


@pytest.mark.slow
@pytest.mark.parametrize("program", ALLOWED, ids=lambda program: program.name)
def test_all_programs_with_more_room_are_those_made_at_first(program: Program) -> None:
    with program.precision():
        plan, again, first = made_twice(program.variant(), *program.arrays(program.rows_of(3)), **program.static)
    assert again == first or not holds_containers(plan)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_call_with_more_room_takes_one_round(function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: all rounds were made again, and all functions lowered anew."""
    made = list[int]()
    specialize = attempts.specialized_program
    batched = hb.batch(function)
    assert batched(np.array([3, 5], np.int32)).tolist() == [function(3), function(5)]
    monkeypatch.setattr(attempts, "specialized_program", lambda *given: made.append(1) or specialize(*given))
    assert batched(np.array([7, 250], np.int32)).tolist() == [function(7), function(250)]
    assert len(made) == 1


def orders(n):
    if n == 0:
        return [[]]
    found = []
    for order in orders(n - 1):
        for i in range(len(order) + 1):
            found.append([*order[:i], n, *order[i:]])  # noqa: PERF401  # it grows
    return found


def how_many_orders(n):
    return len(orders(n))


def test_containers_grow_only_as_far_as_memory_goes(monkeypatch):
    """A list of lists takes sixteen times the memory with four times the room."""
    batched = hb.batch(how_many_orders)
    assert batched(np.array([0, 3, 1])).tolist() == [1, 6, 1]
    monkeypatch.setattr(kernel_plan, "available", lambda: 2**26)
    with pytest.raises(hb.LaneError, match="CapacityError: a list is full"):
        batched(np.array([1, 5, 2]))


def test_lanes_that_do_not_fit_in_memory_are_an_error_of_its_own_class(monkeypatch):
    monkeypatch.setattr(kernel_plan, "available", lambda: 2**10)
    monkeypatch.setattr(kernel_plan, "BYTES_SURELY_THERE", 2**10)
    with pytest.raises(hb.MemoryLimitError, match="the variables of 'how_many_orders' would take"):
        hb.batch(how_many_orders)(np.array([3]))
