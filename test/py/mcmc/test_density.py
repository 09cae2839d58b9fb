"""Log densities that loop until they converge, or recurse: draws are from the known posterior."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlobatch as hb
from hlobatch import mcmc
from hlobatch.mcmc.density import is_followed

# Runs are short.
pytestmark = pytest.mark.filterwarnings("ignore::hlobatch.mcmc.SamplingWarning")

LEFT = np.array([1, 3, -1, -1, -1])
RIGHT = np.array([2, 4, -1, -1, -1])
LEAF = np.array([0.0, 0.0, 1.0, 2.0, 3.0], np.float32)


def decayed(rate: Any) -> Any:
    """The solution of a decay equation at time 1, by an adaptive solver."""
    time, left, step, turns = 0.0, 1.0, 0.5, 0
    while time < 1.0 and turns < 100:  # a trajectory may go where there is no end to it
        turns += 1
        step = jnp.minimum(step, 1.0 - time)
        k1 = -rate * left
        k2 = -rate * (left + step * k1)
        k3 = -rate * (left + step * (k1 + k2) / 4.0)
        error = jnp.abs(step * (k1 + k2 - 2.0 * k3)) / 3.0
        if error < 1e-4:
            time = time + step
            left = left + step * (k1 + k2 + 4.0 * k3) / 6.0
        step = step * jnp.clip(0.9 * jnp.cbrt(1e-4 / (error + 1e-9)), 0.3, 3.0)
    return left


def of_an_ode(rate: Any) -> Any:
    """A rate, of which the logarithm of what is left tells: normal, of mean 1 and standard deviation 0.25."""
    return -0.5 * ((jnp.log(decayed(rate)) + 1.0) / 0.25) ** 2


@hb.batch
def of_node(node: Any, x: Any) -> Any:
    """The precision-weighted squares of a tree's leaves."""
    if LEFT[node] < 0:
        return (x - LEAF[node]) ** 2
    return of_node(LEFT[node], x) + of_node(RIGHT[node], x)


def of_a_tree(p: Any, scale: Any) -> Any:
    """Three leaves, at 1, 2 and 3: normal, of mean 2 and standard deviation sqrt(1 / 3) times the scale."""
    return -0.5 * of_node(0 * jnp.int32(p["x"]), p["x"]) / scale**2


def of_a_root(p: Any) -> Any:
    """Normal, of mean 0 and standard deviation 2, by a square root that is found by Newton's method."""
    square = 1.0 + (p["x"] / 2.0) ** 2
    root = square
    while abs(root * root - square) > 1e-6 * square:
        root = 0.5 * (root + square / root)
    return -0.5 * root**2


MODELS = {
    "an adaptive solver": (of_an_ode, 1.5, (), 1.0, 0.25),
    "a batched recursion": (of_a_tree, {"x": 0.0}, (jnp.float32(2.0),), 2.0, 2.0 / np.sqrt(3.0)),
    "Newton's method": (of_a_root, {"x": 0.0}, (), 0.0, 2.0),
}


@pytest.mark.parametrize(
    "name", [name if name == "a batched recursion" else pytest.param(name, marks=pytest.mark.slow) for name in MODELS]
)
def test_draws_are_from_the_posterior(name: str) -> None:
    density, init, data, mean, deviation = MODELS[name]
    key = jax.random.key(0)
    found = mcmc.sample(density, init, key, data=data, chains=32, jitter=0.3, num_warmup=200, num_samples=100)
    (draws,) = jax.tree.leaves(found.draws)
    assert abs(draws.mean() - mean) < 0.1 * deviation
    assert abs(draws.std() / deviation - 1.0) < 0.1
    assert found.stats["diverging"].mean() < 0.01


@pytest.mark.slow
def test_data_of_each_chain() -> None:
    scales = np.arange(1.0, 5.0, dtype=np.float32)
    start = {"x": np.full(4, 2.0, np.float32)}
    found = mcmc.sample(
        of_a_tree, start, jax.random.key(0), data=(scales,), data_per_chain=True, num_warmup=200, num_samples=500
    )
    np.testing.assert_allclose(found.draws["x"].std(axis=1), scales / np.sqrt(3.0), rtol=0.25)


