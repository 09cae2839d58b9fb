"""How long the warm-up is -> the windows of draws that the metric is estimated from.

First the chains get to where the target is, then come windows of 25, 50, 100 … draws, each of which makes the metric of
the next, then the step size is adapted to the last one.

Reference:
    Stan Reference Manual, "Automatic parameter tuning": the same numbers.
"""

from __future__ import annotations

from typing import Final, NamedTuple

FIRST: Final = 75
WINDOW: Final = 25
LAST: Final = 50
SHORTEST: Final = 20
"""Draws of a warm-up below which there is no window."""


class Window(NamedTuple):
    """Draws from `start` on, and before `end`, counted from the beginning of the warm-up."""

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
        if start + 3 * size > end:  # the next one, twice as long, would not fit
            size = end - start
        found.append(Window(start, start + size))
        start += size
        size *= 2
    return tuple(found)
