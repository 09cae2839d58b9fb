"""Lists and dicts, whose length differs between lanes, of objects of several classes, against plain Python."""

from collections.abc import Callable
from typing import Any

import pytest
from shares import by_day
from test_own_containers import check


class Circle:
    def __init__(self, r):
        self.r = r

    def area(self):
        return 3 * self.r * self.r

    def grow(self):
        self.r += 1
        return self.r

    def limit(self, k):
        if self.r > k:
            self.r = k

    def grown(self):
        return Circle(self.r + 1)

    def change(self, other):
        return Square(other) if self.r > 2 else self


class Square:
    def __init__(self, s):
        self.s = s

    def area(self):
        return self.s * self.s

    def grow(self):
        self.s *= 2
        return self.s

    def limit(self, k):
        while self.s > k:
            self.s -= 3

    def grown(self):
        return Square(self.s * 2)

    def change(self, other):
        return Circle(self.s)


def make(n):
    shapes = []
    for i in range(n):
        if i % 2:
            shapes.append(Circle(i))
        else:
            shapes.append(Square(i + 1))
    return shapes


def items_that_are_made_anew(n):
    shapes = make(n)
    for k in range(n):
        shapes[k] = shapes[k].grown()
    return sum(s.area() for s in shapes)


def items_that_become_another(n):
    shapes = make(n)
    for k in range(n):
        shapes[k] = shapes[k].change(7)
    return sum(s.area() for s in shapes)


def methods_of_lists(n):
    shapes = [Circle(2)]
    shapes += make(n)
    shapes.pop(0)
    shapes.insert(0, Square(9))
    shapes.extend([Circle(1), Square(2)])
    x = shapes.pop()
    return sum(s.area() for s in shapes) + x.area() + len(shapes)


def values_of_a_dict(n):
    d = {}
    for i in range(n):
        d[i] = Circle(i) if i % 2 else Square(3)
        if i == 4:
            d[0] = Circle(11)
    return sum(s.area() for s in d.values())


def patterns(n):
    shapes = make(n)
    t = 0
    for s in shapes:
        match s:
            case Circle(r=r):
                t += r
            case Square(s=q):
                t -= q
    return t


def a_stack(n):
    stack = [Circle(1)]
    t = 0
    while stack:
        s = stack.pop()
        t += s.area()
        if isinstance(s, Circle) and s.r < n:
            stack.append(Square(s.r))
            stack.append(Circle(s.r + 1))
    return t


class Tree:
    def __init__(self):
        self.kids = []

    def add(self, k):
        self.kids.append(k)


def items_in_an_object(n):
    t = Tree()
    for i in range(n):
        if i % 2:
            t.add(Circle(i))
        else:
            t.add(Square(i))
    u = 0
    for k in t.kids:
        u += k.area()
    return u


class Event:
    def __init__(self, t):
        self.t = t

    def apply(self, x):
        return x


class Deposit(Event):
    def __init__(self, t, amount):
        super().__init__(t)
        self.amount = amount

    def apply(self, x):
        return x + self.amount


class Fee(Event):
    def apply(self, x):
        return x - 1 if x > 0 else x


def objects_of_derived_classes(n):
    log = []
    for i in range(n):
        log.append(Deposit(i, i * i))
        log.append(Fee(i))
    x = 0
    for e in log:
        x = e.apply(x)
    return x


def classes_that_are_asked_for(n):
    shapes = []
    for i in range(n):
        shapes.append(Circle(i))
        if i % 2 == 0:
            shapes.append(Square(i))
    return sum(1 for s in shapes if isinstance(s, Circle)) * 100 + len([s for s in shapes if isinstance(s, Square)])


def items_that_change(n):
    shapes = make(n)
    for k in range(n):
        shapes[k].grow()
        if k % 3 == 0:
            shapes[n - 1 - k].limit(9)
    total = 0
    for shape in shapes:
        total = total * 3 + shape.area()
    return total


def items_of_known_lists_that_change(n):
    shapes = [Circle(1), Square(n), Circle(n)]
    for shape in shapes:
        shape.grow()
    for k in range(3):
        shapes[k].limit(4)
    for k, shape in enumerate(shapes):
        shape.limit(k + 2)
    return shapes[0].area() + 100 * shapes[1].area() + 10000 * shapes[2].area()


class Zoo:
    def __init__(self):
        self.animals = []

    def add(self, animal):
        self.animals.append(animal)

    def feed(self):
        for animal in self.animals:
            animal.grow()

    def total(self):
        return sum(animal.area() for animal in self.animals)


def items_of_an_attribute_that_change(n):
    zoo = Zoo()
    zoo.add(Circle(n))
    zoo.add(Square(2))
    zoo.add(Circle(1))
    zoo.feed()
    zoo.animals[1].limit(3)
    zoo.feed()
    return zoo.total()


PROGRAMS = [
    items_that_change,
    items_of_known_lists_that_change,
    items_of_an_attribute_that_change,
    items_that_are_made_anew,
    items_that_become_another,
    methods_of_lists,
    values_of_a_dict,
    patterns,
    a_stack,
    items_in_an_object,
    objects_of_derived_classes,
    classes_that_are_asked_for,
]


@pytest.mark.parametrize("function", by_day(PROGRAMS, 5), ids=lambda function: function.__name__)
def test_objects_of_several_classes_in_containers(function: Callable[[Any], Any]) -> None:
    check(function)
