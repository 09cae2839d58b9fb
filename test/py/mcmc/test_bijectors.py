"""Bijectors: there and back, inside the support, and with the Jacobian that automatic differentiation gives."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlobatch import mcmc

CASES = {
    "real": (mcmc.real, (3,)),
    "positive": (mcmc.positive, (3,)),
    "above": (mcmc.above(2.0), (2,)),
    "below": (mcmc.below(-1.0), (2,)),
    "interval": (mcmc.interval(-1.0, 3.0), (2, 2)),
    "ordered": (mcmc.ordered, (4,)),
    "simplex": (mcmc.simplex, (4,)),
    "correlation_cholesky": (mcmc.correlation_cholesky, (4, 4)),
}


def free(y: jax.Array, name: str) -> jax.Array:
    """The elements of a parameter that determine the others."""
    if name == "simplex":
        return y[..., :-1]
    if name == "correlation_cholesky":
        return y[np.tril_indices(4, -1)]
    return y.reshape(-1)


@pytest.mark.parametrize("name", CASES)
def test_there_and_back_with_the_jacobian(name: str) -> None:
    bijector, shape = CASES[name]
    unconstrained = bijector.unconstrained_shape(shape)
    with jax.enable_x64(True):
        x = jnp.asarray(np.random.default_rng(1).normal(size=unconstrained))

        @jax.jit
        def there_and_back(x: jax.Array) -> tuple[jax.Array, ...]:
            y, log_det = bijector.forward(x)
            jacobian = jax.jacobian(lambda z: free(bijector.forward(z.reshape(unconstrained))[0], name))(x.reshape(-1))
            return y, bijector.inverse(y), log_det, jacobian.reshape(x.size, -1)

        y, back, log_det, jacobian = there_and_back(x)
        assert y.shape == shape
        np.testing.assert_allclose(back, x, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(log_det, np.linalg.slogdet(jacobian)[1], rtol=1e-9, atol=1e-9)


def test_supports() -> None:
    x = jnp.asarray(np.random.default_rng(2).normal(size=(50, 3)) * 3, jnp.float32)
    each = (mcmc.positive, mcmc.above(2.0), mcmc.below(2.0), mcmc.interval(1.0, 2.0), mcmc.ordered, mcmc.simplex)
    each += (mcmc.correlation_cholesky,)
    found = jax.jit(lambda x: [bijector.forward(x)[0] for bijector in each])(x)
    positive, above, below, inside, ordered, simplex, lower = map(np.asarray, found)
    assert (positive > 0).all()
    assert (above > 2).all()
    assert (below < 2).all()
    assert ((inside >= 1) & (inside <= 2)).all()
    assert (np.diff(ordered, axis=-1) > 0).all()
    np.testing.assert_allclose(simplex.sum(axis=-1), 1.0, rtol=1e-5)
    assert lower.shape == (50, 3, 3)
    np.testing.assert_allclose(np.einsum("nij,nij->ni", lower, lower), 1.0, rtol=1e-5)


@pytest.mark.parametrize(
    ("bijector", "outside"),
    [
        (mcmc.simplex, np.ones(3)),
        (mcmc.simplex, np.array([-0.5, 0.5, 1.0])),
        (mcmc.ordered, np.array([0.0, 2.0, 1.0])),
        (mcmc.correlation_cholesky, np.array([[1.0, 0.9], [0.9, 1.0]])),
        (mcmc.correlation_cholesky, np.zeros((2, 2))),
        (mcmc.interval(0.0, 1.0), np.array([0.5, 1.5])),
    ],
)
def test_outside_of_the_support_is_not_finite(bijector: mcmc.Bijector, outside: Any) -> None:
    assert not np.isfinite(bijector.inverse(jnp.asarray(outside, jnp.float32))).all()


def test_zero_is_in_the_middle() -> None:
    np.testing.assert_allclose(mcmc.simplex.forward(jnp.zeros(4))[0], 0.2, rtol=1e-5)
    np.testing.assert_allclose(mcmc.correlation_cholesky.forward(jnp.zeros(3))[0], np.eye(3), atol=1e-6)


def test_names() -> None:
    assert repr(mcmc.positive) == "mcmc.positive"
    assert repr(mcmc.interval(0, 1)) == "mcmc.interval(0, 1)"
    assert mcmc.above(0.0) is mcmc.above(0)
    with pytest.raises(ValueError, match="is empty"):
        mcmc.interval(1.0, 1.0)
