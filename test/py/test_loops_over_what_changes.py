"""A ``for`` over a list, a deque or a dict that changes meanwhile: each turn sees it as it is then, as in Python."""

from collections import deque

import jax
import numpy as np
import pytest
from feature_pairs import outcome
from shares import by_day

import hlobatch as hb


class Walk:
    def __init__(self, entries, items):
        self.entries, self.items = entries, items

    def summed(self):
        total = 0
        for k, v in self.entries.items():
            if k + 1 in self.entries:
                self.entries[k + 1] += v
            total = total * 5 + v
        return total

    def touched(self, k):
        if k in self.entries:
            self.entries[k] += 10

    def touching(self):
        total = 0
        for k, v in self.entries.items():
            self.touched(k + 1)
            total = total * 5 + v
        return total

    def grown(self, a):
        total = 0
        for v in self.items:
            if v < 4:
                self.items.append(v + a + 1)
            total = total * 3 + v
        return total

    def replaced(self):
        total = 0
        for v in self.items:
            total = total * 3 + v
            self.items = [7, 8, 9]
        return total


class Counts:
    def __init__(self, entries):
        self.entries = entries

    def raised(self, k, v):
        if v > 2:
            self.entries[k] += v
        return len(self.entries)


def by_a_method_that_can_be_traced(a):
    counts, total = Counts({1: a, 2: 5}), 0
    for k, v in counts.entries.items():
        counts.raised(2, k)
        total = total * 3 + v
    return total


def values_of_later_keys(a):
    entries, total = {0: a, 1: 5}, 0
    for k, v in entries.items():
        entries[1] = 7 + k
        total += v
    return total


def values_of_keys_of_a_lane(a):
    entries, total = {a: 1, a + 1: 5, a + 2: 6}, 0
    for k, v in entries.items():
        if k + 1 in entries:
            entries[k + 1] += v
        total = total * 3 + v
    for v in entries.values():
        entries[a + 1] = v * 2
        total = total * 3 + v
    return total


def with_numbers(a):
    entries, total = {1: 1, 2: 5, 3: 6}, 0
    for i, (k, v) in enumerate(entries.items()):
        entries[3] = v * 2 + a
        total = total * 3 + v + i + k
    for (k, v), w in zip(entries.items(), [1, 2, 3], strict=False):
        entries[3] = w * 10
        total += v * w * k
    for k, v in list(entries.items()):
        entries[3] = k
        total += v
    return total


def list_that_grows(a):
    items, n = [a, 2], 0
    for v in items:
        n += 1
        if len(items) < 5:
            items.append(v + 1)
    return n, items[-1]


def list_that_grows_a_lot(a):
    items = [a]
    for v in items:
        if len(items) < 100:
            items.append(v + 1)
    return len(items), items[-1]


def list_that_grows_in_some_lanes(a):
    items, n = [1, a], 0
    for i, v in enumerate(items, 1):
        n += i
        if v < 5:
            items.append(v + 2)
    else:
        n += 100
    return n, sum(items)


def list_that_a_function_grows(a):
    items, n = [a], 0

    def push(v):
        if v < 6:
            items.append(v + 1)

    for _ in items:
        n += 1
        push(items[-1])
    return n


def list_that_shrinks(a):
    items, others, n = [1, 2, 3, a, 5, 6], [1, 2, 3, a], 0
    for v in items:
        n = n * 10 + v
        if v in (a, 2):
            items.remove(v)
    for v in others:
        n += v
        others.pop()
    return n, len(items), len(others)


def from_the_end(a):
    items, total = [1, 2, 3, 4, 5, a], 0
    for v in reversed(items):
        total = total * 5 + v
        items.pop()
        if len(items) > 1 and a > 3:
            items.pop()
    return total, len(items)


def two_lists(a):
    left, right, total = [1, 2, a], [4, 5, 6], 0
    for u, v in zip(left, right, strict=False):
        total = total * 10 + u * v
        if u == a:
            left.append(9)
            right.append(3)
    for u, v in zip(left, range(6), strict=False):
        left.append(u)
        total += v
    return total, len(left)


def in_objects(a):
    walk = Walk({1: a, 2: 3, 3: 4}, [1, 2])
    return walk.summed(), walk.touching(), walk.grown(a), len(walk.items), walk.replaced()


def name_bound_anew(a):
    items, total = [1, 2, a], 0

    def other():
        nonlocal items
        items = [7, 8, 9]

    for v in items:
        total = total * 10 + v
        other()
    for v in items:
        total = total * 10 + v
        items = [5]
    return total


def keys_that_are_added(a):
    entries, n = {1: a, 2: 3}, 0
    for k in entries:
        n += 1
        if a > 3:
            entries[k + 10] = 1
    return n


