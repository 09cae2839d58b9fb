"""Methods that Python calls by itself, and that branch on a lane's values: of properties, operators, conditions."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_lists_as_written import is_alike

import hlobatch as hb
from hlobatch.stages import Traced


class Number:
    """A number whose every operation branches on it."""

    def __init__(self, n: Any) -> None:
        self.n = n

    @property
    def mean(self) -> Any:
        return self.n / 2 if self.n > 1 else 0.0

    @property
    def root(self) -> Any:
        root = 0
        while root * root < self.n:
            root += 1
        return root

    def __lt__(self, other: Any) -> Any:
        if self.n == 1:
            return False
        return self.n < other.n

    def __eq__(self, other: object) -> Any:
        if self.n > 2:
            return False
        return self.n == other.n  # type: ignore[attr-defined]

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: Any) -> Any:
        return Number(self.n + other.n) if self.n > 1 else Number(other.n)

    def __mul__(self, times: Any) -> Any:
        return Number(0) if times < 0 else Number(self.n * times)

    def __iadd__(self, other: Any) -> Any:
        if other.n > 1:
            self.n += other.n
        return self

    def __pow__(self, exponent: Any) -> Any:
        result = Number(1)
        while exponent > 0:
            result, exponent = Number(result.n * self.n), exponent - 1
        return result

    def __neg__(self) -> Any:
        return Number(0) if self.n > 2 else Number(-self.n)

    def __getitem__(self, i: Any) -> Any:
        return -1 if i > self.n else 2 * i

    def __len__(self) -> Any:
        return min(self.n, 2)

    def __contains__(self, item: Any) -> Any:
        return False if item > self.n else item > 0


class Switch:
    def __init__(self, n: Any) -> None:
        self.n = n

    def __bool__(self) -> bool:
        return self.n > 0 if self.n < 3 else False


class Queue:
    def __init__(self, n: Any) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n  # type: ignore[no-any-return]


class Counting:
    """Items that are counted as they are asked for."""

    def __init__(self) -> None:
        self.squares, self.asked = [0, 1, 4, 9, 16], 0

    def __getitem__(self, i: Any) -> Any:
        if i > 1:
            self.asked += 1
        return self.squares[i]


def properties(x: Any) -> Any:
    number = Number(x)
    while number.root < 3:
        number = Number(number.n + 1)
    return number.n + number.mean


def comparisons(x: Any) -> Any:
    a, b = Number(x), Number(2)
    return (1 if a < b else 0) + (2 if a == b else 0) + (4 if a != b else 0)


def arithmetic(x: Any) -> Any:
    return (Number(x) + Number(1) * (x - 2)).n, (-Number(x)).n


def powers(x: Any) -> Any:
    number = Number(2)
    number **= x
    return (Number(3) ** x).n, number.n, (x + 1) ** 2, 0.5**x


def in_place(x: Any) -> Any:
    number = Number(5)
    number += Number(x)
    return number.n


def items(x: Any) -> Any:
    return Number(2)[x] + 1


def items_that_are_counted(x: Any) -> Any:
    counting, total = Counting(), 0
    for i in range(x):
        total += counting[i]
    return total, counting.asked


def membership(x: Any) -> Any:
    number = Number(2)
    return (1 if x in number else 0) + (2 if x not in number else 0)


def lengths(x: Any) -> Any:
    return len(Number(x)) + 10 * len(Queue(x)) + len([1, 2])


def truths(x: Any) -> Any:
    switch = Switch(x)
    total = 1 if switch else 0
    return total + 2 if not switch else total + 4


def a_loop_until_it_is_empty(x: Any) -> Any:
    queue, turns = Queue(x), 0
    while queue:
        queue.n -= 1
        turns += 1
    return turns


def less(a: Any, b: Any) -> Any:
    return a < b


def in_a_helper(x: Any) -> Any:
    return 1 if less(Number(x), Number(2)) else 0


class Grid:
    """Cells whose changes are counted."""

    def __init__(self) -> None:
        self.cells, self.changes = [0] * 5, 0

    def __getitem__(self, place: Any) -> Any:
        return self.cells[place]

    def __setitem__(self, place: Any, value: Any) -> None:
        if place >= 5:
            raise IndexError("out")
        self.cells[place] = value
        self.changes += 1

    def __delitem__(self, place: Any) -> None:
        if self.cells[place] > 1:
            self.cells[place] = 0
        self.changes += 10


def items_that_are_set(x: Any) -> Any:
    grid, grids = Grid(), [Grid(), Grid()]
    grid[x % 5] = 3
    grid[0] += x
    del grid[0]
    for k in range(3):
        grids[(x + k) % 2][k] = x + 1
    try:
        for k in range(2 * x):
            grid[k] = k
    except IndexError:
        grid[1] = -1
    return grid.changes, grid[0], grid[1], grids[0][2], grids[1].changes


def in_comprehensions(x: Any) -> Any:
    counting, numbers = Counting(), [Number(x), Number(2)]
    below = [n < Number(3) for n in numbers]
    return (
        sum(counting[(x + i) % 5] for i in range(3)),
        counting.asked,
        sum(below),
        any(counting[i] > 3 for i in (x, 1)),
    )


FUNCTIONS = [
    in_comprehensions,
    properties,
    comparisons,
    arithmetic,
    powers,
    in_place,
    items,
    items_that_are_counted,
    items_that_are_set,
    membership,
    lengths,
    truths,
    a_loop_until_it_is_empty,
    in_a_helper,
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_methods_that_python_calls_by_itself_are_followed(function: Callable[[Any], Any]) -> None:
    results = hb.batch(function)(jnp.arange(5))
    expected = [function(x) for x in range(5)]
    for found, column in zip(jax.tree.leaves(results), zip(*map(jax.tree.leaves, expected), strict=True), strict=True):
        np.testing.assert_allclose(found, column)


def test_operations_on_what_is_no_object_stay_straight_line_code() -> None:
    """Of two operators of one kind only the one that calls a method becomes a call."""

    def both(x: Any) -> Any:
        return (Number(x) + Number(1)).n + (x + 3)

    traced: Traced = hb.batch(both).trace(jnp.arange(3))
    assert str(traced.program).count("call @") == 2  # of the function itself, and of its `+`
    assert hb.batch(both)(jnp.arange(5)).tolist() == [both(x) for x in range(5)]


class Cells:
    """Items by number, without ``__iter__``: Python asks for them until an IndexError."""

    def __init__(self, x: Any) -> None:
        self.cells = [x, 0, 2]

    def __getitem__(self, k: int) -> Any:
        return self.cells[k]

    def put(self, k: Any, v: Any) -> None:
        if k > 2:
            raise IndexError("no such cell")
        self.cells[k] = v


def over_items_by_number(n: Any) -> Any:
    cells, t = Cells(n), 0
    try:
        cells.put(n, 4)
    except IndexError:
        t = 5
    for v in cells:
        t = t * 10 + v
    a, b, c = cells
    return t, sum(cells) + len(list(cells)), 2 in cells, 7 in cells, [v * 2 for v in cells], a + b * 10 + c * 100


def test_items_by_number_end_with_an_index_error() -> None:
    is_alike(over_items_by_number, 7)
