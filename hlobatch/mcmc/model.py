"""A model that was written for another library, in the form that `mcmc.sample` takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from hlobatch.mcmc.density import LogDensity
from hlobatch.typing import PyTree


class Model(NamedTuple):
    """A model in the form that `mcmc.sample` takes.

    Attributes:
        log_density: Unconstrained parameters of one chain, a pytree -> the log density, a scalar, up to a constant.
        init: The unconstrained parameters of one chain, all zero. numpyro starts within 2 of that: `jitter=2.0`.
        postprocess: Unconstrained parameters of one draw -> the draw as the library has it, with its deterministic
            parts.
    """

    log_density: LogDensity
    init: PyTree
    postprocess: Callable[[PyTree], PyTree]
