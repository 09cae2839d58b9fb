"""Lists, sets and dicts whose length differs between lanes.

Unpacking, repetition, slices and set operations, as in Python.
"""

import jax
import numpy as np
import pytest

import hlobatch as hb


def numbers(n):
    items = []
    for i in range(n):
        items.append(i)  # noqa: PERF402
    return items


def unpacked(a):
    items = [0]
    for i in range(a):
        items.append(i * i)
        if len(items) > 2:
            items.pop(0)
    if len(items) == 2:
        b, c = items
        return b * 10 + c
    return -1


def with_a_star(a):
    items = [7, *numbers(a), 8]
    first, *rest, last = items
    rest.append(5)
    return first, last, len(rest), len(items)


def of_pairs(a):
    items = [(i, i + 1) for i in range(4)]
    if a > 3:
        items.pop(0)
    (x, y), *rest = items
    return x, y, len(rest)


def of_what_has_one_length(a):
    x, *rest = (1, 2, a)
    y, *others = np.array([1, 2, 3]) * a
    (p, o), s = (a, 2), 3
    return x, rest, y, others[1], p, o, s


def of_another_length(a):
    try:
        x, y, z = numbers(a)
    except ValueError:
        return -1
    return x + y + z


def backwards(a):
    items = list(reversed(numbers(a)))
    total = 0
    for v in reversed(items):
        total = total * 10 + v
    return len(items), total, [*reversed([a, 2])]


def cut(a):
    items = [1, 2, 3, 4]
    if a > 2:
        items.append(5)
    del items[a : a + 2]
    del items[-1:]
    return len(items), sum(items)


def repeated(a):
    items = [1, 2]
    if a > 2:
        items.append(5)
    items *= 2
    return len(items), sum(items * 2), len(2 * items), len(items * 0)


def sets(a):
    members = {1}
    members |= {a, 2}
    members &= {a, 2, 7}
    members -= {2}
    both, either = {1, 2, 3} & {2, 3, a}, {1, 2, 3} | {2, 3, a}
    left, one = {1, 2, 3} - {2, 3, a}, {1, 2, 9} ^ {2, 3, a}
    return len(members), len(both), len(either), len(left), len(one), len({a} ^ {1, 3})


def asked_of_sets(a):
    return {a, 2}.isdisjoint([3]), {a}.issubset({3, 5}), {a, 3, 5}.issuperset([3, 5])


def last_entry(a):
    entries, total = {}, 0
    for i in range(a):
        entries[i + 1] = i
    while entries:
        k, v = entries.popitem()
        total = total * 2 + k * v
    try:
        entries.popitem()
    except KeyError:
        return total
    return -1


def updated(a):
    entries = {10: 1, -3: 2}
    entries.update({a: 5, 7: 1})
    others = {**entries, 1: 1, a: 9}
    return len(entries), sum(others.values()), len({2: a, **others})


def shown_in_turn(a):
    items = [1, 2, 3, 4]
    entries = {items.pop(0): items.pop(0) * 10, items.pop(0) + a: items.pop(0)}
    return entries[1], entries[3 + a]


def dicts_of_pairs(a):
    pairs = [(a, 1), (2, a)]
    found, named = dict(pairs), dict([("x", a)], y=3)
    zipped, nested, empty = dict(zip([a, 2], [3, 4], strict=True)), dict([[a, 1], (4, 5)]), dict([])  # noqa: C406
    empty[a] = 2
    numbered = dict(enumerate([a, 5]))
    again = dict((a + i, i) for i in range(2))  # noqa: C402 (the subject)
    return found[a], len(found), named["x"] + named["y"], zipped[2], nested[4], empty[a], numbered[1], again[a + 1]


PROGRAMS = [f for f in list(vars().values()) if getattr(f, "__code__", None) and f.__code__.co_varnames[:1] == ("a",)]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_it_is_as_in_python(program) -> None:
    lanes = np.array([0, 3, 5], np.int32)
    alone = [jax.tree.leaves(program(int(a))) for a in lanes]
    together = jax.tree.leaves(hb.batch(program)(lanes))
    assert [[int(leaf[i]) for leaf in together] for i in range(3)] == alone


def test_a_set_is_changed_by_another_name() -> None:
    @hb.batch
    def f(a):
        members = {1}
        other = members
        members |= {a, 2}
        return len(other)

    assert f(np.arange(4)).tolist() == [3, 2, 2, 3]
