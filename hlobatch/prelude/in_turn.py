"""Iterators that a program keeps: objects of these classes in place of Python's, which cannot differ between lanes.

::

    tokens = iter(text)        tokens = Items(text)        next(tokens) gives the item at tokens.at, and counts on

An iterator of Python's is used up while a program is built, once for all lanes. One of these is an object like those of
the user's classes: each lane has gone as far as its own code has taken it.
"""

from __future__ import annotations

import builtins
import itertools
import types
from collections.abc import Callable, Mapping
from typing import Any, Final


def is_of_iterators(code: types.CodeType) -> bool:
    """Whether code is that of a method of these classes."""
    return code.co_filename == __file__


class Iterator:
    """An iterator; ``for`` and the functions that go over items call ``__next__`` until it raises."""

    def __iter__(self) -> Any:
        return self


class Items(Iterator):
    """``iter(items)`` of a list, a tuple, a range, a text or an array."""

    def __init__(self, items: Any) -> None:
        self.items = items
        self.at = 0
        self.is_at_end = False

    def __next__(self) -> Any:
        if self.is_at_end or self.at >= len(self.items):
            self.is_at_end = True  # whatever is appended from now on
            raise StopIteration
        item = self.items[self.at]
        self.at += 1
        return item


class FromEnd(Iterator):
    """``reversed(items)``."""

    def __init__(self, items: Any) -> None:
        self.items = items
        self.left = len(items)

    def __next__(self) -> Any:
        if self.left <= 0:
            raise StopIteration
        self.left -= 1
        return self.items[self.left]


class Numbered(Iterator):
    """``enumerate(items, start)``."""

    def __init__(self, items: Any, start: Any) -> None:
        self.inner = items
        self.number = start

    def __next__(self) -> Any:
        item = self.inner.__next__()
        self.number += 1
        return self.number - 1, item


class Both(Iterator):
    """``zip(left, right)``."""

    def __init__(self, left: Any, right: Any) -> None:
        self.left = left
        self.right = right

    def __next__(self) -> Any:
        item = self.left.__next__()
        return item, self.right.__next__()


class Pairs(Iterator):
    """``zip(items, items)`` of an iterator."""

    def __init__(self, items: Any) -> None:
        self.inner = items

    def __next__(self) -> Any:
        item = self.inner.__next__()
        return item, self.inner.__next__()


class Numbers(Iterator):
    """``itertools.count(start, step)``."""

    def __init__(self, start: Any, step: Any) -> None:
        self.number = start
        self.step = step

    def __next__(self) -> Any:
        number = self.number
        self.number = number + self.step
        return number


class Again(Iterator):
    """``itertools.cycle(items)``."""

    def __init__(self, items: Any) -> None:
        self.items = items
        self.at = 0

    def __next__(self) -> Any:
        if len(self.items) == 0:
            raise StopIteration
        item = self.items[self.at]
        self.at = (self.at + 1) % len(self.items)
        return item


class Mapped(Iterator):
    """``map(function, items)``."""

    def __init__(self, function: Any, items: Any) -> None:
        self.function = function
        self.inner = items

    def __next__(self) -> Any:
        return self.function(self.inner.__next__())


class Chosen(Iterator):
    """``filter(function, items)``."""

    def __init__(self, function: Any, items: Any) -> None:
        self.function = function
        self.inner = items

    def __next__(self) -> Any:
        item = self.inner.__next__()
        while not self.function(item):
            item = self.inner.__next__()
        return item


class Drawn(Mapped):
    """``(function(item) for item in items)``, which ends where the function raises."""

    def __init__(self, function: Any, items: Any) -> None:
        self.function = function
        self.inner = items
        self.is_at_end = False

    def __next__(self) -> Any:
        if self.is_at_end:
            raise StopIteration
        self.is_at_end = True
        item = self.function(self.inner.__next__())
        self.is_at_end = False
        return item


def iter_of(items: Any, /) -> Any:
    if hasattr(items, "__next__"):
        return items.__iter__()
    if hasattr(items, "__iter__") and not hasattr(items, "__len__"):
        return items.__iter__()
    if isinstance(items, (dict, set, frozenset)):
        return Items(list(items))
    return Items(items)


def reversed_of(items: Any, /) -> Any:
    return FromEnd(items)


def enumerate_of(iterable: Any, start: Any = 0) -> Any:
    return Numbered(iter_of(iterable), start)


def zip_of(left: Any, right: Any, /) -> Any:
    return Both(iter_of(left), iter_of(right))


def map_of(function: Any, iterable: Any, /) -> Any:
    return Mapped(function, iter_of(iterable))


def filter_of(function: Any, iterable: Any, /) -> Any:
    return Chosen(function, iter_of(iterable))


def generator_of(function: Any, iterable: Any, /) -> Any:
    return Drawn(function, iter_of(iterable))


def pairs_of(items: Any, /) -> Any:
    if hasattr(items, "__next__"):
        return Pairs(items)
    return zip_of(items, items)


def count_of(start: Any = 0, step: Any = 1) -> Any:
    return Numbers(start, step)


def cycle_of(iterable: Any, /) -> Any:
    return Again(list(iterable))


MAKERS: Final[Mapping[Any, Callable[..., Any]]] = {
    builtins.enumerate: enumerate_of,
    builtins.filter: filter_of,
    builtins.iter: iter_of,
    builtins.map: map_of,
    builtins.reversed: reversed_of,
    builtins.zip: zip_of,
    itertools.count: count_of,
    itertools.cycle: cycle_of,
}
"""The functions that make these objects, by the functions of Python's that make iterators."""
