"""Programs in which a variable holds an object of one class in some examples and of another in others."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from programs.table import Program


@dataclass
class Circle:
    radius: float

    def area(self):
        return 3.14 * self.radius**2

    def grow(self, factor):
        self.radius *= factor


@dataclass
class Square:
    side: float

    def area(self):
        return self.side**2

    def grow(self, factor):
        if factor > 1:
            self.side += factor


@dataclass
class Triangle:
    a: float
    b: float

    def area(self):
        return self.a * self.b / 2

    def grow(self, factor):
        self.a, self.b = self.a * factor, self.b * factor


def shape_of(x):
    if x > 4:
        return Triangle(x, 2.0)
    return Circle(x) if x > 0 else Square(-x)


def area_of_a_shape(x):
    """The area of a circle or a square."""
    shape = Circle(x) if x > 0 else Square(-x)
    return shape.area()


def shapes_that_grow(x, times):
    """The area of one of three shapes, after it has grown."""
    shape = shape_of(x)
    for _ in range(times):
        shape.grow(1.5)
        if shape.area() > 100:
            break
    return shape.area()


def perimeter_by_match(x):
    """The length around a shape, by its class."""
    match shape_of(x):
        case Circle(radius=r):
            return 2 * 3.14 * r
        case Square(side=s):
            return 4 * s
        case Triangle(a, b):
            return a + b + math.sqrt(a * a + b * b)


def largest_of(x, y):
    """The largest area of some shapes, and how many circles there are."""
    best, circles = None, 0
    for shape in (shape_of(x), shape_of(y), Circle(1.0)):
        if isinstance(shape, Circle):
            circles += 1
        if best is None or shape.area() > best.area():
            best = shape
    return best.area(), circles


def chosen_from_a_list(x, i):
    """The area of the shape at an index."""
    shapes = [Circle(x), Square(x), Triangle(x, 3.0)]
    return shapes[i].area()


# A state machine


class Idle:
    def step(self, signal):
        return Running(signal) if signal > 2 else self

    def power(self):
        return 1.0


class Running:
    def __init__(self, speed):
        self.speed = speed
        self.time = 0

    def step(self, signal):
        self.time += 1
        if signal < 1:
            return Idle()
        if self.time > 3:
            return Broken(self.speed * self.time)
        self.speed = self.speed + signal
        return self

    def power(self):
        return 5.0 + self.speed


class Broken:
    def __init__(self, damage):
        self.damage = damage

    def step(self, signal):
        return self

    def power(self):
        return -self.damage


def machine_with_states(signals):
    """The energy that a machine takes, and whether it has broken."""
    state, energy = Idle(), 0.0
    for signal in signals:
        state = state.step(signal)
        energy += state.power()
    return energy, isinstance(state, Broken)


# Strategies that share a base class


class Strategy(ABC):
    def __init__(self, size):
        self.size = size

    @abstractmethod
    def offer(self, price):
        raise NotImplementedError

    def profit(self, price):
        gain = price * self.size - self.offer(price)
        return gain if gain > 0 else 0.0


class Careful(Strategy):
    def offer(self, price):
        return 0.5 * price


class Bold(Strategy):
    def __init__(self, size, trust):
        super().__init__(size)
        self.trust = trust

    def offer(self, price):
        total = 0.0
        while total < price:
            total += self.trust
        return total


class Trader:
    def __init__(self, strategy):
        self.strategy = strategy
        self.money = 0.0

    def trade(self, price):
        self.money += self.strategy.profit(price)
        if self.money > 20 and isinstance(self.strategy, Careful):
            self.strategy = Bold(self.strategy.size, 3.0)


def trader_who_changes_strategy(size, prices):
    """The money of a trader who becomes bold."""
    trader = Trader(Careful(size) if size < 4 else Bold(size, 1.5))
    for price in prices:
        trader.trade(price)
    return trader.money


# Tokens and expressions


class Number(NamedTuple):
    value: float


class Operator(NamedTuple):
    sign: int
    weight: float


def token_of(code):
    if code < 0:
        return Operator(-code % 3, 0.5)
    return Number(1.0 * code)


def sum_of_tokens(codes):
    """The value of a line of tokens, from left to right."""
    value, pending = 0.0, 0
    for code in codes:
        token = token_of(code)
        if isinstance(token, Number):
            if pending == 0:
                value += token.value
            elif pending == 1:
                value -= token.value
            else:
                value *= token.value
        else:
            pending = token.sign
    return value


@dataclass(frozen=True)
class Leaf:
    value: float

    def evaluate(self, x):
        return self.value


@dataclass(frozen=True)
class Times:
    factor: float

    def evaluate(self, x):
        return self.factor * x

    def simplified(self):
        return Leaf(0.0) if self.factor == 0 else replace(self, factor=self.factor + 0.0)


@dataclass(frozen=True)
class Plus:
    left: object
    right: object

    def evaluate(self, x):
        return self.left.evaluate(x) + self.right.evaluate(x)


def value_of_an_expression(a, b, x):
    """The value of a sum whose sides are numbers or products."""
    left = Times(a).simplified()
    right = Leaf(b) if b > 1 else Times(b)
    return Plus(left, right).evaluate(x)


# A game


class Slime:
    name = "slime"

    def __init__(self):
        self.health = 5

    def attack(self, turn):
        return 1

    def hurt(self, damage):
        self.health = self.health - damage


class Dragon:
    name = "dragon"

    def __init__(self):
        self.health = 12
        self.rage = 0

    def attack(self, turn):
        self.rage += turn % 2
        return 2 + self.rage

    def hurt(self, damage):
        self.health -= damage if self.rage < 2 else damage // 2


def fights_won(player, kinds):
    """The health of a player after some fights."""
    won = 0
    for kind in kinds:
        enemy = Dragon() if kind == 1 else Slime()
        turn = 0
        while enemy.health > 0 and player > 0:
            enemy.hurt(3)
            player -= enemy.attack(turn)
            turn += 1
        if player <= 0:
            break
        won += 10 if enemy.name == "dragon" else 1
    return won, player


# Arithmetic by special methods


class Metres:
    def __init__(self, amount):
        self.amount = amount

    def __add__(self, other):
        return Metres(self.amount + other.in_metres())

    def __lt__(self, other):
        return self.in_metres() < other.in_metres()

    def in_metres(self):
        return self.amount


class Feet:
    def __init__(self, amount):
        self.amount = amount

    def __add__(self, other):
        return Feet(self.amount + other.in_metres() / 0.3048)

    def __lt__(self, other):
        return self.in_metres() < other.in_metres()

    def in_metres(self):
        return self.amount * 0.3048


def longer_of_two_lengths(a, b):
    """The longer of two lengths, each in metres or in feet, and their sum."""
    one = Metres(a) if a > 2 else Feet(a)
    other = Feet(b) if b > 3 else Metres(b)
    longest = other if one < other else one
    return longest.in_metres(), (one + other).in_metres()


_X = [-3.0, -0.5, 0.0, 1.0, 2.5, 4.5, 9.0]
PROGRAMS = [
    Program(area_of_a_shape, (_X,)),
    Program(shapes_that_grow, (_X, [0, 1, 2, 3, 4, 5, 6]), rtol=1e-4),
    Program(perimeter_by_match, (_X,)),
    Program(largest_of, (_X, [1.0, 5.0, -4.0, 0.5, 2.0, -9.0, 3.0])),
    Program(chosen_from_a_list, (_X, [0, 1, 2, 0, 1, 2, -1])),
    Program(machine_with_states, (np.array([[3, 1, 2, 0, 5], [0, 1, 2, 3, 4], [5, 5, 5, 5, 5], [3, 0, 3, 0, 3]]),)),
    Program(trader_who_changes_strategy, ([1.0, 3.0, 5.0], np.array([[4.0, 9.0, 12.0, 3.0]] * 3))),
    Program(sum_of_tokens, (np.array([[3, -1, 2, -2, 4], [-1, 5, 6, -3, 1], [1, 2, 3, 4, 5]]),)),
    Program(value_of_an_expression, ([0.0, 1.0, 2.0, 0.0], [0.5, 2.0, 1.0, 3.0], [2.0, 3.0, 4.0, 5.0])),
    Program(fights_won, ([30, 8, 50], np.array([[0, 1, 0, 1], [0, 0, 1, 0], [1, 1, 1, 1]]))),
    Program(longer_of_two_lengths, ([1.0, 2.5, 7.0, 1.5], [4.0, 2.0, 1.0, 9.0])),
]
