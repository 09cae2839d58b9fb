"""A Python iterator -> its items, or an error if it may have no end, since tracing runs through all items."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from hlobatch.diagnostics import BatchTypeError

MOST_ITEMS: Final = 10_000
"""Most items taken from an iterator."""
MOST_TRACED: Final = 300
"""Most items of a generator of the user's that are computed from a lane's values: each becomes code of its own."""


def finite(items: Iterable[Any], is_traced: Callable[[Any], bool] = lambda _: False) -> Iterator[Any]:
    """The items, one by one.

    Args:
        items: The iterator, or another iterable, which has an end.
        is_traced: Whether an item is computed from a lane's values, by code that exists once for each item.

    Raises:
        BatchTypeError: An iterator has more than ``MOST_ITEMS`` items, or ``MOST_TRACED`` traced ones, and may have no
            end.
    """
    if not isinstance(items, Iterator):
        yield from items
        return
    traced = 0
    for number, item in enumerate(items):
        traced += is_traced(item)
        if number == MOST_ITEMS or traced > MOST_TRACED:
            raise BatchTypeError(
                f"this goes over a {type(items).__name__!r} of more than {number} items, or without an end",
                help="take as many as there can be, as in `itertools.islice(items, 100)`, or write a `while` loop.",
            )
        yield item
