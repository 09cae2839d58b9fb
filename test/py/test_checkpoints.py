"""``hb.checkpoint``: values are recomputed on the way back, and the tape is smaller by them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from smooth_programs import outcome, program

import hlobatch as hb


@pytest.fixture(autouse=True)
def double_precision() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


def inner_turns(x, w, m):
    while m > 0:
        x = jnp.sin(w @ x)
        m -= 1
    return x


def nested_turns(inner: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """A loop of ``n`` turns, each of which calls a function of ``m`` turns."""

    @hb.batch(in_axes=(0, 0, None, 0), **options)
    def turns(x, n, w, m):
        while n > 0:
            x, n = inner(x, w, m), n - 1
        return x.sum()

    return turns


RANDOM = np.random.default_rng(0)
X, W = RANDOM.normal(size=(5, 3)), RANDOM.normal(size=(3, 3))
TURNS, INNER_TURNS = np.array([0, 3, 20, 7, 1]), np.array([2, 1, 30, 0, 4])


def gradient(turns: Callable[..., Any]) -> Callable[..., Any]:
    return jax.grad(lambda x, w: (turns(x, TURNS, w, INNER_TURNS) ** 2).sum(), (0, 1))


WRAPPERS = {"own": hb.checkpoint, "jax": jax.checkpoint, "both": lambda f: hb.checkpoint(jax.checkpoint(f))}


@pytest.mark.parametrize("dispatch", ["kernel", "chain"])
@pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)
def test_a_tape_is_as_long_as_one_call(wrap: Callable[..., Any], dispatch: str) -> None:
    want = gradient(nested_turns(inner_turns))(X, W)
    options = {"dispatch": dispatch, "max_tape": 64}  # of 600 turns
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"hb\.checkpoint"):
        jax.block_until_ready(jax.jit(gradient(nested_turns(inner_turns, **options)))(X, W))
    turns = nested_turns(wrap(inner_turns), **options)
    for run in (gradient(turns), jax.jit(gradient(turns))):
        for found, expected in zip(run(X, W), want, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)


def test_values_and_tangents_are_as_without() -> None:
    plain, again = nested_turns(inner_turns, max_tape=1024), nested_turns(hb.checkpoint(inner_turns))
    np.testing.assert_array_equal(again(X, TURNS, W, INNER_TURNS), plain(X, TURNS, W, INNER_TURNS))
    hessians = [jax.hessian(lambda w, f=f: (f(X, TURNS, w, INNER_TURNS) ** 2).sum())(W) for f in (plain, again)]
    np.testing.assert_allclose(*hessians, rtol=1e-9, atol=1e-10)
    assert hb.checkpoint(lambda x: x + 1)(1) == 2


@hb.checkpoint
def power(x, n):
    if n == 0:
        return jnp.ones_like(x)
    half = power(x, n // 2)
    return half * half * x if n % 2 else half * half


class Model:
    def __init__(self, rate: float) -> None:
        self.rate = rate

    @hb.checkpoint
    def step(self, state):
        x, count = state["x"], state["count"]
        while x < 10:
            x, count = x * self.rate, count + 1
        return {"x": jnp.sqrt(x), "count": count}


def test_recursion_and_methods() -> None:
    @hb.batch
    def main(x, n):
        model, state = Model(1.5), {"x": x, "count": 0}
        for _ in range(n):
            state = model.step(state)
        return power(state["x"], n) + state["count"]

    @hb.batch
    def without(x, n):
        count = 0
        for _ in range(n):
            while x < 10:
                x, count = x * 1.5, count + 1
            x = jnp.sqrt(x)
        return x**n + count

    x, n = jnp.array([1.0, 2.0, 30.0]), jnp.array([0, 3, 5])
    for found, expected in zip(hb.value_and_grad(main)(x, n), hb.value_and_grad(without)(x, n), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_what_is_computed_again_is_not_printed_again(capfd: pytest.CaptureFixture[str]) -> None:
    @hb.checkpoint
    def once(x, n):
        while n > 0:
            print("turn", n)
            x, n = x * x, n - 1
        return x

    @hb.checkpoint
    def twice(x, n):
        x = once(x, n) if n > 1 else x
        return once(x + 1, n)

    @hb.batch
    def main(x, n):
        return twice(x, n) + once(x, n)

    x, n = jnp.array([1.0, 0.5]), jnp.array([1, 2])
    _, found = hb.value_and_grad(main)(x, n)
    jax.effects_barrier()
    assert capfd.readouterr().out.count("turn") == 2 + 6
    want = jax.grad(lambda x: (x[0] + 1) ** 2 + x[0] ** 2 + (x[1] ** 4 + 1) ** 4 + x[1] ** 4)(x)
    np.testing.assert_allclose(found, want, rtol=1e-12)


def test_what_a_call_raises_is_as_without() -> None:
    @hb.checkpoint
    def checked(x, n):
        while n > 0:
            if x > 100:
                raise ValueError("too large")
            x, n = x * x, n - 1
        return x

    @hb.batch
    def main(x, n):
        try:
            return checked(x, n)
        except ValueError:
            return 3 * x

    x, n = jnp.array([2.0, 3.0, 1.5]), jnp.array([9, 2, 3])
    values, found = hb.value_and_grad(main)(x, n)
    np.testing.assert_allclose(values, [6.0, 81.0, 1.5**8], rtol=1e-12)
    np.testing.assert_allclose(found, [3.0, 4 * 27.0, 8 * 1.5**7], rtol=1e-12)


# Loops in stretches


@pytest.mark.parametrize("dispatch", ["kernel", "sweep"])
def test_a_tape_grows_with_the_root_of_the_turns(dispatch: str) -> None:
    """A flow, whose derivative is known: that of the end by the start is the ratio of speeds."""

    def flow(x, turns):
        while turns > 0:
            x, turns = x + 1e-4 * jnp.sin(x), turns - 1
        return x

    x, turns = jnp.array([0.3, 2.0, 1.0]), jnp.array([30_000, 10, 0])
    again = hb.batch(flow, checkpoint_loops=True, max_tape=512, dispatch=dispatch)
    ends, slopes = jax.jit(hb.value_and_grad(again))(x, turns)
    np.testing.assert_allclose(slopes, jnp.sin(ends) / jnp.sin(x), rtol=1e-3)
    with pytest.raises(jax.errors.JaxRuntimeError, match="checkpoint_loops"):
        jax.block_until_ready(jax.jit(hb.value_and_grad(hb.batch(flow, max_tape=512)))(x, turns))


def left_in_many_ways(x, n, w):
    count, last = 0, x[1]
    while n > 0:
        x, n = x + 0.1 * jnp.sin(w @ x), n - 1
        if x.sum() > 3:
            break
        for k in range(n % 3):
            x = x * 0.9
            last = k + x[0]
        if count > 40:
            return last * x.sum()
        if n == 33:
            raise ValueError("odd")
        count += 1
    return (x**2).sum() + count


@pytest.mark.parametrize("dispatch", ["kernel", "chain"])
def test_loops_in_stretches_are_left_as_they_are(dispatch: str) -> None:
    x, n = RANDOM.normal(size=(6, 3)), np.array([0, 1, 9, 60, 20, 90])

    @hb.batch(in_axes=(0, 0, None), checkpoint_loops=True, dispatch=dispatch)
    def main(x, n, w):
        try:
            return left_in_many_ways(x, n, w)
        except ValueError:
            return x.sum() * n

    without = hb.value_and_grad(hb.batch(main.function, in_axes=(0, 0, None)), (0, 2))(x, n, W)
    for found, expected in zip(
        jax.tree.leaves(hb.value_and_grad(main, (0, 2))(x, n, W)), jax.tree.leaves(without), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("seed", [13, pytest.param(31, marks=pytest.mark.slow)])
def test_programs_of_several_features_in_stretches(seed: int) -> None:
    assert outcome(program(seed), checkpoint_loops=True).kind == "ran"
