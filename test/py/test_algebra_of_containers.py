"""Sets, dicts, Counters and lists that differ between lanes: unions, comparisons, sums, against plain Python."""

from collections import Counter, OrderedDict, defaultdict

import pytest
from test_lists_as_written import is_alike


def unions(n):
    one, other = set(range(n)), {i * 2 for i in range(n)}
    kept, both = one, set(one)
    one = one | {100}
    both |= other
    both ^= {3, 4}
    both -= {2}
    return len(one), len(kept), len(one & other), sum(both), len(other - one), len({1, 2} | other), len({1, 9} - one)


def subsets(n):
    one, known = set(range(n)), {1, 3}
    return (
        *(known <= one, one >= known, one < known, one == known, known != one, one <= set(range(n + 1)), one < one),
        *(one.issubset([0, 1, n]), known.issubset(one), one.isdisjoint([n - 1]), known.isdisjoint(one)),
        *(one.issuperset(known), 2 if one & known else 1, not one - known),
    )


def methods_of_sets(n):
    items, known = [i % 3 for i in range(n)], {2, 7}
    one = known.union(items)
    one.update([i * 5 for i in range(n)], range(n))
    known.update(i for i in range(6) if i < n)
    one.difference_update([0])
    return len(one), len(known), len(one.intersection(items, known)), sum(one.symmetric_difference(items))


def a_work_list(n):
    todo, done = {n}, set()
    while todo:
        x = min(todo)
        todo -= {x}
        done.add(x)
        if x > 1:
            todo |= {x // 2, x // 3} - done
    return len(done)


def merged_dicts(n):
    one, other = {i: i for i in range(n)}, {i * 2: 1 for i in range(n)}
    both, counts = one | other, defaultdict(int)
    for i in range(n):
        counts |= {i % 3: i}
    more = counts | {100: 1}
    more[200] += 3
    other.update((i, i + 7) for i in range(4) if i < n)
    return list(both.items()), list(({1: 10} | one).items()), len(counts), more[200], list(other.values())


def equal_dicts(n):
    one, other, ordered = {i: i for i in range(n)}, {}, OrderedDict()
    for i in range(n):
        other[n - 1 - i] = n - 1 - i
        ordered[n - 1 - i] = n - 1 - i
    rows = {i: (i, i + 1) for i in range(n)}
    return (
        one == other,
        one != {},
        {0: 0} == one,
        ordered == OrderedDict(one),
        dict(ordered) == one,
        rows == {0: (0, 1)},
    )


def sums_of_counters(n):
    one, other = Counter([i % 3 for i in range(n)]), Counter({0: 2, 5: -1, 7: 0})
    return (
        *(list((one + other).items()), list((one - other).items()), list((other - one).items())),
        *(list((one | other).items()), list((one & other).items()), list((-one).items()), list((+other).items())),
    )


def compared_counters(n):
    one, other = Counter([i % 3 for i in range(n)]), Counter([0, 0, 1])
    one[9] += 0
    return one <= other, one < other, one >= other, one == other, other == one, one == {0: 1, 9: 0}, not other - one


def changed_counters(n):
    one = Counter()
    for i in range(n):
        one += Counter([i % 2, 5])
    one -= Counter([5])
    return list(one.items()), one.total()


def orders_of_lists(n):
    one, other = [i % 3 for i in range(n)], [i % 2 for i in range(n)]
    rows = [(i % 3, i) for i in range(n)]
    return one < other, one <= other, one > [0, 1], [] < one, [0, 1, 2] >= one, rows < [(0, 0), (1, 1)], max(one, other)


def a_few_by_day(n):
    """Some of each, beside the larger programs that run by night."""
    one, known, counts = set(range(n)), {1, 3}, Counter([n % 2, 1])
    merged = {n: 1} | {2: n}
    return (
        known <= one,
        len(one.union([7, n])),
        counts == Counter([1, 1]),
        sum((counts + counts).values()),
        merged == {2: 1},
    )


BY_NIGHT = (
    *(unions, subsets, methods_of_sets, a_work_list, merged_dicts, equal_dicts),
    *(sums_of_counters, compared_counters, changed_counters),
)
PROGRAMS = [a_few_by_day, orders_of_lists, *(pytest.param(one, marks=pytest.mark.slow) for one in BY_NIGHT)]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_each_lane_is_as_in_python(program):
    is_alike(program, 7)
