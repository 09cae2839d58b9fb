"""Tuples whose length differs between lanes: values, keys and results, against plain Python."""

# ruff: noqa: RUF005  # `path + (x,)` is what people write

import functools
import heapq
from collections import Counter, defaultdict, deque
from typing import NamedTuple

import numpy as np
import pytest
from test_lists_as_written import is_alike

import hlobatch as hb

INPUTS = np.array([0, 1, 2, 3, 5, 8])


def two_names(n):
    """The first name keeps its tuple where ``+=`` gives the second another one."""
    path = earlier = ()
    for i in range(n):
        earlier = path
        path += (i * 7 % 5,)
    return path, earlier, len(path) * 10 + len(earlier)


def unpacked(n):
    items = tuple(i * i for i in range(n + 2))
    first, *rest = items
    *others, last = (*items, first, *rest)
    try:
        a, b, c = items
    except ValueError:
        a = b = c = -1
    return first, sum(rest), sum(others), last, a + b + c


def read(n):
    items = (1, 2) * (n % 3) + tuple(range(n))
    try:
        third = items[3]
    except IndexError:
        third = -1
    at = items.index(1) if 1 in items else -1
    total = 0
    for i, x in enumerate(items):
        if x == 3:
            continue
        total += i * x
    return third, at, total, items[::-1], items[1:-1], items[-1:] + items[:1], max(items, default=9), items.count(1)


def keys(n):
    seen, counts, path = set(), defaultdict(int), ()
    for i in range(n):
        path = path[-2:] + (i % 2,)
        seen.add(path)
        counts[path[:1]] += 1
        counts[tuple([i % 3] * (i % 4))] += 1
    return len(seen), (0, 1) in seen, () in seen, (7,) * 80 in seen, counts[()], counts[(0,)], counts[(1, 1)]


def states(n):
    """A small program with tuples as keys, beside the larger ones that run by night."""
    state, seen = [n % 2] * n, set()
    while tuple(state) not in seen:
        seen.add(tuple(state))
        state = state[:2] + [sum(state) % 2]
    return len(seen)


def rows_as_keys(n):
    grid, seen = [[(i * j) % 2 for j in range(n)] for i in range(n)], set()
    while tuple(tuple(row) for row in grid) not in seen:
        seen.add(tuple(tuple(row) for row in grid))
        for row in grid:
            for j in range(len(row)):
                row[j] = 1 - row[j]
    return len(seen), len(Counter(map(tuple, grid)))


def compared(n):
    one, other, pair = tuple(i % 3 for i in range(n)), (0, 1), tuple(range(2))
    orders = (one < other, other <= one, one > pair, pair >= other, () < one, one >= (0, 1, 2, 0))
    return orders, one == other, other == one, one != pair, max(one, other), isinstance(one, tuple), type(one) is list


def sorted_tuples(n):
    items = [tuple((i * 7 + j) % 5 - 2 for j in range(i % 3)) for i in range(n)]
    items.sort()
    heap = [(0, ())]
    while heap and heap[0][0] < n:
        cost, path = heapq.heappop(heap)
        heapq.heappush(heap, (cost + 3, path + (cost,)))
        heapq.heappush(heap, (cost + 2, path + (-cost,)))
    return items, [path for _, path in heap]


def searched(n):
    queue, seen = deque([(0, ())]), {0}
    while queue:
        x, path = queue.popleft()
        if x == n:
            return path
        for step, y in ((1, x + 1), (2, x * 2)):
            if y <= n and y not in seen:
                seen.add(y)
                queue.append((y, path + (step,)))
    return ()


def recursions(n):
    def ways(left, path=()):
        if left == 0:
            return [path]
        return [way for step in (1, 2) if step <= left for way in ways(left - step, path + (step,))]

    def one(left, path):
        if left <= 0:
            return path if left == 0 else None
        found = one(left - 5, path + (5,))
        return found if found is not None else one(left - 3, path + (3,))

    found = one(n, ())
    return len(ways(n % 5)), -1 if found is None else sum(found)


def known_results(n):
    @functools.cache
    def ways(path):
        return 1 if sum(path) >= n else ways(path + (1,)) + ways((2, *path))

    return ways(())


def best_or_none(n):
    best, path = None, ()
    for i in range(n):
        path += (i * i % 7,)
        if best is None or sum(path) % 5 > sum(best) % 5:
            best = path
    return -1 if best is None else best.count(0) + 10 * len(best)


def items_of_several_kinds(n):
    words, pairs, halves, flags = (), (), (1,), ()
    for i in range(n):
        words += (str(i * i),)
        pairs += ((i, i * i),)
        halves += (i / 2,)
        flags = (i % 2 == 0, *flags)
    return "-".join(words), sum(a * b for a, b in pairs), (2, 4) in pairs, halves, all(flags), sum(flags)


class Walk:
    def __init__(self):
        self.steps = ()

    def go(self, x):
        self.steps += (x,)
        return self


def in_other_values(n):
    walk, groups = Walk(), {}
    for i in range(n):
        walk.go(i).go(-i)
        groups[i % 3] = groups.get(i % 3, ()) + (i,)
    return walk.steps, len(groups), sum(len(group) for group in groups.values()), (1, 2, 3, 4)[n % 3 :]


class Point(NamedTuple):
    x: int
    y: int


def beside_named(n):
    return tuple(Point(1, 2)) + tuple(range(n)) == Point(1, 2), Point(0, 1) == tuple(range(n))


PROGRAMS = [
    *(
        two_names,
        unpacked,
        read,
        states,
        compared,
        searched,
        known_results,
        best_or_none,
        in_other_values,
        beside_named,
    ),
    *(pytest.param(program, marks=pytest.mark.slow) for program in (keys, rows_as_keys, sorted_tuples, recursions)),
    pytest.param(items_of_several_kinds, marks=pytest.mark.slow),
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_tuple_of_any_length_is_pythons(program):
    is_alike(program, 7)


def test_a_result_is_a_tuple_for_each_input_and_an_argument():
    @hb.batch
    def path(n):
        steps = ()
        for i in range(n):
            steps += (i, -i)
        return steps

    found = path(np.array([0, 1, 3]))
    assert found.tolist() == [(), (0, 0), (0, 0, 1, -1, 2, -2)]
    assert found.lengths.tolist() == [0, 2, 6]
    assert hb.batch(lambda steps: sum(steps) + len(steps) + (1 in steps))(found).tolist() == [0, 2, 7]


def test_a_tuple_gets_more_room_where_it_needs_more():
    @hb.batch
    def long(n):
        items = ()
        while len(items) < n:
            items += (len(items),)
        return len(items), items[-1]

    assert [column.tolist() for column in long(np.array([1, 200]))] == [[1, 200], [0, 199]]


def changed(n):
    items = tuple(range(n))
    items[0] = 1
    return len(items)


def appended(n):
    items = tuple(range(n))
    items.append(1)
    return len(items)


def of_lists(n):
    items = ()
    for i in range(n):
        items += ([i],)
    return len(items)


@pytest.mark.parametrize(
    ("program", "text"),
    [
        (changed, "'tuple' object does not support item assignment"),
        (appended, "append"),
        (of_lists, "keep lists, arrays and objects in a list"),
    ],
    ids=lambda part: getattr(part, "__name__", None),
)
def test_what_a_tuple_cannot_do_is_refused_at_the_users_line(program, text):
    with pytest.raises(hb.HloBatchError, match=text) as caught:
        hb.batch(program)(INPUTS)
    assert "Growing" not in str(caught.value)
