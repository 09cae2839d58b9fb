"""Chains that have started -> all their draws: calls of one compiled program, and what is done between two of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from hlobatch.mcmc.chains import STATISTICS, Drawn, Limits
from hlobatch.mcmc.programs import Programs
from hlobatch.mcmc.progress import Progress, Report
from hlobatch.mcmc.result import Result, State
from hlobatch.mcmc.store import Store
from hlobatch.mcmc.windows import windows

CALL_SECONDS: Final = 1.0
"""How long a call shall take: between two, the progress is told and draws are put away."""

FIRST_LEAPFROGS: Final = 1_000
"""Of each chain in the first calls, when it is not known yet how long one takes."""

MOST_LEAPFROGS: Final = 2**30
"""Of each chain in a call at most: they are counted in 32 bits."""

Integers = NDArray[np.int64]


@dataclass
class Run:
    """A run between two calls.

    Attributes:
        programs: What is compiled.
        keep: Positions, `Float[Array, "chains rows dim"]`, -> what is kept of them, a pytree.
        data: Of the log density.
        rows: Draws of each chain in a call, at most.
        thin: Of so many draws one is kept.
        target_acceptance: What step sizes are adapted to.
        report: Is told of the progress.
        began: When, by `time.perf_counter`.
        num_samples: Draws of each chain to keep.
        store: What has been drawn.
        state: Where the chains stand. It is replaced as a whole, so that one can go on from it at any time.
        leapfrogs: Of each chain in the next call.
        is_warm: Whether a call has been made before, so that what one takes is known.
    """

    programs: Programs
    keep: Callable[[Any], Any]
    data: Any
    rows: int
    thin: int
    target_acceptance: float
    report: Report
    began: float
    num_samples: int
    store: Store
    state: State
    leapfrogs: int = FIRST_LEAPFROGS
    is_warm: bool = False

    def __post_init__(self) -> None:
        made, warmup = self.made, int(self.state.warmup)
        self.first = np.maximum(made, warmup)
        self.last = self.first + self.num_samples * self.thin
        self.done_before = int(made.sum())

    @property
    def made(self) -> Integers:
        """Draws that each chain has made."""
        return np.asarray(self.state.chains.made, np.int64)

    def warm_up(self) -> None:
        """Makes the draws of the warm-up. At the end of a window all chains wait for each other, and learn."""
        end = int(self.state.warmup)
        for window in windows(end):
            self.advance(np.full_like(self.first, window.end), window.start, self.learned)
        self.advance(np.full_like(self.first, end), end, self.settled)

    def draw(self) -> None:
        """Makes the draws that are kept."""
        self.advance(self.last, int(self.last.max()), lambda state: state)

    def advance(self, until: Integers, start: int, at_end: Callable[[State], State]) -> None:
        """Makes the draws before those numbered `until`, the metric learning from number `start` on."""
        while (self.made < until).any():
            state = self.call(until, start)
            is_there = (np.asarray(state.chains.made) >= until).all()
            self.state = at_end(state) if is_there else state
            self.tell()

    def call(self, until: Integers, start: int) -> State:
        """Returns the chains after a call of about a second, whose draws it puts away."""
        began = time.perf_counter()
        state, programs = self.state, self.programs
        limits = Limits(jnp.int32(self.leapfrogs), state.warmup, jnp.asarray(self.target_acceptance, state.scale.dtype))
        noise = programs.noise(state.chains, self.rows)
        chains, drawn = programs.advance(
            state.chains, noise, jnp.asarray(until, jnp.int32), limits, state.scale, self.data
        )
        before, after = self.made, np.asarray(chains.made, np.int64)
        moments = state.moments
        if start < until.max():
            moments = programs.learn(moments, drawn.positions, state.chains.made, chains.made, jnp.int32(start))
        self.put_away(drawn, before, after)
        self.pace(time.perf_counter() - began)
        return state._replace(chains=chains, moments=moments)

    def put_away(self, drawn: Drawn, before: Integers, after: Integers) -> None:
        """Keeps those draws that are to be kept."""
        number = before[:, None] + np.arange(self.rows) - self.first[:, None]
        kept = (number < (after - self.first)[:, None]) & (number >= 0) & ((number + 1) % self.thin == 0)
        if kept.any():
            self.store.add(self.keep(drawn.positions), np.asarray(drawn.statistics), kept)
            self.store.flush()

    def pace(self, seconds: float) -> None:
        """Has the next call take a second, as far as can be told; the first one compiled."""
        if self.is_warm:
            wanted = int(self.leapfrogs * min(max(CALL_SECONDS / seconds, 0.25), 4.0)) + 1
            self.leapfrogs = min(wanted, MOST_LEAPFROGS)
        self.is_warm = True

    def learned(self, state: State) -> State:
        """What chains are like at the end of a window: with the metric of its draws, and a step size for that."""
        scale = self.programs.scale(state.moments)
        chains = state.chains._replace(step=self.programs.begun(state.chains, scale, self.data, self.rows))
        moments = jax.tree.map(jnp.zeros_like, state.moments)
        return state._replace(chains=chains, scale=scale, moments=moments)

    def settled(self, state: State) -> State:
        """What they are like at the end of the warm-up."""
        return state._replace(chains=state.chains._replace(step=self.programs.pooled(state.chains.step)))

    def tell(self) -> None:
        """Says how far it is."""
        made = self.made
        self.report(
            Progress(
                done=int(made.sum()) - self.done_before,
                total=int(self.last.sum()) - self.done_before,
                warming=bool((made < self.first).any()),
                divergences=int(self.store.statistics["diverging"].sum()),
                step_size=float(np.exp(np.median(self.state.chains.step.log_step))),
                seconds=time.perf_counter() - self.began,
            )
        )

    def result(self, *, interrupted: bool) -> Result:
        """What it gave."""
        self.store.flush()
        kept = int(self.store.counts.min(initial=self.num_samples))
        return Result(
            draws=jax.tree.map(lambda array: array[:, :kept], self.store.draws),
            stats={name: self.store.statistics[name][:, :kept] for name in STATISTICS},
            state=self.state,
            seconds=time.perf_counter() - self.began,
            interrupted=interrupted,
        )
