"""``jax.grad`` inside of a batched function, of a function that loops or calls itself: as plain Python gives it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlobatch as hb
from hlobatch.interpreters.definitional import interpret

LOOPS = ("chain", "case", "guarded", "sweep")
FORMS = ("kernel", *LOOPS)
X = np.array([1.0, 4.0, 9.0])
N = np.array([0, 2, 3])
W = np.array([0.5, 2.0, 3.0])


@pytest.fixture(autouse=True)
def double_precision() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


def root(a):
    x = a
    while abs(x * x - a) > 1e-12 * a:
        x = 0.5 * (x + a / x)
    return x


def power(x, n):
    return x * power(x, n - 1) if n > 0 else 1.0


def walk(i, depth, w, x):
    """A recursion of two calls, over a table that it is given and one from outside."""
    if i >= depth:
        return jnp.sin(x * w[i % 3])
    a = walk(2 * i + 1, depth, w, x)
    b = walk(2 * i + 2, depth, w, x)
    return jnp.tanh(a * w[i % 3] + b * W[i % 3])


@hb.batch
def batched_root(a):
    return root(a)


@hb.batch
def batched_power(x, n):
    return x * batched_power(x, n - 1) if n > 0 else 1.0


class Spring:
    def __init__(self, stiffness):
        self.stiffness = stiffness

    def energy(self, x):
        return root(x * self.stiffness)


SPRING = Spring(3.0)
slope_of_power = jax.grad(power)
value_and_slope = jax.value_and_grad(power, 0)
batched_slope = hb.value_and_grad(batched_power)


def of_loop(x, n):
    return jax.grad(root)(x) + n


def of_recursion(x, n):
    value, slope = jax.value_and_grad(power)(x, n)
    return value + slope


def of_batched(x, n):
    value, slope = hb.value_and_grad(batched_power)(x, n)
    return value + slope + jax.grad(batched_root)(x)


def made_outside(x, n):
    value, slope = value_and_slope(x, n)
    other, same = batched_slope(x, n)
    return slope_of_power(x, n) + value * slope + other * same


def of_lambda(x, n):
    return jax.grad(lambda y: batched_root(y * x) + root(y + n))(x)


def kept_in_a_variable(x, n):
    slope = jax.grad(lambda y: y * x * n)
    slope_of_root = jax.grad(root)
    return slope(1.0) + slope_of_root(x) + slope_of_root(x + 1)


def of_inner_function(x, n):
    def energy(y):
        return root(y * x) + y * n

    return jax.grad(energy)(x)


def of_method(x, n):
    return jax.grad(SPRING.energy)(x) + n


def of_partial(x, n):
    return jax.grad(functools.partial(power, n=n))(x) + jax.grad(power)(x, n=n)


def of_several(x, n):
    def energy(parts, scale):
        return root(parts["a"] * scale) * parts["b"] + n

    by_parts, by_scale = jax.grad(energy, argnums=(0, 1))({"a": x, "b": 2.0}, x)
    return by_parts["a"] + 10 * by_parts["b"] + 100 * by_scale


def with_more(x, n):
    def energy(y):
        r = root(y)
        return r * r * y, (r, n)

    (value, (r, k)), slope = jax.value_and_grad(energy, has_aux=True)(x)
    other, _ = jax.grad(energy, has_aux=True)(x)
    return value + r + k + slope + other


def of_vector(x, n):
    def energy(v):
        total = 0.0
        i = 0
        while i <= n:
            total = total + root(v[i % 3]) * (i + 1)
            i += 1
        return total

    return jax.grad(energy)(jnp.stack([x, 2 * x, 3 * x])).sum()


def of_tables(x, n):
    value, (by_x, by_w) = jax.value_and_grad(walk, (3, 2))(0, n, jnp.asarray(W), x)
    return value + by_x + by_w[1]


def of_list(x, n):
    def energy(y):
        grown = []
        while y < 20 + n:
            y = y * 1.5
            grown.append(y)
        total = 0.0
        for item in grown:
            total = total + item * item
        return total

    return jax.grad(energy)(x)


def in_recursion(x, n):
    if n <= 0:
        return jax.grad(power)(x, 3 + n)
    return in_recursion(x, n - 1) + x * in_recursion(x + 1, n - 2) + jax.grad(root)(x + n)


def descent(x, n):
    y = x
    slope = 1.0
    while abs(slope) > 1e-3:
        _, slope = jax.value_and_grad(lambda z: root(z * z + 1) + 0.1 * z)(y)
        y = y - 0.5 * slope
    return y + n


def of_constant(x, n):
    def none_of_it(y):
        k = 0
        while k < n:
            k += 1
        return 1.0 * k

    return jax.grad(none_of_it)(x) + jax.grad(root)(2.0) + x


def after_exception(x, n):
    def careful(y):
        if y > 5:
            raise ValueError("large")
        while y < 10:
            y = y * 1.5
        return y

    try:
        slope = jax.grad(careful)(x)
    except ValueError:
        slope = -1.0
    return slope + n


FUNCTIONS = (
    of_loop, of_recursion, of_batched, made_outside, of_lambda, kept_in_a_variable, of_inner_function, of_method,
    of_partial, of_several, with_more, of_vector, of_tables, of_list, in_recursion, descent, of_constant,
    after_exception,
)  # fmt: skip
CASES = [(f, "kernel" if i % 3 else LOOPS[i // 3 % len(LOOPS)]) for i, f in enumerate(FUNCTIONS)]
"""Each third function runs in one of the forms of XLA's loop, whose compilation takes most of the time."""
AT_NIGHT = [
    pytest.param(f, form, marks=pytest.mark.slow) for f in FUNCTIONS for form in FORMS if (f, form) not in CASES
]


