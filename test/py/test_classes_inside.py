"""Classes that are defined inside a batched function, and properties of objects: against plain Python."""

# ruff: noqa: PLC0415  # imports inside, which classes use

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hlobatch as hb

INPUTS = np.array([0, 1, 4, 7])
LIMIT = 3


def a_stack(n):
    class Stack:
        limit = LIMIT

        def __init__(self):
            self.items = []

        def push(self, v):
            if len(self.items) < self.limit:
                self.items.append(v)

        def pop(self):
            return self.items.pop()

        def __len__(self):
            return len(self.items)

    stack = Stack()
    for i in range(n):
        stack.push(i * i)
    total = 0
    while stack:
        total = total * 10 + stack.pop()
    return total


def classes_of_each_other(n):
    class Shape:
        def area(self):
            raise NotImplementedError

        def twice(self):
            return 2 * self.area()

    class Square(Shape):
        def __init__(self, a):
            self.a = a

        def area(self):
            return self.a * self.a

        def bigger(self):
            return Square(self.a + 1)

    class Box(Square):
        def __init__(self, a, b):
            super().__init__(a)
            self.b = b

        def area(self):
            if self.b > 3:
                return self.a * self.b
            return super().area()

    shape = Square(n) if n < 3 else Box(n, n + 1)
    return shape.twice() + Square(n).bigger().area() + Box(2, n).area()


def an_enum_and_an_exception(n):
    from enum import Enum

    class Color(Enum):
        RED = 1
        BLUE = 2

    class TooMuchError(ValueError):
        def __init__(self, k):
            self.k = k

    def check(q):
        if q > 3:
            raise TooMuchError(q)
        return q

    color = Color.RED if n < 3 else Color.BLUE
    try:
        return check(n) + color.value
    except TooMuchError as error:
        return -error.k


def records(n):
    from dataclasses import dataclass, field
    from typing import NamedTuple

    def sum_of(k):
        return Pair(k, 1).total()

    class Pair(NamedTuple):
        x: int
        y: int

        def total(self):
            return self.x + self.y

    @dataclass
    class Item:
        weight: int
        tags: list = field(default_factory=list)

    items = [Item(i) for i in range(3)]
    items[n % 3].tags.append(n)
    items[0].weight += 5
    return sum_of(n), len(items[1].tags), items[0].weight


def by_recursion(n):
    class Counter:
        def __init__(self):
            self.calls = 0

        def fibonacci(self, k):
            self.calls += 1
            if k < 2:
                return k
            return self.fibonacci(k - 1) + self.fibonacci(k - 2)

    counter = Counter()
    return counter.fibonacci(n), counter.calls


def of_a_callee(n):
    return a_stack(n) + a_stack(n + 1)


class Thermostat:
    def __init__(self, celsius):
        self.celsius = celsius

    @property
    def fahrenheit(self):
        return self.celsius * 9 // 5 + 32

    @fahrenheit.setter
    def fahrenheit(self, value):
        if value < -459:
            raise ValueError("too cold")
        elif value > 1000:
            value = 1000
        self.celsius = (value - 32) * 5 // 9


class Sign:
    """An object whose attribute has the name of a property of another class."""

    def __init__(self, fahrenheit):
        self.fahrenheit = fahrenheit


class Room:
    def __init__(self):
        self.heater, self.all = Thermostat(3), [Thermostat(1), Thermostat(2)]

    def heat(self, k):
        self.heater.fahrenheit += k
        return self.heater.celsius


class Account:
    def __init__(self, balance):
        self.balance = balance

    @property
    def balance(self):
        return self._balance

    @balance.setter
    def balance(self, value):
        if value < 0:
            raise ValueError("negative")
        self._balance = value

    def withdraw(self, k):
        self.balance -= k


class Checked:
    def __init__(self, level):
        self.change(level)

    def change(self, level):
        assert level >= 0
        self.level = level


def set_beside_a_plain_attribute(n):
    one, other = Thermostat(10), Sign(3)
    one.fahrenheit = n * 300
    other.fahrenheit = n
    return one.celsius + other.fahrenheit


