"""Assignments to items: a batched function gives the values that plain Python gives on NumPy's arrays and lists."""

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from optimized_hlo import whole_writes
from zoo import optimizing_little

import hlobatch as hb

RNG = np.random.default_rng(7)
COLUMNS = {
    "n": np.array([1, 2, 3, 5, 8], np.int32),
    "x": RNG.normal(size=(5, 6)).astype(np.float32),
    "whole": RNG.integers(0, 9, (5, 6)).astype(np.int32),
}
"""What the parameters of each function below are given, by their names."""
FUNCTIONS: list[Callable[..., Any]] = []


def case(function: Callable[..., Any]) -> Callable[..., Any]:
    FUNCTIONS.append(function)
    return function


def expected(function: Callable[..., Any], columns: list[Any]) -> list[Any]:
    """The results of plain Python for each example, on its own NumPy arrays and Python numbers."""
    rows = zip(*columns, strict=True)
    with hb.disable_batching(), np.errstate(over="ignore"):
        return [function(*(v.item() if np.ndim(v) == 0 else v.copy() for v in row)) for row in rows]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_it_is_what_python_gives(function: Callable[..., Any]) -> None:
    columns = [COLUMNS[name] for name in function.__code__.co_varnames[: function.__code__.co_argcount]]
    before = [column.copy() for column in columns]
    with optimizing_little():
        found = hb.batch(function)(*columns)
    wanted = expected(function, columns)
    assert jax.tree.structure(found) == jax.tree.structure(wanted[0])
    for array, *rows in zip(jax.tree.leaves(found), *map(jax.tree.leaves, wanted), strict=True):
        np.testing.assert_allclose(array, np.stack([np.asarray(row) for row in rows]), rtol=1e-5, atol=1e-6)
    for column, same in zip(columns, before, strict=True):
        np.testing.assert_array_equal(column, same, "the caller's arrays stay as they are")


class Pair(NamedTuple):
    left: Any
    right: Any


@case
def table_of_fibonacci(n):
    table = np.zeros(10, dtype=int)
    table[0], table[1] = 0, 1
    for i in range(2, 10):
        table[i] = table[i - 1] + table[i - 2]
    return table[n]


@case
def windows_that_do_not_fit(n, x):
    grid = np.zeros((4, 4))
    x[n - 4 : n - 1] = n
    x[-n : 2 - n] = 7
    x[n : n + 2] += 1
    x[3 - n : 5 - n] *= 2
    grid[n - 2 : n + 1, n - 3 : n] += 1
    grid[n - 1 : n + 1, 1] = n
    grid[0, -n : 1 - n] -= 1
    return x, grid


@case
def insertion_sort(x):
    for i in range(1, len(x)):
        j = i
        while j > 0 and x[j - 1] > x[j]:
            x[j - 1], x[j] = x[j], x[j - 1]
            j -= 1
    return x


@case
def sieve(n):
    is_prime = np.ones(40, dtype=bool)
    is_prime[0] = is_prime[1] = False
    p = 2
    while p * p < 40:
        if is_prime[p]:
            is_prime[p * p :: p] = False
        p += 1
    return is_prime.sum() + n


@case
def integers_cut_off(x):
    counts = np.zeros(4, dtype=int)
    counts[0] = x[0] * 10
    counts[1] += 2.7
    counts[2] -= 1
    counts[-1] = -5.9
    counts[-2] = True
    return counts


@case
def unsigned_bytes_wrap_around(n):
    small = np.zeros(3, np.uint8)
    for i in range(n):
        small[i % 3] += np.uint8(100)
    return small


@case
def matrix(n):
    m = np.zeros((4, 4))
    for i in range(4):
        for j in range(i + 1):
            m[i][j] = i * 10 + j
            m[j, i] += n
    m[1] = 7
    m[2, 1:3] = [1.0, 2.0]
    m[:, 3] *= 2
    m[3][1:3] = np.ones((1, 2))
    m[1:3][0] -= 1
    m[..., 0] = m[..., 1] + 1
    m[n % 4, n % 3 : n % 3 + 2] = [n, -n]
    return m


