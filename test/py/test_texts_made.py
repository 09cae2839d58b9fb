"""A text that Python makes of a lane's value, by whatever way, is Python's or refused, and not the name of a tracer."""

from __future__ import annotations

import functools
import itertools
import string
import textwrap
import types
from collections import Counter, deque, namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import pytest

import hlobatch as hb

X, Y = np.array([3, 12, 100]), np.array([5, 50, 7])
Pair = namedtuple("Pair", "a b")  # noqa: PYI024


@dataclass
class Point:
    x: int


class Named:
    def __init__(self, x):
        self.x = x

    def __str__(self):
        return f"named {self.x}"


class Shown:
    def __init__(self, x):
        self.x = x

    def __repr__(self):
        return "shown %s" % self.x  # noqa: UP031


def lengths(function, *values):
    return sum(map(len, map(function, values)))


def word(x):
    return "abc" if x > 5 else "z"


def text_of_exception(x):
    try:
        raise ValueError(x)
    except ValueError as error:
        return lengths(str, error)


TEXTS: tuple[Callable[[Any, Any], int], ...] = (
    lambda x, y: len("".join(map(str, (x, y)))),
    lambda x, y: len(list(map(str, [x, y]))[1]),
    lambda x, y: len(" ".join(map(repr, (x, y)))),
    lambda x, y: len(max(map(ascii, (x, y)))),
    lambda x, y: max((x, y), key=str),
    lambda x, y: len(sorted([x, y], key=repr)),
    lambda x, y: len("".join(map("{}".format, (x, y)))),
    lambda x, y: len(set(map(str, (x, y)))),
    lambda x, y: len(dict(zip(map(str, (x, y)), (1, 2), strict=True))),
    lambda x, y: len(list(itertools.groupby((x, y), key=str))),
    lambda x, y: int("".join(map(str, (x, y)))),
    lambda x, y: len("".join(itertools.chain.from_iterable(map(str, (x, y))))),
    lambda x, y: len([str, repr][0](x)),
    lambda x, y: len(functools.partial(str)(x)),
    lambda x, y: len(x.__str__()),
    lambda x, y: len(x.__format__("")),
    lambda x, y: len(str.format("{}", x)),
    lambda x, y: len(str.join("", map(str, [x]))),
    lambda x, y: len(" ".join(map(str, [x, y])).split()),
    lambda x, y: len(textwrap.shorten(" ".join(map(str, [x, y])), 9)),
    lambda x, y: len(string.Template("$a").substitute(a=x)),
    lambda x, y: len(Point(x).__repr__()),
    lambda x, y: len([x, y].__repr__()),
    lambda x, y: len({"a": x}.__repr__()),
    lambda x, y: len(Pair(x, y).__repr__()),
    lambda x, y: len(repr(types.SimpleNamespace(a=x))),
    lambda x, y: len(list(range(x)).__repr__()),
    lambda x, y: len(word(x).__repr__()),
    lambda x, y: lengths(str, Point(x), Point(y)),
    lambda x, y: lengths(str, Named(x), Named(y)),
    lambda x, y: lengths(repr, Shown(x), Shown(y)),
    lambda x, y: lengths(str, Point(x) if x > 5 else Named(y)),
    lambda x, y: lengths(str, list(range(x))),
    lambda x, y: lengths(str, deque(range(x))),
    lambda x, y: lengths(str, Counter([x, y])),
    lambda x, y: lengths(str, {x: y}),
    lambda x, y: lengths(str, {x, y}),
    lambda x, y: lengths(str, (x, y)),
    lambda x, y: lengths(str, range(x)),
    lambda x, y: lengths(str, x > y),
    lambda x, y: lengths(str, x / y),
    lambda x, y: lengths(str, None if x > 5 else y),
    lambda x, y: lengths(str, [word(x)]),
    lambda x, y: lengths(str, np.array([x, y])),
    lambda x, y: text_of_exception(x),
)


@pytest.mark.parametrize("number", range(len(TEXTS)))
def test_a_text_is_that_of_python_or_refused(number: int) -> None:
    function = TEXTS[number]
    try:
        found = hb.batch(function)(X, Y).tolist()
    except (hb.BatchTypeError, hb.UnsupportedSyntaxError):
        return
    assert found == [function(int(x), int(y)) for x, y in zip(X, Y, strict=True)]


def test_the_error_points_at_the_text() -> None:
    with pytest.raises(hb.BatchTypeError, match="makes a text of a value that differs between lanes") as error:
        hb.batch(lambda x: sum(map(len, map(repr, [Point(x)]))))(X)
    assert "map(repr, [Point(x)])" in str(error.value)


def test_a_text_outside_of_batched_functions_is_that_of_jax() -> None:
    shown: list[str] = []
    jax.jit(lambda x: shown.append(repr(x)))(X)
    assert "int32[3]" in shown[0]
