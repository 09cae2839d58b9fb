"""Strength reduction: integer division by powers of two gives the same values by shifts and masks.

Nothing else is changed.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlobatch as hb
from hlobatch.instructions import PrimOp
from hlobatch.ir.evaluation import are_alike

POWERS = (1, 2, 8, 64)


def primitives(function: Any, *args: Any) -> set[str]:
    """The names of the primitives of all statements, after all passes."""
    ops = hb.batch(function).trace(*args).plan.programs.lowered.ops
    return set().union(*(op.code.primitives for op in ops if isinstance(op, PrimOp)))


def numbers(dtype: Any) -> Any:
    """The least and the greatest of a type, and those around zero."""
    limits = np.iinfo(dtype)
    return np.array([limits.min, limits.min + 1, *range(max(limits.min, -70), 71), limits.max - 1, limits.max], dtype)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.uint8, np.uint16, np.uint32])
@pytest.mark.parametrize("power", POWERS)
def test_quotients_and_remainders_are_those_of_python(dtype: Any, power: int) -> None:
    def both(n: Any) -> Any:
        return n // power, n % power

    n = numbers(dtype)
    quotient, remainder = hb.batch(both)(jnp.asarray(n))
    assert quotient.dtype == remainder.dtype == dtype
    assert quotient.tolist() == [int(k) // power for k in n]
    assert remainder.tolist() == [int(k) % power for k in n]
    assert primitives(both, n).isdisjoint({"div", "rem", "jit", "pjit"})


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_so_are_those_of_64_bits(dtype: Any) -> None:
    with jax.enable_x64(True):
        test_quotients_and_remainders_are_those_of_python(dtype, 8)


def test_a_counter_of_python_and_an_array_of_a_lane_are_divided_likewise() -> None:
    def halves(x: Any) -> Any:
        total = jnp.zeros_like(x)
        for i in range(10):
            total = total + (x * i) // 4 + i % 2
        return total

    x = np.arange(-12, 12, dtype=np.int32).reshape(8, 3)
    expected = [[sum((int(k) * i) // 4 + i % 2 for i in range(10)) for k in row] for row in x]
    assert hb.batch(halves)(jnp.asarray(x)).tolist() == expected
    assert primitives(halves, x).isdisjoint({"div", "rem"})


def floor_divide(n: Any, power: Any) -> Any:
    return n - power


FLOOR_DIVIDE = jax.jit(floor_divide)


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(lambda n: n // 3, id="no power of two"),
        pytest.param(lambda n: n // -2, id="a negative one"),
        pytest.param(lambda n: 8 // (n * n + 1), id="the divisor"),
        pytest.param(lambda n: n // (n * n + 2), id="by a variable"),
        pytest.param(lambda n: (n / 2.0) // 2, id="no whole number"),
        pytest.param(lambda n: FLOOR_DIVIDE(n, 2), id="only named so"),
    ],
)
def test_everything_else_stays(function: Any) -> None:
    n = np.arange(-9, 10, dtype=np.int32)
    assert hb.batch(function)(jnp.asarray(n)).tolist() == [function(int(k)) for k in n]
    assert primitives(function, n).isdisjoint({"shift_right_arithmetic", "shift_right_logical"})


def test_it_can_be_switched_off() -> None:
    plain = hb.batch(lambda n: n // 2, optimizations=hb.Optimizations(reduce_strength=False))
    found = [
        op.function.primitives for op in plain.trace(np.arange(4)).plan.programs.lowered.ops if isinstance(op, PrimOp)
    ]
    assert any("div" in names for names in found)


def test_code_is_alike_whatever_its_variables_are_called() -> None:
    """And is not where it does another thing, to other operands, with other parameters, or for other types."""
    x, n = jnp.float32(1), jnp.int32(1)

    def code(function: Any, *args: Any) -> Any:
        return jax.make_jaxpr(function)(*args)

    one = code(lambda a, b: jnp.where(a > b, a - b, 2.0), x, x)
    assert are_alike(one, code(lambda c, d: jnp.where(c > d, c - d, 2.0), x, x))
    for other in (
        code(lambda a, b: jnp.where(a > b, b - a, 2.0), x, x),
        code(lambda a, b: jnp.where(a < b, a - b, 2.0), x, x),
        code(lambda a, b: jnp.where(a > b, a - b, 3.0), x, x),
        code(lambda a, b: jnp.where(a > b, a - b, 2), n, n),
        code(lambda a, b: (jnp.where(a > b, a - b, 2.0), a), x, x),
        code(lambda a, b: jnp.where(a > b, a - b, 2.0) + b, x, x),
    ):
        assert not are_alike(one, other)
    assert not are_alike(code(lambda a: a.astype(jnp.int32), x), code(lambda a: a.astype(jnp.int16), x))
    table, alike = jnp.arange(20.0), jnp.arange(20.0)
    assert are_alike(code(lambda a: table[a], n), code(lambda b: table[b], n))
    assert not are_alike(code(lambda a: table[a], n), code(lambda a: alike[a], n))
    assert are_alike(*(code(lambda a: jax.lax.fori_loop(0, a, lambda i, y: y + table[i], x), n) for _ in range(2)))
