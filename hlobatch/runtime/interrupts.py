"""A Ctrl-C that Python loses -> a ``KeyboardInterrupt`` at the next point where a run looks.

::

    with noting() as look:
        while …:
            stretch()           Python calls the handler in the first Python code that the main thread runs: if that is
            look()              a callback of the garbage collector, it prints what the handler raises, and goes on
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any


@contextlib.contextmanager
def noting() -> Iterator[Callable[[], None]]:
    """A context in which a Ctrl-C is noted as well as raised; it gives a function that raises what has been noted.

    In other threads than the main one, where Python calls no handlers, it notes nothing; nor does it if the handler of
    the process raises no ``KeyboardInterrupt``.
    """
    before: Any = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield lambda: None
        return
    noted: list[BaseException] = []

    def handler(number: int, frame: Any) -> None:
        try:
            before(number, frame)
        except KeyboardInterrupt as interrupt:
            noted.append(interrupt)
            raise

    def look() -> None:
        if noted:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, handler)
    try:
        yield look
    finally:
        if signal.getsignal(signal.SIGINT) is handler:
            signal.signal(signal.SIGINT, before)
