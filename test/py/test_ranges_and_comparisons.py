"""Ranges and comparisons of numbers that are too wide for the arrays they meet."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from zoo import optimizing_little

import hlobatch as hb

LEAST, MOST = -(2**31), 2**31 - 1


@pytest.mark.parametrize("step", [1, 2, 10, MOST, -1, -2, -MOST])
def test_spans_of_ranges_wrapped(step):
    """A range from below zero to above was one of no turns, if it was longer than a number of 32 bits can say."""

    @hb.batch
    def ends(start, stop):
        turns = 0
        last = start
        for i in range(start, stop, step):
            turns = turns + 1
            last = i
            if turns == 3:
                break
        return turns, last

    bounds = [LEAST, LEAST + 1, -2, -1, 0, 1, 7, MOST - 1, MOST]
    start, stop = (np.asarray(x, np.int32).ravel() for x in np.meshgrid(bounds, bounds))
    plain = [range(int(a), int(b), step)[:3] for a, b in zip(start, stop, strict=True)]
    turns, last = ends(start, stop)
    assert turns.tolist() == [len(r) for r in plain]
    assert last.tolist() == [r[-1] if r else int(a) for r, a in zip(plain, start, strict=True)]
    for known in (LEAST, 3, MOST):
        turns, _ = hb.batch(ends.function, static_argnames="stop")(start, stop=known)
        assert turns.tolist() == [len(range(int(a), known, step)[:3]) for a in start]


INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def bounds_of(dtype: str) -> list[int]:
    """Numbers of a dtype, those at its ends among them."""
    limits = np.iinfo(dtype)
    some = {limits.min, limits.min + 1, -3, -1, 0, 1, 5, limits.max // 2 + 1, limits.max - 1, limits.max}
    return sorted(value for value in some if limits.min <= value <= limits.max)


def first_turns(start, stop, step):
    """The number of turns of a range, up to three, its first value and its last."""
    turns, first, last = 0, 0, 0
    for i in range(start, stop, step):
        if turns == 0:
            first = i
        turns = turns + 1
        last = i
        if turns == 3:
            break
    return turns, first, last


PAIRS = (
    *(("int32", "uint32"), ("uint32", "int32"), ("uint8", "uint32"), ("int64", "uint32"), ("int32", "int64")),
    *(("int64", "uint64"), ("uint64", "int64"), ("uint64", "uint8")),
)


@pytest.mark.parametrize(("of", "to"), PAIRS)
def test_ranges_whose_bounds_are_of_two_dtypes_were_counted_as_jax_subtracts(of, to):
    wide = "64" in of + to
    largest = np.iinfo("int64" if wide else "int32").max
    start, stop = (x.ravel() for x in np.meshgrid(np.array(bounds_of(of), of), np.array(bounds_of(to), to)))
    function = hb.batch(first_turns, static_argnames="step")
    for step in (1, -2, 10**9):
        with jax.enable_x64(wide), optimizing_little():
            if step < 0 and to.startswith("int") and of == ("uint64" if wide else "uint32"):
                with pytest.raises(hb.BatchTypeError, match="no dtype has all that it runs over"):
                    function(start, stop, step)
                continue
            found = [x.tolist() for x in function(start, stop, step)]
        for a, b, turns, *ends in zip(start.tolist(), stop.tolist(), *found, strict=True):
            plain = range(a, b, step)[:3]
            assert turns == len(plain), (a, b)
            if plain and (of.startswith("u") or max(plain) <= largest):  # else it wraps around, as what is counted does
                assert ends == [plain[0], plain[-1]], (a, b)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_ranges_to_and_from_below_zero(dtype):
    """Regression: a range of a ``uint32`` had no turn, since it was compared with 4294967295."""

    @hb.batch
    def count(n):
        down, total, up, lowest = 0, 0, 0, 0
        for i in range(n, -1, -1):
            down, total = down + 1, total + i
        for i in range(-3, n):
            up, lowest = up + 1, min_of(lowest, i)
        for _ in range(n, -2, 1):
            up = up + 100
        for _ in range(-1, n, -1):
            down = down + 100
        return down, total, up, lowest

    with jax.enable_x64("64" in dtype), optimizing_little():
        found = [x.tolist() for x in count(np.array([0, 5, 9], dtype))]
    assert found == [[1, 6, 10], [0, 15, 45], [3, 8, 12], [-3, -3, -3]]


def min_of(a, b):
    return jnp.minimum(a, b)


def test_reversed_ranges_from_below_zero():
    @hb.batch
    def ends(n):
        first, last, turns = 100, 100, 0
        for i in reversed(range(-3, n)):
            first = i if turns == 0 else first
            last, turns = i, turns + 1
        return first, last, turns

    assert [x.tolist() for x in ends(np.uint32([0, 5]))] == [[-1, 4], [-3, -3], [3, 8]]


def comparisons_of(left, right):
    """All six comparisons of two numbers as numbers, in a condition and as values."""
    less = 1 if left < right else 0
    return less, left < right, left <= right, left > right, left >= right, left == right, left != right


def comparisons_with(x):
    """Comparisons of a number with literals, on either side and in a chain."""
    in_chain = 1 if -1 < x < 300 else 0
    most = not x > 70_000
    k = 0
    while k <= x and k < 260:
        k += 1
    return x < 300, 300 > x, -1 < x, x >= -200, x == 511, x != -1, x < 2**40, in_chain, most, k


@pytest.mark.parametrize("dtype", INTEGERS)
def test_numbers_wrapped_in_comparisons_with_arrays_that_are_too_narrow(dtype):
    """300 was 44 beside a ``uint8``, and what counts ran past 255 to 0 beside one."""
    x = np.array(bounds_of(dtype), dtype)
    with jax.enable_x64("64" in dtype), optimizing_little():
        found = [y.tolist() for y in hb.batch(comparisons_with)(x)]
    for n, *given in zip(x.tolist(), *found, strict=True):
        assert given == [int(y) for y in comparisons_with(n)], n


@pytest.mark.parametrize(("one", "other"), [*PAIRS, ("int8", "uint32"), ("uint16", "int16"), ("int8", "uint8")])
def test_numbers_wrapped_in_comparisons_of_arrays(one, other):
    left, right = (x.ravel() for x in np.meshgrid(np.array(bounds_of(one), one), np.array(bounds_of(other), other)))
    with jax.enable_x64("64" in one + other), optimizing_little():
        found = [y.tolist() for y in hb.batch(comparisons_of)(left, right)]
        rows = hb.batch(lambda x, y: (x[None] < y, y <= x))(left[None], right[None])
    for a, b, *given in zip(left.tolist(), right.tolist(), *found, strict=True):
        assert given == list(comparisons_of(a, b)), (a, b)
    assert rows[0].shape == (1, 1, len(left))
    assert [y.ravel().tolist() for y in rows] == [found[1], found[4]]


def test_a_count_was_compared_as_what_it_is_compared_with():
    """A Python number that has become an array of 32 bits was a byte beside one."""

    @hb.batch
    def turns(x, y):
        i, k = 0, -3
        while i <= x:
            i += 1
        while k < y:
            k += 1
        return i, k

    found = [x.tolist() for x in turns(np.uint8([0, 7, 255]), np.uint32([0, 1, 2]))]
    assert found == [[1, 8, 256], [0, 1, 2]]
