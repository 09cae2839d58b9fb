"""Lists of very many numbers that stand outside of a function are gone over, and searched, as arrays."""

import jax
import jax.numpy as jnp
import pytest
from small_functions import ints

import hlobatch as hb

WHOLE = list(range(50_000))
REAL = tuple(number / 2 for number in range(50_000))
FLAGS = [number % 3 == 0 for number in range(50_000)]


def broken_out(n):
    total = 0
    for x in WHOLE:
        if x > 5 * n:
            break
        total += x // 2 + x / 2 if isinstance(x, int) and type(x) is int else 1_000
    return total


def real_numbers(n):
    total = 0.0
    for x in REAL:
        if x > n:
            break
        total += x
    return total


def flags(n):
    total = 0
    for flag in FLAGS:
        if total > n:
            break
        total += flag + flag
    return total


def together(n):
    total = 0
    for i, (x, y) in enumerate(zip(WHOLE, REAL, strict=True)):
        if i * n > 20 or i > 30:
            break
        total += x * y
    return total


def backwards(n):
    for x in reversed(WHOLE):
        if 2 * x < n + 2 * len(WHOLE) - 8:
            return x
    return -1


def a_part(n):
    for x in WHOLE[5:]:
        if x > n:
            return x
    return -1


def of_comprehensions(n):
    flags = sum(1 for x in WHOLE if x in (n, n + 1)), any(x == n for x in REAL), all(x >= n for x in WHOLE)
    found = next(i for i, x in enumerate(WHOLE) if x * n > 50 or i > 90)
    return (
        *flags,
        sum(x for x in WHOLE if x < n),
        min((x - 3) * n for x in WHOLE),
        len([x for x in REAL if x < n]),
        found,
    )


def searched(n):
    return n in WHOLE, WHOLE.index(n), REAL.index(n), REAL.count(n), n + 0.25 in REAL, FLAGS.count(n > 0)


def whole(n):
    return sum(WHOLE[:100]) + n, max(REAL), min(WHOLE) * n, WHOLE[n], sorted(REAL)[n]


PROGRAMS = [f for f in list(vars().values()) if getattr(f, "__code__", None) and f.__code__.co_varnames[:1] == ("n",)]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_long_lists(program) -> None:
    numbers = [0, 2, 3]
    found = jax.tree.leaves(hb.batch(program)(ints(*numbers)))
    for lane, n in enumerate(numbers):
        assert [leaf[lane].item() for leaf in found] == pytest.approx(jax.tree.leaves(program(n)))


def test_a_long_list_is_one_array_of_the_program() -> None:
    """None of the 50,000 numbers is a variable or a constant by itself: the program's text is short."""
    for program in (broken_out, together, of_comprehensions):
        assert len(str(hb.batch(program).trace(jnp.arange(3)).program)) < 20_000
