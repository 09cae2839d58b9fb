"""Convergence of Markov chains: split R-hat and effective sample size, for many parameters at once.

The functions take draws, `Float[ndarray, "chains draws *params"]`, and return one number for each
parameter, `Float[ndarray, "*params"]`. All sums are taken in double precision.

Reference:
    Vehtari, Gelman, Simpson, Carpenter and Bürkner, "Rank-normalization, folding, and
    localization: an improved R-hat for assessing convergence of MCMC", Bayesian Analysis 16, 2021,
    sections 2 and 3. Their rank normalization is left out: the demo's posteriors have light tails.
    Geyer, "Practical Markov chain Monte Carlo", Statistical Science 7, 1992, section 3.3.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Draws = NDArray[np.float64]


def split_rhat(draws: ArrayLike) -> Draws:
    """Returns the factor by which the spread of the draws could still shrink.

    Each chain counts as two, its first half and its second, so that a drift inside a chain shows.

    Args:
        draws: `Float[ndarray, "chains draws *params"]`, at least 4 draws.

    Returns:
        `Float[ndarray, "*params"]`; 1 at convergence, below 1.01 is good. It is NaN where the draws
        are constant.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> settled = rng.normal(size=(4, 1000, 2))
        >>> split_rhat(settled).round(2)
        array([1., 1.])
        >>> shifted = settled + np.arange(4).reshape(4, 1, 1)
        >>> bool((split_rhat(shifted) > 1.2).all())
        True
    """
    halves = _split(draws)
    within, total = _variances(halves)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.sqrt(total / within)


def effective_sample_size(draws: ArrayLike) -> Draws:
    """Returns the number of independent draws that would estimate the mean as well.

    The autocorrelations of the split chains are summed in pairs of lags, as far as the pair sums
    stay positive (Geyer's initial positive sequence), with each pair sum lowered to the smallest
    before it (his initial monotone sequence). Antithetic chains may be worth more than their draws;
    as in Stan, the result is at most `n log10(n)` for n draws in all.

    Args:
        draws: `Float[ndarray, "chains draws *params"]`, at least 4 draws.

    Returns:
        `Float[ndarray, "*params"]`, NaN where the draws are constant.

    Example:
        >>> independent = np.random.default_rng(0).normal(size=(4, 10_000, 2))
        >>> bool(np.all(np.abs(effective_sample_size(independent) / 40_000 - 1) < 0.1))
        True
        >>> averaged = independent[:, 1:] + independent[:, :-1]  # lag 1 correlates by 1/2
        >>> bool(np.all(np.abs(effective_sample_size(averaged) / 20_000 - 1) < 0.1))
        True
    """
    halves = _split(draws)
    within, total = _variances(halves)
    covariances = _autocovariances(halves).mean(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlations = 1.0 - (within - covariances) / total
    correlations[0] = 1.0
    num_lags = len(correlations) // 2 * 2
    pairs = correlations[0:num_lags:2] + correlations[1:num_lags:2]
    initial = np.logical_and.accumulate(pairs > 0.0, axis=0)
    monotone = np.minimum.accumulate(np.where(initial, pairs, 0.0), axis=0)
    autocorrelation_time = 2.0 * monotone.sum(axis=0) - 1.0
    count = halves.shape[0] * halves.shape[1]
    longest = np.maximum(autocorrelation_time, 1.0 / np.log10(count))
    return np.where(np.isfinite(correlations).all(axis=0), count / longest, np.nan)


def _split(draws: ArrayLike) -> Draws:
    """Returns the halves of all chains as chains, without the middle draw of an odd number."""
    chains = np.asarray(draws, dtype=np.float64)
    half = chains.shape[1] // 2
    if half < 2:
        raise ValueError(f"draws must hold at least 4 draws of each chain, got {chains.shape[1]}")
    return np.concatenate([chains[:, :half], chains[:, -half:]])


def _variances(chains: Draws) -> tuple[Draws, Draws]:
    """Returns the variance within chains and the estimate of the whole one (var+ in the paper)."""
    num_draws = chains.shape[1]
    within = chains.var(axis=1, ddof=1).mean(axis=0)
    between = chains.mean(axis=1).var(axis=0, ddof=1)
    return within, within * (num_draws - 1) / num_draws + between


def _autocovariances(chains: Draws) -> Draws:
    """Returns the autocovariance of each chain at each lag, `Float[ndarray, "chains lag *params"]`.

    The sum of products is divided by the number of draws at every lag, not by the number of
    products: this shrinks long lags, the noisy ones, towards zero (Geyer, section 3.1).
    """
    num_draws = chains.shape[1]
    centered = chains - chains.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centered, n=2 * num_draws, axis=1)
    products = np.fft.irfft(np.abs(spectrum) ** 2, n=2 * num_draws, axis=1)[:, :num_draws]
    return products / num_draws
