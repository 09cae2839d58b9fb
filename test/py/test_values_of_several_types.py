"""Values of several types in one variable: what is asked of them is what Python answers, or refused in plain words."""

import numpy as np
import pytest

import hlobatch as hb


def kind(x):
    """A number for the class of a value, and one for the value."""
    if x is None:
        return 1
    if isinstance(x, bool):
        return 2 + x
    if isinstance(x, int):
        return 10 + x * 7
    if isinstance(x, float):
        return 1000 + int(x * 8)
    if isinstance(x, (str, tuple, list)):
        return 2000 + len(x)
    return 5000


def flag_or_number(n):
    x = n > 1 or n + 5
    return kind(x) + kind(x + 1) + len(str(x))


def whole_or_half(n):
    x = n if n > 1 else n / 2
    return kind(x) + kind(-x)


def known_numbers(n):
    x = 0
    if n > 2:
        x = 0.5
    return kind(x)


def text_or_number(n):
    x = "ab" if n > 1 else n
    return kind(x * 2)


def pair_or_number(n):
    return kind((n, 1) if n > 2 else n)


def items_or_none(n):
    x = None
    if n > 0:
        x = [n, 2] if n > 1 else "one"
    return kind(x)


def picked(n):
    x = [n, n > 1, 2.5][n % 3]
    return kind(x) + 3 * (x == 1)


def classes_and_numbers(n):
    x, found = float, 0
    for i in range(n):
        x = "ba"[n % 2] if i else int
    for v in (x, float(n), 1):
        if isinstance(v, int):
            found += v
    return found


def turns(n):
    """A variable that is of another type in some turns of a loop."""
    last, seen = False, 0
    for i in range(n):
        last = last or (i > 1 and i)
        seen = seen * 5 + kind(last)
    return seen % 10007


def chosen_value(n):
    return n > 1 or n + 5


def least(n):
    best = float("inf")
    for x in (4 - n, n):
        if x < best:
            best = x
    return best


FUNCTIONS = (
    flag_or_number,
    whole_or_half,
    known_numbers,
    text_or_number,
    pair_or_number,
    items_or_none,
    picked,
    classes_and_numbers,
    turns,
    chosen_value,
    least,
)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_value_of_several_types_is_what_it_is_in_python(function):
    batched = hb.batch(function)
    for size in (0, 1, 2, 17):
        numbers = np.arange(size, dtype=np.int32) % 6
        assert batched(numbers).tolist() == list(map(function, numbers.tolist()))


def none_beside(n):
    k = n - 1 if n > 1 else None
    flag = n > 2 if n > 1 else None
    last = max(k, 2, key=lambda v: v is None)
    try:
        power = pow(flag, 2) + 0
    except TypeError:
        power = 9
    return len((1, 2, 3)[:k]), len("abcdef"[k:]), power, -1 if last is None else last


def attributes(n):
    return hasattr(n, "__len__"), hasattr(-n, "__iter__"), hasattr(n, "real")


@pytest.mark.parametrize("function", [none_beside, attributes])
def test_what_is_none_in_some_lanes_and_attributes_of_numbers(function):
    """A bound of a slice that was None was 0, an argument that ``max`` only compares by a key had to be a value."""
    numbers = np.arange(5, dtype=np.int32)
    found = [column.tolist() for column in hb.batch(function)(numbers)]
    assert found == [list(column) for column in zip(*map(function, numbers.tolist()), strict=True)]