def keys_that_are_taken_out(a):
    entries = {1: a, 2: 3, a + 5: 1}
    for k in entries:
        if k > 1:
            del entries[k]
    return len(entries)


def keys_added_before_it_is_left(a):
    entries = {1: a, a + 5: 1}
    for k in entries:
        entries[k + 20] = 1
        break
    return len(entries)


def an_error_that_is_caught(a):
    entries = {1: a, 2: 3, a + 5: 1}
    try:
        for k in entries:
            if a > 2:
                entries[k + 20] = 1
    except RuntimeError:
        return 100 + len(entries)
    return len(entries)


class Bag:
    def __init__(self):
        self.entries, self.items, self.total = {1: 10, 2: 20, 3: 30}, [1, 2, 3], 0

    def grow(self, a):
        if a > 3:
            self.entries[a + 5] = 1

    def bump(self, k, a):
        if a > 0:
            self.entries[k] += a
            self.total += k

    def replace(self, a):
        self.entries = {1: a, 5: a, 6: a}

    def replace_some(self, a):
        if a > 3:
            self.replace(a)

    def exchange(self, a):
        if 2 in self.entries:
            del self.entries[2]
            self.entries[9] = a

    def growing(self, a):
        total = 0
        for k in self.entries:
            total = total * 10 + k
            self.grow(a)
        return total

    def bumping(self, a):
        for k in self.entries:
            self.bump(k, a)
        return sum(self.entries.values()), self.total

    def replacing(self, a):
        total = 0
        for v in self.entries.values():
            total = total * 10 + v
            self.replace_some(a)
        return total


def a_method_adds_keys(a):
    bag, total = Bag(), 0
    for k in bag.entries:
        total += k
        bag.grow(a)
    return total


def a_method_adds_keys_of_an_item(a):
    bags, total = [Bag(), Bag()], 0
    for i, k in enumerate(bags[1].entries):
        total += k * i
        bags[1].grow(a)
    return total


def a_method_adds_keys_to_a_dict_of_lanes(a):
    bag, total = Bag(), 0
    if a > 0:
        bag.entries[7] = 1
    for k in bag.entries:
        total += k
        bag.grow(a)
    return total


def its_own_method_adds_keys(a):
    return Bag().growing(a)


def its_own_method_changes_values(a):
    bag = Bag()
    if a > 3:
        bag.entries[8] = 4
    return *Bag().bumping(a), bag.bumping(a)[1]


def a_method_puts_another_dict_there(a):
    bag, other, total = Bag(), Bag(), 0
    for v in bag.entries.values():
        total = total * 10 + v
        bag.replace(a)
    for k in other.entries:
        total = total * 10 + k
        other.replace(a)
    return total, Bag().replacing(a)


def a_later_key_is_exchanged(a):
    bag, total = Bag(), 0
    for k, v in bag.entries.items():
        total = total * 10 + k + v
        bag.exchange(a)
    return total


def keys_are_put_in_anew(a):
    entries, total = {1: a, 2: 3}, 0
    for k in entries:
        total = total * 10 + k
        if a > 3:
            entries[k] = entries.pop(k)
    return total


def deque_that_grows(a):
    queue, n = deque([a]), 0
    for v in queue:
        n += 1
        if v > 3:
            queue.append(v - 1)
    return n


def items_of_a_known_list_that_are_left_out(a):
    items, seen, total = [a, 3, 1], [], 0
    for y in (x * 2 for x in items if x != a if x > 1):
        seen.append(y)
        if y == a + 1:
            break
    else:
        total = 50
    for y in (x for x in items if x < 3):
        items[2] += y
        total = total * 7 + y
    return total * 100 + sum(seen) + items[2]


PROGRAMS = [f for f in list(vars().values()) if getattr(f, "__code__", None) and f.__code__.co_varnames[:1] == ("a",)]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_it_is_as_in_python(program) -> None:
    lanes = np.array([0, 3, 5], np.int32)
    alone = list(map(_alone, [program] * 3, lanes))
    errors = {}
    try:
        outputs = hb.batch(program)(lanes)
    except hb.LaneError as error:
        outputs, errors = error.outputs, error.errors
    together = jax.tree.leaves(outputs)
    for i, expected in enumerate(alone):
        assert (str(errors[i]) if i in errors else [int(leaf[i]) for leaf in together]) == expected


def _alone(program, a):
    try:
        return jax.tree.leaves(program(int(a)))
    except RuntimeError as error:
        return str(error)


def test_a_dict_that_grows_in_all_lanes_is_refused() -> None:
    @hb.batch
    def f(a):
        entries = {1: a}
        for k in entries:
            entries[k + 1] = 1
        return len(entries)

    with pytest.raises(hb.UnsupportedSyntaxError, match="a dict changes its size while it is gone over"):
        f(np.arange(3))


