"""Lanes as the last axis of arrays, and kernels of single lanes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlobatch as hb


@pytest.mark.parametrize("k", [-9, -8, -7, -5, -4, -1, 3, 4])
def test_place_that_lanes_share_was_counted_from_the_end_twice(k: int) -> None:
    def pick(x, turns, k):
        total = x[0] * 0
        while turns > 0:
            total = total + x[k] + jax.lax.dynamic_update_index_in_dim(x, 100.0, k, 0) @ jnp.arange(1.0, 5.0)
            turns = turns - 1
        return total

    x, turns = jnp.arange(256.0).reshape(64, 4), jnp.arange(64) % 3
    with hb.disable_batching():
        wanted = [float(pick(row, int(n), jnp.int32(k))) for row, n in zip(x, turns, strict=True)]
    assert hb.batch(pick, in_axes=(0, 0, None))(x, turns, k).tolist() == wanted


@pytest.mark.parametrize("lanes", [7, 64])
@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
def test_products_of_short_numbers_were_added_up_in_short_numbers(dtype: jnp.dtype, lanes: int) -> None:
    @hb.batch(in_axes=(0, 0, None))
    def products(x, turns, w):
        total = jnp.float32(0)
        while turns > 0:
            total = total + (w @ x).sum() + (x[None] @ w.T).sum() + jnp.outer(x, x[:8])[:, 0] @ x
            turns = turns - 1
        return total

    x, w = jnp.ones((lanes, 600), dtype), jnp.ones((8, 600), dtype)
    assert products(x, jnp.ones(lanes, jnp.int32), w).tolist() == [sum(16 * [600]) + 600] * lanes


@pytest.mark.parametrize("lanes", [8, 64])
@pytest.mark.parametrize("impl", ["threefry2x32", "rbg", "unsafe_rbg"])
def test_all_lanes_drew_the_numbers_of_the_first(impl: str, lanes: int) -> None:
    """Regression: with these generators the loop did not end, since a lane that is done holds its key."""

    def draws(key, n):
        number = 0.0
        while number < 0.7:
            key, own = jax.random.split(key)
            number = jax.random.uniform(own)
            n = n + 1
        return n, number

    keys, n = jax.random.split(jax.random.key(0, impl=impl), lanes), jnp.zeros(lanes, jnp.int32)
    counts, numbers = hb.batch(draws)(keys, n)
    with hb.disable_batching():
        wanted = [draws(key, 0) for key in keys]
    assert counts.tolist() == [int(count) for count, _ in wanted]
    assert numbers.tolist() == [float(number) for _, number in wanted]


def test_array_of_64_bits_was_passed_on_where_none_are_allowed() -> None:
    """By the second call, which was like the first and not looked at again."""

    @hb.batch
    def doubled(x):
        while x < 5:
            x = 2 * x + 1
        return x

    with jax.enable_x64(True):
        x = jnp.arange(3.0)
    assert [doubled(x).tolist() for _ in range(3)] == [[7, 7, 5]] * 3


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "uint32", "float16", "bfloat16", "float32"])
@pytest.mark.parametrize("wide", [False, True])
def test_a_number_that_meets_a_narrower_array_becomes_what_that_is(dtype, wide):
    @hb.batch
    def total(values):
        v = 0.0 if jnp.issubdtype(values.dtype, jnp.floating) else 0
        for i in range(3):
            v = v + values[i]
        return v

    with jax.enable_x64(wide):
        result = total(jnp.ones((2, 3), dtype))
        assert (result.dtype, result.tolist()) == (jnp.dtype(dtype), [3, 3])


def test_keys_without_a_type_that_are_split_again_and_again():
    """XLA fused one split into the next, and computed each once for each use; it did not come to an end."""

    @hb.batch
    def walk(key, radius):
        position = jnp.zeros(2)
        while jnp.linalg.norm(position) < radius:
            key, one = jax.random.split(key)
            position = position + jax.random.uniform(one, (2,), minval=-1, maxval=1)
            if jnp.abs(position).max() > radius * 0.9:
                key, one = jax.random.split(key)
                if jax.random.bernoulli(one, 0.3):
                    position = position * 0.5
        return position

    keys, radius = jax.random.split(jax.random.key(0), 256), jnp.full(256, 3.0)
    got = walk(jax.random.key_data(keys), radius)
    np.testing.assert_allclose(got, walk(keys, radius), rtol=1e-5)
    for i in range(3):
        np.testing.assert_allclose(got[i], walk.function(keys[i], radius[i]), rtol=1e-5)


def test_arrays_are_pushed_where_64_bit_types_are_on():
    """The row of a stack had 32 bits and the number of a lane 64."""

    @hb.batch
    def mirrored(x, n):
        if n == 0:
            return x
        return mirrored(x[::-1] + n, n - 1) * x

    x, n = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40, dtype=np.int32) % 6
    with jax.enable_x64(True):
        got = mirrored(x, n)
        with hb.disable_batching():
            wanted = [mirrored.function(jnp.asarray(a), jnp.asarray(b)) for a, b in zip(x, n, strict=True)]
        assert got.dtype == np.float64
        np.testing.assert_allclose(got, np.stack(wanted), rtol=1e-12)
