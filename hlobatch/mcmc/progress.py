"""The progress of a run -> a line on standard error that is overwritten, or a call of the user's own function."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final, NamedTuple

BAR_CHARACTERS: Final = 30
"""Length of the bar, in characters."""


class Progress(NamedTuple):
    """The progress of a run.

    Attributes:
        done: The number of draws so far, of all chains together, those of the warm-up included.
        total: The number of draws of the whole run.
        warming: Whether some chain is still in its warm-up.
        divergences: The number of draws after the warm-up, of all chains, whose trajectory diverged.
        step_size: The median over chains.
        seconds: The time since the run began.
    """

    done: int
    total: int
    warming: bool
    divergences: int
    step_size: float
    seconds: float

    def __str__(self) -> str:
        filled = BAR_CHARACTERS * self.done // max(self.total, 1)
        bar = "█" * filled + "░" * (BAR_CHARACTERS - filled)
        phase = "warm-up " if self.warming else "sampling"
        share = 100 * self.done // max(self.total, 1)
        return (
            f"{phase} {bar} {share:3d} %  {self.divergences:,} divergences  "
            f"step size {self.step_size:.3g}  {self.seconds:.1f} s"
        )


Report = Callable[[Progress], None]


def reporter(progress: bool | Report | None) -> Report:
    """Returns the function that reports progress; None means a bar if standard error is a terminal or a notebook.

    A bar first says that the program is being compiled, since there is no progress before that.
    """
    if callable(progress):
        return progress
    if progress or (progress is None and (sys.stderr.isatty() or _is_notebook())):
        sys.stderr.write("\rcompiling …")
        sys.stderr.flush()
        return _bar
    return _nothing


def _is_notebook() -> bool:
    """Whether a notebook shows what is written to standard error."""
    return "ipykernel" in sys.modules


def _nothing(_: Progress) -> None:
    pass


def _bar(progress: Progress) -> None:
    end = "\n" if progress.done == progress.total else ""
    sys.stderr.write(f"\r{progress}  {end}")
    sys.stderr.flush()
