"""While a program is made, Python looks for garbage more seldom.

To make a program takes some hundred thousand small objects, nearly all of which are given up by their last reference.
Python's collector goes over those that are alive, and over all of JAX's, each time that so many more are made.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

SELDOM: Final = 50_000
"""Objects made and not given up before Python looks which of them are garbage, in place of 700: some 10 MB. The trace
of a function of a hundred statements took 0.85 of the time (2026-11)."""

_lock: Final = threading.Lock()
_usual: list[tuple[int, int, int]] = []
"""What was set before, once for each thread that makes a program now."""


@contextmanager
def seldom_collected() -> Iterator[None]:
    """A context in which Python looks for garbage more seldom; what the user sets meanwhile stays set."""
    _begin()
    try:
        yield
    finally:
        _end()


def _begin() -> None:
    with _lock:
        _usual.append(_usual[-1] if _usual else gc.get_threshold())
        first, *others = _usual[-1]
        if len(_usual) == 1 and first:  # 0: it is off
            gc.set_threshold(max(first, SELDOM), *others)


def _end() -> None:
    with _lock:
        usual = first, *others = _usual.pop()
        if not _usual and gc.get_threshold() == (max(first, SELDOM), *others):
            gc.set_threshold(*usual)
