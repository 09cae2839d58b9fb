"""Rows of a lane's table: ``zip(*rows)``, sums of rows, and their items one after the other, against plain Python."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from shares import by_day
from test_own_containers import check

import hlobatch as hb


def table(n):
    return [[i * j + i for j in range(n)] for i in range(3)]


def square(n):
    return [[i * n + j for j in range(n)] for i in range(n)]


def transpose1(n):
    m = square(n)
    t = [list(r) for r in zip(*m)]
    return sum(t[i][j] * (i + 2 * j) for i in range(n) for j in range(n))


def transpose2(n):
    m = square(n)
    t = list(zip(*m))
    return sum(r[0] for r in t)


def transpose3(n):
    m = square(n)
    t = list(map(list, zip(*m)))
    return sum(map(sum, t)) + len(t)


def sum_rows(n):
    m = table(n)
    return sum(map(sum, m)) * 10 + sum(len(r) for r in m) + max(map(max, m), default=0) if n else 0


def flat(n):
    m = table(n)
    f = sum(m, [])
    return len(f) * 1000 + sum(f)


def flat2(n):
    m = square(n)
    f = sum(m, [])
    g = [x for r in m for x in r]
    return len(f) * 1000 + sum(f) + sum(g) + f[-1] if n else 0


def columns(n):
    m = square(n)
    return max(sum(c) for c in zip(*m)) if n else 0


def colmax(n):
    m = square(n)
    best = [max(col) for col in zip(*m)]
    return sum(best)


def unpack(n):
    m = table(n)
    a, b, c = m
    return sum(a) + 2 * sum(b) + 3 * sum(c)


def rot(n):
    m = square(n)
    r = [list(x) for x in zip(*m[::-1])]
    return sum(r[i][i] * (i + 1) for i in range(n))


def zip_star_pairs(n):
    pairs = [(i, i * i) for i in range(n + 1)]
    a, b = zip(*pairs)
    return sum(a) * 100 + sum(b)


def diag(n):
    m = square(n)
    return sum(row[i] for i, row in enumerate(m)) + sum(r[-1 - i] for i, r in enumerate(m))


def chain(n):
    m = square(n)
    return sum(itertools.chain(*m)) + sum(itertools.chain.from_iterable(m))


PROGRAMS = [
    transpose1,
    transpose2,
    transpose3,
    sum_rows,
    flat,
    flat2,
    columns,
    colmax,
    unpack,
    rot,
    zip_star_pairs,
    diag,
    chain,
]


@pytest.mark.parametrize("function", by_day(PROGRAMS, 4), ids=lambda function: function.__name__)
def test_rows_of_a_table_are_those_of_python(function: Callable[[Any], Any]) -> None:
    check(function)


def asked_for_a_tuple(n: Any) -> Any:
    rows = [[1, n], [2, n], [3, 4]][: n % 3 + 1]
    return sum(1 for row in zip(*rows) if isinstance(row, tuple))


def all_given(*args: Any) -> Any:
    return 1 if isinstance(args, tuple) else 0


@pytest.mark.parametrize("function", [asked_for_a_tuple, lambda n: all_given(*range(n + 1))])
def test_whether_a_list_of_a_lane_is_a_tuple_is_not_answered(function: Callable[[Any], Any]) -> None:
    with pytest.raises(hb.BatchTypeError, match="whether this is a tuple is not known"):
        hb.batch(function)(np.arange(3))