def plain(function: Callable[..., Any]) -> list[float]:
    with hb.disable_batching():
        return [float(function(x, n)) for x, n in zip(X.tolist(), N.tolist(), strict=True)]


@pytest.mark.parametrize(("function", "form"), [*CASES, *AT_NIGHT])
def test_lanes_have_the_gradients_of_plain_python(function: Callable[..., Any], form: str) -> None:
    np.testing.assert_allclose(hb.batch(function, dispatch=form)(X, N), plain(function), rtol=1e-7)


@pytest.mark.parametrize("form", ["kernel", "chain"])
def test_arguments_that_lanes_share_are_read_where_they_are(form: str) -> None:
    @hb.batch(in_axes=(0, 0, None), dispatch=form)
    def shared(x, n, w):
        value, slope = jax.value_and_grad(walk, 3)(0, n, w, x)
        return value + slope

    def alone(x, n):
        value, slope = jax.value_and_grad(walk, 3)(0, n, jnp.asarray(W), x)
        return value + slope

    np.testing.assert_allclose(shared(X, N, W), plain(alone), rtol=1e-7)
    types = shared.trace(X, N, W).plan.specialized.var_defs
    assert {t.tensor_leaves[0].shape for v, t in types.items() if "tape" in v} == {()}


def test_loops_are_computed_again_stretch_by_stretch() -> None:
    both = [hb.batch(of_loop, checkpoint_loops=again) for again in (False, True)]
    assert str(both[0].trace(X, N).plan.specialized) != str(both[1].trace(X, N).plan.specialized)
    np.testing.assert_allclose(both[1](X, N), plain(of_loop), rtol=1e-7)


@pytest.mark.parametrize("how", ["jit", "vmap", "queue", "threads", "few at a time", "interpreted"])
def test_however_it_runs(how: str) -> None:
    run = {
        "jit": lambda: jax.jit(hb.batch(in_recursion))(X, N),
        "vmap": lambda: jax.vmap(hb.batch(in_recursion), (0, None))(np.stack([X, X]), N)[1],
        "queue": lambda: hb.batch(in_recursion, lanes=2, dispatch="chain")(X, N),
        "threads": lambda: hb.batch(in_recursion, threads=2, dispatch="kernel")(np.tile(X, 50), np.tile(N, 50))[-3:],
        "few at a time": lambda: np.stack([hb.batch(in_recursion)(X[i : i + 1], N[i : i + 1])[0] for i in range(3)]),
        "interpreted": lambda: np.stack(
            [interpret(hb.batch(in_recursion).trace(X, N).plan.specialized, x, n) for x, n in zip(X, N, strict=True)]
        ),
    }
    np.testing.assert_allclose(run[how](), plain(in_recursion), rtol=1e-7)


