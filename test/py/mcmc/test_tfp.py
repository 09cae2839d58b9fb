"""Joint distributions of TensorFlow Probability, sampled without changes."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from mcmc.schools import SIGMA, Y, check_moments, sampled

from hlobatch import mcmc

tfp: Any = pytest.importorskip("tensorflow_probability.substrates.jax")
tfd = tfp.distributions

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # TFP's own


def eight_schools() -> Any:
    mu = yield tfd.Normal(0.0, 5.0, name="mu")
    tau = yield tfd.HalfCauchy(0.0, 5.0, name="tau")
    eta = yield tfd.Sample(tfd.Normal(0.0, 1.0), 8, name="eta")
    yield tfd.Independent(tfd.Normal(mu + tau * eta, SIGMA), 1, name="y")


def test_eight_schools() -> None:
    """Its parameters, constrained, with the moments of posteriordb's reference draws."""
    joint = tfd.JointDistributionCoroutineAutoBatched(eight_schools)
    model = mcmc.from_tfp(joint.experimental_pin(y=Y))
    draws = sampled(model)
    assert draws.eta.shape == (64, 300, 8)
    assert (draws.tau > 0).all()
    check_moments(draws.mu, draws.tau)


def test_log_density_without_data() -> None:
    """The log density of a simplex and a normal, with the Jacobian, as a dict."""
    joint = tfd.JointDistributionNamed({"x": tfd.Dirichlet(jnp.ones(3)), "y": lambda x: tfd.Normal(x[..., 0], 1.0)})
    model = mcmc.from_tfp(joint)
    assert jax.tree.map(jnp.shape, model.init) == {"x": (2,), "y": ()}
    np.testing.assert_allclose(model.postprocess(model.init)["x"], jnp.ones(3) / 3, rtol=1e-6)

    def off_by(unconstrained: Any) -> Any:
        draw = model.postprocess(unconstrained)
        jacobian = jnp.log(jnp.prod(draw["x"]))  # of softmax, up to a constant
        return model.log_density(unconstrained) - joint.log_prob(draw) - jacobian

    elsewhere = {"x": jnp.array([0.5, -2.0]), "y": jnp.float32(1.5)}
    np.testing.assert_allclose(off_by(elsewhere), off_by(model.init), atol=1e-5)
