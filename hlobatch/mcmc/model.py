"""What `mcmc.sample` needs of a model that was written for another library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Model(NamedTuple):
    """A model, as `mcmc.sample` takes it.

    Attributes:
        log_density: Unconstrained parameters of one chain, a pytree -> the log density, a scalar, up to a constant.
        init: The unconstrained parameters of one chain, all zero. numpyro starts up to 2 from there: `jitter=2.0`.
        postprocess: Unconstrained parameters of one draw -> the draw as the library has it, with its deterministic
            parts.
    """

    log_density: Callable[[Any], Any]
    init: Any
    postprocess: Callable[[Any], Any]
