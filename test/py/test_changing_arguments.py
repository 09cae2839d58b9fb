"""Functions that change their arguments: callers inside of a program see the change, callers of a batch do not."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlobatch as hb

ROWS = np.random.default_rng(0).integers(0, 100, (6, 9)).astype(np.int32)
NUMBERS = np.arange(1, 7, dtype=np.int32)


def swap(a, i, j):
    a[i], a[j] = a[j], a[i]


def partition(a, low, high):
    pivot, i = a[high], low
    for j in range(low, high):
        if a[j] < pivot:
            swap(a, i, j)
            i += 1
    swap(a, i, high)
    return i


def quicksort(a, low, high):
    if low < high:
        p = partition(a, low, high)
        quicksort(a, low, p - 1)
        quicksort(a, p + 1, high)


def sift(a, n, i):
    while True:
        most = i
        for child in (2 * i + 1, 2 * i + 2):
            if child < n and a[child] > a[most]:
                most = child
        if most == i:
            return
        swap(a, i, most)
        i = most


def sorted_copy(a):
    a = a.copy()
    quicksort(a, 0, len(a) - 1)
    return a


def heapsort(a):
    n = len(a)
    for i in range(n // 2 - 1, -1, -1):
        sift(a, n, i)
    for end in range(n - 1, 0, -1):
        swap(a, 0, end)
        sift(a, end, 0)
    return a


@pytest.mark.parametrize("function", [sorted_copy, heapsort])
def test_sorting_in_place(function):
    rows = ROWS.copy()
    assert np.array_equal(hb.batch(function)(rows), np.sort(ROWS))
    assert np.array_equal(rows, ROWS)  # whoever calls a batch keeps what they have


def test_a_batched_function_that_sorts_and_calls_itself():
    @hb.batch
    def sort(a, low, high):
        if low < high:
            p = partition(a, low, high)
            sort(a, low, p - 1)
            sort(a, p + 1, high)
        return a

    assert np.array_equal(sort(ROWS, np.zeros(6, int), np.full(6, 8)), np.sort(ROWS))


def mark(row, k, value):
    row[k] = value
    if value > 2:
        row[0] = -1


def rows_of_a_list(n):
    grid = [[0, 0, 0], [0, 0, 0]]
    mark(grid[1], 2, n)
    mark(grid[0], 1, n + 1)
    return jnp.array(grid)


def part_of_a_dict(n):
    state = {"a": np.zeros(3, int), "b": [1, 2, 3]}
    mark(state["a"], n % 3, n)
    mark(state["b"], 2, n)
    return jnp.concatenate([state["a"], jnp.array(state["b"])])


def through_two_calls(n):
    a = np.zeros(4, int)

    def both(b, k):
        mark(b, k, n)
        mark(b, k + 1, 2 * n)

    both(a, 1)
    return a


def of_the_function_around(n):
    a = np.zeros(5, int)

    def bump(i):
        a[i] += n
        if i > 0:
            bump(i - 1)

    bump(3)
    return a


def nobody_has_it(n):
    mark(np.zeros(3, int), 1, n)
    return n


def what_comes_before(n):
    a = [n, 0]

    def add(items):
        items[0] += 10
        return items[0]

    return a[0] + add(a) + a[0] * 100 + add(a) * 1000


def first_copied(a, n):
    a = list(a)
    a[0] = n
    return a[0]


def a_parameter_that_is_copied(n):
    a = [1, 2]
    return first_copied(a, n) + a[0]


PROGRAMS = [
    rows_of_a_list,
    part_of_a_dict,
    through_two_calls,
    of_the_function_around,
    nobody_has_it,
    what_comes_before,
    a_parameter_that_is_copied,
]


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_what_a_function_changes_its_caller_sees(function):
    expected = [np.asarray(function(int(n))) for n in NUMBERS]
    assert np.array_equal(hb.batch(function)(NUMBERS), expected)


def both(a, b):
    a[0] = 1
    b[1] = 2


def one_list_given_twice(n):
    a = [n, n, n]
    both(a, a)
    return a[0] + 10 * a[1]


def one_list_given_twice_in_some_lanes(n):
    a, b = [n, n, n], [0, n, 1]
    both(a, b if n > 2 else a)
    return a[0] + 10 * a[1] + 100 * b[1]


def fill(a, value):
    a[0] = a[0] * 0 + value


def a_number_of_the_whole(n):
    a = [n, 2 * n]
    fill(a, a[1])
    return a[0]


def replace_first(a, value):
    a[0] = value


def a_list_in_the_list(n):
    a = [[n, n], [3, 4]]
    replace_first(a, a[1])
    a[0][0] += 5
    return a[0][0] * 100 + a[1][0] * 10 + len(a[0])


def a_list_added_to_an_empty_one(n):
    a = [[n, n], [3, 4]]
    fill(a, a[1])
    return jnp.array(a)


def confuse(a, n):
    a[0] = n
    if n > 2:
        a = [5, 6]
        a[1] = 7
    a[1] += n
    return a[0]


def a_parameter_that_becomes_another_list(n):
    a = [0, 0]
    return confuse(a, n) + a[0] * 10 + a[1] * 1000


TOGETHER = [
    one_list_given_twice,
    one_list_given_twice_in_some_lanes,
    a_number_of_the_whole,
    a_list_in_the_list,
    a_list_added_to_an_empty_one,
    a_parameter_that_becomes_another_list,
]


@pytest.mark.parametrize("function", TOGETHER, ids=lambda f: f.__name__)
def test_an_argument_with_two_names_is_one_list(function):
    """The argument and a part of it, an argument given twice, or a parameter that some lanes give another list."""
    expected = [np.asarray(function(int(n))) for n in NUMBERS]
    assert np.array_equal(hb.batch(function)(NUMBERS), expected)


def test_an_array_is_not_given_twice_to_what_changes_it():
    def f(n):
        a = np.zeros(3, int) + n
        both(a, a)
        return a[0] + 10 * a[1]

    with pytest.raises(hb.UnsupportedSyntaxError, match="a function is given 'a' twice"):
        hb.batch(f)(NUMBERS)


TABLE = [0, 0, 0]


def test_what_stands_outside_is_not_changed():
    def f(n):
        mark(TABLE, 1, n)
        return n

    with pytest.raises(hb.UnsupportedSyntaxError, match="changes its argument 'row' in place, which is 'TABLE'"):
        hb.batch(f)(NUMBERS)
    assert TABLE == [0, 0, 0]


def replaced(items):
    items[0] = 99
    return items


def counted_down(items, n):
    items[0] += 1
    return items[0] if n <= 0 else counted_down(items[:], n - 1)


def of_slices(x):
    items = [x, 2, 3]
    for k in range(3):
        replaced(items[k:])
    replaced(items[:2])
    return items[0], items[2], counted_down(items[:], x)


def of_a_list_that_grew(x):
    items = []
    for i in range(x + 1):
        items.append(x + i)  # noqa: PERF401
    replaced(items[:])
    replaced(items[:x])
    replaced(items[::-1])
    replaced([*items])
    replaced(sorted(items))
    replaced(items + items)
    return items[0], items[-1]


def of_slices_in_others(x):
    entries, rows, pair = {"k": [x, 2]}, [[x, 2], [3, 4]], ([x, 2], [3])
    replaced(entries["k"][:])
    replaced(rows[x % 2][1:])
    replaced(pair[1][:])
    replaced(pair[0])
    return entries["k"][0], rows[1], pair[0][0], pair[1][0]


def of_rows(x):
    rows = [[x, 2], [3, 4]]
    replaced_in(rows[1:])
    return rows


def replaced_in(rows):
    rows[0][1] = 77
    return 1


def of_arrays(x):
    items = np.zeros(5)
    items[:] = x
    replaced(items[[0, 1]])
    replaced(items[np.array([1, 2])])
    replaced(items.copy())
    replaced(items[3:])
    replaced(items[1:][1:])
    return items


@pytest.mark.parametrize("program", [of_slices, of_a_list_that_grew, of_slices_in_others, of_rows, of_arrays])
def test_a_slice_of_a_list_is_a_copy_and_one_of_an_array_a_view(program) -> None:
    lanes = np.array([1, 4], np.int32)
    together = [np.asarray(leaf).tolist() for leaf in jax.tree.leaves(hb.batch(program)(lanes))]
    for lane, x in enumerate(lanes):
        alone = [np.asarray(leaf).tolist() for leaf in jax.tree.leaves(program(int(x)))]
        assert [leaf[lane] for leaf in together] == alone


def test_rows_of_a_copy_are_no_copies() -> None:
    """The items of a slice are the list's own: they are put back, and what replaces them would be, too."""

    def reordered(rows):
        rows.reverse()
        return 1

    @hb.batch
    def of_a_copy(x):
        rows = [[x, 2], [3, 4]]
        reordered(rows[:])
        return rows[0][0]

    with pytest.raises(
        hb.UnsupportedSyntaxError, match="'reordered' changes a slice of a list, and its items may change"
    ):
        of_a_copy(NUMBERS)
