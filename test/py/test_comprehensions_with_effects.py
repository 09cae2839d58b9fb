"""Comprehensions whose items are computed with an effect: they assign by ``:=``, call what changes variables, or raise.

A list's items are all computed before a reducer such as ``any`` sees one; a generator expression's only up to the item
that decides.
"""

# ruff: noqa: C417, C419, PERF401 (lists as arguments of ``any`` and loops that append are the subject)

import itertools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import hlobatch as hb

NUMBERS = np.arange(5)


def any_of_a_list(n):
    asked = []

    def is_beyond(x):
        asked.append(x)
        if x > n:
            return True
        return False

    found = any([is_beyond(x) for x in range(4)])
    return found, len(asked)


def any_of_a_generator(n):
    asked = []

    def is_beyond(x):
        asked.append(x)
        if x > n:
            return True
        return False

    found = any(is_beyond(x) for x in range(4))
    return found, len(asked)


def all_of_a_list(n):
    total = 0

    def is_within(x):
        nonlocal total
        total += x
        if x > n:
            return False
        return True

    found = all([is_within(x) for x in range(n + 2)])
    return found, total


def length_of_a_list(n):
    total = 0

    def added(x):
        nonlocal total
        total += x
        if x % 2:
            return x
        return 0

    count = len([added(x) for x in range(n) if x != 2])
    return count, total


class Counting:
    def __init__(self):
        self.count = 0

    def odd(self, x):
        self.count += 1
        if x % 2:
            return True
        return False


def method_in_a_list(n):
    counting = Counting()
    found = any([counting.odd(x) for x in range(n)])
    return found, counting.count


def checked_items(n):
    def positive(x):
        if x > n:
            raise ValueError(x)
        return x > 0

    try:
        found = any([positive(x) for x in range(4)])
    except ValueError:
        return -1
    return int(found)


def kept_values(n):
    return [y for x in range(3) if (y := x * n + 1) > 2]


def last_value(n):
    found = [y for x in [1, 2, 3] if (y := x * n + 1) > 4]
    return len(found), y


def sum_of_kept(n):
    return sum(y for x in range(5) if (y := x * n) % 2), n


def witness(n):
    if any((k := x) * x > n and k % 2 for x in range(10)):
        return k
    return -1


def witness_in_a_list(n):
    found = any([(k := x) * x > n for x in range(5)])
    return found, k


def counterexample(n):
    return all((m := x) < n for x in range(3)), m


def least_of_a_lanes_length(n):
    return min((y for x in range(n) if (y := (x * 5) % 7) > 1), default=-1)


def first_with_a_default(n):
    found = next((y for x in range(10) if (y := x * n) > 5), -1)
    return found, y


def dict_of_kept(n):
    kept = {k: v for k in range(4) if (v := k * n) % 2 == 0}
    return len(kept), v, sum(kept.values())


def set_of_kept(n):
    kept = {v for k in range(4) if (v := k * n) % 2 == 0}
    return len(kept), v, sum(kept)


def nested_in_another(n):
    return sum(len([y for x in range(k) if (y := x * n + 1) > 2]) for k in range(4))


def called_in_a_condition(n):
    def bent(x):
        return -x if x % 2 else x

    return [y for x in range(4) if (y := bent(x * n)) > 0]


def found_in_a_dict(n):
    table = {1: 10, 2: 20, n: 5}
    return [v for k in (1, 2, n) if (v := table.get(k + 1)) is not None]


def found_in_a_dict_and_true(n):
    table = {1: 10, 2: 20, n: 5}
    return [v for k in (1, 2, n) if (v := table.get(k + 1))]


def appended_unless_none(n):
    table, found = {1: 10, 2: 20, n: 5}, []
    for k in (1, 2, n):
        if (v := table.get(k + 1)) is not None:
            found.append(v)
    return found


def appended_unless_false(n):
    table, found = {1: 10, 2: 20, n: 5}, []
    for k in (1, 2, n):
        if not (v := table.get(k + 1)):
            continue
        found.append(v)
    return found


def walked_until_none(n):
    table, k, total = {1: 10, 2: 20, n: 5}, 0, 0
    while (v := table.get(k + 1)) is not None:
        total += v
        k += 1
    return total


def seen_before(n):
    seen = set()
    again = any(x in seen or seen.add(x) for x in [3, 1, n, 4, 2])
    return again, len(seen)


