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
    """One thread: of a pool of several, one might take two calls, and XLA would run them one after the other."""
    return ThreadPoolExecutor(1, f"hlobatch-{index}")


@cache
def lanes() -> ThreadPoolExecutor:
    """What runs lanes with code of their own beside the threads that call; of several runs, none waits for another."""
    return ThreadPoolExecutor(256, "hlobatch-lanes")


def _forget() -> None:
    """A process that was forked has none of the threads of the one before, and would wait for them."""
    _worker.cache_clear()
    lanes.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def together(calls: Sequence[Callable[[], T]]) -> list[T]:
    """The results of calls, made at the same time, the first of them by the thread that asks."""
    others = [_worker(index).submit(call) for index, call in enumerate(calls[1:])]
    try:
        return [calls[0](), *(other.result() for other in others)]
    finally:
        for other in others:
            other.exception()  # wait: nothing of a call goes on after it
