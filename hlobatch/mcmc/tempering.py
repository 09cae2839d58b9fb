"""Log likelihoods of particles -> the next temperature, its contribution to the evidence, and the resampled particles.

This is done in NumPy: it is a small share of the work, and needs no compilation.

Reference:
    Del Moral, Doucet and Jasra, "Sequential Monte Carlo samplers", JRSS B 68, 2006.
    Jasra and others, "Inference for Lévy-driven stochastic volatility models via adaptive SMC", 2011: temperatures.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

HALVINGS: Final = 100
"""How often the interval of the next temperature is halved: more often than a double has bits."""

Floats = NDArray[np.float64]


def effective_share(log_weights: Floats) -> float:
    """Returns the effective sample size of weighted particles, over their number.

    Examples:
        >>> effective_share(np.zeros(4)), round(effective_share(np.array([0.0, -np.inf])), 6)
        (1.0, 0.5)
    """
    weights = np.exp(log_weights - log_weights.max())
    return float(weights.sum() ** 2 / (weights**2).sum() / len(weights))


def log_mean_exp(values: Floats) -> float:
    """Returns the logarithm of the mean of numbers, given their logarithms."""
    most = values.max()
    return float(most + np.log(np.exp(values - most).mean()))


def next_temperature(log_likelihood: Floats, temperature: float, share: float) -> float:
    """Returns the next temperature: the one that leaves particles the given effective share, at most 1.

    Args:
        log_likelihood: The log likelihoods of the particles.
        temperature: Their present temperature.
        share: The effective share, between 0 and 1, that particles have once weighted for the next temperature.
    """
    if _share_after(log_likelihood, 1.0 - temperature) >= share:
        return 1.0
    low, high = 0.0, 1.0 - temperature
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if _share_after(log_likelihood, middle) >= share:
            low = middle
        else:
            high = middle
    return temperature + high


def _share_after(log_likelihood: Floats, step: float) -> float:
    """The effective share after a step of the temperature; particles of likelihood 0 have no weight, even at step 0."""
    return effective_share(np.where(np.isneginf(log_likelihood), -np.inf, step * log_likelihood))


def resampled(log_weights: Floats, uniform: float) -> NDArray[np.int64]:
    """Returns the indices of the particles chosen by weight, as many as there are (systematic resampling).

    Args:
        log_weights: The log weights of the particles.
        uniform: A random number between 0 and 1.

    Examples:
        >>> resampled(np.log([0.5, 0.25, 0.25, 1e-30]), 0.5)
        array([0, 0, 1, 2])
    """
    weights = np.exp(log_weights - log_weights.max())
    sums: Any = np.cumsum(weights)
    places = (uniform + np.arange(len(weights))) / len(weights)
    return np.searchsorted(sums / sums[-1], places, side="right").clip(max=len(weights) - 1)