@case
def list_by_lanes(n):
    items = [0, 0, 0, 0]
    items[1] = 5
    items[n % 4] = n
    items[n % 4] += 2
    items[-(n % 4) - 1] *= 3
    items[-1] = 1.5
    return items


@case
def list_in_a_loop(n):
    items = [0] * 5
    for i in range(n):
        items[i % 5] += i
    return items


@case
def tally(whole):
    counts = [0] * 4
    for i in range(6):
        counts[whole[i] % 4] += 1
    return counts


@case
def list_of_arrays(n):
    rows = [np.zeros(3), np.ones(3)]
    rows[n % 2][n % 3] = n
    rows[1][0] += 0.5
    rows[n % 2] = rows[0] + 1
    return rows


@case
def masks(x):
    x[x > 0.5] = 0
    x[x < -0.5] += 1
    y = np.zeros((2, 6))
    y[0], y[1] = x, -x
    y[y > 0] *= 3
    y[:, x > 0] = 9
    y[0, x < 0] -= 1
    return y


@case
def stretches(x, n):
    i = n % 3
    x[i : i + 2] = 7.0
    x[i + 1 : i + 3] *= 2
    x[n % 4 : n % 7] = 1
    x[: n % 4] += 1
    x[n % 2 :: 2] -= 3
    x[-i - 1 :] *= 5
    x[n % 2 : 6 : n % 3 + 1] += 100
    y = np.zeros((4, 6))
    y[i : i + 2, 1 : n % 6] = 1
    y[i] = x
    y[i : i + 2, i : i + 3] += x[:3]
    return x, y


@case
def dicts(n):
    state = {"a": n, "b": [1, 2, 3]}
    state["a"] += 1
    state["b"][1] = n
    state["c"] = 4
    return state["a"] + state["b"][1] + state["c"], state["b"]


@case
def grid_of_lists(n):
    grid = [[0] * 3 for _ in range(2)]
    for y in range(2):
        for x in range(3):
            grid[y][x] = y * 10 + x + n
    grid[n % 2][n % 3] = 100
    return grid


@case
def in_a_tuple(n):
    pair = Pair([n, 0], np.zeros(2))
    pair.left[1] = 3
    pair.right[n % 2] = 1
    both = (pair, [1])
    both[1][0] = n
    both[0].left[0] += 1
    return both


@case
def several_targets(n):
    items = [0, 0, 0]
    i, items[i] = 1, 2
    items[0] = total = n
    items[2], i = 9, 0
    (items[1], *rest), items[i] = (5, 6, 7), 8
    typed = [0.0]
    typed[0]: float = n
    return items, total, i, rest, typed


@case
def chosen_in_a_call(n):
    items = np.zeros(4)
    items[where(n)] = where(n + 1)
    items[where(n)] += where(2 * n)
    return items


@hb.batch
def where(n):
    return n % 4 if n > 2 else 3 - n


# Methods that change what they belong to


@case
def list_methods(n):
    items = []
    items.append(n)
    items.append(n * 2)
    last = items.pop()
    items.insert(0, 7)
    items.extend([1, n])
    items.reverse()
    del items[0]
    items[1:1] = [n, 4]
    grid = [[], [1]]
    grid[0].append(items.pop(1) + 3)
    grid[1].extend(grid[0])
    return items, last, grid


@case
def dict_methods(n):
    state = {"a": 1}
    state.update(b=n)
    value = state.pop("a")
    state.setdefault("c", []).append(n)
    del state["b"]
    return state, value


@case
def list_that_grows_in_a_short_loop(n):
    items = []
    for i in range(3):
        items.append(n * i)
        if n > 4:
            items[-1] += 1
    return items


@case
def list_that_changes_on_one_way(n):
    items = [1, 2]
    if n > 2:
        items.append(n)
        last = items.pop()
    else:
        last = items[0]
    return last, items


def grown(items, x):
    items.append(x)
    return len(items)


@case
def list_that_a_helper_changes(n):
    items = [n]
    return grown(items, 3) + grown(items, n), items


# Two names for one object, and copies


@case
def containers_added_to(n):
    items, both = [1, 2], {"a": 1}
    items += [n]
    items += (n, 3)
    both |= {"b": n}
    state = {"items": [n]}
    state["items"] += [1]
    return items, both["b"], state["items"]


