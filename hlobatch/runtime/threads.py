"""Several calls -> their results, each call made at the same time in a thread of its own.

On a CPU, executables that one thread starts run one after the other, and those that several threads start run side by
side. A thread of this module only starts an executable. Tracing and compiling depend on settings that JAX keeps for
each thread, so the caller does them before.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

T = TypeVar("T")


@cache
def _worker(index: int) -> ThreadPoolExecutor:
    """A pool of one thread. In a pool of several, one might take two calls, which XLA would not run in parallel."""
    return ThreadPoolExecutor(1, f"hlobatch-{index}")


@cache
def lanes() -> ThreadPoolExecutor:
    """The pool of threads that run kernels beside the threads that call; so many that no run waits for another."""
    return ThreadPoolExecutor(256, "hlobatch-lanes")


def _forget() -> None:
    """Drop the pools in a forked process, which has none of its parent's threads, and would wait for them."""
    _worker.cache_clear()
    lanes.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def together(calls: Sequence[Callable[[], T]]) -> list[T]:
    """The results of calls that are made at the same time, the first of them by the calling thread."""
    others = [_worker(index).submit(call) for index, call in enumerate(calls[1:])]
    try:
        return [calls[0](), *(other.result() for other in others)]
    finally:
        for other in others:
            other.exception()  # wait: nothing of a call goes on after it
