"""Uniform loops, of the same number of turns in every lane.

How they are found and compiled, and that nothing else changes.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from runs import layout_of
from shares import forms

import hlobatch as hb
from hlobatch.analysis.machine_flow import never_goes_back

X = jnp.linspace(-1.0, 2.0, 17)
FIVE = jnp.int32(5)


def blocks(function: Callable[..., Any], *args: Any, **options: Any) -> int:
    """The number of blocks of a function, for arguments of which the first differs between lanes."""
    batched = hb.batch(function, in_axes=(0, *[None] * (len(args) - 1)), **options)
    assert_same_without(batched, args)
    return len(batched.trace(*args).lowered_program.graph.blocks)


def assert_same_without(batched: hb.BatchedFunction, args: Any) -> None:
    plain = hb.batch(batched.function, in_axes=batched.in_axes, optimizations=hb.Optimizations(uniform_loops=False))
    for found, expected in zip(jax.tree.leaves(batched(*args)), jax.tree.leaves(plain(*args)), strict=True):
        assert jnp.allclose(found, expected, rtol=1e-5, atol=1e-5)


def up(x):
    for i in range(100):
        x = jnp.sin(x) + i
    return x


def down(x):
    i = 10
    while i >= 0:
        i -= 3
        x = x * 0.5 + i
    return x, i


def mirrored(x):
    i = 0
    while 7 > i:
        i = 2 + i
        x = x + 1.0
    return x


def in_one_another(x):
    for i in range(3):
        for j in range(4):
            x = x * 0.5 + i * j
    return x


def of_a_choice(x):
    for _ in range(9):
        if x > 1.0:
            x = x - 1.0
        else:
            x = x * 1.5
    return x


def once(x):
    for _ in range(1):
        x = x + 1.0
    return x


@pytest.mark.parametrize("function", [up, down, mirrored, in_one_another, of_a_choice, once])
def test_a_count_that_is_known_leaves_one_block(function: Callable[..., Any]) -> None:
    assert blocks(function, X) == 1


def test_a_bound_that_lanes_share_leaves_one_block() -> None:
    def shared(x, n):
        for i in range(n):
            x = x * 0.5 + i
        return x

    assert blocks(shared, X, FIVE) == 1
    assert blocks(shared, X, jnp.int32(0)) == 1


def test_lanes_may_come_at_different_times() -> None:
    def often(x):
        steps = 0
        while x > 0.1:
            for _ in range(30):
                x = x * 0.99
            steps += 1
        return x, steps

    assert blocks(often, X) == 3  # before the loop around, its body, and after it


def diverging(x):
    i = jnp.int32(x)
    while i < 9:
        i += 1
        x = x + 1.0
    return x


def broken(x):
    for _ in range(9):
        if x > 1.0:
            break
        x = x + jnp.sin(x)
    return x


def stepping_by_what_it_reads(x):
    i = 0
    while i < 9:
        i = i + 1 + jnp.int32(x > 0)
        x = x + 1.0
    return x


def multiplying(x):
    i = 1
    while i < 100:
        i = i * 2
        x = x + 1.0
    return x


def asked_before_it_counts(x):
    i, more = 0, True
    while more:
        more = i < 4
        i += 1
        x = x + 1.0
    return x


def begun_in_two_ways(x):
    if x > 0:
        i = 0
        x = jnp.linalg.norm(jnp.outer(x + jnp.arange(40.0), jnp.arange(40.0)))
    else:
        i = 5
    while i < 9:
        i += 1
        x = x + 1.0
    return x


def written_twice(x):
    i = 0
    while i < 9:
        i += 1
        x = x + 1.0
        i += 1
    return x


@pytest.mark.parametrize(
    "function",
    [
        diverging,
        broken,
        stepping_by_what_it_reads,
        multiplying,
        asked_before_it_counts,
        begun_in_two_ways,
        written_twice,
    ],
)
def test_other_loops_stay(function: Callable[..., Any]) -> None:
    assert blocks(function, X) > 1


def test_a_count_that_would_pass_the_largest_number_stays_a_loop() -> None:
    def wraps(x):
        i = jnp.int8(100)
        while i < 126:
            i = i + jnp.int8(100)
            x = x + 1.0
            if x > 10.0:
                i = jnp.int8(126)
        return x

    def over(x):
        i = jnp.int8(100)
        while i <= 127:
            i += jnp.int8(1)
            x = x + 1.0
        return x

    assert blocks(wraps, X) > 1
    endless = hb.batch(over, max_steps=50)
    with pytest.raises(hb.StepLimitError):
        endless(X)


def test_a_place_to_wait_at_is_kept() -> None:
    def waits(x):
        for _ in range(9):
            hb.sync()
            x = x + 1.0
        return x

    assert blocks(waits, X) > 1


def test_a_program_without_other_loops_has_none_but_theirs() -> None:
    def either(x):
        if x > 0:
            for _ in range(200):
                x = jnp.sin(x @ jnp.eye(1)) if x.ndim else jnp.sin(x) + 0.1
        else:
            for _ in range(300):
                x = jnp.cos(x)
        return x

    batched = hb.batch(either)
    lowered = batched.trace(X).lower()
    text = str(lowered.module())
    assert never_goes_back(batched.trace(X).plan.programs.lowered)
    assert "so that each runs once" in batched.trace(X).plan.programs.policies.policy.reason
    main = text[text.index("@main") : text.index("func.func private")]
    assert main.count("stablehlo.while") == 2  # each side, if anyone goes there
    assert_same_without(batched, (X,))


@pytest.mark.parametrize("lanes", [None, 4])
@pytest.mark.parametrize("dispatch", ["auto", *forms("one_way_through")])
def test_one_way_through_in_every_form(dispatch: Any, lanes: int | None) -> None:
    batched = hb.batch(up, dispatch=dispatch, lanes=lanes)
    assert jnp.allclose(batched(X), jax.vmap(up)(X), rtol=1e-5)


def test_what_is_large_goes_through_a_queue() -> None:
    @hb.batch
    def wide(x):
        for _ in range(2):
            x = x + jnp.sum(jnp.outer(x + jnp.arange(512.0), jnp.arange(512.0))) * 1e-9
        return x

    plan = wide.trace(jnp.ones(2000)).plan
    assert layout_of(plan, 100, plan.depth).queue is False
    assert layout_of(plan, 2000, plan.depth).queue is True
    few = jnp.linspace(0.0, 1.0, 600)
    assert jnp.allclose(wide(few), jax.vmap(wide.function)(few), rtol=1e-5)