def popped_until_one_differs(n):
    stack, log, queue = [1, 2, 3], [], [4, 5, 6]
    alike = all(stack.pop() == x for x in [3, n, 1])
    first = next((x for x in [3, 1, 4] if log.append(x) or x > n), -1)
    below = all(x + n < queue.pop(0) for x in [1, 2, 3])
    return alike, stack, first, log, below, queue


def popped_for_the_items_that_are_kept(n):
    items, entries, found = [4, 5, 6, 7], {1: 10, 2: 20, 3: 30}, [3, 1, n, 5]
    products = [x * items.pop() for x in [1, 2, 3] if x != n]
    taken = {k: entries.pop(k) for k in (1, 2, 3) if k != n}
    least = min((found.pop() for k in range(3) if k != n), default=-1)
    count = sum(1 for x in [1, n, 1, 2] if entries.setdefault(x, 0) == 0 and not entries.update({x: 1}))
    return products, items, sorted(taken.items()), sorted(entries.items()), least, found, count


def popped_on_one_side(n):
    items, log = [1, 2, 3, 4, 5, 6], []
    chosen = [items.pop() if n > k else 0 for k in range(2)]
    both = [n > k and items.pop() > 2 for k in range(2)]
    entries = {k: (items.pop() if n == k else -1) for k in range(3)}
    total = sum(items.pop(0) if n < k else 0 for k in range(2))
    total += sum([log.append(k) or 1 if n < k else 0 for k in range(3)])
    return chosen, both, sorted(entries.items()), total, items, log


class Climber:
    def __init__(self, at):
        self.at = at
        self.log = []

    def up(self, steps=1):
        self.at += steps
        self.log.append(self.at)
        return self.at


def climbed(n):
    climber = Climber(n)
    high = any(climber.up() > 4 for _ in range(5))
    low = all(climber.up() < 7 for _ in range(3))
    first = next((x for x in range(4) if climber.up(x) > 9), -1)
    kept = [climber.up(x) for x in range(5) if x % 3 != n % 3]
    odd = [x for x in range(5) if x != n if climber.up(x) % 2]
    return high, low, first, kept, odd, climber.at, climber.log


def marked_in_a_grid(n):
    grid = [[0] * 3 for _ in range(3)]

    def mark(i, j):
        grid[i][j] += 1
        return i * j == n

    found = any(mark(i, j) for i in range(3) for j in range(3))
    return found, grid


def dicts_of_calls(n):
    def rest(k):
        while k > 3:
            k -= 3
        return k

    by_number, by_rest = {k: rest(k + n) for k in (1, 2, 3) if k != n}, {rest(k + n): k for k in (1, 2, 3) if k != n}
    return sorted(by_number.items()), sorted(by_rest.items())


def loops_that_end_early_over_what_is_popped(n):
    first, second, third, fourth, total = [1, 2, 3, n], [1, 2, 3, n], [1, 0, 3, n], [1, 2, 3, n], 0

    def popped(x):
        return second.pop() * x

    for x in (first.pop() for _ in range(3)):
        total += x
        if x > 2:
            break
    for x in map(popped, [1, 2]):
        total += x
        if total > n:
            break
    for x in filter(lambda x: third.pop(), [1, 2, 5]):
        total += x
        if x > n:
            break
    for x in (y for y in [1, 2, 3] if fourth.pop() > n):
        total += x
        if x > 1:
            break
    return total, first, second, third, fourth


def loops_over_what_an_object_climbs(n):
    climber, total = Climber(n), 0
    for x in (climber.up() for _ in range(4)):
        total += x * climber.at
        if total > 60:
            break
    for x in map(climber.up, [1, 2, 3]):
        total += x * climber.at
    for x in map(lambda steps: climber.up(steps) + 1, [1, 2, 3]):
        total += x
        if x > 20:
            break
    return total, climber.at


def pushed(items, x):
    items.append(x)
    return len(items)


def functions_that_change_what_they_are_given(n):
    items, count = [], 0

    def counted():
        nonlocal count
        count += 1
        return count

    found = any(pushed(items, x) > n for x in [1, 2, 3])
    for length in map(lambda x: pushed(items, x), [7, 8]):
        if length > n:
            break
    kept = [pushed(items, x) for x in (1, 2) if x != n]
    many = any(counted() > n for _ in range(3))
    for x in map(lambda y: counted() + y, [1, 2, 3]):
        if x > n:
            break
    return found, items, kept, many, count, [counted() for x in (1, 2, 3) if x != n]


