"""``hb.batch(checked=True)``: operations raise what Python raises, and lanes fail whose integers need more bits."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import hlobatch as hb

LEAST, GREATEST = -(2**31), 2**31 - 1
EDGES = [0, 1, -1, 2, -3, 46340, 46341, -46341, 65536, -65536, 1290, 1291, 2**30, -(2**30), GREATEST, LEAST + 1, LEAST]


def times_minus(a: int, b: int) -> int:
    a *= b
    return a


OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": times_minus,
    "neg": lambda a, b: -a,
    "abs": lambda a, b: abs(a),
    "shift": lambda a, b: a << b % 40,
    "cube": lambda a, b: a**3,
    "power": lambda a, b: a ** (b % 35),
    "power of two": lambda a, b: 2 ** (b % 40),
    "factorial": lambda a, b: math.factorial(b % 30),
    "product": lambda a, b: math.prod([a, b]),
    "sum of a range": lambda a, b: sum(range(b % 200_000)),
    "sum of items": lambda a, b: sum([a for _ in range(b % 7)]),
}


BY_DAY = {"mul", "power", "sum of items"}


@pytest.mark.parametrize("name", [n if n in BY_DAY else pytest.param(n, marks=pytest.mark.slow) for n in OPERATIONS])
def test_lanes_fail_whose_integers_need_more_bits(name: str) -> None:
    function = OPERATIONS[name]
    pairs = list(itertools.product(EDGES, EDGES))
    a, b = (jnp.array(side, jnp.int32) for side in zip(*pairs, strict=True))
    with pytest.raises(hb.LaneError) as raised:
        hb.batch(checked=True)(function)(a, b)
    results = raised.value.outputs.tolist()
    for lane, pair in enumerate(pairs):
        right = function(*pair)
        failure = raised.value.errors.get(lane)
        if LEAST <= right <= GREATEST:
            assert (failure, results[lane]) == (None, right), pair
        else:
            assert isinstance(failure, hb.IntegerOverflowError), pair


def test_lanes_fail_whose_power_is_a_float_in_python() -> None:
    bases, exponents = np.int32([10, 2, -1, 1, 3, 5, 1]), np.int32([1, 3, 4, 0, 2, 5, 2])
    for function in (lambda a, k: a ** (k - 3), lambda a, k: pow(a, k - 3)):
        with pytest.raises(hb.LaneError) as raised:
            hb.batch(checked=True)(function)(bases, exponents)
        assert {lane: str(error) for lane, error in raised.value.errors.items()} == dict.fromkeys(
            (0, 4), "an integer to a negative power is a float"
        )
        assert [raised.value.outputs[lane] for lane in (1, 2, 3, 5, 6)] == [1, -1, 1, 25, 1]


def test_numbers_without_a_sign_and_arrays_may_wrap_around() -> None:
    def hashed(x: Any, row: Any) -> Any:
        return (x * jnp.uint32(2654435761)) >> jnp.uint32(7), row * row

    x, rows = jnp.arange(5, dtype=jnp.uint32) + jnp.uint32(2**31), jnp.full((5, 2), 2**20, jnp.int32)
    got = hb.batch(checked=True)(hashed)(x, rows)
    assert [side.tolist() for side in got] == [side.tolist() for side in hashed(x, rows)]


def mean_of_quotients(numbers: Any, n: int, k: int) -> Any:
    items = [numbers[i] // k for i in range(n)]
    return items[k] + math.sqrt(n - 3)


def test_operations_raise_what_python_raises() -> None:
    numbers = np.arange(6, dtype=np.int32) * 10
    arguments = [(6, 2), (3, 0), (2, 1), (7, 1), (4, 4), (3, 2), (2, 5)]
    batch = jnp.tile(numbers, (len(arguments), 1))
    with pytest.raises(hb.LaneError) as raised:
        hb.batch(checked=True)(mean_of_quotients)(batch, *map(jnp.array, zip(*arguments, strict=True)))
    for lane, (n, k) in enumerate(arguments):
        try:
            right = mean_of_quotients(numbers.tolist(), n, k)
        except (ZeroDivisionError, IndexError, ValueError) as error:
            right = type(error)
        failure = raised.value.errors.get(lane)
        assert (raised.value.outputs[lane] if failure is None else type(failure)) == right


def test_a_program_that_catches_does_not_catch_an_overflow() -> None:
    @hb.batch(checked=True)
    def f(n: int, k: int) -> int:
        try:
            return n * n // k
        except (ZeroDivisionError, OverflowError):
            return -1

    assert f(jnp.array([3, 4]), jnp.array([0, 5])).tolist() == [-1, 3]
    with pytest.raises(hb.LaneError) as raised:
        f(jnp.array([3, 50_000]), jnp.array([0, 5]))
    assert {lane: type(error) for lane, error in raised.value.errors.items()} == {1: hb.IntegerOverflowError}


def test_a_helper_that_changes_its_argument_runs() -> None:
    def push(items: list[int], x: int) -> None:
        items.append(10 // x)

    @hb.batch(checked=True)
    def f(n: int) -> int:
        items = [1]
        for i in range(n):
            push(items, 3 - i)
        return sum(items)

    assert f(jnp.array([0, 1, 3])).tolist() == [1, 4, 19]
    with pytest.raises(ZeroDivisionError):
        f(jnp.array([4]))
