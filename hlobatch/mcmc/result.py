"""The result of a run: draws, their statistics, the state of the chains, and a summary."""

from __future__ import annotations

import functools
import html
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from hlobatch.mcmc.chains import Chain
from hlobatch.mcmc.diagnosis import Diagnosis, diagnose
from hlobatch.mcmc.to_arviz import to_arviz
from hlobatch.typing import PyTree


class State(NamedTuple):
    """The state of chains, with their metric and window; a pytree. `sample` can go on from it.

    Attributes:
        chains: `Chain`, whose arrays have an axis of chains in front.
        scale: The metric: standard deviations, or the Cholesky factor of the covariance; of each chain, or of all.
        window: Draws of the window of the warm-up that has not ended, `Float[ndarray, "chains draws dim"]`.
        warmup: `Int[Array, ""]`, the number of draws of the warm-up, made or still to make.
    """

    chains: Chain
    scale: Array
    window: NDArray[Any]
    warmup: Array

    def __repr__(self) -> str:
        return f"State({np.shape(self.chains.made)[0]} chains)"


MOST_NAMES = 6
"""The most parameters whose names a result prints."""


@dataclass(frozen=True, repr=False, eq=False)
class Result:
    """Draws from a log density.

    Attributes:
        draws: Pytree of the parameters, each `[chains, draws, ...]`.
        stats: Statistics of each draw, `[chains, draws]`: `diverging`; `energy`, the Hamiltonian, in nats;
            `acceptance_rate`, the mean Metropolis probability along the trajectory; `tree_depth`, in doublings;
            `n_steps`, leapfrog steps; `lp`, the log density with the Jacobian; `step_size`.
        state: The state of the chains, from which `sample` can go on.
        seconds: Time that the run took, in seconds, compilation included.
        interrupted: Whether Ctrl-C ended the run. Then each chain has as many draws as the chain with the fewest.
        max_depth: The most doublings of a trajectory.
        one_target: Whether all chains have the same data, so that they should agree.
    """

    draws: PyTree
    stats: dict[str, NDArray[Any]]
    state: State
    seconds: float
    interrupted: bool = False
    max_depth: int = 10
    one_target: bool = True

    @functools.cached_property
    def diagnosis(self) -> Diagnosis:
        """The diagnosis of the draws: divergences, the highest R-hat, the lowest number of effective draws."""
        return diagnose(self.draws, self.stats, self.max_depth, one_target=self.one_target)

    def __repr__(self) -> str:
        return "\n".join(f"{name:12} {text}" if name else text for name, text in self._lines())

    def _repr_html_(self) -> str:
        """The summary as a notebook shows it."""
        (_, title), *lines = self._lines()
        rows = "".join(
            f'<tr><td style="text-align:left">{name}</td><td style="text-align:left">{html.escape(text)}</td></tr>'
            for name, text in lines
        )
        return f"<table><caption>{html.escape(title)}</caption>{rows}</table>"

    def _lines(self) -> list[tuple[str, str]]:
        """The lines of the summary, each with its subject."""
        found = self.diagnosis
        paths = jax.tree.leaves_with_path(self.draws)
        names = [
            f"{jax.tree_util.keystr(path, simple=True, separator='.')}{list(np.shape(x)[2:])}" for path, x in paths
        ]
        more = f", … ({len(names)} in all)" if len(names) > MOST_NAMES else ""
        ended = "interrupted after" if self.interrupted else "in"
        lines = [
            ("", f"{found.chains} chains of {found.draws:,} draws, {ended} {self.seconds:.1f} s"),
            ("parameters", ", ".join(names[:MOST_NAMES]).replace("[]", "") + more),
        ]
        if found.draws:
            steps, accepted = self.stats["n_steps"].mean(), self.stats["acceptance_rate"].mean()
            size = float(np.median(self.step_size))
            lines.append(("steps", f"{steps:.1f} of a draw, of size {size:.3g}, accepted {100 * accepted:.0f} %"))
        if found.r_hat and found.effective:
            worst = f"R-hat at most {found.r_hat.value:.3f} ({found.r_hat.name}), effective draws at least "
            lines.append(("convergence", f"{worst}{found.effective.value:,.0f} ({found.effective.name})"))
        complaints = " ".join(found.complaints()) or f"{found.divergences} divergences, nothing to complain of"
        return [*lines, ("diagnosis", complaints if found.draws else "no draws")]

    @property
    def step_size(self) -> Array:
        """The step size of each chain as it is now, `Float[Array, "chains"]`."""
        return jnp.exp(self.state.chains.step.log_step)

    def to_arviz(self, **kwargs: Any) -> Any:
        """The draws in arviz's form, for its diagnostics and plots.

        Args:
            **kwargs: Passed on to `arviz.from_dict`, such as `coords` and `dims`.

        Returns:
            `arviz.InferenceData` (a `DataTree` since arviz 1), with `posterior` and `sample_stats`.

        Raises:
            ImportError: arviz is not installed.
        """
        return to_arviz(self.draws, self.stats, **kwargs)
