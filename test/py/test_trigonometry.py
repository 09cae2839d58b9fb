"""Sines and cosines of many lanes, which we compute, and those that are left to the C library."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from kernel_bodies import IN_ONE_KERNEL, THUNKS, is_one_kernel, module_of

import hlobatch as hb
from hlobatch.targets.cpu.reductions import Reduction
from hlobatch.targets.cpu.trigonometry import LIMIT, Trigonometric

pytestmark = [*IN_ONE_KERNEL, pytest.mark.usefixtures("optimized_in_full")]


@pytest.mark.parametrize(("is_sine", "exact"), [(True, np.sin), (False, np.cos)])
def test_sines_and_cosines_are_exact_to_three_units(is_sine, exact):
    x = np.linspace(-LIMIT, LIMIT, 1_000_001, dtype=np.float32)[1:-1]
    x = np.concatenate([x, np.float32(np.pi / 2) * np.arange(-650, 650, dtype=np.float32), [-0.0]]).astype(np.float32)
    wanted = exact(x.astype(np.float64))
    error = np.abs(jax.jit(Trigonometric(is_sine))(x) - wanted)
    assert np.max(error / np.spacing(np.abs(wanted).astype(np.float32))) <= 3


@pytest.mark.parametrize("odd", [np.inf, np.nan, 1e9, -LIMIT])
def test_the_library_has_what_is_too_large(odd):
    """And nothing else: a lane's result does not depend on whether another has such a number."""
    x = jnp.asarray([0.5, odd, 3.0], jnp.float32)
    for ours, library in ((Trigonometric(True), jnp.sin), (Trigonometric(False), jnp.cos)):
        np.testing.assert_array_equal(ours(x)[1], library(x)[1])
        np.testing.assert_array_equal(ours(x)[::2], ours(x[::2]))


def test_sine_has_the_sign_of_zero():
    zeros = jnp.asarray([-0.0, 0.0], jnp.float32)
    np.testing.assert_array_equal(np.signbit(Trigonometric(True)(zeros)), [True, False])


@hb.batch
def sums_of_waves(x, n):
    total = 0.0
    while n > 0:
        total += jnp.mean(jnp.cos(x * jnp.arange(40.0)) + jnp.sin(x) * jnp.max(jnp.arange(40.0) * x))
        x, n = x * 1.1, n - 1
    return total


def test_long_reductions_and_waves_of_many_lanes():
    x, n = jnp.linspace(-1, 1, 50), jnp.arange(50) % 7
    assert is_one_kernel(sums_of_waves, x, n)
    text = module_of(sums_of_waves, x, n, one_kernel=True)
    assert "call @reduce" in text
    assert "call @cosine" in text
    plain = hb.batch(sums_of_waves.function, optimizations=THUNKS)
    np.testing.assert_allclose(sums_of_waves(x, n), plain(x, n), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(("count", "polynomials"), [(40, False), (2_000, True)])
def test_few_sines_of_a_grid_that_all_lanes_share_are_the_librarys(count, polynomials):
    """They are computed once in a run; polynomials for them would take longer to compile than many runs."""

    @hb.batch
    def waves(x, n):
        total = 0.0
        while n > 0:
            total += jnp.mean(jnp.sin(jnp.linspace(0.0, 3.0, count)) * jnp.cos(x))
            n = n - 1
        return total

    x, n = jnp.linspace(-1, 1, 50), jnp.arange(50) % 7
    text = module_of(waves, x, n, one_kernel=True)
    assert ("call @sine" in text) == polynomials
    assert "call @cosine" in text
    plain = hb.batch(waves.function, optimizations=THUNKS)
    np.testing.assert_allclose(waves(x, n), plain(x, n), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(
    ("kind", "combine"), [("add", np.add), ("multiply", np.multiply), ("maximum", np.maximum), ("minimum", np.minimum)]
)
@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((19, 3), (0,)),
        ((4, 5, 2), (0, 1)),
        ((2, 17, 3), (1,)),
        ((16, 2), (0,)),
        ((20,), (0,)),
        ((3, 32), (1,)),
        ((2, 777), (1,)),
        ((7, 3, 41), (0, 2)),
        ((5, 6, 2, 9), (0, 1, 3)),
    ],
)
def test_reductions_in_loops_are_reductions(kind, combine, shape, axes):
    x = np.random.default_rng(3).uniform(0.99, 1.02, shape).astype(np.float32)
    got = Reduction(axes, kind)(jnp.asarray(x), jnp.float32(0.5))
    wanted = combine.reduce(x.astype(np.float64), axes, initial=0.5)  # XLA begins each 32 numbers with the 0.5 again
    np.testing.assert_allclose(got, wanted, rtol=2e-6)
