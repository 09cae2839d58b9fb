"""Lets a process exit while other threads make programs or run them: ends what they do, and starts no more.

Until Python 3.14, a thread that asks for Python's lock after Python was finalized is ended in a way that C++ sees as an
exception. If functions of XLA or JAX are on the thread's stack, that aborts the process: "FATAL: exception not
rethrown". So ``SystemExit`` is raised in these threads before. It ends a call that traces, compiles or runs as soon as
the thread is back in Python.
"""

from __future__ import annotations

import atexit
import ctypes
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from time import monotonic, sleep
from types import CodeType, FrameType
from typing import Any, Final, TypeVar

from hlobatch.diagnostics import is_internal, is_own

F = TypeVar("F", bound=Callable[..., Any])

MOST_SECONDS: Final = 20.0
"""Seconds that a process waits at its exit for threads in XLA: more than most stretches and compilations take."""
SECONDS_TO_ASK_AGAIN: Final = 0.2
"""Seconds after which a thread is told again to end: a callback of Python's garbage collector loses an exception."""

_has_begun: Final = threading.Event()
_staying: Final[set[CodeType]] = set()


def in_a_stretch() -> AbstractContextManager[None]:
    """A context for a stretch: another thread than the main one begins none at the exit of the process."""
    return _of_another() if is_in_another_thread() else _OF_MAIN


def is_in_another_thread() -> bool:
    """Whether a stretch in this thread needs ``in_a_stretch``; entering a context takes half a microsecond."""
    try:
        return _here.is_another
    except AttributeError:
        _here.is_another = threading.current_thread() is not threading.main_thread()
        return _here.is_another


class _Here(threading.local):
    """Facts of a thread, which are asked of Python's thread object once: that takes longer."""

    is_another: bool


_here: Final = _Here()
_OF_MAIN: Final = nullcontext()


@contextmanager
def _of_another() -> Iterator[None]:
    _hold_still_at_exit()
    try:
        yield
    finally:
        _hold_still_at_exit()


def _hold_still_at_exit() -> None:
    if _has_begun.is_set():
        threading.Event().wait()


def may_stay(function: F) -> F:
    """A decorator for a function in which a thread may wait while the process exits, as it calls nothing in C++.

    The thread is not told to end while it makes a call on behalf of another thread.
    """
    _staying.add(function.__code__)
    return function


@atexit.register
def _leave() -> None:
    _has_begun.set()
    shown = sys.unraisablehook
    sys.unraisablehook = lambda lost: None if lost.exc_type is SystemExit else shown(lost)  # it is raised again
    told: dict[int, float] = {}
    end = monotonic() + MOST_SECONDS
    while (inside := _threads_inside()) and (now := monotonic()) < end:
        for thread, frames in inside.items():
            if now - told.get(thread, 0.0) > SECONDS_TO_ASK_AGAIN and not any(f.f_code in _staying for f in frames):
                told[thread] = now
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(SystemExit))
        sleep(1e-3)


def _threads_inside() -> dict[int, list[FrameType]]:
    """The frames of threads that would abort the process if they came back from XLA or JAX after its end."""
    here, now = threading.get_ident(), sys._current_frames()  # Python documents it
    others = {thread: list(_frames(frame)) for thread, frame in now.items() if thread != here}
    return {thread: frames for thread, frames in others.items() if _is_inside(frames)}


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    """A frame and those that called it."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_inside(frames: Sequence[FrameType]) -> bool:
    """Whether a thread is in a call of this package, and neither waits for another thread nor runs the user's code.

    This package calls the user's code directly where it takes the next batch of a stream, or reports progress.
    """
    files = [frame.f_code.co_filename for frame in frames]
    if frames[0].f_code in _staying or files[0] == threading.__file__ or not any(map(is_own, files)):
        return False
    return is_internal(files[0]) or not is_own(next(filter(is_internal, files)))
