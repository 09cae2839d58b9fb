"""The number of turns in a stretch, which is to take some tenths of a second, learned from earlier stretches.

After each stretch the host looks for signals such as Ctrl-C. The time of a turn is guessed at first, and then measured.
The number of turns is a power of two, so that there are few different ones, which can stay on the device as arrays.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Final

STRETCH_SECONDS: Final = 0.15
"""Seconds that a stretch is to take."""
MOST_TURNS: Final = 2**30
"""Largest number of turns in a stretch."""
MOST_GROWTH: Final = 8
"""Largest factor from one stretch's turns to the next one's: the last stretch may have been on easy inputs."""


@dataclass
class Pace:
    """The turns of a stretch, for runs of one kind.

    Attributes:
        turns: The number of turns.
    """

    turns: int
    _seen: set[Hashable] = field(default_factory=set)

    @classmethod
    def guessed(cls, seconds: float) -> Pace:
        """The pace for turns that are guessed to take ``seconds`` each."""
        return cls(_power_of_two(STRETCH_SECONDS / seconds))

    def note(self, seconds: float, executables: Hashable) -> None:
        """Learn from the time of a full stretch; the first one with new executables may include their compilation."""
        is_new = executables not in self._seen
        self._seen.add(executables)
        if not STRETCH_SECONDS / 2 < seconds < 2 * STRETCH_SECONDS:
            times = min(MOST_GROWTH, STRETCH_SECONDS / max(seconds, 1e-9))
            self.turns = _power_of_two(self.turns * (max(times, 1 / MOST_GROWTH) if is_new else times))


def _power_of_two(number: float) -> int:
    """The power of two that is nearest to a number, at least 1 and at most ``MOST_TURNS``."""
    return 1 << round(math.log2(min(max(number, 1.0), MOST_TURNS)))
