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
        (lambda: collections.Counter("ab"), lambda made: made.update("a") or made["a"], 2),
        (lambda: collections.Counter("ab"), lambda made: made.update("c") or made["a"], 1),
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

    assert aliased(np.arange(6)).tolist() == [2, 3, 4, 5, 6, 7]


def test_what_an_object_remembers_is_no_change_of_it():
    memo = Holder()

    @hb.batch(static_argnames="memo")
    def looked_up(n, memo):
        return n + memo.looked_up() if n > 3 else n - memo.looked_up()

    assert looked_up(np.arange(3, 6), memo).tolist() == [1, 6, 7]
    assert memo.memo == {1: 2}


class Item:
    def __init__(self):
        self.x = 0


class Groups:
    def __init__(self):
        self.rows = collections.defaultdict(list)

    def add(self, k, v):
        row = self.rows[k]
        row.append(v)
        return len(row)


def of_a_missing_key(n):
    rows = collections.defaultdict(list)
    row = rows[n]
    row.append(1)
    pairs = collections.defaultdict(lambda: [0, 0])
    pair = pairs[n]
    pair[1] += n
    return len(rows[n]) + len(rows[7]), pairs[n][1], len(pairs)


def of_a_default(n):
    rows, total = {}, 0
    for i in range(4):
        row = rows.setdefault(i % 2, [])
        row.append(i + n)
        total += len(row)
    return total, sum(rows[0]), sum(rows[1])


def by_a_method(n):
    groups = Groups()
    return groups.add(n, 1) + groups.add(n, 2) + groups.add(0, 3), len(groups.rows)


@pytest.mark.parametrize("program", [of_a_missing_key, of_a_default, by_a_method], ids=lambda f: f.__name__)
def test_a_name_for_what_a_container_has_put_in_changes_the_container(program):
    """Regression: changes by such a name were lost, where the container had been empty."""
    numbers = np.arange(4, dtype=np.int32)
    found = [column.tolist() for column in hb.batch(program)(numbers)]
    assert found == [list(column) for column in zip(*(program(n) for n in range(4)), strict=True)]


def kept(items):
    items.append(Item())
    return items[-1]


def made(items):
    item = Item()
    items.append(item)
    return item


def made_list(items):
    row = []
    items.append(row)
    return row


def row_of(rows, k):
    return rows[k]


def of_an_item(n):
    items = []
    for _ in range(n):
        item = made(items)
        item.x += 1
    return sum([one.x for one in items])


def of_an_item_of_a_known_list(n):
    items = [Item()]
    item = made(items)
    item.x += n
    return items[1].x


def of_the_last_item(n):
    items = []
    item = kept(items)
    item.x += n
    return items[0].x


def of_a_list(n):
    rows = []
    for _ in range(n):
        row = made_list(rows)
        row.append(1)
    return sum([len(row) for row in rows])


def of_a_row(n):
    rows = collections.defaultdict(list)
    row = row_of(rows, n)
    row.append(1)
    return len(rows[n])


@pytest.mark.parametrize(
    "program", [of_an_item, of_an_item_of_a_known_list, of_the_last_item, of_a_list], ids=lambda f: f.__name__
)
def test_an_object_that_a_function_has_put_in_and_returns_is_changed_by_both_names(program):
    """Regression: the change was lost. A function that makes an object, puts it into a container and returns it."""
    assert hb.batch(program)(np.arange(4)).tolist() == [program(n) for n in range(4)]


def test_what_a_function_has_put_in_and_returns_is_not_changed_by_another_name():
    """Regression: the change was lost. A function that makes an object, puts it into a container and returns it."""
    with pytest.raises(hb.UnsupportedSyntaxError, match="is another name, or a part"):
        hb.batch(of_a_row)(np.arange(4))