@pytest.mark.parametrize("form", ["kernel", "chain"])
def test_a_gradient_has_derivatives_in_forward_mode(form: str) -> None:
    batched, step = hb.batch(of_tables, dispatch=form), 1e-6
    _, tangents = jax.jvp(lambda x: batched(x, N), (jnp.asarray(X),), (jnp.ones(3),))
    np.testing.assert_allclose(tangents, (batched(X + step, N) - batched(X - step, N)) / (2 * step), rtol=1e-5)


def test_lanes_that_raise_are_said_at_the_line_that_raises() -> None:
    def careful(y):
        if y > 5:
            raise ValueError(f"{y} is large")
        while y < 10:
            y = y * 1.5
        return y

    @hb.batch
    def slope(x):
        return jax.grad(careful)(x)

    with pytest.raises(hb.LaneError, match=r"(?s)lane 2 of 'slope' raised ValueError: 9\.0 is large.*raise ValueError"):
        slope(X)


def test_a_key_that_raises_is_said_where_it_does() -> None:
    def rank(x):
        if x > 3:
            raise ValueError("large")
        return -x

    @hb.batch
    def first(n):
        items = [k * 2 for k in range(5) if k < n]
        return len(sorted(items, key=rank))

    with pytest.raises(hb.LaneError, match=r"(?s)raised ValueError: large.*rank") as caught:
        first(np.array([1, 2, 3]))
    assert list(caught.value.lanes) == [2]


def test_lanes_print_once(capfd: pytest.CaptureFixture[str]) -> None:
    def talking(y):
        while y < 10:
            y = y * 2.0
            print("at", y)
        return y

    hb.batch(lambda x: jax.grad(talking)(x))(np.array([4.0, 9.0]))
    assert sorted(capfd.readouterr().out.splitlines()) == ["lane 0: at 16.0", "lane 0: at 8.0", "lane 1: at 18.0"]


REFUSED = {
    "a gradient of a gradient": (
        lambda x: jax.grad(lambda y: of_loop(y, 1) if y > 0 else jax.grad(root)(y))(x),
        r"(?s)reverse-mode derivative of a reverse-mode.*jax\.grad\(lambda",
    ),
    "no number": (lambda x: jax.grad(lambda y: (root(y), y))(x), r"a gradient is of one floating-point number"),
    "a vector": (lambda x: jax.grad(lambda y: root(y) * jnp.ones(2))(x), r"the function gives float64\[2\]"),
    "no pair": (lambda x: jax.grad(root, has_aux=True)(x), r"with has_aux=True the function gives a pair"),
    "an integer": (lambda x: jax.grad(root)(jnp.int64(x) + 1), r"got int64"),
    "under a map": (lambda x: jax.vmap(jax.grad(root))(x * jnp.ones(2)).sum(), r"depends on a value that differs"),
    "no such argument": (lambda x: jax.grad(root, 1)(x), r"argnums"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused_is_said_at_the_line(what: str) -> None:
    function, message = REFUSED[what]
    with pytest.raises(hb.HloBatchError, match=message) as caught:
        hb.batch(function)(X)
    assert __file__ in str(caught.value)
    assert "prelude" not in str(caught.value)


def test_a_gradient_of_itself_is_refused() -> None:
    def itself(x, n):
        return x * x if n <= 0 else jax.grad(itself)(x, n - 1)

    with pytest.raises(hb.DerivativeError, match=r"(?s)a gradient is taken of a function that takes this gradient"):
        hb.batch(itself)(X, N)
