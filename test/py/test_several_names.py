"""A list, a dict, a set or an array is changed by each of its names, where they mean one object in all that follows."""

import copy
from dataclasses import dataclass

import numpy as np
import pytest
from feature_pairs import right_or_refused

import hlobatch as hb

N = np.array([0, 1, 3, 4], np.int32)


@dataclass
class Pair:
    left: list
    right: list


def one_of_two(n):
    evens, odds = [], [7]
    for k in range(n):
        target = evens if k % 2 == 0 else odds
        target.append(k)
        if len(target) > 2:
            target[0] += target.pop()
    return sum(evens) * 10 + len(odds), odds[0]


def one_of_three(n):
    small, large, rows = [n], [2], [[3], [4]]
    for k in range(n + 1):
        if k == 1:
            target = small
        elif k > 2:
            target = large
        else:
            target = rows[1]
        for x in (k, k + 1):
            target.append(x)
    return sum(small), sum(large), sum(rows[1]), len(rows[0])


def another_one_if(n):
    left, right = [n], [2]
    side = left
    if n > 1:
        side = right
    side.extend([5])
    return sum(left), len(right)


def which_is_asked_once(n):
    asked, left, right = [], [1], [2]

    def is_left():
        asked.append(n)
        return n > 1

    side = left if is_left() else right
    side.append(3)
    side[0] = side[-1] + len(asked)
    return sum(left), sum(right), len(asked)


def by_two_choices(n):
    a, b = [n], [2, 1]
    source, goal = a, b
    if n > 2:
        source, goal = b, a
    goal.append(source[0])
    return sum(a), sum(b)


def both_names(n):
    data = [n, 3, 1]
    work = data
    for i in range(n):
        work.append(i)
        if work[-1] > 1:
            data[0] = work[1] + 5
            break
    return sum(data), len(work)


def three_names(n):
    a = b = c = {1: n}
    b[2] = 5
    c[1] += a[2]
    return sum(a.values()), len(b), c[1]


def by_a_function(n):
    seen = [1, n]
    also = seen

    def add(x):
        also.append(x)

    add(3)
    also[0] = 9
    return len(seen), sum(seen)


def parts_of_a_new_container(n):
    evens, odds, most, least = [n], [2], {n}, [n]
    both, named, pair = [evens, odds], {"x": most}, (n, (least, 3))
    for k in range(n):
        both[k % 2].append(k)
    named["x"].add(5)
    pair[1][0].append(6)
    evens.append(8)
    return sum(evens), sum(odds), len(both[0]), len(most), sum(least)


def listed_in_a_loop(n):
    xs, rows = [n], [[1], [2]]
    for items in (xs, rows[1]):
        if n > 1:
            items.append(sum(items))
        items[0] += 1
    return sum(xs), sum(rows[0]), sum(rows[1])


def one_after_the_other(n):
    grid = [[n, 1], [2, 3]]
    row = grid[0]
    row[0] += 4
    row = grid[row[1]]
    row[0] += 5
    return grid[0][0], grid[1][0]


def moved_where_nobody_reads(n):
    spans = [[0, 1]]
    for k in range(n + 2):
        last = spans[-1]
        if last[1] + 1 > k:
            last[1] = max(last[1], k)
        else:
            spans.append([k + 1, k + 1])
    return len(spans), sum(span[0] * 10 + span[1] for span in spans)


def in_comprehensions(n):
    grid = [[n, 1], [2, 3]]
    row = grid[0]
    row[0] += 4
    doubled = [x * 2 for x in row]
    later = lambda row: row + 1  # noqa: E731  # another variable of that name
    total = sum(x + later(x) for x in row)
    return total, sum(doubled), sum([row[1] for row in grid]), grid[0][0]


def views(n):
    grid = np.zeros((2, 3), np.int32)
    left, low = grid[:, 0], grid[1]
    left[1] = n
    low[2] = low[0] + 4
    most = low[2] + left[1]
    whole = grid
    whole[0, 1] = 3
    return grid.sum(), most


def in_order_of_the_statements(n):
    a = [1, 2]
    b = a
    b.append(n)
    a = [*a, 9]
    b.append(4)
    return len(a), sum(b)


def two_names_of_a_copy(n):
    whole = [np.zeros(2, np.int32), np.ones(2, np.int32)]
    a = b = copy.deepcopy(whole)
    a[0][1] = n
    pair = other = copy.deepcopy(Pair([n], [2]))
    pair.right += [n]
    return b[0][1], whole[0][1], sum(other.right)


