"""One object as two items of a list, deque or dict whose length differs between lanes.

Each item has its own place in the arrays of such a container. If two places hold what is one list in Python, both hold
a reference to it. One array in two places is refused where it changes.
"""

# ruff: noqa: PERF401 (what a loop puts there is the subject)

from collections import deque
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import hlobatch as hb

NUMBERS = np.arange(1, 5)


def rows(n: Any) -> list[Any]:
    """Lists of their own."""
    made = []
    for i in range(n):
        row = [0, 0, 0]
        for j in range(3):
            row[j] = i * j
        made.append(row)
    return made


def changed_in_turn(n):
    items = rows(n)
    for k in range(3):
        for i in range(n):
            items[i][1] += k + items[0][2]
    return items[-1][1]


def made_in_a_call(n):
    items = []
    for i in range(n):
        _put(items, [i, 1])
    items[0][0] += 7
    return items[-1][0]


def turned(n):
    items = deque()
    for i in range(n):
        items.append([i, 0])
    for k in range(4):
        first = items.popleft()
        items.append([first[0], first[1] + k])
    items[0][1] += 1
    return items[0][1] * 10 + items[-1][0]


def unless_there(n):
    found = {}
    for i in range(n):
        found.setdefault(i % 2, [0, 0])
    for i in range(n):
        found[i % 2][1] += i
    return found[0][1]


def exchanged(n):
    items = rows(n)
    items[0], items[-1] = items[-1], items[0]
    return items[0][1]


@pytest.mark.parametrize(
    "function", [changed_in_turn, made_in_a_call, turned, unless_there, exchanged], ids=lambda f: f.__name__
)
def test_items_of_their_own_change_as_in_python(function: Callable[..., Any]) -> None:
    assert hb.batch(function)(NUMBERS).tolist() == [function(int(n)) for n in NUMBERS]


def _put(items: list[Any], item: Any) -> None:
    items.append(item)


def _twice(n):
    items, row = [], [n, 1]
    for _ in range(n):
        items.append(row)
    items[0][0] += 7
    return items[-1][0]


def _an_item_again(n):
    items = rows(n)
    items.append(items[0])
    items[0][0] += 7
    return items[-1][0]


def _assigned(n):
    items = rows(n)
    items[0] = items[-1]
    items[0][0] += 7
    return items[-1][0]


def _extended(n):
    items, row = rows(n), [n, 1, 1]
    items.extend([row, row])
    items[-1][0] += 7
    return items[-2][0]


def _in_a_dict(n):
    found, row = {}, [n, 1]
    for i in range(n):
        found[i] = row
    found[0][0] += 7
    return found[n - 1][0]


def _unless_there(n):
    found, row = {}, [n, 1]
    for i in range(n):
        found.setdefault(i, row)
    found[0][0] += 7
    return found[n - 1][0]


def _in_a_call(n):
    items, row = [], [n, 1]
    for _ in range(n):
        _put(items, row)
    items[0][0] += 7
    return items[-1][0]


def _from_a_call(n):
    def made(count):
        items, row = [], [count, 1]
        for _ in range(count):
            items.append(row)
        return items

    items = made(n)
    items[0][0] += 7
    return items[-1][0]


def _arrays(n):
    items, row = [], jnp.zeros(3)
    for _ in range(n):
        items.append(row)
    items[0][0] += 7
    return items[-1][0]


@pytest.mark.parametrize(
    "function",
    [
        _twice,
        _an_item_again,
        _assigned,
        _extended,
        _in_a_dict,
        _unless_there,
        _in_a_call,
        _from_a_call,
    ],
    ids=lambda f: f.__name__[1:],
)
def test_a_list_that_is_two_items_changes_as_in_python(function: Callable[..., Any]) -> None:
    assert hb.batch(function)(NUMBERS).tolist() == [function(int(n)) for n in NUMBERS]


def test_an_array_that_is_two_items_is_not_changed() -> None:
    with pytest.raises(hb.UnsupportedSyntaxError, match=r"changes an item of .* which may be another item"):
        hb.batch(_arrays)(NUMBERS)
