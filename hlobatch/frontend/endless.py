"""A Python iterator -> its items, or an error if it may have no end, since tracing runs through all items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from hlobatch.diagnostics import BatchTypeError

MOST_ITEMS: Final = 10_000
"""Most items taken from an iterator."""


def finite(items: Iterable[Any]) -> Iterator[Any]:
    """The items, one by one.

    Raises:
        BatchTypeError: An iterator has more than ``MOST_ITEMS`` of them, and may have no end.
    """
    if not isinstance(items, Iterator):
        yield from items
        return
    for number, item in enumerate(items):
        if number == MOST_ITEMS:
            raise BatchTypeError(
                f"this goes over a {type(items).__name__!r} of more than {MOST_ITEMS} items, or without an end",
                help="take as many as there can be, as in `itertools.islice(items, 100)`, or write a `while` loop.",
            )
        yield item