def test_a_kernel_of_one_chain() -> None:
    kernel = mcmc.nuts(functools.partial(of_a_tree, scale=1.0), step_size=0.5, inverse_mass_matrix=jnp.ones(1))
    states = jax.vmap(kernel.init)({"x": jnp.arange(4.0)})
    np.testing.assert_allclose(states.logdensity_grad["x"], 6.0 - 3.0 * np.arange(4.0), rtol=1e-6)
    states, info = jax.jit(jax.vmap(kernel.step))(jax.random.split(jax.random.key(1), 4), states)
    np.testing.assert_allclose(states.logdensity_grad["x"], 6.0 - 3.0 * states.position["x"], rtol=1e-4, atol=1e-5)
    assert (info.num_integration_steps > 0).all()


def test_what_jax_can_trace_is_traced() -> None:
    position = jax.ShapeDtypeStruct((2,), np.float32)
    batched = hb.batch(lambda x: x * x)
    assert not is_followed(lambda x, data: -jnp.sum(x**2), position, ())
    assert is_followed(lambda x, data: -jnp.sum(batched(x)), position, ())
    assert is_followed(lambda x, data: x[0] if x[0] < 0 else -x[1], position, ())
    with pytest.raises(KeyError):
        is_followed(lambda x, data: data["there is none"], position, {})


def cube_root(mu: Any) -> Any:
    """By Newton's method."""
    x = 0.5 + 0.0 * mu
    while jnp.abs(x * x * x - mu) > 1e-4 * mu:
        x = x - (x * x * x - mu) / (3 * x * x)
    return x


batched_root = hb.batch(cube_root)


def with_jvp(root: Any) -> Any:
    """The same root with the derivative of the root itself, and not of the steps to it."""
    with_derivative = jax.custom_jvp(root)

    @with_derivative.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        y = with_derivative(*primals)
        return y, tangents[0] / (3 * y * y)

    return with_derivative


def with_vjp(root: Any) -> Any:
    with_derivative = jax.custom_vjp(root)
    with_derivative.defvjp(lambda mu: (root(mu), root(mu)), lambda y, g: (g / (3 * y * y),))
    return with_derivative


@pytest.mark.parametrize("with_derivative", [with_jvp, with_vjp])
def test_a_batched_function_with_a_derivative_of_its_own_is_refused(with_derivative: Any) -> None:
    root = with_derivative(lambda mu: batched_root(mu[None])[0])
    with pytest.raises(
        hb.UnsupportedSyntaxError, match=r"a derivative of its own(.|\n)*jax\.lax\.while_loop"
    ) as caught:
        mcmc.sample(lambda mu: -50 * (root(mu) - 2.0) ** 2, 8.0, jax.random.key(0), chains=2)
    assert caught.value.location.file == __file__


@pytest.mark.slow
@pytest.mark.parametrize("with_derivative", [with_jvp, with_vjp])
def test_what_to_write_in_place_of_it(with_derivative: Any) -> None:
    def by_jax(mu: Any) -> Any:
        def further(x: Any) -> Any:
            return x - (x * x * x - mu) / (3 * x * x)

        return jax.lax.while_loop(lambda x: jnp.abs(x * x * x - mu) > 1e-4 * mu, further, 0.5 + 0.0 * mu)

    for root in (with_derivative(by_jax), cube_root):
        found = mcmc.sample(
            lambda mu, root=root: -50 * (root(mu) - 2.0) ** 2,
            8.0,
            jax.random.key(0),
            chains=16,
            num_warmup=200,
            num_samples=100,
            constraints=mcmc.positive,
        )
        assert abs(np.cbrt(found.draws).mean() - 2.0) < 0.05


def test_what_has_no_derivative_is_said() -> None:
    def endless(x: Any) -> Any:
        if x > 0:
            return -jax.lax.while_loop(lambda y: y < 1.0, lambda y: y * 2.0, x)
        return x

    with pytest.raises(hb.DerivativeError, match=r"has no derivative.*while_loop"):
        mcmc.sample(endless, 1.0, jax.random.key(0), chains=2)
