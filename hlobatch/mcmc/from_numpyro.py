"""A numpyro model and its data -> a log density without constraints, and a function from its draws to the model's.

This is the only module that needs numpyro.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from hlobatch.mcmc.model import Model


def from_numpyro(model: Callable[..., Any], *args: Any, **kwargs: Any) -> Model:
    """Returns a numpyro model in the form that `mcmc.sample` takes.

    Args:
        model: The model. Sites with finite support are summed over, as numpyro does it.
        *args: Arguments of the model, such as data.
        **kwargs: Arguments of the model by keyword.

    Returns:
        A log density of unconstrained parameters, a starting point, and a function from draws to those of the model.

    Raises:
        ImportError: numpyro is not installed.

    Examples:
        model = mcmc.from_numpyro(eight_schools, sigma, y=y)
        mcmc.sample(model.log_density, model.init, key, chains=64, jitter=2.0, postprocess=model.postprocess)
    """
    try:
        from numpyro.infer.util import initialize_model  # noqa: PLC0415  # optional
    except ImportError as error:
        raise ImportError("from_numpyro needs numpyro: pip install numpyro.") from error
    found = initialize_model(jax.random.key(0), model, model_args=args, model_kwargs=kwargs, validate_grad=False)
    init = jax.tree.map(jnp.zeros_like, found.param_info.z)
    return Model(lambda parameters: -found.potential_fn(parameters), init, found.postprocess_fn)