def test_a_dict_that_changes_and_that_a_name_leaves_is_refused() -> None:
    @hb.batch
    def f(a):
        entries, total = {1: a, 2: 3}, 0
        for v in entries.values():
            total += v
            entries[2] = a
            entries = {1: 5, 2: 6}
        return total

    with pytest.raises(hb.UnsupportedSyntaxError, match="this changes 'entries' in place"):
        f(np.arange(3))


KEPT_VIEWS = {
    "keys": "view = entries.keys()\n entries[9] = 1\n return len(view)",
    "values": "view = entries.values()\n for _ in range(a):\n  entries.pop(5, 0)\n return sum(view)",
    "items": "view = entries.items() if a else entries.items()\n entries[a] = 6\n return sum(v for k, v in view)",
    "in a list": "views = [entries.keys(), entries.values()]\n entries[0] = 6\n return sum(views[1])",
    "in a loop": "view = entries.keys()\n for x in (7, 8):\n  if x not in view:\n   entries[x] = 1\n return len(view)",
    "given": "def count(view):\n  entries[8] = a\n  return len(view)\n return count(entries.values())",
}


@pytest.mark.parametrize("body", KEPT_VIEWS.values(), ids=KEPT_VIEWS.keys())
def test_a_view_that_a_variable_keeps_shows_later_changes_and_is_refused(body: str) -> None:
    found = outcome(f"def main(a, b):\n entries = {{a: 1, 5: 4}}\n {body}\n")
    assert found.kind == "refused", found.what
    assert "this changes 'entries' in place, of which" in found.what


ITERATED = {
    "map": "map(lambda x: x * 2, items)",
    "filter": "filter(lambda x: x > 1, items)",
    "iter": "iter(items)",
    "a generator expression": "(x * 2 for x in items)",
    "chain": "itertools.chain([1], items)",
    "islice": "itertools.islice(items, 7)",
    "in another": "itertools.starmap(lambda x, y: x - y, zip(items, range(9)))",
    "accumulate": "itertools.accumulate(items)",
    "a copy": "list(reversed(items))",
    "sorted": "sorted(items, key=lambda x: (x - t) ** 2)",
    "product": "map(sum, itertools.product(items, [1, 2]))",
    "a function of what changes": "map(lambda x: x + t % 3, [a, 2, b])",
    "an expression of what changes": "(x + t % 3 for x in [a, 2, b])",
    "a function of what changes, over what another returns": "map(lambda x: x + t % 3, made(items))",
}
"""Iterables, most of which Python asks for an item before each turn."""
REFUSED = {"iter", "chain", "islice", "in another", "accumulate"}
"""Those whose items are made before the loop, so that it may not change what they are made of."""


@pytest.mark.parametrize("begin", ["[a, 2, b]", "[x % 3 for x in range(a + 2)]"], ids=["known", "of a lane"])
@pytest.mark.parametrize("name", ITERATED)
def test_an_iterator_over_what_changes(name: str, begin: str) -> None:
    found = outcome(f"""
import itertools

def made(items):
    return [x + 1 for x in items]

def main(a, b):
    t, items = 1, {begin}
    for x in {ITERATED[name]}:
        t = (t * 3 + x) % 1009
        if len(items) < 6:
            items.insert(0, t % 4)
    return t + sum(items)
""")
    assert found.kind == ("refused" if name in REFUSED else "ran"), found.what
    assert found.kind == "ran" or "made one by one" in found.what


WAYS = {"a function": "push(items, t % 4)", "an inner function": "grow(t % 4)", "a slice": "items[:0] = [t % 4]"}
"""Ways to change a list."""


@pytest.mark.parametrize("way", by_day(list(WAYS), 1))
@pytest.mark.parametrize("name", by_day([name for name in ITERATED if "what changes" not in name], 5))
def test_an_iterator_over_what_is_changed_in_some_way(name: str, way: str) -> None:
    found = outcome(f"""
import itertools

def push(items, x):
    items.insert(0, x)

def main(a, b):
    def grow(x):
        items.insert(0, x)
    t, u, items = 1, 1, [a, 2, b]
    for x in {ITERATED[name]}:
        u = (u * 3 + x) % 1009
        if len(items) < 6:
            {WAYS[way]}
    return t + u + sum(items)
""")
    assert found.kind == ("refused" if name in REFUSED else "ran"), found.what


@pytest.mark.parametrize(
    "name", by_day([name for name in ITERATED if name != "iter"], 6)
)  # which is refused for a list of a lane's length
def test_an_iterator_over_what_stays(name: str) -> None:
    found = outcome(f"""
import itertools

def made(items):
    return [x + 1 for x in items]

def main(a, b):
    t, u, items = 1, 0, [x % 3 for x in range(a + 2)]
    for x in {ITERATED[name]}:
        u = (u * 3 + x) % 1009 + items.count(x)
    return u
""")
    assert found.kind == "ran", found.what
