"""Objects of classes that JAX does not know: made, changed, passed on and given back, as in plain Python."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from zoo import optimizing_little

import hlobatch as hb

N = np.array([1, 2, 3, 5], np.int32)
FUNCTIONS: list[Callable[..., Any]] = []


def case(function: Callable[..., Any]) -> Callable[..., Any]:
    FUNCTIONS.append(function)
    return function


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_it_is_what_python_gives(function: Callable[..., Any]) -> None:
    with optimizing_little():
        found = hb.batch(function)(N)
    wanted = [function(n) for n in N.tolist()]
    assert jax.tree.structure(found) == jax.tree.structure(wanted[0])
    for array, *rows in zip(jax.tree.leaves(found), *map(jax.tree.leaves, wanted), strict=True):
        np.testing.assert_allclose(array, np.stack(rows), rtol=1e-6)


@dataclasses.dataclass
class Population:
    size: int
    seen: list[int] = dataclasses.field(default_factory=list)

    def grow(self, by):
        self.size += by
        return self.size

    def grow_or_shrink(self, by):
        if by > 2:
            self.size += by
        else:
            self.size -= 1
        return self


@dataclasses.dataclass(frozen=True)
class Vector:
    x: float
    y: float

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    @property
    def square(self):
        return self.x * self.x + self.y * self.y


class Pair:
    __slots__ = ("__secret", "left")

    def __init__(self, left, secret):
        self.left, self.__secret = left, secret

    def product(self):
        return self.left * self.__secret


class Base:
    def __init__(self, start):
        self.total = start
        self.history = np.zeros(4)


class Tally(Base):
    name = "tally"

    def add(self, x):
        self.total += x
        self.history[x % 4] += 1
        return self

    @property
    def half(self):
        return self.total / 2

    @half.setter
    def half(self, value):
        self.total = 2 * value


class Latch:
    """Its attributes are None until something is seen."""

    def __init__(self):
        self.seen = None
        self.pair = None
        self.asked = 0

    def fill(self):
        self.asked += 1
        if self.seen is None:
            self.seen = 5
            return True
        return False


def fill(latch):
    if latch.seen is None:
        latch.seen = 5
        return True
    return False


def count(latch):
    latch.asked += 1


@case
def none_where_another_attribute_is_changed(n):
    latch = Latch()
    if n > 2:
        latch.seen = n
    latch.asked = 3
    return latch.seen is None, latch.asked


@case
def none_where_a_helper_asks_and_changes(n):
    latch = Latch()
    if n > 2:
        latch.seen = n
    first = fill(latch)
    return first, latch.seen is None


@case
def none_where_a_method_asks_and_changes(n):
    latch = Latch()
    if n % 2:
        latch.seen = n
    first = latch.fill()
    again = latch.fill()
    return first, again, latch.seen is None, latch.asked


@case
def none_or_a_pair_where_a_helper_changes_something_else(n):
    latch = Latch()
    if n > 2:
        latch.pair = (n, n + 1)
    count(latch)
    if latch.pair is None:
        return -latch.asked
    return latch.pair[1]


@case
def none_in_an_object_in_a_dict(n):
    held = {"latch": Latch(), "last": None}
    if n > 2:
        held["latch"].seen = n
        held["last"] = n
    count(held["latch"])
    return held["latch"].seen is None, held["last"] is None, held["latch"].asked


@case
def none_in_objects_that_a_loop_goes_over(n):
    latches = [Latch(), Latch(), Latch()]
    if n > 2:
        latches[1].seen = n
    total = 0
    for latch in latches:
        if latch.seen is None:
            total += 1
        else:
            total += 10 * latch.seen
    return total


@case
def made_anew_in_a_loop(n):
    population = Population(0)
    for _ in range(n):
        population = Population(population.size + 1)
    return population.size


@case
def attributes_assigned_to(n):
    population = Population(0)
    for i in range(n):
        population.size += i
    population.seen.append(n)
    population.seen[0] *= 2
    return population.size, population.seen


@case
def frozen(n):
    vector = Vector(0.0, 1.0)
    for i in range(n):
        vector = vector + Vector(i, 2.0)
    other = dataclasses.replace(vector, x=3.0)
    return vector.square, other.x + other.y


@case
def slots(n):
    pair = Pair(n, 2)
    if n > 2:
        pair.left = pair.product() + n
    return pair.product()


@case
def methods(n):
    tally = Tally(n)
    for i in range(n):
        tally.add(i)
    tally.add(3)
    tally.half = tally.half + 1.5
    return tally.total, tally.history


@case
def methods_with_a_value(n):
    population = Population(1)
    sizes = population.grow(n) + population.grow(2)
    return population.size, sizes


@case
def methods_with_branches(n):
    population = Population(1)
    population.grow_or_shrink(n)
    population.grow_or_shrink(n + 1)
    return population.size


@case
def in_lists(n):
    populations = [Population(i) for i in range(3)]
    populations[n % 3].size = 100
    populations[1].grow(5)
    chosen = populations[(n + 1) % 3].size
    return [one.size for one in populations], chosen


@case
def in_each_other(n):
    outer = Pair(Population(n), 3)
    outer.left.size += 1
    outer.left.grow(n)
    return outer.left.size


def bumped(population, by):
    population.size += by


@case
def passed_to_a_helper(n):
    population = Population(n)
    bumped(population, 3)
    bumped(population, n)
    return population.size


@case
def two_objects(n):
    first = Population(n)
    second = Population(first.size)
    first.size += 1
    return first.size, second.size


class Squares:
    def __init__(self, n, k=1):
        self.items = [i * i for i in range(n)]
        if n > k:
            self.kind = "many"
        else:
            self.kind = "few"


class Drawn(Squares):
    def __init__(self, n):
        super().__init__(n, k=2)
        if n > 3:
            raise ValueError(n)
        for item in self.items:
            if item % 2:
                self.items.append(item + 1)


@case
def objects_whose_init_loops_and_branches(n):
    total = 0
    for made in [Squares(n), Squares(n + 1, 3)]:
        total += len(made.items) * (10 if made.kind == "many" else 1)
    try:
        total += 100 * sum(Drawn(n).items)
    except ValueError:
        total -= 1
    return total


@dataclasses.dataclass(slots=True)
class Rounded:
    size: float
    steps: int = 0

    def __post_init__(self):
        while self.size > 2:
            self.size, self.steps = self.size / 2, self.steps + 1


@case
def dataclasses_whose_post_init_loops(n):
    made = Rounded(n * 1.5)
    return made.size, made.steps, Rounded(9.0, steps=n).steps


class Round:
    def __init__(self, size):
        self.size = size

    def area(self):
        return 3 * self.size**2

    def grow(self, by):
        self.size += by


class Square(Round):
    def area(self):
        return self.size**2


@case
def methods_of_one_of_two_objects(n):
    one, other = Round(n), Square(2)
    for i in range(3):
        (one if (n + i) % 2 else other).grow(i)
    return (one if n > 2 else other).area(), one.size, other.size


class Stack:
    def __init__(self):
        self.items, self.size = np.zeros(8, np.int32), 0

    def push(self, x):
        self.items[self.size] = x
        self.size += 1


@pytest.mark.parametrize("dispatch", ["auto", "kernel", "sweep", "case"])
def test_an_array_and_a_counter_that_begin_alike_in_all_lanes(dispatch: Any) -> None:
    """One statement computes what all lanes share, an array, and what is known, a number."""

    def f(n):
        s = Stack()
        s.push(n)
        s.push(n + 1)
        return s.size, s.items

    with optimizing_little():
        size, items = hb.batch(f, dispatch=dispatch)(N)
        inside = jax.jit(hb.batch(f, dispatch=dispatch))(N)
    assert size.tolist() == inside[0].tolist() == [2] * len(N)
    assert items.tolist() == inside[1].tolist() == [[n, n + 1, *[0] * 6] for n in N.tolist()]


@hb.batch
def halved(vector, n):
    if n <= 0:
        return vector
    return halved(vector + Vector(n, 1.0), n - 2)


def test_objects_go_through_recursions() -> None:
    @hb.batch
    def f(n):
        return halved(Vector(0.0, 0.0), n).square

    with hb.disable_batching():
        wanted = [f(n) for n in N.tolist()]
    np.testing.assert_allclose(f(N), wanted)


def test_results_are_objects() -> None:
    @hb.batch
    def f(n):
        population = Population(n, [n + 1])
        return population, {"vector": Vector(n * 1.0, 2.0 * n)}

    for _ in range(2):
        population, others = f(jnp.asarray(N))
        assert type(population) is Population
        assert population.size.tolist() == N.tolist()
        assert population.seen[0].tolist() == (N + 1).tolist()
        assert type(others["vector"]) is Vector
        assert others["vector"].y.tolist() == (2.0 * N).tolist()


def test_a_static_argument_stays_what_it_is() -> None:
    class Account:
        def __init__(self, balance):
            self.balance = balance

        @hb.batch(static_argnames="self")
        def after(self, n):
            for i in range(n):
                self.balance += i
            return self.balance

    account = Account(5)
    assert account.after(N).tolist() == [5, 6, 8, 15]
    assert account.balance == 5


def test_objects_from_outside_are_static() -> None:
    scale = Vector(2.0, 3.0)

    @hb.batch
    def f(n):
        own = scale
        return n * own.x + own.y, own

    values, own = f(N)
    assert values.tolist() == [5.0, 7.0, 9.0, 13.0]
    assert own is scale


class Shape:
    def __init__(self, n):
        self.n = n

    def bonus(self, k=0):
        return k


class Tall(Shape):
    """Its methods branch, so that they are followed, and ask their base class in every position."""

    def bonus(self, k=0):
        return 1 if self.n > 3 else super().bonus(k + 1)

    def steps(self):
        while super().bonus(self.n) > 2:
            self.n -= 1
        if self.n > 1 or super().bonus(self.n) == 1:
            return super().bonus() + self.n
        return sum(super(Tall, self).bonus(i) for i in range(3))


@case
def methods_that_ask_their_base_class(n):
    first, second = Tall(n), Tall(2 * n)
    return first.bonus(), second.bonus(n), second.steps(), first.n + second.n
