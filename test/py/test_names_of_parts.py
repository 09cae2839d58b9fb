"""A name for an item or an attribute that is changed in place is as in Python; refused where a container may move."""

from collections import defaultdict

import numpy as np
import pytest

import hlobatch as hb

N = np.array([0, 1, 3], np.int32)


class Ball:
    def __init__(self, x):
        self.x, self.hits = x, 0

    def move(self, by):
        if by > 1:
            self.x += by
        self.hits += 1


class Total:
    def __init__(self, n):
        self.sum = n

    def add(self, x):
        self.sum += x
        return self.sum


class Court:
    def __init__(self, n):
        self.balls, self.turn, self.speed, self.seen = [Ball(n), Ball(2)], n % 2, n, []
        self.last = Ball(7)

    def step(self):
        for ball in self.balls:
            ball.move(self.speed)
            self.seen.append(ball.x)

    def play(self):
        mine, other = self.balls[self.turn], self.balls[1 - self.turn]
        mine.x -= 1
        other.hits += 3
        self.turn = 1 - self.turn
        return other.x

    def push(self):
        last = self.last
        last.x += self.speed
        if last.x > 8:
            last.move(2)
        return last.x + self.speed


def items_of_a_loop(n):
    balls = [Ball(i) for i in range(n + 1)]
    for i, ball in enumerate(balls):
        ball.x += i * n
    for ball, by in zip(balls, range(n + 1)):  # noqa: B905  # their lengths differ between lanes
        ball.move(by)
    return sum(ball.x for ball in balls), sum(ball.hits for ball in balls)


def both_of_a_zip(n):
    left, right = [Ball(n), Ball(1)], [Ball(5), Ball(6)]
    for a, b in zip(left, right, strict=True):
        a.x, b.x = b.x, a.x
    return left[0].x, left[1].x, right[0].x


def pairs_of_items(n):
    balls = [Ball(n), Ball(2), Ball(1)]
    for a in balls:
        for b in balls:
            if a.x < b.x:
                a.hits += 1
                b.hits -= a.x
    return balls[0].hits, balls[1].hits, balls[2].hits


def rows_of_lists(n):
    grid = [[0] * 3 for _ in range(2)]
    for row in grid:
        for i in range(len(row)):
            row[i] += n * i
        row[n % 3] = 9
    row = grid[n % 2]
    row[0], row[1] = row[1], row[0]
    return sum(map(sum, grid)), row[0]


def rows_of_an_array(n):
    grid = np.zeros((2, 3), np.int32)
    for row in grid:
        row[0] = n
        row[1] += 2
    return grid.sum(), grid[1, 0]


def items_of_dicts(n):
    known, lists = {1: [n], 2: [3]}, defaultdict(list)
    one = known[1]
    one.append(5)
    for i in range(n):
        row = lists[i % 2]
        row.append(i)
    return len(known[1]), sum(one), len(lists[0]), sum(lists[1])


def attributes_of_objects(n):
    court = Court(n)
    court.play()
    return court.turn, court.balls[0].x, court.balls[1].hits, court.push(), court.last.x


def methods_of_items(n):
    court = Court(n)
    court.step()
    return court.balls[0].x, court.balls[1].hits, sum(court.seen)


def in_helpers(n):
    balls = [Ball(n), Ball(1)]

    def grow(by):
        for ball in balls:
            ball.x += by
            if ball.x > 4:
                return 1
        return 0

    return grow(1) + grow(2) + _grown(balls, n), balls[0].x, balls[1].x


def _grown(items, by):
    for item in items:
        item.x += by
    return len(items)


def a_key_that_changes_later(n):
    balls = [Ball(n), Ball(2)]
    k = n % 2
    ball = balls[k]
    ball.x += 10
    k = 1 - k
    ball.hits = ball.x
    return balls[0].x, balls[1].x, balls[1 - k].hits


def a_row_of_an_array(n):
    grid = np.zeros((3, 3), np.int32)
    row = grid[1]
    row[n % 3] = 1
    return grid[1, 0], grid[1, 1], grid[0, 1]


def an_item_that_another_index_finds(n):
    rows = [np.zeros(2, np.int32), np.ones(2, np.int32)]
    row = rows[0]
    rows[n % 2][0] = 9
    return row[0], row[1], rows[1][0]


def a_row_that_grows(n):
    grid = [[1], [2]]
    row = grid[0]
    row.append(n)
    return len(grid[0]), sum(grid[0]), len(grid[1])


