"""A run on its way -> what is told of its progress, and whether its time is over; looked at between stretches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Final

from hlobatch.console import Line, Progress
from hlobatch.runtime.plan import Plan

LOOK_SECONDS: Final = 0.2
"""Seconds between two looks at a run that does not go in stretches."""


@dataclass
class Watch:
    """Somebody who looks at a run.

    Attributes:
        name: The user's name for the function.
        total: Inputs.
        timeout: Seconds that it may take, or None.
        tell: Is told of its progress, or None.
        began: When it began, by ``perf_counter``.
    """

    name: str
    total: int
    timeout: float | None
    tell: Callable[[Progress], object] | None
    began: float = field(default_factory=perf_counter)

    @classmethod
    def of(cls, plan: Plan, total: int) -> Watch | None:
        """Who looks at a run of a plan, if somebody asked for it."""
        options = plan.options
        if not options.is_watched:
            return None
        tell = options.progress if callable(options.progress) else Line() if options.progress else None
        return cls(plan.name, total, options.timeout, tell)

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the time is over; None if it never is."""
        return None if self.timeout is None else self.timeout - self._seconds

    @property
    def patience(self) -> float:
        """Seconds until somebody should look again."""
        left = self.seconds_left
        return LOOK_SECONDS if left is None else max(0.0, min(LOOK_SECONDS, left))

    def look(self, done: Callable[[], int]) -> bool:
        """Tell of the progress, given what counts the inputs that are done; and whether the time is over."""
        is_over = self.timeout is not None and self._seconds >= self.timeout
        if self.tell:
            self.tell(Progress(self.name, done(), self.total, self._seconds, is_last=is_over))
        return is_over

    def end(self, done: int) -> None:
        """Tell that the run is at its end."""
        if self.tell:
            self.tell(Progress(self.name, done, self.total, self._seconds, is_last=True))

    @property
    def _seconds(self) -> float:
        return perf_counter() - self.began
