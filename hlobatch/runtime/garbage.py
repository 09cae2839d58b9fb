"""Lets Python's garbage collector run less often while a program is made.

Making a program creates some hundred thousand small objects, nearly all of which are freed with their last reference.
Each time that 700 more of them exist, the collector goes over the live ones, and now and then over all of JAX's.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

SELDOM: Final = 50_000
"""Objects that are created and not freed before the collector runs, instead of 700: some 10 MB. With it, tracing a
function of a hundred statements took 0.85 of the time (2026-11)."""

_lock: Final = threading.Lock()
_usual: list[tuple[int, int, int]] = []
"""The thresholds of ``gc`` from before, an entry for each thread that makes a program now."""


@contextmanager
def seldom_collected() -> Iterator[None]:
    """A context in which the collector runs less often; thresholds that the user sets meanwhile stay set."""
    _begin()
    try:
        yield
    finally:
        _end()


def _begin() -> None:
    with _lock:
        _usual.append(_usual[-1] if _usual else gc.get_threshold())
        first, *others = _usual[-1]
        if len(_usual) == 1 and first:  # 0 means that the collector is off
            gc.set_threshold(max(first, SELDOM), *others)


def _end() -> None:
    with _lock:
        usual = first, *others = _usual.pop()
        if not _usual and gc.get_threshold() == (max(first, SELDOM), *others):
            gc.set_threshold(*usual)
