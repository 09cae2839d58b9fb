"""Flags, Python numbers and their powers are what they are in Python and in NumPy."""

import functools
import operator

import numpy as np
import pytest
from small_functions import ints

import hlobatch as hb


def test_questions_about_the_type_of_a_number_were_answered_for_arrays() -> None:
    @hb.batch
    def f(n):
        count = 0
        for i in range(n):
            if isinstance(i, int) and type(i) is int and not hasattr(i, "shape"):
                count = count + 1
        k = 1
        if n > 2:
            k = 2
        scale = 0.5 if n > 3 else 2.5
        flag = n > 1 and True
        return count, isinstance(k, (int, str)), isinstance(scale, int), type(scale) is float, isinstance(flag, tuple)

    found = f(ints(0, 1, 3, 5))
    assert [x.tolist() for x in found] == [[0, 1, 3, 5], [True] * 4, [False] * 4, [True] * 4, [False] * 4]


def test_flags_are_numbers_beside_numbers() -> None:
    @hb.batch
    def f(n):
        flag = False
        if n > 2:
            flag = True
        n += flag
        return flag * 3 + 1, n, 2 - flag, n > 1 and ~(n > 4)

    tripled, added, taken, middle = f(ints(0, 3, 5))
    assert tripled.tolist() == [1, 4, 4]
    assert added.tolist() == [0, 4, 6]
    assert taken.tolist() == [2, 1, 1]
    assert middle.tolist() == [False, True, False]


def sums_of_flags(a, b):
    """All that Python does on numbers, of bools: written out, compared, chosen and combined."""
    first, second = a > 1, b > 1
    chosen = False
    if a > 2:
        chosen = True
    votes = first + second + (a > 3)
    both = (first & second) + (first | chosen)
    votes_in_place = first
    votes_in_place += second
    whole = first // (b >= -9) + first % (b >= -9) * 3 + (first << second) + (first >> second)
    powers = first**2 + 2**first + first**second + (b >= -9) ** -1
    return votes, both, votes_in_place, whole, powers, first - chosen, -first, +first, first * chosen, first / True


@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.uint8])
def test_flags_are_numbers_among_themselves(dtype) -> None:
    """``(a > 1) + (b > 1)`` was a flag, or refused, and is 2 in Python."""
    a, b = (x.ravel() for x in np.meshgrid(np.arange(5), np.arange(3)))
    found = [x.tolist() for x in hb.batch(sums_of_flags)(a.astype(dtype), b.astype(dtype))]
    for m, n, *given in zip(a.tolist(), b.tolist(), *found, strict=True):
        assert given == list(sums_of_flags(m, n))


def test_arrays_of_flags_are_added_as_in_numpy() -> None:
    def f(x, single):
        return (x > 1) + (x > 2), (x > 1) * (x > 2), sum([single, single, True]), sum(x > 1), single + (x > 1)

    x = np.arange(4)
    found = hb.batch(f)(x[None], np.array([True]))
    for given, wanted in zip(found, f(x, True), strict=True):
        assert given[0].tolist() == np.asarray(wanted).tolist()


def test_a_flag_that_becomes_an_array_of_one_is_one() -> None:
    @hb.batch
    def f(n):
        done, k = False, 0
        while ~done:
            k = k + 1
            done = done | (k > n)
        left = ~done
        return k, left

    k, left = f(ints(0, 3, 5))
    assert k.tolist() == [1, 4, 6]
    assert left.tolist() == [False] * 3


def test_constant_powers_of_python_integers_are_floats() -> None:
    @hb.batch
    def f(n):
        total = 0.0
        for i in range(1, n):
            total += i**-2
        return total, 2 ** (n + 1), n**2

    total, power, square = f(ints(1, 2, 4))
    np.testing.assert_allclose(total, [0.0, 1.0, 1.0 + 1 / 4 + 1 / 9], rtol=1e-6)
    assert power.tolist() == [4, 8, 32]
    assert square.tolist() == [1, 4, 16]


class Flagged:
    """A class that computes with booleans in its special methods."""

    def __init__(self, n):
        self.n = n
        self.votes = (n > 1) + (n > 2)

    def __add__(self, other):
        return (self.n > 1) + (other.n > 1)

    def __radd__(self, other):
        return (self.n > 1) + (self.n > 2) + other

    def __floordiv__(self, k):
        return (self.n > k) + (self.n > 2)

    def __eq__(self, other):
        return (self.n > 1) + (other.n > 1) == 2

    def __lt__(self, other):
        return (self.n > 1) + (other.n > 1) < 2

    __hash__ = None

    def __neg__(self):
        return (self.n > 1) + (self.n > 2)

    def __abs__(self):
        return (self.n > 1) + (self.n > 2) + 1

    def __getitem__(self, k):
        return (self.n > 1) + (self.n > k)

    def __contains__(self, k):
        return (self.n > k) + (self.n > 2) == 2

    def __bool__(self):
        return (self.n > 1) + (self.n > 2) == 2

    @property
    def both(self):
        return (self.n > 1) + (self.n > 2)


def two_flags(a, b):
    return (a > 1) + (b > 1)


def flags_in_methods(n):
    one, k = Flagged(n), n + 1 - n
    compared = one == one, one != one, one < one, one > one
    summed = one.votes, one + one, 3 + one, one // 1, -one, abs(one), one[k], sum([one]), operator.add(one, one)
    given = [*map(two_flags, [n, 2], [n, 3])], functools.reduce(two_flags, [n, n]), functools.partial(two_flags, n)(n)
    asked = one.both, 1 in one, not one, 5 if one else 7
    return *asked, *summed, *given[0], *given[1:], *compared


def test_flags_are_numbers_in_methods_that_python_calls_and_in_functions_that_are_given() -> None:
    """``True + True`` was ``True`` in an operator's method, in ``__init__``, and in what is given to ``map``."""
    numbers = [0, 2, 3]
    found = [x.tolist() for x in hb.batch(flags_in_methods)(ints(*numbers))]
    for n, *given in zip(numbers, *found, strict=True):
        assert given == list(flags_in_methods(n))


def test_flags_in_pairs_and_keys_equal_numbers() -> None:
    def f(n):
        d = {}
        d[n] = 1
        s = set()
        s.add((n, 1))
        xs = [n]
        if n > 0:
            xs.append(n)
        return (n, n > 1) in d.items(), (n > 1) in d, (n, n > 1) in s, (n > 1) in xs, (n, 1) == (n > 0, True)

    numbers = [0, 1, 2, 3]
    found = [x.tolist() for x in hb.batch(f)(ints(*numbers))]
    for n, *given in zip(numbers, *found, strict=True):
        assert given == list(f(n))
