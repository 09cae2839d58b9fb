"""Scatters and reductions that become loops in one kernel."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from kernel_bodies import IN_ONE_KERNEL, THUNKS, examples, is_one_kernel, looped, random_numbers, shapes

from hlobatch import _jax
from hlobatch.targets.cpu.reductions import Reduction
from hlobatch.targets.cpu.scatters import Scatter

pytestmark = IN_ONE_KERNEL


@pytest.mark.parametrize("body", [shapes, random_numbers])
def test_scatters_become_loops_where_xla_makes_none_of_them(body, monkeypatch):
    monkeypatch.setattr(_jax, "makes_small_fusions", lambda: False)
    x, n = examples()
    ours = looped(body)
    assert is_one_kernel(ours, x, n)
    np.testing.assert_allclose(ours(x, n), looped(body, optimizations=THUNKS)(x, n), rtol=2e-5, atol=1e-5)


def test_a_wide_index_past_the_end_is_not_one_within():
    with jax.enable_x64(True):
        scatter = Scatter((), (0,), (), (), (0,), 1, "return")
        indices = jnp.array([[1], [2**32]], jnp.int64)
        np.testing.assert_array_equal(scatter(jnp.zeros(3), indices, jnp.array([5.0, 7.0])), [0, 5, 0])


@pytest.mark.parametrize("count", [3, 16, 21])
@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_a_sum_of_negative_zeros_is_one(count, dtype):
    zeros = -np.zeros((count, 2), dtype)
    total = np.asarray(Reduction((0,), "add")(jnp.asarray(zeros), jnp.asarray(zeros[0, 0])))
    assert np.signbit(total.real).all()
    assert np.signbit(total.imag).all() or dtype == np.float32


def test_long_sums_keep_their_precision():
    x = np.random.default_rng(4).uniform(0, 1, (100_000, 2)).astype(np.float32)
    wanted = x.astype(np.float64).sum(0)
    for array, axis in ((x, 0), (x.T, 1)):
        np.testing.assert_allclose(Reduction((axis,), "add")(jnp.asarray(array), jnp.float32(0)), wanted, rtol=5e-6)
