"""``operator``: functions that go over a container whose length differs between lanes."""

from __future__ import annotations

from typing import Any


def countOf(a: Any, b: Any, /) -> Any:  # noqa: N802  # Python's name
    count = 0
    for item in a:
        if b in (item,):  # noqa: FURB171  # the same object, or an equal one
            count += 1
    return count


def indexOf(a: Any, b: Any, /) -> Any:  # noqa: N802  # Python's name
    for place, item in enumerate(a):
        if b in (item,):  # noqa: FURB171  # the same object, or an equal one
            return place
    raise ValueError("sequence.index(x): x not in sequence")