def set_in_parts_of_objects(n):
    room = Room()
    room.heater.fahrenheit = n * 100
    room.all[n % 2].fahrenheit = n * 100
    for one in room.all:
        one.fahrenheit += n
    return room.heat(5), room.all[0].celsius, room.all[1].celsius


def set_and_caught(n):
    account = Account(5)
    try:
        account.withdraw(n)
        account.withdraw(1)
    except ValueError:
        return -account.balance
    return account.balance


def set_where_it_is_made(n):
    return Account(n).balance, Checked(n).level


def raised_where_it_is_made(n):
    return Account(n - 3).balance


def raised_by_a_method_of_init(n):
    return Checked(n - 3).level


class Base:
    def __init__(self, x):
        self.own = x

    @property
    def double(self):
        if self.own > 3:
            return 100
        return self.own * 2

    @property
    def plain(self):
        return self.own + 1


class Derived(Base):
    @property
    def double(self):
        return super().double + 1

    @property
    def plain(self):
        if self.own > 2:
            return super().plain * 2
        return super().plain


class Last(Derived):
    @property
    def double(self):
        k = super().double
        while k > 10:
            k -= 7
        return k


def properties_of_bases(n):
    one, other = Derived(n), Last(n)
    return one.double, other.double, one.plain, other.plain


def changed_by_name(one, n):
    if n > 2:
        setattr(one, "own", 7)  # noqa: B010


def attributes_by_names(n):
    one, room = Base(n), Room()
    setattr(one, "own", getattr(one, "own") + 1)  # noqa: B009, B010
    setattr(room.all[0], "celsius", n)  # noqa: B010
    setattr(one, "more", n * 2)  # noqa: B010
    changed_by_name(one, n)
    return one.own, one.more, room.all[0].celsius, getattr(one, "none", 5)


def two_sorts(n):
    things = []
    for i in range(n + 1):
        thing = Base(i * 5 % 7)
        things.append(thing)
    things.sort(key=lambda one: -one.own)
    numbers = sorted([i * 3 % 5 for i in range(n + 1)], key=lambda v: -v)
    pairs = [(i, -i) for i in range(n + 1)]
    pairs.sort(key=lambda pair: pair[1])
    return things[0].own, numbers[0], pairs[0][0]


PROGRAMS = [
    properties_of_bases,
    attributes_by_names,
    two_sorts,
    a_stack,
    classes_of_each_other,
    an_enum_and_an_exception,
    records,
    by_recursion,
    of_a_callee,
    set_beside_a_plain_attribute,
    set_in_parts_of_objects,
    set_and_caught,
    set_where_it_is_made,
    raised_where_it_is_made,
    raised_by_a_method_of_init,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_each_lane_is_as_in_python(program: Callable[[Any], Any]) -> None:
    errors: dict[int, Any] = {}
    try:
        found = hb.batch(program)(INPUTS)
    except hb.LaneError as error:
        found, errors = error.outputs, error.errors
    for lane, n in enumerate(INPUTS.tolist()):
        try:
            expected = program(n)
        except (ValueError, AssertionError) as error:
            expected = type(error)
        own = [int(part[lane]) for part in found] if isinstance(found, (tuple, list)) else int(found[lane])
        assert (type(errors[lane]) if lane in errors else own) == (
            list(expected) if isinstance(expected, tuple) else expected
        )


def with_a_variable(n):
    class Point:
        def __init__(self):
            self.x = n

    return Point().x


def with_a_base_of_the_function(n):
    base = object

    class Point(base):
        pass

    return n


def with_two_meanings(n):
    class Point:
        pass

    for Point in range(n):  # noqa: B007, N806
        n += 1
    return n


@pytest.mark.parametrize(
    ("program", "text"),
    [
        (with_a_variable, "a class defined inside uses 'n', a variable of the function around it"),
        (with_a_base_of_the_function, "a class defined inside uses 'base'"),
        (with_two_meanings, "the name 'Point' stands for a class that is defined inside and for something else"),
    ],
)
def test_what_is_refused_has_the_place_of_the_class(program: Any, text: str) -> None:
    with pytest.raises(hb.UnsupportedSyntaxError, match=text) as caught:
        hb.batch(program)(INPUTS)
    assert "class Point" in str(caught.value)