RUN = [
    *(one_of_two, one_of_three, another_one_if, which_is_asked_once, by_two_choices),
    *(both_names, three_names, by_a_function, parts_of_a_new_container, listed_in_a_loop),
    *(one_after_the_other, moved_where_nobody_reads, in_comprehensions, views, in_order_of_the_statements),
    two_names_of_a_copy,
]


@pytest.mark.parametrize("function", RUN, ids=lambda f: f.__name__)
def test_each_name_changes_the_object(function):
    found = hb.batch(function, dispatch="kernel")(N)  # compiled sooner
    assert [tuple(map(int, lane)) for lane in zip(*found, strict=True)] == [function(n) for n in N.tolist()]


def given_back_twice(n):
    a, b = _twice(copy.deepcopy([[n, 1], [2, 3]]))
    a[1].append(4)
    return len(b[1])


def _twice(x):
    return x, x


def hidden_by_a_comprehension(n):
    grid = [[n, 1], [2, 3]]
    row = grid[0]
    row.append(4)
    return sum([row[0] for grid in ([[5, 6]], [[7, 8]])]) + len(grid[0])


def bound_in_the_same_statement(n):
    grid = [[n, 1], [2, 3]]
    other = grid
    row, grid = grid[0], [[5]]
    row.append(1)
    return len(other[0]) * 100 + len(grid[0]) * 10 + len(row)


def bound_by_a_function(n):
    grid = [[n, 1], [2, 3]]
    row = grid[0]

    def other():
        nonlocal row
        row = [7, 7]

    other()
    row.append(1)
    return len(grid[0]) * 10 + len(row)


def exchanged(n):
    a, b = [n], [1, 2]
    a, b = b, a
    a.append(3)
    c = a
    a, b = b, a
    b.append(4)
    return len(a) * 100 + len(b) * 10 + len(c)


def one_that_a_function_gives_back(n):
    left, right, side = [n], [2], [3]

    def choose():
        nonlocal side
        side = left if n > 1 else right
        side.append(4)

    choose()
    return sum(left) * 100 + sum(right) * 10 + len(side)


def kept_from_a_turn_before(n):
    best, row = [], []
    for k in range(n + 3):
        if k % 3 == 0:
            row = []
        row.append(k)
        if len(row) > len(best):
            best = row
    return sum(best)


def read_in_the_turn_behind(n):
    rows, t = [[1], [2]], 0
    row = rows[0]
    for k in range(n):
        row.append(k)
        t += len(rows[0])
        rows[0] = [9]
    return t * 10 + len(row)


def read_by_a_choice(n):
    side, other = [n], [2]

    def length():
        return len(side)

    side = other
    if length() > n:
        side = [5]
    side.append(1)
    return len(other) * 10 + len(side)


def _reversed(rows):
    rows.reverse()


MOVES = {
    "reversed": lambda rows: rows.reverse(),
    "sorted": lambda rows: rows.sort(),
    "reversed by a function": _reversed,
    "added to": lambda rows: rows.append([3, 3]),
}


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
def test_two_items_that_are_one_list_still_are_once_they_are_moved(move):
    def changed(n):
        rows = [[2, n]] * 2
        move(rows)
        rows[n % 2][0] += 5
        return rows[0][0] * 10 + rows[1][0]

    right_or_refused(changed, N.tolist())


def test_two_items_that_are_one_list_still_are_once_they_are_exchanged():
    def exchanged(n):
        rows = [[2, n]] * 2
        for _ in range(n):
            rows[0], rows[1] = rows[1], rows[0]
        rows[n % 2][0] += 5
        return rows[0][0] * 10 + rows[1][0]

    def in_turn(n):
        rows = [[2, n], [4, 1]]
        rows[n % 2], rows[1] = rows[1], rows[n % 2]
        rows[n % 2][0] += 5
        return rows[0][0] * 10 + rows[1][0]

    right_or_refused(exchanged, N.tolist())
    assert right_or_refused(in_turn, N.tolist()) is None


@pytest.mark.parametrize(
    "function",
    [
        *(given_back_twice, hidden_by_a_comprehension, bound_in_the_same_statement, bound_by_a_function, exchanged),
        *(one_that_a_function_gives_back, kept_from_a_turn_before, read_in_the_turn_behind, read_by_a_choice),
    ],
    ids=lambda f: f.__name__,
)
def test_a_name_for_another_object_is_right_or_refused(function):
    right_or_refused(function, N.tolist())
