"""Special methods of the user's classes mean what they do in Python; booleans in them are numbers."""

import dataclasses
import functools
import itertools
from collections.abc import Callable

import pytest
from small_functions import ints

import hlobatch as hb


def votes(n, k=2):
    """Two flags added up, which JAX takes for one flag; 0, 1 or 2."""
    return (n > 1) + (n > k)


class Held:
    def __init__(self, n):
        self.n = n


class Iterated(Held):
    def __iter__(self):
        return iter([(self.n > 1) + (self.n > 2), 1])


class Generated(Held):
    def __iter__(self):
        for k in range(3):
            yield (self.n > k) + (self.n > 2)


class Stepping(Held):
    turn = 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.turn == 3:
            raise StopIteration
        self.turn += 1
        return (self.n > 1) + (self.n > 2)


class Indexed(Held):
    def __getitem__(self, k):
        if k > 2:
            raise IndexError
        return (self.n > k) + (self.n > 2)

    def __delitem__(self, k):
        self.n = (self.n > k) + (self.n > 2)

    def __round__(self):
        return (self.n > 1) + (self.n > 2)

    def __enter__(self):
        return (self.n > 1) + (self.n > 2)

    def __exit__(self, *_):
        return None


class Asked(Held):
    @functools.cached_property
    def cached(self):
        return (self.n > 1) + (self.n > 2)

    @property
    def given(self):
        return self.n

    @given.setter
    def given(self, value):
        self.n = (value > 1) + (value > 2)

    def __getattr__(self, name):
        if name != "other":
            raise AttributeError(name)
        return (self.n > 1) + (self.n > 2)


class Flags:
    def __set_name__(self, owner, name):
        self.name = f"_{name}"

    def __get__(self, held, kind=None):
        return getattr(held, self.name)

    def __set__(self, held, value):
        setattr(held, self.name, (value > 1) + (value > 2))


class Described:
    flags = Flags()

    def __init__(self, n):
        self.flags = n


@dataclasses.dataclass
class Filled:
    n: int

    def __post_init__(self):
        self.votes = (self.n > 1) + (self.n > 2)


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    n: int
    votes: int = 0

    def __post_init__(self):
        object.__setattr__(self, "votes", (self.n > 1) + (self.n > 2))


class Inheriting(Filled):
    def __init__(self, n):
        super().__init__(n)


class Pair(tuple):
    __slots__ = ()

    def __new__(cls, n):
        return tuple.__new__(cls, ((n > 1) + (n > 2), n))


class Counting(type):
    def __call__(cls, n):
        return (n > 1) + (n > 2)


class Counted(metaclass=Counting):
    pass


class Private:
    def __init__(self, n):
        self.__n = n

    def __votes(self, k):
        __flag = self.__n > k
        return (self.__n > 1) + __flag

    def __iter__(self):
        return iter([self.__votes(2)])

    def branches(self):
        if self.__n > 2:
            return self.__votes(2)
        return 7


class OfAnother:
    def __getitem__(self, k):
        return (k > 1) + (k > 2)


OF_ANOTHER = OfAnother()


@functools.singledispatch
def generic(n):
    raise TypeError(n)


@generic.register
def _(n: int):
    return (n > 1) + (n > 2)


@generic.register
def _(n: Held):
    return (n.n > 0) + (n.n > 2)


def generated(n):
    yield (n > 1) + (n > 2)
    yield from [(n > 0) + (n > 1)]


def in_a_loop(items):
    total = 0
    for item in items:
        total = total * 10 + item
    return total


def within(manager):
    with manager as value:
        return value


def unpacked(n):
    first, second = Iterated(n)
    first += [*Iterated(n), 0][0]
    return first * 10 + second


def assigned(n):
    held = Asked(0)
    held.given = n
    return held.n


def deleted(n):
    held = Indexed(n)
    del held[1]
    return held.n


def extended(n):
    items = [0]
    items.extend(Iterated(n))
    items += Generated(n)
    return in_a_loop(items)


