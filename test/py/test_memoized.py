"""Functions with ``functools.cache``: each program against plain Python, lane by lane."""

import functools
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import jax
import numpy as np
import pytest
from zoo import optimizing_little

import hlobatch as hb

N = np.array([0, 1, 4, 9], np.int32)
PROGRAMS: dict[str, Callable[..., Any]] = {}


def program(function: Callable[..., Any]) -> Callable[..., Any]:
    PROGRAMS[function.__name__] = function
    return function


@lru_cache(maxsize=None)  # noqa: UP033  # as people write it
def partitions(n, k):
    if n == 0:
        return 1
    if n < 0 or k == 0:
        return 0
    return partitions(n - k, k) + partitions(n, k - 1)


@cache
def is_even(n):
    return True if n == 0 else is_odd(n - 1)


@cache
def is_odd(n):
    return False if n == 0 else is_even(n - 1)


@cache
def squares(count):
    return [i * i for i in range(count)]


@program
def of_the_file(n):
    return partitions(n, n), sum([partitions(i, 2) for i in range(4)])


@program
def in_turn(n):
    return is_even(n), is_odd(n)


@program
def with_a_known_argument(n):
    return squares(5)[n % 5]


@program
def asked_in_a_loop(n):
    total = 0
    for i in range(n):
        total += partitions(i, 2)
    return total


@program
def paths(n):
    @functools.cache
    def to(y, x):
        return 1 if y == 0 or x == 0 else to(y - 1, x) + to(y, x - 1)

    return to(n, n)


@program
def computed_once(n):
    count = 0

    @cache
    def fibonacci(k):
        nonlocal count
        count += 1
        return k if k < 2 else fibonacci(k - 1) + fibonacci(k - 2)

    return fibonacci(n), count


@program
def distance(n):
    a, b = "kitten", "sitting"

    @lru_cache
    def between(i, j):
        if i == 0 or j == 0:
            return i + j
        if a[i - 1] == b[j - 1]:
            return between(i - 1, j - 1)
        return 1 + min(between(i - 1, j), between(i, j - 1), between(i - 1, j - 1))

    return between(n % 7, len(b))


@program
def default_and_names(n):
    @cache
    def times(k, j=3):
        return k * j

    return times(n) + times(n, 2) + times(j=5, k=n)


@program
def of_many_parameters(n):
    @cache
    def total(a, b, c, d, e, f, g, h, i, j):
        return a if a < 1 else total(a - 1, b, c, d, e, f, g, h, i, j) + b + c + d + e + f + g + h + i + j

    return total(n, 1, 2, 3, 4, 5, 6, 7, 8, n)


@program
def that_raises(n):
    @cache
    def checked(k):
        if k == 4:
            raise ValueError("four")
        return k

    try:
        return checked(n)
    except ValueError:
        return -checked(n - 1)


@program
def sees_what_is_around_it_when_first_asked(n):
    @cache
    def plus(k):
        return k + n

    n += 1
    first = plus(1)
    n += 1
    return first + plus(1) + plus(2)


@program
def of_floats(n):
    @cache
    def tree(x):
        return 1.0 if x < 1 else tree(x / 2) + tree(x / 3)

    return tree(n * 1.0)


@program
def cleared(n):
    first, total = [0, 1], 0

    @cache
    def of(k):
        return first[k] if k < 2 else of(k - 1) + of(k - 2)

    of.cache_clear()
    for i in range(3):
        first[1] = i
        total += of(n)
        if n > i:
            of.cache_clear()
    return total


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_in_python(name: str) -> None:
    function = PROGRAMS[name]
    with optimizing_little():
        found = jax.tree.leaves(hb.batch(function)(N))
    for i, n in enumerate(N.tolist()):
        assert [leaf[i].item() for leaf in found] == jax.tree.leaves(function(n))


def changes_what_it_gave(n):
    @cache
    def of(k):
        return [k]

    row = of(n)
    row.append(1)
    return len(of(n))


def typed(n):
    @lru_cache(maxsize=None, typed=True)
    def of(k):
        return k

    return of(n)


@pytest.mark.parametrize("function", [changes_what_it_gave, typed])
def test_is_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(hb.HloBatchError) as caught:
        hb.batch(function)(N)
    assert "Closure" not in str(caught.value)
