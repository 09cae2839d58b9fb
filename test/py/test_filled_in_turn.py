"""Containers that are given a generator: Python adds each item before it computes the next one, and judges."""

# ruff: noqa: C417, PERF401  # `map` with a lambda, and loops that append, are what people write

from collections import Counter, defaultdict, deque

import numpy as np
import pytest
from test_lists_as_written import outcome, plain

import hlobatch as hb

INPUTS = np.array([0, 1, 2, 3, 5])


def tens(x, n):
    if x == n:
        raise ValueError(x)
    return x * 10


# Items that are computed from the container


def sums_of_the_last_two(n):
    first, second, known = [0, 1], [0, n], [n, 1]
    first.extend(first[-1] + first[-2] for _ in range(n))
    second += (second[-1] + second[-2] for _ in range(3))
    known.extend(len(known) for _ in range(3))
    return first, second, known


def what_is_not_yet_there(n):
    items, found = [3, 1, 3, 2, n, 1], []
    found.extend(x for x in items if x not in found)
    return found


def by_a_function_inside(n):
    items, others = [0, 1], [1]

    def following(k):
        if k > 2:
            return items[-1]
        return items[-1] + items[-2] * k

    items.extend(following(i) for i in range(n))
    items.extend(map(following, range(3)))
    others.extend(map(lambda k: others[-1] + k, range(n)))
    return items, others


class Series:
    def __init__(self):
        self.items, self.step = [1], 2

    def following(self):
        return self.items[-1] * self.step

    def grow(self, n):
        self.items.extend(self.items[-1] + self.step for _ in range(n))
        self.items.extend(self.step * i for i in range(2))
        self.items.extend(self.following() for _ in range(n))


def in_an_object(n):
    series = Series()
    series.grow(n)
    return series.items


def two_more(items):
    for _ in range(2):
        yield items[-1] + 3


def by_a_generator(n):
    items = [n]
    items.extend(two_more(items))
    for _ in range(n):
        items.extend(x + 1 for x in two_more(items))
    return items


def rows(n):
    """A row that is an item of what is gone over, and one that is not."""
    grid, groups = [[1], [2]], [[] for _ in range(3)]
    grid[0].extend(x + 1 for x in grid[1])
    grid[n % 2].extend(len(row) for row in grid)
    for i in range(n):
        groups[i % 3].extend(range(i))
        groups[(i + 1) % 3].extend(x for x in groups[i % 3] if x % 2)
    return grid, groups


def sets_and_deques(n):
    members, ends, few = {1}, deque([1]), {1, 2, 3, 4, 5}
    members.update(len(members) + i for i in range(n))
    ends.extend(sum(ends) + i for i in range(n))
    few.difference_update(i for i in range(n) if len(few) > 3)
    return sorted(members), list(ends), sorted(few)


# Items of which one raises


def lists(n):
    first, second, third = [1], [1], [1]
    for k in range(3):
        try:
            first.extend(tens(i, n) for i in range(4))
            second += (12 // (i - n) for i in range(k))
            third.extend(map(lambda i: tens(i, n + 1), range(k)))
        except (ValueError, ZeroDivisionError):
            first.append(-k)
    return first, second, third


def nested_loops(n):
    items, log = [1], []

    def product(a, b):
        log.append(a)
        if a + b == n:
            raise KeyError(a)
        return a * b

    try:
        items += (product(a, b) for a in range(3) for b in range(a) if a)
    except KeyError as e:
        items.append(-e.args[0])
    return items, log


def sets_and_deques_of_which_an_item_raises(n):
    members, ends = {7}, deque([7])
    try:
        members.update(tens(i, n + 1) for i in range(4))
        ends.extend(tens(i, n) for i in range(4))
    except ValueError:
        members.add(-1)
    return sorted(members), list(ends)


def dicts(n):
    entries, counts = {}, Counter()
    try:
        counts.update(tens(i, n) % 3 for i in range(4))
        entries.update((i, tens(i, n - 2)) for i in range(4))
    except ValueError:
        counts[9] += 1
    return sorted(counts.items()), sorted(entries.items())


def filled(items, n):
    items.extend(tens(i, n) for i in range(4))
    return len(items)


def in_a_function(n):
    items = [1]
    try:
        k = filled(items, n)
    except ValueError:
        k = -1
    return items, k


def filtered(n):
    items = [1]

    def is_odd(x):
        if x == n:
            raise ValueError
        return x % 2

    try:
        items.extend(filter(is_odd, range(5)))
    except ValueError:
        items.append(-1)
    finally:
        items.append(9)
    return items


def parts_of_containers(n):
    groups, log = defaultdict(list), []
    known = {1: [0], 2: []}

    def logged(i):
        log.append(i)
        if i == 2:
            raise ValueError
        return i

    try:
        for k in range(3):
            groups[k % 2].extend(tens(i, n) for i in range(k + 2))
    except ValueError:
        groups[7] += [n]
    try:
        known[n].extend(logged(i) for i in range(n + 1))
    except (KeyError, ValueError):
        log.append(-1)
    return len(groups), sum(map(len, groups.values())), known[1], known[2], log


def what_was_made_is_kept_in_the_end(n):
    """As a user writes it; the list is empty on one path."""
    items, found = [1], []
    try:
        try:
            for i in range(4):
                found.append(tens(i, n))
        finally:
            items.extend(found)
    except ValueError:
        items.append(-1)
    return items


PROGRAMS = [
    *(sums_of_the_last_two, what_is_not_yet_there, by_a_function_inside, in_an_object, by_a_generator, rows),
    sets_and_deques,
    *(lists, nested_loops, sets_and_deques_of_which_an_item_raises, dicts, in_a_function, filtered),
    parts_of_containers,
    what_was_made_is_kept_in_the_end,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_it_is_what_python_gives(program):
    found = hb.batch(program)(INPUTS)
    assert [plain(found, lane) for lane in range(len(INPUTS))] == [outcome(program, n) for n in INPUTS.tolist()]


def test_texts_that_are_no_numbers():
    def numbers(text):
        found = [5]
        try:
            found.extend(map(int, text.split()))
        except ValueError:
            found.append(-1)
        return found

    texts = ["1 2 3", "1 x 3", "", "7 8 9 z"]
    assert hb.batch(numbers)(hb.Ragged.of(texts)).tolist() == [numbers(text) for text in texts]


class Whole(list):
    def extend(self, items):
        for item in list(items):
            self.append(item)


def test_a_method_of_the_users_is_refused_where_an_item_may_raise():
    def program(n):
        items = Whole()
        try:
            items.extend(tens(i, n) for i in range(4))
        except ValueError:
            items.append(-1)
        return len(items)

    with pytest.raises(hb.BatchTypeError, match="`extend` of a 'Whole' is given a generator"):
        hb.batch(program)(INPUTS)