@case
def copies(x):
    typed, flat, array, listed = x.astype(x.dtype), x.flatten(), jnp.array(x), copy.deepcopy([x])
    copied, more = x.copy(), x + 0
    x[0] = 3
    return typed, flat, array, listed, copied, more, x


@case
def the_other_name_alone_is_read(n):
    a = np.zeros(3)
    b = a
    b[0] = n
    return b


@case
def best_and_current(x):
    best, current = x.copy(), x
    for i in range(4):
        current[i] += i
        if current[i] > best[i]:
            best = current.copy()
    return best, current


@case
def two_arrays_take_turns(n):
    a, b = np.zeros(3), np.ones(3)
    for i in range(n):
        a, b = b, a
        a[i % 3] += b[(i + 1) % 3]
    new = old = [0] * 3
    for i in range(n):
        new = list(old)
        new[i % 3] += 1
        old = new
    return a, b, old


@case
def numbers_are_no_parts(n):
    grid, lists = np.zeros((3, 3)), [[0] * 2 for _ in range(2)]
    number, total, row = grid[0, 1], grid[1].sum(), grid[0] + 1
    grid[0][1] = n
    lists[0][1] = n
    item = lists[0][1]
    lists[0][1] = 7
    return number, total, row, grid, lists, item


@case
def rows_that_are_copies(n):
    grid = np.arange(6.0).reshape(3, 2)
    grid[[0, 1]] = grid[np.array([1, 0])]
    grid[0], grid[2] = grid[2].copy(), grid[0].copy()
    seen = [grid[0].copy()]
    grid[0] = n
    return grid, seen


@case
def rebound_before_it_changes(x):
    old = x
    x = x + 1
    x[0] = 3
    items = [0, 0]
    part, longer = items[:], [*items, 1]
    items[0] = 5
    return old, items, part, longer


def test_a_write_past_the_end_changes_nothing() -> None:
    """Python raises an error there, which a lane cannot do. A slice ends there."""

    @hb.batch
    def f(i):
        array, items = jnp.zeros(3), [0, 0, 0]
        array[i] = 1
        items[i] = 1
        array[i : i + 2] += 2
        return array, items

    array, items = f(np.array([-4, -3, 1, 3]))
    np.testing.assert_array_equal(array, [[2, 0, 0], [3, 2, 0], [0, 3, 2], [0, 0, 0]])
    np.testing.assert_array_equal(np.stack(items, 1), [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 0]])


@hb.batch(threads=1)
def bubbled(x, n):
    while n > 1:
        i = 1
        while i < n:
            if x[i - 1] > x[i]:
                x[i - 1], x[i] = x[i], x[i - 1]
            i += 1
        n -= 1
        x[n] *= 2
    return x


@pytest.mark.usefixtures("optimized_in_full")
@pytest.mark.skipif(jax.default_backend() != "cpu", reason="reads the HLO that XLA makes for a CPU")
def test_no_array_is_copied_where_an_item_is_assigned_to() -> None:
    compiled = bubbled.trace(np.zeros((64, 512), np.float32), np.zeros(64, np.int32)).lower().compile()
    assert whole_writes(compiled.as_text(), [(512, 64), (64, 512)])["copy"] == 0


@case
def marked_by_a_function_inside(n):
    seen, grid, count = [0, 0, 0], np.zeros((3, 3)), {"turns": 0}

    def mark(i):
        seen[i] += 1
        grid[i][(i + n) % 3] = n
        count["turns"] += 1

    for i in range(n):
        mark(i % 3)
    mark(n % 3)
    return seen, grid, count


def test_rows_that_are_one_list_change_together_where_the_lane_chooses_among_them() -> None:
    def named(i: Any, j: Any) -> Any:
        row = [0, 0]
        grid = [row, row]
        grid[i][j] += 1
        return grid

    def repeated(i: Any, j: Any) -> Any:
        grid = [[0] * 2] * 3
        grid[i][j] = 1
        return grid

    for function in (named, repeated):
        found = hb.batch(function)(jnp.arange(2), jnp.arange(2))
        assert [np.asarray(column)[0].tolist() for row in found for column in row] == [1, 0] * len(found)
