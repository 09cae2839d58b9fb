"""Lets a process exit while other threads run stretches: waits for the stretches, and starts no more.

A daemon thread that returns from XLA after Python has been finalized aborts the process, because Python ends such a
thread in a way that C++ sees as an exception. So these threads return before, and then block until the process is gone.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from time import monotonic, sleep
from typing import Final

MOST_SECONDS: Final = 2.0
"""Seconds that a process waits for stretches at its exit: more than most take."""

_at_work: Final[set[int]] = set()
_has_begun: Final = threading.Event()


def in_a_stretch() -> AbstractContextManager[None]:
    """A context for a stretch; the exit of the process waits for it if it is in a daemon thread."""
    return _of_a_daemon() if is_in_a_daemon() else _OF_OTHERS


def is_in_a_daemon() -> bool:
    """Whether a stretch in this thread needs ``in_a_stretch``; entering a context takes half a microsecond."""
    try:
        return _here.is_daemon
    except AttributeError:
        _here.is_daemon = threading.current_thread().daemon
        return _here.is_daemon


class _Here(threading.local):
    """Facts of a thread, which are asked of Python's thread object once: that takes longer."""

    is_daemon: bool


_here: Final = _Here()
_OF_OTHERS: Final = nullcontext()


@contextmanager
def _of_a_daemon() -> Iterator[None]:
    _hold_still_at_exit()
    me = threading.get_ident()
    _at_work.add(me)
    try:
        yield
    finally:
        _at_work.discard(me)
        _hold_still_at_exit()


def _hold_still_at_exit() -> None:
    if _has_begun.is_set():
        threading.Event().wait()


@atexit.register
def _leave() -> None:
    _has_begun.set()
    end = monotonic() + MOST_SECONDS
    while _at_work and monotonic() < end:
        sleep(1e-3)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_at_work.clear)  # a child process has none of these threads
