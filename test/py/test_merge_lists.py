"""Lists of fixed length that lanes index are arrays, in the program that runs, and lists everywhere else."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlobatch as hb
from hlobatch.ir.types import TensorType


def count_ends(x, size):
    counts = [0] * size
    while x > 0:
        counts[x % size] += 1
        x //= 2
    best = 0
    for i in range(size):
        if counts[i] > counts[best]:
            best = i
    return counts, best


X = jnp.array([0, 5, 12, 977, 12345])


def counting(size):
    return hb.batch(count_ends, static_argnames="size").trace(X, size=size)


def test_a_list_that_lanes_index_is_one_array_and_comes_back_as_a_list():
    traced = counting(50)
    assert TensorType(np.dtype("int32"), (50,), weak=True) in {
        leaf for type_ in traced.program.var_defs.values() for leaf in type_.leaves
    }
    counts, best = traced.lower().compile()(X, size=50)
    assert type(counts) is list
    wanted = [count_ends(int(x), 50) for x in X]
    assert np.array(counts).T.tolist() == [c for c, _ in wanted]
    assert best.tolist() == [b for _, b in wanted]


def test_the_code_does_not_grow_with_the_list():
    @hb.batch(static_argnames="size")
    def most(x, size):
        return count_ends(x, size)[1]

    sizes = [most.trace(X, size=size).lower().as_text().count("\n") for size in (20, 200)]
    assert sizes[1] <= sizes[0] + 5


def test_without_it_the_results_are_the_same():
    plain = hb.batch(count_ends, static_argnames="size", optimizations=hb.Optimizations(merge_lists=False))
    merged = hb.batch(count_ends, static_argnames="size")
    for one, other in zip(*(jax.tree.leaves(f(X, size=20)) for f in (plain, merged)), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", [np.int32, np.int8, np.uint8, np.uint32])
def test_what_is_past_the_end_changes_nothing(dtype):
    @hb.batch
    def store(i, j):
        row = [0] * 20
        row[i] = 1
        table = [[0] * 6 for _ in range(5)]
        table[i][j] = 1
        table[j] = [2] * 6
        return sum(row), sum(table[0]), sum([sum(line) for line in table])

    places = np.array([-128, -21, -20, -6, -5, -1, 0, 4, 5, 6, 19, 20, 100, 127])
    if np.dtype(dtype).kind == "u":
        places = np.array([0, 4, 5, 6, 19, 20, 100, 255, np.iinfo(dtype).max])
    i, j = (np.array(p).astype(dtype).ravel() for p in np.meshgrid(places, places))

    def plain(i, j):
        row, table = [0] * 20, [[0] * 6 for _ in range(5)]
        if -20 <= i < 20:
            row[i] = 1
        if -5 <= i < 5 and -6 <= j < 6:
            table[i][j] = 1
        if -5 <= j < 5:
            table[j] = [2] * 6
        return sum(row), sum(table[0]), sum(map(sum, table))

    got = np.array(store(i, j)).T.tolist()
    assert got == [list(plain(int(a), int(b))) for a, b in zip(i, j, strict=True)]


@pytest.mark.parametrize("wide", [2, 20])
def test_rows_that_are_one_list_change_together(wide):
    def repeated(i, j):
        grid = [[0] * wide] * 3
        grid[i][j] = 1
        return grid

    def named(i, j):
        row = [0] * wide
        grid = [row, row]
        grid[i][j] += 1
        return grid

    def known(i, j):
        grid = [[0] * wide] * 3
        grid[1][j] = i
        return grid

    for function in (repeated, named, known):
        found = hb.batch(function)(jnp.arange(2), jnp.arange(2))
        for k in range(2):
            assert [[int(column[k]) for column in row] for row in found] == function(k, k)


def test_a_float_makes_floats_of_integers_and_a_list_of_both_stays_one():
    @hb.batch
    def store(i, x):
        integers = [0] * 20
        integers[i] = x
        both = [0] * 10 + [0.5] * 10
        both[i] = 3
        return integers, both

    integers, both = store(jnp.array([3, 12]), jnp.array([0.5, 1.5]))
    assert {str(a.dtype) for a in integers} == {"float32"}
    assert [float(a[0]) for a in integers] == [0.0] * 3 + [0.5] + [0.0] * 16
    assert [str(both[k].dtype) for k in (0, 19)] == ["int32", "float32"]
    assert [float(a[1]) for a in both] == [0.0] * 10 + [0.5, 0.5, 3.0] + [0.5] * 7


def test_an_argument_that_is_a_list():
    @hb.batch
    def shift(items, i):
        items[i] = items[i - 1] + 1
        return items

    items = [jnp.arange(3) + k for k in range(20)]
    got = shift(items, jnp.array([0, 7, -1]))
    assert type(got) is list
    for lane, i in enumerate((0, 7, -1)):
        wanted = [int(x[lane]) for x in items]
        wanted[i] = wanted[i - 1] + 1
        assert [int(x[lane]) for x in got] == wanted
