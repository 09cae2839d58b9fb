"""Objects that refer to each other: failures, room, names and refusals; `programs/linked.py` has the rest."""

import copy
import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import hlobatch as hb


class Node:
    def __init__(self, value, rest=None):
        self.value = value
        self.rest = rest

    def seven(self):
        return 7

    @property
    def twice(self):
        return 2 * self.value

    def __lt__(self, other):
        return self.value < other.value


def chain(n):
    head = None
    for i in range(n):
        head = Node(i, head)
    return head


def more_than_there_is_room_for(n):
    head, total = chain(n * 40), 0
    while head is not None:
        total = (total * 3 + head.value) % 1009
        head = head.rest
    return total


def attribute_of_none(n):
    return chain(n % 3).rest.value


def method_of_none(n):
    return chain(n % 3).seven()


def property_of_none(n):
    return chain(n % 3).twice


def order_of_none(n):
    return 1 if chain(n % 3) < Node(1) else 0


def caught(n):
    total, head = 0, chain(n % 4)
    try:
        for _ in range(3):
            total += head.value
            head = head.rest
    except AttributeError:
        total += 100
    return total


def two_names(n):
    nodes = [Node(i * 5 % 7) for i in range(n + 1)]
    best = nodes[0]
    for node in nodes:
        if node.value > best.value:
            best = node
    best.value = -1
    return sum(node.value for node in nodes)


def itself(n):
    node = Node(n)
    node.rest = node
    for _ in range(n):
        node = node.rest
        node.value += 1
    return node.rest.rest.value


def first_and_last(n):
    first = last = Node(0)
    for i in range(n):
        last.rest = Node(i)
        last = last.rest
    count = 0
    while first:
        count, first = count + 1, first.rest
    return count


def members(n):
    nodes = [Node(i) for i in range(4)]
    nodes[0].rest = nodes[n % 4]
    seen = {nodes[0], nodes[0].rest}
    return len(seen), nodes.index(nodes[0].rest), nodes[3] in seen, None in [node.rest for node in nodes]


def by_lambdas(n):
    nodes = sorted([Node(i * 5 % 7) for i in range(n + 1)], key=lambda node: -node.value)
    for left, right in itertools.pairwise(nodes):
        left.rest = right
    return nodes[0].value + sum(1 for node in nodes if node.rest is not None and node.rest.value < 3)


@dataclass
class Tree:
    key: int
    left: "Tree | None" = None
    right: "Tree | None" = None
    count: int = 1

    @classmethod
    def leaf(cls, key):
        return cls(key)

    def put(self, key):
        if key == self.key:
            self.count += 1
        elif key < self.key:
            if self.left is None:
                self.left = Tree.leaf(key)
            else:
                self.left.put(key)
        elif self.right is None:
            self.right = Tree(key, count=1)
        else:
            self.right.put(key)

    def total(self):
        left = self.left.total() if self.left else 0
        return left + self.key * self.count + (self.right.total() if self.right else 0)


def by_methods(n):
    tree = Tree(5)
    for i in range(n):
        tree.put(i * 7 % 11)
    return tree.total()


PROGRAMS = (
    more_than_there_is_room_for,
    attribute_of_none,
    method_of_none,
    property_of_none,
    order_of_none,
    caught,
    two_names,
    itself,
    first_and_last,
    members,
    by_lambdas,
    by_methods,
)


def by_python(program: Any, n: int) -> Any:
    try:
        return program(n)
    except Exception as error:  # noqa: BLE001  # any that a lane may raise
        return type(error), str(error)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_each_lane_does_as_python_does(program: Any) -> None:
    inputs = np.arange(7)
    try:
        outputs, errors = hb.batch(program)(inputs), {}
    except hb.LaneError as error:
        outputs, errors = error.outputs, error.errors
    columns = outputs if isinstance(outputs, tuple) else (outputs,)
    for lane, n in enumerate(inputs.tolist()):
        values = tuple(np.asarray(column)[lane].item() for column in columns)
        found = values if isinstance(outputs, tuple) else values[0]
        told = (type(errors[lane]), str(errors[lane])) if lane in errors else found
        assert told == by_python(program, n)


def copied(n):
    head = chain(n + 1)
    other = copy.copy(head)
    other.value = 7
    return head.value


def deeply_copied(n):
    nodes = [chain(n + 1)]
    return copy.deepcopy(nodes)[0].value


def named(n):
    return getattr(chain(n + 1), "value")  # noqa: B009


def numbered(n):
    return id(chain(n)) == id(chain(n))


def shown(n):
    return len(str(chain(n)))


def given_more(n):
    head = chain(n + 1)
    head.mark = n
    return head.mark


def asked_for_its_class(n):
    return type(chain(n)) is Node


class Late:
    def __init__(self, value, other=None):
        self.value = value
        if other is not None:
            other.seen(self)
        self.rest = other

    def seen(self, one):
        self.value += one.value


def seen_before_it_is_whole(n):
    head = None
    for i in range(n):
        head = Late(i, head)
    return 0 if head is None else head.value


def none_beside_numbers(n):
    node = Node(None)
    for i in range(n):
        node = Node(i, node)
    return 0 if node.value is None else node.value


def result(n):
    return chain(n)


class Bag:
    def __init__(self, items):
        self.items = items


def changed_where_an_argument_raises(n):
    known = {1: 6}
    one, other = Bag([n, 2]), Bag([3])
    bag = one if n > 2 else other
    try:
        bag.items.append(known[n])
    except KeyError as bag:
        pass
    bag = Bag([n])
    bag.items.append(6)
    return len(one.items) * 10 + len(other.items)


def set_by_default(n):
    nodes = {}
    for i in range(n):
        node = nodes.setdefault(i % 2, Node(i))
        node.value += 1
    return sum(node.value for node in nodes.values())


@pytest.mark.parametrize("program", [changed_where_an_argument_raises, set_by_default])
def test_an_object_in_columns_is_changed_as_in_python(program: Any) -> None:
    numbers = [0, 1, 3, 5]
    assert hb.batch(program)(np.array(numbers)).tolist() == [program(n) for n in numbers]


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (copied, "copies a 'Node'"),
        (deeply_copied, "`deepcopy` looks at a 'Node'"),
        (named, "is read or assigned where the program cannot see it"),
        (numbered, "`id` looks at a 'Node'"),
        (shown, "no one type|text"),
        (given_more, "is not one of those that `__init__` surely gives to it"),
        (asked_for_its_class, "the class of a 'Node' is asked for"),
        (seen_before_it_is_whole, "Python calls '__init__' by itself"),
        (result, "results are arrays"),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_what_is_not_covered_is_refused(program: Any, said: str) -> None:
    with pytest.raises(hb.HloBatchError, match=said):
        hb.batch(program)(np.arange(4))
