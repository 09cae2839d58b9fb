"""State that Python keeps from call to call is refused where the program would lose it.

Closures, bound methods, classes.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import hlobatch as hb

NUMBERS = np.array([1, 5, 200])


def counter() -> Callable[[], int]:
    n = 0

    def hit() -> int:
        nonlocal n
        n += 1
        return n

    return hit


def accumulator() -> Callable[[Any], Any]:
    total = 0

    def add(value: Any) -> Any:
        nonlocal total
        total += value
        return total

    return add


def box() -> Callable[[], int]:
    held = {"n": 0}

    def hit() -> int:
        held["n"] += 1
        return held["n"]

    return hit


def getter(xs: Any) -> Callable[[int], Any]:
    return lambda i: xs[i]


class Point:
    def __init__(self) -> None:
        self.n = 0


class Remembers:
    def __init__(self) -> None:
        self.n = 0
        self.read = lambda v: v + self.n


class Handles:
    def __init__(self, x: Any) -> None:
        self.x = x
        self.handlers = {0: self.up, 1: self.down}

    def up(self) -> None:
        self.x += 1

    def down(self) -> None:
        self.x -= 1

    def run(self, x: Any) -> Any:
        for e in (x, x + 1):
            self.handlers[e % 2]()
        return self.x


class Counts:
    total = 0

    def hit(self) -> int:
        Counts.total += 1
        return 0


def counting_by(make: Callable[[], Callable[[], int]]) -> Callable[[Any], Any]:
    def counting(x):
        hit, n = make(), 0
        while x > 1:
            x //= 2
            n = hit()
        return n

    return counting


def added(x):
    add = accumulator()
    first = add(x)
    return first + add(x)


def got(x):
    xs = [0, 0, 0]
    get = getter(xs)
    xs[1] = x
    return get(1)


def got_later(x):
    p = Point()
    get = (lambda q: lambda: q.n)(p)  # noqa: PLC3002  # a lambda within a lambda
    p.n = x
    return get()


def remembered(x):
    o = Remembers()
    o.n = x
    return o.read(10)


def handled(x):
    return Handles(x).run(x)


def of_a_class(x):
    c = Counts()
    while x > 1:
        x //= 2
        c.hit()
    return Counts.total


def of_a_function(x):
    def halve(v):
        halve.calls += 1
        return v // 2

    halve.calls = 0
    while x > 1:
        x = halve(x)
    return halve.calls


def up(p):
    p.n += 1
    return p.n


def down(p):
    p.n -= 1
    return p.n


EITHER = (up, down)


def either(x):
    p = Point()
    return EITHER[x % 2](p) + 10 * p.n


def mapped(x):
    p = Point()
    return sum(map(EITHER[x % 2], [p, p])) + 10 * p.n


def one_list(x):
    a = []
    b = a
    return a is b, x


def one_array(x):
    a, b = jnp.zeros(3) + x, jnp.ones(3) + x
    return a is b


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (counting_by(counter), "assigns to 'n' around it"),
        (added, "assigns to 'total' around it"),
        (counting_by(box), "holds an object that the program made, a dict"),
        (got, "holds an object that the program made, a list"),
        (got_later, "holds an object that the program made, a Point"),
        (remembered, "holds an object that the program made, a Remembers"),
        (handled, "a method kept in a variable, 'up', is of an object that holds a value of the program"),
        (of_a_class, "this code changes 'Counts' in place"),
        (of_a_function, "this changes an attribute of a function"),
        (either, "one of them changes an object in place"),
        (mapped, "one of them changes an object in place"),
        (one_array, "whether two names stand for one array is not known"),
        (one_list, "whether two names stand for one list is not known"),
    ],
    ids=lambda value: value.__name__ if callable(value) else value.split()[-1],
)
def test_what_would_be_done_once_is_refused(function: Callable[[Any], Any], said: str) -> None:
    with pytest.raises(hb.UnsupportedSyntaxError) as caught:
        hb.batch(function)(NUMBERS)
    assert said in str(caught.value)
    assert f"in {function.__name__}" in str(caught.value)
    assert "\nhelp: " in str(caught.value)
    assert Counts.total == 0


# What stood there before, or does not change, may be held

WEIGHTS = [3, 4, 5]
FIRST = getter(WEIGHTS)
HANDLERS = {"first": FIRST, "bound": WEIGHTS.__getitem__, "part": functools.partial(getter, WEIGHTS)}


class Model:
    def __init__(self, slope: int) -> None:
        self.slope = slope

    def predict(self, x: Any) -> Any:
        return self.slope * x


MODEL = Model(7)


def scaled(by: int) -> Callable[[Any], Any]:
    return lambda x: x * by


def with_a_table(x):
    get = FIRST
    return x + get(1)


def with_a_choice(x):
    get = HANDLERS["first"]
    return x + get(2)


def with_a_model(x):
    predict = MODEL.predict
    return predict(x) + 1


def with_a_number(x):
    triple = scaled(3)
    return triple(x)


def with_own_weights(x):
    weights = [2, 3]
    dot = lambda v: sum(w * v for w in weights)  # noqa: E731
    return dot(x)


def with_one_of_several(x):
    key = (abs, scaled(-1))[x % 2]
    return sorted([3, 1, 2], key=key)[1] * 10 + max([3, 1, 2], key=key)


def with_a_library(x):
    double = functools.singledispatch(lambda v: v * 2)  # which holds a dict
    return double(x)


@pytest.mark.parametrize(
    "function",
    [with_a_library, with_a_table, with_a_choice, with_a_model, with_a_number, with_own_weights],
    ids=lambda f: f.__name__,
)
def test_what_does_not_change_is_held(function: Callable[[Any], Any]) -> None:
    np.testing.assert_array_equal(hb.batch(function)(NUMBERS), [function(int(x)) for x in NUMBERS])


class Tree:
    def __init__(self, key: Any) -> None:
        self.key = key
        self.left: Any = None
        self.right: Any = None


def insert(tree, key):
    if tree is None:
        return Tree(key)
    if key < tree.key:
        tree.left = insert(tree.left, key)
    else:
        tree.right = insert(tree.right, key)
    return tree


def height(tree):
    return 0 if tree is None else 1 + max(height(tree.left), height(tree.right))


@hb.batch
def height_of(keys):
    tree = None
    for key in keys:
        tree = insert(tree, key)
    return height(tree)


@pytest.mark.slow
def test_a_tree_of_objects_takes_no_minutes() -> None:
    """Regression: each type that was tried had twice as many leaves as the one before, and no end was seen."""
    assert height_of(np.arange(6).reshape(2, 3)).tolist() == [3, 3]
