"""What a run gives: draws, statistics of each, and the chains as they stand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array
from numpy.typing import NDArray

from hlobatch.mcmc.chains import Chain
from hlobatch.mcmc.to_arviz import to_arviz


class State(NamedTuple):
    """Chains as they stand, and what they have learned; a pytree. `sample` goes on from it.

    Attributes:
        chains: `Chain`, whose arrays have an axis of chains in front.
        scale: The metric: standard deviations, or the Cholesky factor of the covariance. Of each chain, or of all.
        window: Draws of the window of the warm-up that has not ended, `Float[ndarray, "chains draws dim"]`.
        warmup: `Int[Array, ""]`, draws of the warm-up, made or still to make.
    """

    chains: Chain
    scale: Array
    window: NDArray[Any]
    warmup: Array


@dataclass(frozen=True)
class Result:
    """Draws from a log density.

    Attributes:
        draws: Pytree of the parameters, each `[chains, draws, ...]`.
        stats: Of each draw, `[chains, draws]`: `diverging`; `energy`, the Hamiltonian, in nats; `acceptance_rate`, the
            mean Metropolis probability along the trajectory; `tree_depth`, in doublings; `n_steps`, leapfrog steps;
            `lp`, the log density with the Jacobian; `step_size`.
        state: The chains as they stand, from which `sample` goes on.
        seconds: Time that the run took, in seconds, compilation included.
        interrupted: Whether Ctrl-C ended the run. Then each chain has as many draws as the chain that had fewest.
    """

    draws: Any
    stats: dict[str, NDArray[Any]]
    state: State = field(repr=False)
    seconds: float
    interrupted: bool = False

    @property
    def step_size(self) -> Array:
        """The step size of each chain as it is now, `Float[Array, "chains"]`."""
        return jnp.exp(self.state.chains.step.log_step)

    def to_arviz(self, **kwargs: Any) -> Any:
        """The draws as arviz has them, for its diagnostics and plots.

        Args:
            **kwargs: Passed on to `arviz.from_dict`, such as `coords` and `dims`.

        Returns:
            `arviz.InferenceData` (a `DataTree` since arviz 1), with `posterior` and `sample_stats`.

        Raises:
            ImportError: arviz is not installed.
        """
        return to_arviz(self.draws, self.stats, **kwargs)
