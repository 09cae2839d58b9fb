"""Python's functions that go over items one by one -> generators of the same meaning, for items that a generator gives.

A list of the items would not do: the generator may have no end, or take turns with the loop.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final


def _enumerate(items: Iterable[Any], start: int = 0) -> Iterator[Any]:
    number = start
    for item in items:
        yield number, item
        number += 1


def _islice(items: Iterable[Any], stop: int) -> Iterator[Any]:
    left = stop
    if left <= 0:
        return
    for item in items:
        yield item
        left -= 1
        if left <= 0:
            return


def _takewhile(predicate: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
    for item in items:
        if not predicate(item):
            return
        yield item


def _filter(predicate: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
    for item in items:
        if predicate(item):
            yield item


def _map(function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
    for item in items:
        yield function(item)


LAZY: Final[Mapping[Any, Callable[..., Iterator[Any]]]] = {
    enumerate: _enumerate,
    filter: _filter,
    itertools.islice: _islice,
    itertools.takewhile: _takewhile,
    map: _map,
}
"""The generators, by the functions of Python that they stand for."""
