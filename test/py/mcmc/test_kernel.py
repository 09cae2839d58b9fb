"""The kernel with blackjax's signature, by itself and in place of blackjax's own."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlobatch as hb
from hlobatch import mcmc

SCALES = jnp.array([0.5, 3.0])


def log_density(p: Any) -> Any:
    return -0.5 * jnp.sum((p["x"] / SCALES) ** 2) - 0.5 * (p["y"] - 2.0) ** 2


START = {"x": jnp.zeros((64, 2)), "y": jnp.zeros(64)}


def check_moments(draws: Any) -> None:
    """Assert that moments of 64 chains, each of which gives one estimate, are within five standard errors."""
    for name, mean, sd in (("x", 0.0, SCALES), ("y", 2.0, 1.0)):
        estimates = np.asarray(draws[name], np.float64).mean(axis=1)
        error = estimates.std(axis=0) / 8.0
        assert (abs(estimates.mean(axis=0) - mean) < 5 * error).all()
        np.testing.assert_allclose(np.asarray(draws[name]).std(axis=(0, 1)), sd, rtol=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("make_key", [jax.random.key, jax.random.PRNGKey])
def test_scan_of_vmap(make_key: Any) -> None:
    """Under jit, vmap and scan, with typed keys and with those of old."""
    kernel = mcmc.nuts(log_density, 0.8, jnp.array([0.25, 9.0, 1.0]))
    states = jax.vmap(kernel.init)(START)

    @jax.jit
    def run(states: Any, keys: Any) -> Any:
        def draw(states: Any, keys: Any) -> Any:
            states, info = jax.vmap(kernel.step)(keys, states)
            return states, (states.position, info)

        return jax.lax.scan(draw, states, keys)

    keys = jax.vmap(lambda key: jax.random.split(key, 64))(jax.random.split(make_key(1), 200))
    last, (draws, info) = run(states, keys)
    check_moments(jax.tree.map(lambda x: x[20:].swapaxes(0, 1), draws))
    assert info.num_integration_steps.shape == (200, 64)
    assert 0.7 < info.acceptance_rate.mean() < 0.99
    assert not info.is_divergent.any()
    np.testing.assert_allclose(last.logdensity, jax.vmap(log_density)(last.position), rtol=1e-5)
    gradients = jax.vmap(jax.grad(log_density))(last.position)
    np.testing.assert_allclose(last.logdensity_grad["x"], gradients["x"], rtol=1e-5)


def test_one_chain() -> None:
    kernel = mcmc.nuts(log_density, 0.5, jnp.eye(3))
    state, info = kernel.step(jax.random.key(0), kernel.init({"x": jnp.zeros(2), "y": jnp.float32(0.0)}))
    assert state.position["x"].shape == (2,)
    assert info.num_trajectory_expansions >= 1


@pytest.mark.slow
def test_window_adaptation_of_blackjax() -> None:
    """Blackjax adapts it as its own, and it draws the same posterior."""
    blackjax = pytest.importorskip("blackjax")
    adaptation = blackjax.window_adaptation(mcmc.nuts, log_density)

    def one(key: Any, position: Any) -> Any:
        adapt, sample = jax.random.split(key)
        (state, parameters), _ = adaptation.run(adapt, position, 300)
        step = mcmc.nuts(log_density, **parameters).step

        def draw(state: Any, key: Any) -> Any:
            state, _ = step(key, state)
            return state, state.position

        return parameters["inverse_mass_matrix"], jax.lax.scan(draw, state, jax.random.split(sample, 200))[1]

    metrics, draws = jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(2), 64), START)
    check_moments(draws)
    np.testing.assert_allclose(np.median(metrics, axis=0), [0.25, 9.0, 1.0], rtol=0.3)


@pytest.mark.slow
def test_a_normal_stays_what_it_is() -> None:
    """Chains that start from the target stay there, to half a percent: the criterion is the same from everywhere.

    A trajectory might have been built from any of its states. Where more is asked of its halves than of the whole, as
    when seams are looked at inside of doublings and not between them, variances are 1.6 % too small here.
    """
    chains, scales = 4_096, jnp.array([1.0, 1.0, 3.0])
    kernel = mcmc.nuts(lambda x: -0.5 * jnp.sum((x / scales) ** 2), 0.8, jnp.ones(3))

    @jax.jit
    def run(states: Any, key: Any) -> Any:
        def draw(states: Any, key: Any) -> Any:
            states, _ = jax.vmap(kernel.step)(jax.random.split(key, chains), states)
            return states, states.position

        return jax.lax.scan(draw, states, jax.random.split(key, 410))[1]

    start = jax.random.normal(jax.random.key(8), (chains, 3)) * scales
    draws = np.asarray(run(jax.vmap(kernel.init)(start), jax.random.key(5)), np.float64) / np.asarray(scales)
    squares = (draws[10:] ** 2).mean(axis=0)
    error = squares.std(axis=0) / np.sqrt(chains)
    assert (error < 0.0025).all()
    assert (abs(squares.mean(axis=0) - 1.0) < 4.5 * error).all(), (squares.mean(axis=0) - 1.0) / error


def test_a_chain_that_is_a_batched_function_draws_the_same() -> None:
    """Each lane makes as many draws as it needs."""
    kernel = mcmc.nuts(log_density, 0.7, jnp.array([0.25, 9.0, 1.0]))

    @hb.batch
    def chain(key, state):
        n = 0
        while state.position["y"] < 2.0:
            state, _ = kernel.step(jax.random.fold_in(key, n), state)
            n += 1
        return state, n

    keys, start = jax.random.split(jax.random.key(0), 4), jax.tree.map(lambda leaf: leaf[:4], START)
    found, made = chain(keys, jax.vmap(kernel.init)(start))
    step = jax.jit(kernel.step)
    for lane in range(4):
        state = kernel.init(jax.tree.map(lambda leaf, lane=lane: leaf[lane], start))
        for n in range(int(made[lane])):
            assert state.position["y"] < 2.0
            state, _ = step(jax.random.fold_in(keys[lane], n), state)
        jax.tree.map(
            lambda ours, theirs, lane=lane: np.testing.assert_allclose(ours[lane], theirs, rtol=1e-5), found, state
        )
