"""Draws and their statistics -> a diagnosis: divergences, R-hat, effective draws, trajectories that were cut short.

If there are very many draws, only some elements of some chains are examined, evenly spread. So it takes little time;
to examine all could take longer than the sampling.

Reference:
    Vehtari, Gelman, Simpson, Carpenter and Bürkner, "Rank-normalization, folding, and localization: an improved R-hat",
    Bayesian Analysis 16, 2021.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from statistics import NormalDist
from typing import Any, Final, NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray

from hlobatch.typing import PyTree

MOST_NUMBERS: Final = 2**20
"""The most numbers that are examined, of all draws together: they take a tenth of a second."""

MOST_OF_AN_ELEMENT: Final = 2**15
"""The number of draws of an element that suffice: chains are left out as long as so many draws remain …"""

FEWEST_CHAINS: Final = 16
"""… and so many chains."""

FEWEST_DRAWS: Final = 8
"""The fewest draws of a chain from which its two halves can be compared."""

DIVERGENT: Final = 5e-4
"""The share of divergent draws above which there is a complaint: more than two of 4,000."""

CUT_SHORT: Final = 0.01
"""The share of trajectories with the most doublings allowed above which there is a complaint."""

R_HAT: Final = 1.01
"""The R-hat above which there is a complaint, for long chains."""

R_HAT_BY_CHANCE: Final = 5.0
"""Allowance for chance, over the draws of a chain: with n effective draws of each, R-hat is 1 + 1 / n on average."""

FEW: Final = 400.0
"""The number of effective draws below which there is a complaint."""

NOT_MEANT_TO_BE_FEW: Final = 1_000
"""The number of draws from which few effective ones are a complaint: a user who asks for ten draws expects few."""

Floats = NDArray[np.float64]


class Worst(NamedTuple):
    """The worst element in some respect.

    Attributes:
        name: Its name as the user writes it, `theta[3]`.
        value: Its R-hat, or its number of effective draws.
    """

    name: str
    value: float


class Diagnosis(NamedTuple):
    """The quality of draws.

    Attributes:
        chains: The number of chains.
        draws: The number of draws of each chain.
        divergences: The number of draws, of all chains, whose trajectory diverged.
        cut_short: The number of draws whose trajectory had the most doublings allowed.
        max_depth: The most doublings allowed.
        r_hat: The highest R-hat; None if draws are too few to tell, or targets differ.
        effective: The lowest number of effective draws; None likewise.
    """

    chains: int
    draws: int
    divergences: int
    cut_short: int
    max_depth: int
    r_hat: Worst | None
    effective: Worst | None

    def complaints(self) -> Iterator[str]:
        """The complaints about the draws, a sentence or two each, with what to do about it."""
        total = self.chains * self.draws
        if self.divergences > DIVERGENT * total:
            yield (
                f"{self.divergences:,} of {total:,} draws diverged: parts of the posterior may be missing. Write the "
                "model so that its scales differ less (x = mu + tau * z, in place of x normal around mu with tau), or "
                "give a target_acceptance of 0.95."
            )
        if self.r_hat and self.r_hat.value > R_HAT + R_HAT_BY_CHANCE / self.draws:
            yield (
                f"Chains do not agree: R-hat of {self.r_hat.name} is {self.r_hat.value:.3g}. Give a longer num_warmup, "
                "or look whether each chain is at another mode."
            )
        if self.effective and self.effective.value < FEW and total >= NOT_MEANT_TO_BE_FEW:
            few = f"{self.effective.name} has {self.effective.value:,.0f} effective draws of {total:,}."
            yield f"{few} Give more num_samples, or chains."
        if self.cut_short > CUT_SHORT * total:
            yield (
                f"{self.cut_short:,} of {total:,} trajectories had all {self.max_depth} doublings that are allowed: "
                "draws depend on each other. Give parameters about equal scales, dense=True if they are correlated, or "
                "a higher max_depth."
            )


def diagnose(draws: PyTree, stats: Mapping[str, NDArray[Any]], max_depth: int, *, one_target: bool = True) -> Diagnosis:
    """Returns the diagnosis of draws.

    Args:
        draws: Pytree of `[chains, draws, ...]`.
        stats: The statistics of each draw, `[chains, draws]`.
        max_depth: The most doublings of a trajectory.
        one_target: Whether all chains sample the same target, so that they should agree.
    """
    chains, count = stats["diverging"].shape
    r_hats, effective = list[Worst](), list[Worst]()
    if count >= FEWEST_DRAWS and one_target:
        for name, column in _looked_at(draws, chains, count):
            normal = _normal_scores(column)
            folded = _normal_scores(abs(column - np.median(column)))
            r_hats.append(Worst(name, max(r_hat(normal), r_hat(folded))))
            effective.append(Worst(name, effective_draws(normal) * chains / len(column)))
    return Diagnosis(
        chains=chains,
        draws=count,
        divergences=int(stats["diverging"].sum()),
        cut_short=int((stats["n_steps"] >= 2**max_depth - 1).sum()),
        max_depth=max_depth,
        r_hat=max(r_hats, key=lambda worst: worst.value, default=None),
        effective=min(effective, key=lambda worst: worst.value, default=None),
    )


def r_hat(draws: Floats) -> float:
    """Returns the R-hat of the halves of chains, `Float[ndarray, "chains draws"]`."""
    halves = _halves(draws)
    length = halves.shape[1]
    within = halves.var(axis=1, ddof=1).mean()
    between = halves.mean(axis=1).var(ddof=1)
    return float(np.sqrt((length - 1) / length + between / within))


def effective_draws(draws: Floats) -> float:
    """Returns the number of effective draws, of `Float[ndarray, "chains draws"]` (Geyer's monotone sum)."""
    halves = _halves(draws)
    chains, length = halves.shape
    centered = halves - halves.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centered, 2 * length, axis=1)
    covariance = np.fft.irfft((spectrum * spectrum.conj()).real.mean(axis=0))[:length] / length
    within = covariance[0] * length / (length - 1)
    total = covariance[0] + halves.mean(axis=1).var(ddof=1)
    correlation = 1.0 - (within - covariance) / total
    correlation[0] = 1.0
    pairs = correlation[: length // 2 * 2].reshape(-1, 2).sum(axis=1)
    positive = pairs[: int(np.argmax(pairs < 0.0)) if (pairs < 0.0).any() else None]
    spacing = max(2.0 * np.minimum.accumulate(positive).sum() - 1.0, 1.0 / np.log10(chains * length))
    return float(chains * length / spacing)


def _halves(draws: Floats) -> Floats:
    """The two halves of each chain, as chains; the middle draw of an odd number is left out."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, -half:]])


def _normal_scores(draws: Floats) -> Floats:
    """The normal scores of draws by their ranks; equal draws have the same rank."""
    flat = draws.reshape(-1)
    order = np.argsort(flat)
    in_order = flat[order]
    is_first = np.append(True, in_order[1:] != in_order[:-1])
    first = np.append(np.flatnonzero(is_first), flat.size)
    scores = np.empty(flat.size)
    scores[order] = _scores_of_half_ranks(flat.size)[(first[:-1] + first[1:])[np.cumsum(is_first) - 1] - 1]
    return scores.reshape(draws.shape)


@functools.lru_cache(maxsize=4)
def _scores_of_half_ranks(count: int) -> Floats:
    """The normal scores of the ranks 1, 1.5, 2 … among `count` draws.

    They are computed in Python: SciPy's function is faster, but its import takes ten times as long as this.
    """
    shares = (np.arange(2, 2 * count + 1) / 2 - 0.375) / (count + 0.25)
    return np.fromiter(map(NormalDist().inv_cdf, shares.tolist()), np.float64, len(shares))


def _looked_at(draws: PyTree, chains: int, count: int) -> Iterator[tuple[str, Floats]]:
    """The names and draws of the elements to examine: those of real arrays that vary, or an evenly spread selection."""
    some = slice(None, None, max(1, min(chains * count // MOST_OF_AN_ELEMENT, chains // FEWEST_CHAINS)))
    total = len(range(chains)[some]) * count
    leaves = [(path, leaf) for path, leaf in jax.tree.leaves_with_path(draws) if np.issubdtype(leaf.dtype, np.floating)]
    elements = [
        (jax.tree_util.keystr(path, simple=True, separator="."), leaf, index)
        for path, leaf in leaves
        for index in np.ndindex(leaf.shape[2:])
    ]
    step = max(1, -(-len(elements) * total // MOST_NUMBERS))
    for name, leaf, index in elements[::step]:
        column = np.asarray(leaf[(some, slice(None), *index)], np.float64)
        if np.isfinite(column).all() and (np.ptp(column, axis=1) > 0.0).any():
            yield (name or "position") + (f"[{', '.join(map(str, index))}]" if index else ""), column
