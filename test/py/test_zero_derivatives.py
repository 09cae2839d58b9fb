"""A value that the result of a lane does not depend on adds nothing to derivatives, not even zero times an infinity.

``jax.grad`` of plain Python judges: it follows the path of one example, and knows nothing of other values.
"""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from derivative_checks import double_precision

import hlobatch as hb

pytestmark = pytest.mark.usefixtures(double_precision.__name__)

POINTS = np.array([0.0, 1.0, -1.0, 4.0, 0.25, 1000.0])


def computed_before_a_branch(x):
    y, z = jnp.sqrt(x), 1 / x
    if x > 0:
        return y + z
    return 2 * x


def selected_in_a_comprehension(x):
    return sum([1 / u if u > 0 else u for u in (x, 2 * x, x * x)])


def left_out_of_a_sum(x):
    return sum(jnp.log(u) for u in (x, 2 * x, x * x) if u > 0)


def constant_on_a_path(x):
    t = 0.0
    if x > 1:
        t = 2 * x
    return jnp.sqrt(t) + x


def constant_in_a_loop(x):
    t, n = 0.0, 0
    while n < 3:
        if x > n:
            t = t + x * x
        n += 1
    return jnp.sqrt(t) + x


def a_chain_of_products(x):
    r = 1 / x
    r2 = r * r
    r6 = r2 * r2 * r2
    return r6 * r6 - r6 if abs(x) > 0.3 else x


def an_overflow(x):
    e = jnp.exp(x)
    return jnp.log(1 + e) if x < 30 else x


def an_item_of_a_list(x):
    items, k = [], 0
    while k < 3:
        items.append(1 / (x - k))
        k += 1
    return sum(e for e in items if 0 < e < 1e9) + x


def a_vector_over_its_length(x):
    v = jnp.stack([x, 2 * x, 0.5 * x])
    length = jnp.sqrt(v @ v)
    u = v / length
    if length > 0:
        return u @ jnp.array([1.0, 2.0, 3.0]) * x
    return 3 * x


def in_a_recursion(x):
    def divided(k, u):
        inverse = 1 / u
        if k == 0:
            return x
        if u == 0:
            return 2 * x
        return inverse * divided(k - 1, u - 1)

    return divided(3, x)


PROGRAMS = (
    computed_before_a_branch,
    selected_in_a_comprehension,
    left_out_of_a_sum,
    constant_on_a_path,
    constant_in_a_loop,
    a_chain_of_products,
    an_overflow,
    an_item_of_a_list,
    a_vector_over_its_length,
    in_a_recursion,
)
FORMS = {"kernel": {"dispatch": "kernel"}, "sweep": {"dispatch": "sweep"}, "chain": {"dispatch": "chain"}}


def of_each(function: Callable[..., Any]) -> np.ndarray:
    """The derivative of plain Python at each point."""
    return np.array([jax.grad(lambda x: jnp.asarray(function(x), float))(x) for x in POINTS])


def by_day(form: str) -> Any:
    return form if form == "kernel" else pytest.param(form, marks=pytest.mark.slow)


@pytest.mark.parametrize("form", [by_day(form) for form in FORMS])
@pytest.mark.parametrize("program", PROGRAMS)
def test_derivatives_in_both_modes(program: Callable[..., Any], form: str) -> None:
    batched, x = hb.batch(program, **FORMS[form]), jnp.asarray(POINTS)
    wanted = of_each(program)
    assert np.isfinite(wanted).all()
    np.testing.assert_allclose(hb.value_and_grad(batched)(x)[1], wanted)
    np.testing.assert_allclose(jax.jvp(batched, (x,), (jnp.ones_like(x),))[1], wanted)


@pytest.mark.parametrize(
    "program", [computed_before_a_branch, *(pytest.param(p, marks=pytest.mark.slow) for p in PROGRAMS[1:])]
)
def test_second_derivatives(program: Callable[..., Any]) -> None:
    batched, x = hb.batch(program, dispatch="kernel"), jnp.asarray(POINTS)

    def slopes(x: Any) -> Any:
        return jax.jvp(batched, (x,), (jnp.ones_like(x),))[1]

    wanted = of_each(jax.grad(lambda x: jnp.asarray(program(x), float)))
    np.testing.assert_allclose(jax.grad(lambda x: slopes(x).sum())(x), wanted)
    forward = jax.jvp(jax.grad(lambda x: batched(x).sum()), (x,), (jnp.ones_like(x),))[1]
    np.testing.assert_allclose(forward, wanted)


def test_a_zero_that_has_a_derivative_keeps_it() -> None:
    """At 0, the cotangent of the sine is zero, and its own derivative is not."""

    @hb.batch(dispatch="kernel")
    def squared(x):
        y = jnp.sin(x)
        return y * y if x < 2 else x / y

    x = jnp.zeros(2)
    np.testing.assert_allclose(jax.jvp(jax.grad(lambda x: squared(x).sum()), (x,), (jnp.ones(2),))[1], 2.0)
    np.testing.assert_allclose(jax.grad(lambda x: jax.jvp(squared, (x,), (jnp.ones(2),))[1].sum())(x), 2.0)


def caught(x):
    try:
        return math.log(x)
    except ValueError:
        return 5 * x


def test_a_value_that_raised_has_no_derivative() -> None:
    found = hb.value_and_grad(hb.batch(caught))(jnp.array([0.0, -1.0, 4.0]))[1]
    np.testing.assert_allclose(found, [5.0, 5.0, 0.25])


def doubled(x):
    return jnp.where(x > 0.5, -0.4, (0.1 if POINTS.size < 1 else x))


def test_a_statement_that_reads_an_input_twice_has_the_derivative_by_both() -> None:
    x = jnp.array([0.3, 0.7])
    batched = hb.batch(doubled)
    assert jax.jvp(batched, (x,), (jnp.ones(2),))[1].tolist() == [1.0, 0.0]
    assert hb.value_and_grad(batched)(x)[1].tolist() == [1.0, 0.0]
