"""Counts of calls, by Python's profiling hook, since a function that counts its own calls would be refused."""

import collections
import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any


@contextlib.contextmanager
def counted_calls(*functions: Callable[..., Any]) -> Iterator[collections.Counter[str]]:
    """A context that counts calls of functions, by their names; functions are identified by their files."""
    known = {(f.__code__.co_filename, f.__code__.co_name) for f in functions}
    calls: collections.Counter[str] = collections.Counter()

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call" and (frame.f_code.co_filename, frame.f_code.co_name) in known:
            calls[frame.f_code.co_name] += 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield calls
    finally:
        sys.setprofile(before)
