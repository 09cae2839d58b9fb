"""Makes several calls at the same time, each in a thread of its own.

On a CPU, executables that one thread starts run one after the other, and those that several threads start run in
parallel. A thread of this module only starts an executable, or runs lanes by a kernel. Tracing and compiling depend on
settings that JAX keeps for each thread, so the caller does them before.

The threads are daemons, so that a process can end while they run, as it can while XLA's own threads run. (It waits for
threads of ``concurrent.futures``.) The objects that a thread works on stay alive as long as it runs, since its Python
frame is never taken down.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import cache
from queue import SimpleQueue
from typing import Any, Final, TypeVar

from hlobatch.kernels.interface import STACK_BYTES
from hlobatch.runtime.leaving import may_stay

T = TypeVar("T")


class Workers:
    """A pool of daemon threads that make calls, started as needed.

    Attributes:
        name: Prefix of the threads' names.
        most: Largest number of threads.
    """

    def __init__(self, name: str, most: int) -> None:
        self.name, self.most = name, most
        self._calls = SimpleQueue[tuple[Future[Any], Callable[[], Any]]]()
        self._lock = threading.Lock()
        self._threads = 0
        self._open = 0  # calls that wait or are being made; as many threads as that always find one

    def submit(self, call: Callable[[], T]) -> Future[T]:
        """Have a thread make a call; returns the future of its result."""
        future = Future[T]()
        with self._lock:
            self._open += 1
            if self._threads < min(self._open, self.most):
                start(self._serve, f"{self.name}-{self._threads}")
                self._threads += 1
        self._calls.put((future, call))
        return future

    @may_stay
    def _serve(self) -> None:
        while True:
            future, call = self._calls.get()
            _make(future, call)
            with self._lock:
                self._open -= 1
            del future, call  # so that a waiting thread keeps no objects of its last call alive


def _make(future: Future[T], call: Callable[[], T]) -> None:
    """Make a call, unless it was cancelled, and set the future's result or exception."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = call()
    except BaseException as error:  # noqa: BLE001  # raised by the future's result()
        future.set_exception(error)
    else:
        future.set_result(result)


def start(target: Callable[[], None], name: str) -> None:
    """Start a daemon thread whose stack has at least ``STACK_BYTES``."""
    with _sizing:
        before = threading.stack_size()
        is_small = (before or _DEFAULT_STACK_BYTES) < STACK_BYTES
        if is_small:
            threading.stack_size(STACK_BYTES)
        try:
            threading.Thread(target=target, name=name, daemon=True).start()
        finally:
            if is_small:
                threading.stack_size(before)


_sizing: Final = threading.Lock()


def _default_stack_bytes() -> int:
    """Default size in bytes of a thread's stack; 0 if that is not known."""
    if sys.platform == "win32":
        return 0
    import resource  # noqa: PLC0415  # Windows lacks it

    limit = resource.getrlimit(resource.RLIMIT_STACK)[0]
    return STACK_BYTES if limit == resource.RLIM_INFINITY else limit


_DEFAULT_STACK_BYTES: Final = _default_stack_bytes()


@cache
def _worker(index: int) -> Workers:
    """A pool of one thread. In a pool of several, one might take two calls, which XLA would not run in parallel."""
    return Workers(f"hlobatch-{index}", 1)


@cache
def lanes() -> Workers:
    """The pool of threads that run kernels beside the calling threads; it is so large that no run waits for another."""
    return Workers("hlobatch-lanes", 256)


def _forget() -> None:
    """Drop the pools in a forked process, which has none of its parent's threads, so that it does not wait for them."""
    _sizing.release()
    _worker.cache_clear()
    lanes.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_sizing.acquire, after_in_parent=_sizing.release, after_in_child=_forget)


def together(calls: Sequence[Callable[[], T]]) -> list[T]:
    """The results of calls that are made at the same time, the first by the calling thread."""
    others = [_worker(index).submit(call) for index, call in enumerate(calls[1:])]
    try:
        return [calls[0](), *(other.result() for other in others)]
    finally:
        for other in others:
            other.exception()  # wait for all threads, even if one call has raised
