"""Contractions and products of matrices in one kernel: which of them are there, and as what."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from kernel_bodies import IN_ONE_KERNEL, KERNEL, THUNKS
from zoo import LOOP, optimizing_little

import hlobatch as hb
from examples import nuts, targets
from hlobatch.targets.cpu.contractions import Contraction
from hlobatch.targets.cpu.outermost import outermost
from hlobatch.targets.cpu.reductions import reduction_of
from hlobatch.targets.cpu.whole_runs import fits_one_kernel

pytestmark = IN_ONE_KERNEL


def iterated(body, width):
    """The lowered program of a loop in which a lane applies ``body`` to so many numbers as often as it is told."""

    @hb.batch
    def run(x, n):
        while n > 0:
            x = body(x)
            n = n - 1
        return x

    return run.trace(jnp.ones((3, width), jnp.float32), jnp.arange(3)).plan.programs.lowered


def test_a_large_contraction_keeps_many_lanes_from_being_one_kernel():
    weights = jnp.ones((100, 100), jnp.float32) / 100

    program = iterated(lambda x: weights @ x, 100)
    assert fits_one_kernel(program, 33, vector=8)
    assert not fits_one_kernel(program, 34, vector=8)
    assert fits_one_kernel(program, 132, vector=16)
    assert not fits_one_kernel(program, 133, vector=16)


def test_more_multiplications_fit_among_other_operations():
    weights = jnp.ones((100, 100), jnp.float32) / 100

    program = iterated(lambda x: jnp.exp(jnp.sin(jnp.log(jnp.tanh(jnp.exp(weights @ x))))), 100)
    assert fits_one_kernel(program, 132, vector=8)
    assert not fits_one_kernel(program, 133, vector=8)


def test_products_with_many_results_are_left_to_a_library():
    first, second = jnp.ones((500, 10), jnp.float32) / 10, jnp.ones((10, 500), jnp.float32) / 500

    program = iterated(lambda x: second @ jnp.tanh(first @ x), 10)
    assert fits_one_kernel(program, 66, vector=16)
    assert not fits_one_kernel(program, 67, vector=16)


def test_several_contractions_do_not_add_up_to_a_large_one():
    weights = jnp.ones((100, 100), jnp.float32) / 100

    program = iterated(lambda x: weights @ jnp.tanh(weights @ jnp.tanh(weights @ jnp.tanh(weights @ x))), 100)
    assert fits_one_kernel(program, 33, vector=8)
    assert not fits_one_kernel(program, 34, vector=8)


@pytest.mark.parametrize(
    ("lanes", "width", "fits"), [(1, 64, True), (4, 64, True), (4, 128, False), (10, 8, True), (10, 64, False)]
)
def test_products_that_a_library_does_well_leave_one_kernel_where_each_block_runs_once(lanes, width, fits):
    @hb.batch(in_axes=(0, None))
    def layers(x, weights):
        for _ in range(100):
            x = jnp.tanh(x @ weights)
        return x

    program = layers.trace(jnp.ones((3, width)), jnp.ones((width, width))).plan.programs.lowered
    assert fits_one_kernel(program, lanes, vector=16) == fits


def test_inside_a_users_jit_no_product_is_left_to_a_library():
    """XLA wanted a library for the inner products of 64 chains, then had none for a kernel: an internal error."""
    density = targets.correlated_gaussian(targets.ar1_covariance(100, 0.5)).log_density
    sampler = nuts.make_nuts(density, step_size=0.25, num_draws=1, max_depth=3)
    sample = hb.batch(sampler.function, optimizations=LOOP)
    keys = jax.random.split(jax.random.key(0), 64)
    chains = jax.vmap(lambda key: nuts.start_chain(density, key, jnp.zeros(100)))(keys)
    with optimizing_little():
        compiled = jax.jit(lambda chains: sample(chains)).lower(chains).compile()
        assert KERNEL in compiled.as_text()
        positions, wanted = compiled(chains)[1], sample(chains)[1]
    np.testing.assert_allclose(positions, wanted, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("dtype", [jnp.int32, jnp.bool_, jnp.float32])
def test_only_sums_that_round_are_kept_from_a_library(dtype):
    """The counts of 128 lanes at 16 blocks were summed one by one: the interpreter took twice the time."""
    combine = jax.lax.bitwise_or if dtype == jnp.bool_ else jax.lax.add
    lowered = jax.jit(lambda x: jax.lax.reduce(x, dtype(0), combine, (1,))).lower(jnp.zeros((16, 128), dtype))
    (reduction,) = outermost(lowered.compiler_ir("stablehlo").operation, {"stablehlo.reduce"})
    assert (reduction_of(reduction) is None) == (dtype != jnp.float32)


@pytest.mark.parametrize("dtype", [jnp.int8, jnp.int32, jnp.uint32])
def test_integers_are_reduced_in_a_kernel_inside_a_users_jit(dtype):
    @hb.batch
    def run(x, n):
        while n > 0:
            whole = (x * 10).astype(dtype)
            x = x * 0.5 + 1e-3 * (whole.sum() + whole.max() + (whole > 3).any()).astype(jnp.float32)
            n = n - 1
        return x

    x, n = jnp.linspace(0.0, 5.0, 32 * 600).reshape(32, 600), jnp.arange(32) % 3
    with optimizing_little():
        compiled = jax.jit(lambda *args: run(*args)).lower(x, n).compile()
        assert KERNEL in compiled.as_text()
        np.testing.assert_allclose(compiled(x, n), hb.batch(run.function, optimizations=THUNKS)(x, n), rtol=1e-5)


@pytest.mark.parametrize(
    ("left", "right", "dims"),
    [
        ((3, 40), (40, 5), (((1,), (0,)), ((), ()))),
        ((30, 40), (40, 5), (((1,), (0,)), ((), ()))),
        ((40, 3), (20, 40), (((0,), (1,)), ((), ()))),
        ((2, 9, 4), (2, 4, 7), (((2,), (1,)), ((0,), (0,)))),
        ((4, 2, 3, 5), (5, 2, 6, 4), (((0, 3), (3, 0)), ((1,), (1,)))),
        ((17,), (17,), (((0,), (0,)), ((), ()))),
        ((600,), (600,), (((0,), (0,)), ((), ()))),
        ((64, 100), (64, 100), (((1,), (1,)), ((0,), (0,)))),
        ((5, 2, 3), (3, 5, 2), (((0, 2), (1, 0)), ((1,), (2,)))),
        ((3, 2), (4, 5), (((), ()), ((), ()))),
    ],
)
def test_a_contraction_is_a_loop_of_outer_products(left, right, dims):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal(left).astype(np.float32), rng.standard_normal(right).astype(np.float32)
    np.testing.assert_allclose(
        Contraction(*dims, jnp.float32)(a, b), jax.lax.dot_general(a, b, dims), rtol=1e-4, atol=1e-5
    )
