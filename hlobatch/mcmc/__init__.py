"""Sampling: a log density -> draws from it, by the No-U-Turn Sampler, many chains at once.

    from hlobatch import mcmc

    result = mcmc.sample(log_density, init, key, chains=64)

It is written for one chain, with recursion, and batched by `hb.batch`, so that chains do not wait for each other's
trajectories.
"""

from hlobatch.mcmc.bijectors import (
    Bijector,
    above,
    below,
    correlation_cholesky,
    interval,
    ordered,
    positive,
    real,
    simplex,
)
from hlobatch.mcmc.checkpoint import saved_state
from hlobatch.mcmc.diagnosis import Diagnosis
from hlobatch.mcmc.errors import ArgumentError, InitialValueError, SamplingWarning
from hlobatch.mcmc.exporting import export
from hlobatch.mcmc.from_numpyro import from_numpyro
from hlobatch.mcmc.from_tfp import from_tfp
from hlobatch.mcmc.kernel import nuts
from hlobatch.mcmc.progress import Progress
from hlobatch.mcmc.result import Result, State
from hlobatch.mcmc.sampling import sample
from hlobatch.mcmc.sequential import Tempered, smc

__all__ = [
    "ArgumentError",
    "Bijector",
    "Diagnosis",
    "InitialValueError",
    "Progress",
    "Result",
    "SamplingWarning",
    "State",
    "Tempered",
    "above",
    "below",
    "correlation_cholesky",
    "export",
    "from_numpyro",
    "from_tfp",
    "interval",
    "nuts",
    "ordered",
    "positive",
    "real",
    "sample",
    "saved_state",
    "simplex",
    "smc",
]