def the_other_name_is_read_before_the_change(n):
    a = b = Total(n)
    a.sum += b.sum + n
    items = others = [n, 3]
    items.append(others[-1])
    return a.sum, items[-1]


RUN = [
    *(items_of_a_loop, both_of_a_zip, pairs_of_items, rows_of_lists, rows_of_an_array, items_of_dicts),
    *(attributes_of_objects, methods_of_items, in_helpers, a_key_that_changes_later),
    *(a_row_of_an_array, an_item_that_another_index_finds, a_row_that_grows),
    the_other_name_is_read_before_the_change,
]


@pytest.mark.parametrize("function", RUN, ids=lambda f: f.__name__)
def test_the_part_is_changed(function):
    found = hb.batch(function)(N)
    assert [list(map(int, lane)) for lane in zip(*found, strict=True)] == [list(function(n)) for n in N.tolist()]


def item_replaced(n):
    balls = [Ball(n), Ball(1)]
    ball = balls[0]
    if n > 0:
        balls[0] = Ball(50)
    ball.x += 1
    return balls[0].x, ball.x


def item_moved(n):
    balls = [Ball(n), Ball(1)]
    ball = balls[0]
    balls.insert(0, Ball(9))
    ball.x += 1
    return balls[0].x, balls[1].x


def moved_by_a_helper(n):
    balls = [Ball(n), Ball(1)]

    def drop():
        if n > 0:
            balls.pop(0)
        balls.append(Ball(3))

    ball = balls[0]
    drop()
    ball.x += 1
    return ball.x, balls[0].x


def attribute_replaced(n):
    court = Court(n)
    last = court.last
    last.x += 1
    if n > 0:
        court.last = Ball(50)
    last.x += 1
    return court.last.x, last.x


def name_bound_anew(n):
    balls = [Ball(n), Ball(1)]
    for ball in balls:
        ball.x += 1
        ball = Ball(100)
        ball.x += 1
    return ball.x, balls[0].x


def item_twice(n):
    balls = [Ball(n), Ball(1)]
    balls.append(balls[0])
    for ball in balls:
        ball.x += 1
    return balls[0].x, balls[2].x


def item_of_another_list(n):
    balls = [Ball(n), Ball(1)]
    moving = [ball for ball in balls if ball.x > 0]
    for ball in moving:
        ball.x += 1
    return balls[0].x, len(moving)


def found_by_a_loop(n):
    balls = [Ball(n), Ball(1)]
    best = balls[0]
    for ball in balls:
        if ball.x > best.x:
            best = ball
    best.hits = 5
    return balls[0].hits, balls[1].hits


class Backwards:
    def __init__(self, n):
        self.balls = [Ball(n), Ball(1)]

    def __iter__(self):
        return iter(self.balls[::-1])

    def __getitem__(self, i):
        return self.balls[i]


def in_an_order_of_its_own(n):
    group = Backwards(n)
    for i, ball in enumerate(group):
        ball.x += i + 1
    return group.balls[0].x, group.balls[1].x


def both_names_in_a_statement(n):
    a = b = Total(n)
    return a.add(n) + 10 * b.add(2), a.sum


def both_names_of_a_list(n):
    a = b = [n]
    counts = a.append(2), b.append(3), len(a), len(b)
    return counts[2] + counts[3], n


def the_other_name_is_read_after_the_change(n):
    a, b = Total(n), Total(3)
    if n > 1:
        b = a
    return a.add(2) + b.sum, a.sum


RUN_BY_SEVERAL_NAMES = [
    *(both_names_in_a_statement, the_other_name_is_read_after_the_change),
    *(item_replaced, item_moved, moved_by_a_helper, attribute_replaced, name_bound_anew, item_twice),
    *(item_of_another_list, found_by_a_loop, both_names_of_a_list),
]


@pytest.mark.parametrize("function", RUN_BY_SEVERAL_NAMES, ids=lambda f: f.__name__)
def test_an_object_is_changed_by_each_of_its_names(function):
    found = hb.batch(function)(N)
    assert [list(map(int, lane)) for lane in zip(*found, strict=True)] == [list(function(n)) for n in N.tolist()]


def test_what_may_move_is_refused():
    with pytest.raises(hb.UnsupportedSyntaxError, match=r"in place, of which|where the program cannot see it"):
        hb.batch(in_an_order_of_its_own)(N)
