"""A joint distribution of TensorFlow Probability -> a log density without constraints, and a function to TFP's draws.

Nothing is imported: only methods of the distribution are called.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from hlobatch.mcmc.model import Model
from hlobatch.typing import ArrayLike, PyTree


def from_tfp(joint: Any) -> Model:
    """Returns a `JointDistribution…` of `tensorflow_probability.substrates.jax` in the form that `mcmc.sample` takes.

    Args:
        joint: The distribution of one chain's parameters, without a batch shape. Data are pinned:
            `joint.experimental_pin(y=y)`.

    Returns:
        A log density of unconstrained parameters, a starting point, and a function to draws of the distribution.

    Examples:
        model = mcmc.from_tfp(joint.experimental_pin(y=y))
        mcmc.sample(model.log_density, model.init, key, chains=64, jitter=2.0, postprocess=model.postprocess)
    """
    bijector = joint.experimental_default_event_space_bijector()
    # The method of a model with data pinned, or of one without.
    draw = joint.sample_unpinned if hasattr(joint, "sample_unpinned") else joint.sample
    like = jax.eval_shape(lambda key: bijector.inverse(draw(seed=key)), jax.random.key(0))

    def log_density(unconstrained: PyTree) -> ArrayLike:
        return joint.unnormalized_log_prob(bijector.forward(unconstrained)) + bijector.forward_log_det_jacobian(
            unconstrained
        )

    return Model(log_density, jax.tree.map(lambda aval: jnp.zeros(aval.shape, aval.dtype), like), bijector.forward)
