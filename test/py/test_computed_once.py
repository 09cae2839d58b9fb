"""What a kernel computes once although it is read more than once."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from kernel_bodies import (
    IN_ONE_KERNEL,
    THUNKS,
    chosen,
    compiled_text,
    examples,
    is_one_kernel,
    looped,
    module_of,
)
from optimized_hlo import inside_loops
from runs import as_one_kernel, layout_of, request_of
from zoo import LOOP

import hlobatch as hb
from hlobatch import _jax
from hlobatch.lowering.to_stablehlo import to_stablehlo
from hlobatch.lowering.turns import dispatch

pytestmark = IN_ONE_KERNEL


def test_what_is_broadcast_more_than_once_is_computed_once():
    x, n = jnp.arange(48.0).reshape(16, 3) / 7, jnp.arange(16)
    assert is_one_kernel(chosen, x, n)
    text = module_of(chosen, x, n, one_kernel=True)
    assert text.count("call @held") == 1
    assert text.count("func.func private @held") == 1
    for got, wanted in zip(chosen(x, n), hb.batch(chosen.function, optimizations=THUNKS)(x, n), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-6)


def test_a_place_that_a_row_is_gathered_from_is_computed_once():
    """XLA computed it again for each number of the row."""

    @hb.batch(in_axes=(0, 0, None))
    def looked_up(places, n, table):
        total = jnp.zeros(5)
        while n > 0:
            total = jnp.tanh(total + table[places[n] % 7])
            n -= 1
        return total

    random = np.random.default_rng(0)
    places, n = jnp.asarray(random.integers(0, 90, (40, 9)), jnp.int32), jnp.arange(40) % 9
    table = jnp.asarray(random.standard_normal((7, 5)), jnp.float32)
    plan = looked_up.trace(places, n, table).plan
    text = str(to_stablehlo(request_of(plan, as_one_kernel(plan, layout_of(plan, 40)))))
    assert text.count("call @held") == 1
    wanted = hb.batch(looked_up.function, in_axes=(0, 0, None), optimizations=THUNKS)(places, n, table)
    np.testing.assert_allclose(looked_up(places, n, table), wanted, rtol=1e-6)


@pytest.mark.usefixtures("optimized_in_full")
def test_what_is_dear_is_computed_once():
    """For numbers of 64 bits, XLA computed a sine again for each of the selects that follow from it."""

    @hb.batch(optimizations=LOOP)
    def bisection(low, high, c):
        at_low, middle, i = jnp.sin(low) - c, low, 0
        while i < 50:
            middle = (low + high) / 2
            value = jnp.sin(middle) - c
            if abs(value) < 1e-9:
                return middle
            if value * at_low < 0:
                high = middle
            else:
                low, at_low = middle, value
            i += 1
        return middle

    with jax.enable_x64(True):
        c = jnp.linspace(-0.9, 0.9, 40)
        args = jnp.full(40, -1.5), jnp.full(40, 1.5), c
        assert is_one_kernel(bisection, *args)
        turns = 1 + dispatch.TURNS_BETWEEN_TESTS  # the loop is one block, which turns several times between two tests
        written = 2 + turns  # two before it
        assert compiled_text(bisection, *args).count(" sine(") <= written, "XLA computes some sine again"
        np.testing.assert_allclose(jnp.sin(bisection(*args)), c, atol=2e-9)


def test_nothing_is_held_in_several_kernels():
    x, n = jnp.arange(48.0).reshape(16, 3) / 7, jnp.arange(16)
    assert "@held" not in module_of(chosen, x, n, one_kernel=False)


def once_if(wanted, x):
    """A loop in which something is computed that does not change."""
    turns = jax.lax.while_loop(lambda s: s[0], lambda s: (s[1][0] > 0, jnp.tanh(x) * s[1]), (wanted, x))
    return turns[1]


@pytest.mark.usefixtures("optimized_in_full")
@pytest.mark.parametrize("one_kernel", [False, True])
def test_loops_of_one_kernel_keep_what_does_not_change_in_them(one_kernel):
    options = _jax.compiler_options(_jax.Compilation(one_kernel=one_kernel))
    arguments = jnp.bool_(False), jnp.arange(1e4)
    text = jax.jit(once_if, compiler_options=options).lower(*arguments).compile().as_text()
    assert any("tanh" in instruction.line for instruction in inside_loops(text)) == one_kernel


@pytest.mark.parametrize("left_alone", [False, True])
def test_blocks_are_tied_to_loops_unless_those_are_left_alone(left_alone, monkeypatch):
    monkeypatch.setattr(_jax, "leaves_passes_out", lambda: left_alone)
    tied = []
    monkeypatch.setattr("hlobatch.lowering.turns.turn.tied", lambda part, *_, **__: tied.append(part) or part)
    function = looped(lambda x: jnp.tanh(x), dispatch="chain")
    assert is_one_kernel(function, *examples())
    assert bool(tied) != left_alone
    jax.jit(function).lower(*examples())
    assert tied, "in a user's own jax.jit, XLA does as it always does"