CASES: dict[str, Callable] = {
    "list": lambda n: list(Iterated(n))[-2] * 10 + tuple(Iterated(n))[1],
    "loop": lambda n: in_a_loop(Iterated(n)) * 1000 + in_a_loop(Generated(n)),
    "steps": lambda n: in_a_loop(Stepping(n)) * 10 + next(Stepping(n)),
    "unpacked": unpacked,
    "extended": extended,
    "star": lambda n: max(*Iterated(n), 0),
    "comprehension": lambda n: max(v * 2 for v in Iterated(n)) + sum(v for v in Generated(n)),
    "sums": lambda n: sum(Iterated(n)) + sum(Generated(n)) * 10 + sum(generated(n)) * 100,
    "zip": lambda n: sum(a * b for a, b in zip(Iterated(n), Generated(n), strict=False)),
    "enumerate": lambda n: sum(a * b for a, b in enumerate(Generated(n))),
    "iter": lambda n: next(iter(Iterated(n))) + 2 * (2 in Iterated(n)),
    "map": lambda n: sum(map(votes, Iterated(n))) + sum(map(votes, Generated(n), [1, 2, 3])),
    "itertools": lambda n: sum(itertools.chain(Iterated(n), Generated(n))),
    "items": lambda n: Indexed(n)[1] * 100 + sum(Indexed(n)) * 10 + (2 in Indexed(n)) + OF_ANOTHER[n],
    "deleted": deleted,
    "round": lambda n: round(Indexed(n)),
    "with": lambda n: within(Indexed(n)),
    "cached": lambda n: Asked(n).cached * 10 + getattr(Asked(n), "cached"),  # noqa: B009
    "getattr": lambda n: Asked(n).other,
    "setter": assigned,
    "descriptor": lambda n: Described(n).flags,
    "dataclass": lambda n: Filled(n).votes * 100 + Frozen(n).votes * 10 + Inheriting(n).votes,
    "replaced": lambda n: dataclasses.replace(Filled(0), n=n).votes,
    "new": lambda n: Pair(n)[0] * 10 + Counted(n),
    "private": lambda n: sum(Private(n)) * 10 + Private(n).branches(),
    "generic": lambda n: generic(n) * 10 + generic(Held(n)),
}


@pytest.mark.parametrize("name", CASES)
def test_methods_mean_what_they_do_in_python(name) -> None:
    f = CASES[name]
    numbers = [0, 2, 3]
    assert hb.batch(f)(ints(*numbers)).tolist() == [int(f(n)) for n in numbers]


def test_methods_have_their_own_code_afterwards() -> None:
    codes = [method.__code__ for method in (Iterated.__iter__, Filled.__post_init__, Flags.__set__)]
    hb.batch(lambda n: sum(Iterated(n)) + Filled(n).votes + Described(n).flags)(ints(1, 2))
    with pytest.raises(hb.HloBatchError):
        hb.batch(lambda n: sum(Iterated(n)) + Filled(n).votes + Described(n).undefined)(ints(1, 2))
    assert [method.__code__ for method in (Iterated.__iter__, Filled.__post_init__, Flags.__set__)] == codes


def test_a_class_made_in_a_function_that_is_traced_means_what_it_does_in_python() -> None:
    def helper(n):
        class Inside:
            def __iter__(self):
                return iter([(n > 1) + (n > 2)])

        return sum(Inside())

    def f(n):
        return helper(n) + 1

    assert hb.batch(f)(ints(0, 2, 3)).tolist() == [f(n) for n in (0, 2, 3)]


MUCH = [[number] for number in range(3_000)]


def iterated(n):
    return sum(Iterated(n))


def test_however_much_lies_outside_methods_mean_what_they_do_in_python() -> None:
    def f(n):
        return len(MUCH) + iterated(n)

    assert hb.batch(f)(ints(0, 2, 3)).tolist() == [f(n) for n in (0, 2, 3)]
