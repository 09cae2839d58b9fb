"""The length of the warm-up -> the windows of draws from which the metric is estimated.

First the chains move to the target, then come windows of 25, 50, 100 … draws, each of which makes the metric for the
next, then the step size is adapted to the last metric.

Reference:
    Stan Reference Manual, "Automatic parameter tuning": the same numbers.
"""

from __future__ import annotations

from typing import Final, NamedTuple

FIRST: Final = 75
WINDOW: Final = 25
LAST: Final = 50
SHORTEST: Final = 20
"""The fewest draws of a warm-up that has a window."""


class Window(NamedTuple):
    """The draws from `start` on and before `end`, counted from the beginning of the warm-up."""

    start: int
    end: int


def windows(warmup: int) -> tuple[Window, ...]:
    """Returns the windows of a warm-up.

    Examples:
        >>> [tuple(window) for window in windows(400)]
        [(75, 100), (100, 150), (150, 350)]
        >>> [tuple(window) for window in windows(100)], windows(10)
        ([(15, 90)], ())
    """
    if warmup < SHORTEST:
        return ()
    if warmup < FIRST + WINDOW + LAST:
        return (Window(int(0.15 * warmup), warmup - int(0.1 * warmup)),)
    found, start, size, end = [], FIRST, WINDOW, warmup - LAST
    while start < end:
        if start + 3 * size > end:  # the next window, twice as long, would not fit
            size = end - start
        found.append(Window(start, start + size))
        start += size
        size *= 2
    return tuple(found)
