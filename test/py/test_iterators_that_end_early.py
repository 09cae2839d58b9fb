"""``itertools.takewhile``, ``groupby``, ``count`` and the like where a lane decides the end: against plain Python."""

import itertools

import pytest
from test_lists_as_written import is_alike


def of_known_items(n):
    items = [3, 1, 4, 1, 5]
    return (
        sum(itertools.takewhile(lambda x: x < n, items)),
        list(itertools.dropwhile(lambda x: x < n, items)),
        list(itertools.filterfalse(lambda x: x < n, items)),
    )


def of_a_lanes_items(n):
    items = [3, 1, 4, n, 5]
    return (
        list(itertools.takewhile(lambda x: x < 4, items)),
        len(list(itertools.dropwhile(lambda x: x > 3, items))),
        tuple(itertools.takewhile(lambda x: x > 1, items)),
    )


def in_loops(n):
    def small(x):
        if x > 3:
            return False
        return x < n

    total = len(list(itertools.takewhile(small, [1, 2, 3, 4])))
    for x in itertools.takewhile(lambda x: x * x < n, [1, 2, 3, 4]):
        total += x
    for x in itertools.dropwhile(lambda x: x * x < n, (1, 2, 3, 4)):
        total = total * 3 + x
    return total


def known_when_it_is_built(n):
    return sum(itertools.takewhile(lambda x: x < 3, [1, 2, 5, 1])) + n, list(itertools.filterfalse(None, [0, n, 2]))


def groups(n):
    total = 0
    for key, group in itertools.groupby([n % 2, 1, 1, n % 3]):
        total = total * 5 + key * sum(1 for _ in group)
    return total


def first_square(n):
    for i in itertools.count():
        if i * i >= n:
            return i


def counted(n):
    total = 0
    for i in itertools.count(n, 2):
        if i % 3 == 0:
            continue
        total += i
        if total > 20:
            break
    for x in itertools.takewhile(lambda x: x * x < n, itertools.count(1)):
        for y in itertools.count(step=1):
            if y > x:
                break
            total += y
    try:
        for k in itertools.count():
            if k > n:
                raise ValueError(k)
    except ValueError:
        total += k
    return total, i


def asked(n):
    first = next(i for i in itertools.count(2) if n % i == 0 or i > n)
    return first, any(i * i > n for i in itertools.count())


PROGRAMS = [
    *(of_a_lanes_items, in_loops, known_when_it_is_built, groups, first_square, counted, asked),
    pytest.param(of_known_items, marks=pytest.mark.slow),
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_each_lane_is_as_in_python(program):
    is_alike(program, 7)
