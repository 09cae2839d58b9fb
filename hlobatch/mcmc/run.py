"""Chains that have started -> all their draws: calls of one compiled program, and the work between two calls."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import jax
import numpy as np
from jax import Array
from numpy.typing import NDArray

from hlobatch.mcmc.chains import STATISTICS, Limits
from hlobatch.mcmc.checkpoint import Checkpoint, write
from hlobatch.mcmc.nuts import Noise
from hlobatch.mcmc.programs import Programs
from hlobatch.mcmc.progress import Progress, Report
from hlobatch.mcmc.result import Result, State
from hlobatch.mcmc.step_size import settled
from hlobatch.mcmc.store import Store
from hlobatch.mcmc.windows import Window, windows
from hlobatch.typing import ArrayLike, PyTree

FIRST_SECONDS: Final = 0.1
"""Target duration of a call, in seconds, in a run that has just begun. Between two calls, the progress is shown and
draws are stored. A run that ends within about that time needs no program that goes on from a state, and does not
compile it."""

WORTH_SECONDS: Final = 3.0
"""Seconds of calls after which the program that goes on from a state, for longer calls, is worth compiling."""

TRAJECTORIES: Final = 10
"""Trajectories of the longest kind for which such a call has time. At the end of a call, chains wait for those that
have begun another trajectory: in calls of one or two trajectories they would be in lockstep."""

SHARE_OF_RUN: Final = 0.1
"""Share of the time that the run has taken so far that a longer call may take, up to ``LONG_SECONDS``."""

LONG_SECONDS: Final = 1.0
"""Most seconds of a call whose trajectories are short."""

MOST_SECONDS: Final = 10.0
"""Most seconds of a call, however long trajectories are."""

SHARE_OF_SAVING: Final = 0.05
"""Most of the time, as a share, that a run in a folder takes to write its state."""

FIRST_LEAPFROGS: Final = 100
"""Leapfrog steps of each chain in the first calls, when it is not known yet how long a step takes."""

MOST_LEAPFROGS: Final = 2**30
"""Most leapfrog steps of each chain in a call: they are counted in 32 bits."""

MOST_GROWTH: Final = 4.0
"""Most leapfrog steps of a call, as a multiple of those of the last call."""

Integers = NDArray[np.int64]


@dataclass
class Run:
    """A run between two calls.

    Attributes:
        programs: The compiled functions.
        keep: Positions, `Float[Array, "chains rows dim"]`, -> the values of them that are kept, a pytree.
        data: The data of the log density.
        rows: The most draws of each chain in a call.
        thin: The number of draws of which one is kept.
        max_depth: The most doublings of a trajectory.
        one_target: Whether all chains have the same data.
        pool: Whether they learn together.
        target_acceptance: The acceptance rate to which step sizes are adapted.
        report: Called with the progress.
        began: The time when the run began, by `time.perf_counter`.
        first: The number of each chain's draw from which on draws are kept.
        num_samples: The number of draws of each chain to keep, from that on.
        store: The draws so far.
        state: The state of the chains. It is replaced as a whole, so that one can go on from it at any time.
        leapfrogs: The leapfrog steps of each chain in the next call.
        seconds: The time that calls have taken, without the first one.
        saved: The time when the checkpoint was written, and the seconds that it took.
        is_warm: Whether a call has been made before, so that its duration is known.
        noise: The noise of `rows` draws of each chain, and the number of the first of them.
    """

    programs: Programs
    keep: Callable[[ArrayLike], PyTree]
    data: PyTree
    rows: int
    thin: int
    max_depth: int
    one_target: bool
    pool: bool
    target_acceptance: float
    report: Report
    began: float
    first: Integers
    num_samples: int
    store: Store
    state: State
    leapfrogs: int = FIRST_LEAPFROGS
    seconds: float = 0.0
    saved: tuple[float, float] = (0.0, 0.0)
    is_warm: bool = False
    noise: tuple[Noise, Integers] | None = None

    def __post_init__(self) -> None:
        self.last = self.first + self.num_samples * self.thin
        self.done_before = int(self.made.sum())

    @property
    def made(self) -> Integers:
        """The numbers of draws that the chains have made."""
        return np.asarray(self.state.chains.made, np.int64)

    def warm_up(self) -> None:
        """Makes the draws of the warm-up. At the end of a window all chains wait for each other, and learn."""
        end = int(self.state.warmup)
        for window in windows(end):
            self.advance(np.full_like(self.first, window.end), window, self.learned)
        self.advance(np.full_like(self.first, end), Window(end, end), self.settled)

    def draw(self) -> None:
        """Makes the draws that are kept."""
        self.advance(self.last, Window(0, 0), lambda state: state)

    def advance(self, until: Integers, window: Window, at_end: Callable[[State], State]) -> None:
        """Makes the draws before those numbered `until`; those in the window are kept for the metric."""
        while (self.made < until).any():
            state = self.call(until, window)
            is_there = (np.asarray(state.chains.made) >= until).all()
            self.state = at_end(state) if is_there else state
            self.save()
            self.tell()

    def call(self, until: Integers, window: Window) -> State:
        """Returns the state after a call, and stores the call's draws."""
        state, programs, before = self.state, self.programs, self.made
        leapfrogs, acceptance = np.int32(self.leapfrogs), np.asarray(self.target_acceptance, state.scale.dtype)
        limits = Limits(jax.device_put(leapfrogs), state.warmup, jax.device_put(acceptance))
        noise, first = self.noise_from(before, until)
        began = time.perf_counter()
        chains, drawn = programs.advance(
            state.chains, noise, _counted(first), _counted(until), limits, state.scale, self.data
        )
        after = np.asarray(chains.made, np.int64)
        statistics = np.asarray(drawn.statistics)
        self.pace(time.perf_counter() - began, statistics[..., STATISTICS.index("n_steps")])
        number = first[:, None] + np.arange(self.rows)
        is_new = (number >= before[:, None]) & (number < after[:, None])
        self.put_away(drawn.positions, statistics, number, is_new)
        return state._replace(chains=chains, window=self.window_with(window, drawn.positions, number, is_new))

    def window_with(
        self, window: Window, positions: Array, number: Integers, is_new: NDArray[np.bool_]
    ) -> NDArray[Any]:
        """The draws of a window with new ones added; an empty array first, for another window."""
        draws = self.state.window
        length = window.end - window.start
        if draws.shape[1] != length:
            draws = np.zeros((len(number), length, draws.shape[2]), draws.dtype)
        chain, row = np.nonzero(is_new & (number >= window.start) & (number < window.end))
        draws[chain, number[chain, row] - window.start] = np.asarray(positions)[chain, row]
        return draws

    def noise_from(self, before: Integers, until: Integers) -> tuple[Noise, Integers]:
        """The noise of the next draws, and the numbers of its first row; new noise if a chain has used up the old."""
        if self.noise is None or (before[before < until] >= self.noise[1][before < until] + self.rows).any():
            self.noise = self.programs.noise(self.state.chains.key, self.state.chains.made, self.rows), before
        return self.noise

    def put_away(self, positions: Array, statistics: NDArray[Any], number: Integers, is_new: NDArray[np.bool_]) -> None:
        """Stores those draws that are to be kept."""
        after_first = number - self.first[:, None]
        kept = is_new & (after_first >= 0) & ((after_first + 1) % self.thin == 0)
        if kept.any():
            self.store.add(self.keep(positions), statistics, kept, after_first // self.thin)

    def save(self, *, at_last: bool = False) -> None:
        """Writes the draws and the state to the folder, if there is one.

        If that takes long, it is not done after each call, but at the end.
        """
        folder, (when, took), now = self.store.folder, self.saved, time.perf_counter()
        if folder is None or not (at_last or now - when > took / SHARE_OF_SAVING):
            return
        checkpoint = Checkpoint(self.state, self.first, self.thin)
        self.store.flush(checkpoint.counts)
        write(folder, checkpoint)
        self.saved = time.perf_counter(), time.perf_counter() - now

    def pace(self, seconds: float, steps: NDArray[Any]) -> None:
        """Chooses the length of the next call.

        Args:
            seconds: The time that this call took; the first one compiled.
            steps: Leapfrog steps of its draws, `Float[ndarray, "chains rows"]`.
        """
        if self.is_warm:
            self.seconds += seconds
            of_leapfrog = seconds / float(steps.sum(axis=1).max())
            wanted = wanted_seconds(self.seconds, of_leapfrog * float(steps.max())) / of_leapfrog
            self.leapfrogs = int(min(max(wanted, 1.0), MOST_GROWTH * self.leapfrogs, MOST_LEAPFROGS))
        self.is_warm = True

    def learned(self, state: State) -> State:
        """The state at the end of a window: with the metric of its draws, and a first step size for that."""
        scale = self.programs.metric_of(state.window)
        chains = state.chains
        at = chains.point
        momenta = self.programs.momenta(chains.key, -1 - np.asarray(chains.made), self.rows)
        _, step = self.programs.begin(at, at.position, momenta, scale, self.data)
        chains = chains._replace(step=step)
        return state._replace(chains=chains, scale=scale, window=state.window[:, :0])

    def settled(self, state: State) -> State:
        """The state at the end of the warm-up, with its final step sizes."""
        return state._replace(chains=state.chains._replace(step=settled(state.chains.step, pool=self.pool)))

    def tell(self) -> None:
        """Reports the progress."""
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
        """The result of the run."""
        self.save(at_last=True)
        kept = int(Checkpoint(self.state, self.first, self.thin).counts.min(initial=self.num_samples))
        return Result(
            draws=jax.tree.map(lambda array: array[:, :kept], self.store.draws),
            stats={name: self.store.statistics[name][:, :kept] for name in STATISTICS},
            state=self.state,
            seconds=time.perf_counter() - self.began,
            interrupted=interrupted,
            max_depth=self.max_depth,
            one_target=self.one_target,
        )


def wanted_seconds(gone: float, trajectory: float) -> float:
    """Returns the target duration of a call.

    Args:
        gone: Seconds that calls have taken so far.
        trajectory: Seconds that the longest trajectory takes.
    """
    if max(gone / WORTH_SECONDS, trajectory / FIRST_SECONDS) < 1.0:
        return FIRST_SECONDS
    return min(max(FIRST_SECONDS, TRAJECTORIES * trajectory, min(SHARE_OF_RUN * gone, LONG_SECONDS)), MOST_SECONDS)


def _counted(numbers: Integers) -> Array:
    """Numbers of draws in the form that the programs take."""
    counted: Array = jax.device_put(numbers.astype(np.int32))
    return counted
