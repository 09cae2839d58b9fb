"""Reports the progress of a run and checks its time limit, between stretches."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Final

from hlobatch.console import Line, Progress
from hlobatch.runtime.plan import Plan

LOOK_SECONDS: Final = 0.2
"""Seconds between two looks at a run that does not go in stretches."""


@dataclass
class Watch:
    """The progress report and time limit of one run.

    Attributes:
        name: The user's name for the function.
        total: Number of inputs.
        timeout: Seconds that the run may take; None for no limit.
        tell: Called with the progress; None for no reports.
        began: When the run began, by ``perf_counter``.
    """

    name: str
    total: int
    timeout: float | None
    tell: Callable[[Progress], object] | None
    began: float = field(default_factory=perf_counter)

    @classmethod
    def of(cls, plan: Plan, total: int) -> Watch | None:
        """The watch of a run, if the user asked for progress or a time limit; else None."""
        options = plan.options
        if not options.is_watched:
            return None
        tell = options.progress if callable(options.progress) else Line() if options.progress else None
        watch = cls(plan.name, total, options.timeout, tell)
        if _here.goes_on:
            watch.began = _here.began
        _here.began = watch.began
        return watch

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the time limit; None if there is none."""
        return None if self.timeout is None else self.timeout - self._seconds

    @property
    def patience(self) -> float:
        """Seconds until the next look."""
        left = self.seconds_left
        return LOOK_SECONDS if left is None else max(0.0, min(LOOK_SECONDS, left))

    def look(self, done: Callable[[], int]) -> bool:
        """Report progress, with ``done()`` inputs done; returns whether the time limit is reached."""
        is_over = self.timeout is not None and self._seconds >= self.timeout
        if self.tell:
            self.tell(Progress(self.name, done(), self.total, self._seconds, is_last=is_over))
        return is_over

    def end(self, done: int) -> None:
        """Report that the run has ended."""
        if self.tell:
            self.tell(Progress(self.name, done, self.total, self._seconds, is_last=True))

    @property
    def _seconds(self) -> float:
        return perf_counter() - self.began


class _Here(threading.local):
    """When the last watched run of a thread began, and whether the next one is of the same call."""

    began: float = 0.0
    goes_on: bool = False


_here: Final = _Here()


@contextmanager
def going_on() -> Iterator[None]:
    """A context in which watched runs of this thread are further runs of the call that made the last one."""
    _here.goes_on = True
    try:
        yield
    finally:
        _here.goes_on = False
