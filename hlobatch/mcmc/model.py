"""What `mcmc.sample` needs of a model that was written for another library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Model(NamedTuple):
    """A model, as `mcmc.sample` takes it.

    Attributes:
        log_density: Of unconstrained parameters.
        init: Where all of these are zero, a pytree; numpyro starts up to 2 from there, `jitter=2.0`.
        postprocess: Unconstrained parameters -> a draw as the library has it, deterministic parts too.
    """

    log_density: Callable[[Any], Any]
    init: Any
    postprocess: Callable[[Any], Any]
