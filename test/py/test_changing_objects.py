"""Objects that are changed in place, for each lane, or refused."""

import array
import collections
import itertools
import random

import numpy as np
import pytest

import hlobatch as hb


class Slotted:
    __slots__ = ("count",)

    def __init__(self):
        self.count = 0

    def next(self):
        self.count += 1
        return self.count


class Holder:
    def __init__(self):
        self.items = [1]
        self.inner = Slotted()
        self.numbers = random.Random(0)
        self.memo = {}

    def add(self):
        self.items.append(2)
        return len(self.items)

    def next(self):
        return self.inner.next()

    def draw(self):
        return self.numbers.randrange(100)

    def looked_up(self):
        return self.memo.setdefault(1, 2)


def in_some_lanes(make, step, seen=None):
    """An object is made, and changed in lanes above 3; what is seen of it afterwards is added to what that gave."""

    @hb.batch
    def sometimes(n):
        made = make()
        x = n
        if n > 3:
            x = step(made)
        return x if seen is None else x + seen(made)

    return sometimes


@pytest.mark.parametrize(
    ("make", "step"),
    [
        (lambda: bytearray(b"ab"), lambda made: made.pop()),
        (lambda: array.array("i", [1, 2]), lambda made: made.pop()),
        (lambda: collections.Counter("ab"), lambda made: made.update("a") or made["a"]),
        (lambda: collections.Counter("ab"), lambda made: made.update("c") or made["a"]),
        (lambda: collections.UserList([1]), lambda made: made.append(2) or len(made)),
    ],
    ids=itertools.count(),
)
def test_objects_were_changed_in_place_for_all_lanes(make, step):
    """Containers that are no pytrees, and do not grow by a lane's values."""
    sometimes = in_some_lanes(make, step)
    for _ in range(2):
        with pytest.raises(hb.UnsupportedSyntaxError, match="changes 'made' in place"):
            sometimes(np.arange(6))


@pytest.mark.parametrize(
    ("make", "step", "value"),
    [
        (set, lambda made: made.add(1) or len(made), 1),
        (lambda: {1}, lambda made: made.update([2]) or len(made), 2),
        (lambda: collections.deque([1, 2]), lambda made: made.popleft(), 1),
    ],
    ids=itertools.count(),
)
def test_sets_and_queues_change_for_each_lane(make, step, value):
    """Regression: they were changed once for all lanes, and then refused."""
    sometimes = in_some_lanes(make, step, lambda made: 10 * len(made))
    empty = len(make())
    changed = make()
    step(changed)
    assert sometimes(np.arange(6)).tolist() == [
        n + 10 * empty if n <= 3 else value + 10 * len(changed) for n in range(6)
    ]


def test_objects_that_change_are_values():
    @hb.batch
    def sometimes(n):
        made = Slotted()
        x = n
        if n > 3:
            x = made.next() * 10 + made.next()
        return x

    assert sometimes(np.arange(6)).tolist() == [0, 1, 2, 3, 12, 12]


SAID = r"draws as the program is built|changes 'made' in place|holds an object that the program made, a Holder"


@pytest.mark.parametrize(
    ("make", "step"),
    [(Holder, Holder.add), (Holder, Holder.draw), (lambda: Holder().next, lambda made: made())],
    ids=itertools.count(),
)
def test_objects_with_generators_were_changed(make, step):
    sometimes = in_some_lanes(make, step)
    for _ in range(2):
        with pytest.raises(hb.UnsupportedSyntaxError, match=SAID):
            sometimes(np.arange(6))


def test_a_set_was_joined_to_in_place():
    @hb.batch
    def aliased(n):
        seen = {1}
        same = seen
        seen |= {2}
        return len(same) + n

    with pytest.raises(hb.UnsupportedSyntaxError, match="changes 'seen' in place"):
        aliased(np.arange(6))


def test_what_an_object_remembers_is_no_change_of_it():
    memo = Holder()

    @hb.batch(static_argnames="memo")
    def looked_up(n, memo):
        return n + memo.looked_up() if n > 3 else n - memo.looked_up()

    assert looked_up(np.arange(3, 6), memo).tolist() == [1, 6, 7]
    assert memo.memo == {1: 2}
