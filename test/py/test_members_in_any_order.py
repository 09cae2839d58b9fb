"""A set whose members differ between lanes, where their order makes no difference, against plain Python."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_own_containers import check

import hlobatch as hb


def made(n):
    s = set()
    for i in range(n):
        s.add((i * i) % 7)
    return s


def moved_members(n):
    s = made(n)
    t = {x + 1 for x in s}
    return len(t) * 10 + sum(t)


def questions(n):
    s = made(n)
    return (10 if any(x > 3 for x in s) else 0) + (100 if all(x < 4 for x in s) else 0)


def pairs_of_members(n):
    s = made(n)
    u = {x * y % 5 for x in s for y in s if x != y}
    return len(u) * 100 + sum(sorted(u))


def members_that_are_tuples(n):
    s = made(n)
    t = {(x, x % 2) for x in s if x > 1}
    return len(t) + (1 if any((x, 1) in t for x in s) else 0)


def absolute_values(n):
    s, u = made(n), {n, 2}
    return len({abs(x - 3) for x in s | u}) * 10 + (1 if all(x in s for x in u) else 0)


def in_order(n):
    seen = []

    def noted(x):
        seen.append(x)
        return x > 9

    return len({noted(x) for x in made(n)}) + seen[0]


PROGRAMS = [moved_members, questions, pairs_of_members, members_that_are_tuples, absolute_values]


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_members_in_any_order(function: Callable[[Any], Any]) -> None:
    check(function)


def test_a_function_that_may_tell_the_order_is_refused() -> None:
    with pytest.raises(hb.HloBatchError):
        hb.batch(in_order)(np.array([1, 2, 3]))
