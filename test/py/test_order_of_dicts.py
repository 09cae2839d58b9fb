"""Dicts are iterated in insertion order, also if a lane's number is one of the keys."""

from collections import OrderedDict, defaultdict

import jax
import numpy as np
import pytest

import hlobatch as hb


class Holder:
    def __init__(self):
        self.entries = {10: 1, -3: 4}

    def filled(self, n):
        while n > 0:
            self.entries[n] = n
            n -= 1


def places(entries):
    return sum((i + 1) * k for i, k in enumerate(entries.keys())), len(entries)


def stored(a):
    entries = {10: a, -3: 4}
    entries[a] = 1
    return places(entries), list(entries.values())[-1]


def taken_out(a):
    entries = {10: a, -3: 4}
    entries.pop(a, 0)
    return places(entries)


def in_a_loop(a):
    entries = {4: 0, 3: 0}
    for i in range(a):
        entries[i] = entries.get(i, 0) + 1
    return sum(k * i for i, k in enumerate(entries)), len(entries)


def copied(a):
    entries = {10: a, -3: 4}
    others = dict(entries)
    others[a] = 5
    return places(others), places(entries)


def by_default(a):
    entries = defaultdict(int, {10: a, -3: 4})
    entries[a] += 1
    return places(entries)


def of_a_class_of_its_own(a):
    entries = OrderedDict()
    entries[10] = 1
    entries[-3] = 2
    entries[a] = 4
    return places(entries)


def in_an_object(a):
    holder = Holder()
    holder.filled(a)
    return places(holder.entries)


def in_a_list(a):
    both = [{10: a, -3: 4}, {10: 1, -3: 2}]
    both[a % 2][a] = 7
    return places(both[0]), places(both[1])


def in_a_recursion(a):
    return _filled({10: 1, -3: 4}, a)


def _filled(entries, n):
    if n <= 0:
        return places(entries)
    entries[n] = n
    return _filled(entries, n - 1)


def in_a_try(a):
    entries = {10: a, -3: 4}
    try:
        entries[a] = 1
        if a > 3:
            raise KeyError
    except KeyError:
        entries[7] = 2
    return places(entries)


def removed_and_put_back(a):
    entries = {10: a, -3: 4, 5: 6}
    if a > 2:
        del entries[10]
        entries[10] = 3
    return places(entries)


def beside_one_of_two_orders(a):
    entries, others = {"b": a, "a": 4, "z": 0}, {"b": a, "a": 4}
    if a > 2:
        others = {"a": 4, "b": 1}
    total = 0
    for value in entries.values():
        total = total * 3 + value
    return total + others["a"]


PROGRAMS = [f for f in list(vars().values()) if getattr(f, "__code__", None) and f.__code__.co_varnames[:1] == ("a",)]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_the_order_is_pythons(program) -> None:
    lanes = np.array([0, 3, 6], np.int32)
    alone = [jax.tree.leaves(program(int(a))) for a in lanes]
    together = jax.tree.leaves(hb.batch(program)(lanes))
    assert [[int(leaf[i]) for leaf in together] for i in range(3)] == alone


def either(x):
    if x > 1:
        entries = {"b": 1, "a": 2}
    else:
        entries = {"a": 2, "b": 1}
    return entries


def first_of(entries):
    return next(iter(entries.values()))


def digits_of(entries):
    total = 0
    for value in entries.values():
        total = total * 10 + value
    return total


def by_a_loop(x):
    entries, total = either(x), 0
    for key in entries:
        total = total * 10 + entries[key]
    return total


def unpacked(x):
    one, other = either(x).values()
    return one * 10 + other


class Shelf:
    def __init__(self, entries):
        self.entries = entries


def added_to_and_popped(x):
    entries = either(x)
    entries["a"] += 1
    return entries.popitem()[1]


def of_an_object(x):
    one, other = Shelf({"a": 2, "b": 1}), Shelf({"b": 5, "a": 6})
    some = one if x > 1 else other
    some.entries["a"] += 1
    return some.entries.popitem()[1] * 10 + one.entries["a"]


IN_NO_KNOWN_ORDER = {
    "a loop": by_a_loop,
    "unpacked": unpacked,
    "a list": lambda x: list(either(x).values())[0],  # noqa: RUF015  # this is what is asked
    "a comprehension": lambda x: [v * 2 for v in either(x).values()][0],  # noqa: RUF015
    "enumerate": lambda x: sum(i * v for i, (_, v) in enumerate(either(x).items())),
    "popitem": lambda x: either(x).popitem()[1],
    "popitem behind a change": added_to_and_popped,
    "popitem of an object's": of_an_object,
    "first by a function": lambda x: first_of(either(x)),
    "a function's loop": lambda x: digits_of(either(x)),
}


def test_a_result_with_keys_in_two_orders_is_a_dict_of_arrays() -> None:
    found = hb.batch(either)(np.array([0, 2]))
    assert {key: value.tolist() for key, value in found.items()} == {"a": [2, 2], "b": [1, 1]}


@pytest.mark.parametrize("name", IN_NO_KNOWN_ORDER)
def test_a_dict_with_keys_in_two_orders_is_not_gone_over(name) -> None:
    with pytest.raises(hb.BatchTypeError, match="keys are in different orders on two paths"):
        hb.batch(IN_NO_KNOWN_ORDER[name]).trace(np.array([0, 2]))


def by_sorted_keys(x):
    entries, total = either(x), 0
    for key in sorted(entries):
        total = total * 10 + entries[key]
    return total + len(entries) + max(entries.values()) + sum(entries.values())


def test_a_dict_with_keys_in_two_orders_is_looked_into() -> None:
    assert hb.batch(by_sorted_keys)(np.array([0, 2])).tolist() == [by_sorted_keys(0), by_sorted_keys(2)]