def generators_that_are_read_to_their_ends(n):
    made = n

    def next_number():
        nonlocal made
        made += 1
        return made

    items = [1]
    items.extend(next_number() for _ in range(2))
    items += (next_number() for _ in range(2))
    in_order = sorted(next_number() % 3 for _ in range(4))
    joined = "".join(str(next_number()) for _ in range(2))
    absolute = list(map(abs, (next_number() for _ in range(2))))
    x, y = (next_number() for _ in range(2))
    chained = list(itertools.chain((next_number() for _ in range(2)), [next_number()]))
    starred = [*(next_number() for _ in range(2))]
    pairs = dict((next_number(), next_number()) for _ in range(2))  # noqa: C402 (the subject)
    return sum(items), sum(in_order), len(joined), sum(absolute), x, y, sum(chained), sum(starred), sum(pairs), made


def a_list_around_gets_items(n):
    """By a function inside that a comprehension or ``map`` calls."""
    xs, asked = [n, 3, 1], []

    def asked_for(x):
        asked.append(x)
        return x + 1

    total = sum([asked_for(x) for x in xs]) + max(map(asked_for, xs))
    items = [*map(asked_for, xs), *list(filter(asked_for, xs))]
    items.extend(map(asked_for, range(2)))
    later = map(asked_for, xs)
    x, y, z = later
    found = all(filter(asked_for, [n - 1, 1, 2]))
    return total, items, sorted(map(asked_for, xs))[1] + x * y * z, found, asked


PROGRAMS = (
    generators_that_are_read_to_their_ends,
    a_list_around_gets_items,
    any_of_a_list,
    any_of_a_generator,
    all_of_a_list,
    length_of_a_list,
    method_in_a_list,
    checked_items,
    kept_values,
    last_value,
    sum_of_kept,
    witness,
    witness_in_a_list,
    counterexample,
    least_of_a_lanes_length,
    first_with_a_default,
    dict_of_kept,
    set_of_kept,
    nested_in_another,
    called_in_a_condition,
    found_in_a_dict,
    found_in_a_dict_and_true,
    appended_unless_none,
    appended_unless_false,
    walked_until_none,
    seen_before,
    popped_until_one_differs,
    popped_for_the_items_that_are_kept,
    popped_on_one_side,
    climbed,
    marked_in_a_grid,
    dicts_of_calls,
    loops_that_end_early_over_what_is_popped,
    loops_over_what_an_object_climbs,
    functions_that_change_what_they_are_given,
)


def of_lane(result: Any, lane: int) -> Any:
    """A lane's part of a result, as Python's numbers and containers."""
    parts = jax.tree.map(lambda part: part[lane], result, is_leaf=lambda part: isinstance(part, hb.Ragged))
    return jax.tree.map(lambda part: part.item() if hasattr(part, "item") else part, parts)


@pytest.mark.parametrize("program", PROGRAMS)
def test_values_are_pythons(program: Callable[..., Any]) -> None:
    result = hb.batch(program, max_steps=10_000)(NUMBERS)
    assert [of_lane(result, lane) for lane in range(len(NUMBERS))] == [program(int(n)) for n in NUMBERS]


def kept_generator(n):
    items = (y for x in range(4) if (y := x + n) % 2 == 0)
    total = 0
    for item in items:
        total += item * y
    return total


def length_of_a_generator(n):
    def bent(x):
        return -x if x > n else x

    return len(bent(x) for x in range(3))


def next_of_a_list(n):
    def bent(x):
        return -x if x > n else x

    return next([bent(x) for x in range(3)])


def zipped_with_what_is_shorter(n):
    asked = []

    def noted(x):
        if x < n + 3:
            asked.append(x)
        return x

    pairs = list(zip([1, 2], (noted(x) for x in range(4))))  # noqa: B905 (the subject)
    return len(pairs), len(asked)


def cut_off(n):
    asked = []

    def noted(x):
        if x < n + 3:
            asked.append(x)
        return x

    return sum(itertools.islice((noted(x) for x in range(4)), 2)), len(asked)


UNREAD = [kept_generator, length_of_a_generator, next_of_a_list, zipped_with_what_is_shorter, cut_off]


@pytest.mark.parametrize("program", UNREAD)
def test_refused(program: Callable[..., Any]) -> None:
    with pytest.raises(hb.HloBatchError, match=r"generator|not an iterator|no len"):
        hb.batch(program)(NUMBERS)
