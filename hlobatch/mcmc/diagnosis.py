"""Draws and their statistics -> what is to be said of them: divergences, R-hat, effective draws, long trajectories.

Of very many draws, some elements of some chains are looked at, evenly spread: to look shall take no time to speak of,
which would else be longer than it takes to draw.

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

MOST_NUMBERS: Final = 2**20
"""Of all draws, that are looked at: a tenth of a second."""

MOST_OF_AN_ELEMENT: Final = 2**15
"""Of an element, from which not all of its chains are looked at, …"""

FEWEST_CHAINS: Final = 16
"""… but as many as these."""

FEWEST_DRAWS: Final = 8
"""Of a chain, of which each half tells anything of the other."""

DIVERGENT: Final = 5e-4
"""Share of draws that diverge above which it is said: more than two of 4,000."""

CUT_SHORT: Final = 0.01
"""Share of trajectories with all doublings that are allowed, from which it is said."""

R_HAT: Final = 1.01
"""R-hat from which it is said, if chains are long."""

R_HAT_BY_CHANCE: Final = 5.0
"""By how much more it may be, over the draws of a chain: of n effective draws of each, it is 1 + 1 / n on average."""

FEW: Final = 400.0
"""Effective draws below which it is said."""

NOT_MEANT_TO_BE_FEW: Final = 1_000
"""Draws from which it is: who makes ten knows that they are few."""

Floats = NDArray[np.float64]


class Worst(NamedTuple):
    """The element that is worst in some respect.

    Attributes:
        name: As the user writes it, `theta[3]`.
        value: What is bad about it.
    """

    name: str
    value: float


class Diagnosis(NamedTuple):
    """What there is to say of draws.

    Attributes:
        chains: How many.
        draws: Of each chain.
        divergences: Draws of all chains whose trajectory diverged.
        cut_short: Those whose trajectory had all doublings that are allowed.
        max_depth: How many that are.
        r_hat: The highest; None if draws are too few to tell, or targets differ.
        effective: The fewest effective draws, likewise.
    """

    chains: int
    draws: int
    divergences: int
    cut_short: int
    max_depth: int
    r_hat: Worst | None
    effective: Worst | None

    def complaints(self) -> Iterator[str]:
        """What is wrong, and what to do about it, a sentence or two each."""
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


def diagnose(draws: Any, stats: Mapping[str, NDArray[Any]], max_depth: int, *, one_target: bool = True) -> Diagnosis:
    """Returns what there is to say of draws.

    Args:
        draws: Pytree of `[chains, draws, ...]`.
        stats: Of each draw, `[chains, draws]`.
        max_depth: Doublings of a trajectory that are allowed.
        one_target: Whether all chains sample the same; else they have nothing to agree on.
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
    """Returns R-hat of half chains, of `Float[ndarray, "chains draws"]`."""
    halves = _halves(draws)
    length = halves.shape[1]
    within = halves.var(axis=1, ddof=1).mean()
    between = halves.mean(axis=1).var(ddof=1)
    return float(np.sqrt((length - 1) / length + between / within))


def effective_draws(draws: Floats) -> float:
    """Returns how many independent draws are worth these, `Float[ndarray, "chains draws"]` (Geyer's monotone sum)."""
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
    """Chains cut in two, which are chains, too; of an odd number the middle one is left out."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, -half:]])


def _normal_scores(draws: Floats) -> Floats:
    """What draws of these ranks would be, were they normal; equal ones have the same rank."""
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
    """What draws of the ranks 1, 1.5, 2 … among so many would be, were they normal.

    SciPy's function is faster, and takes ten times as long to import as Python's takes here.
    """
    shares = (np.arange(2, 2 * count + 1) / 2 - 0.375) / (count + 0.25)
    return np.fromiter(map(NormalDist().inv_cdf, shares.tolist()), np.float64, len(shares))


def _looked_at(draws: Any, chains: int, count: int) -> Iterator[tuple[str, Floats]]:
    """Elements of real arrays that move, with their names, as many as can be looked at, and their draws."""
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
