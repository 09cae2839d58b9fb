"""Python's built-in functions, for lists and other containers whose length differs between lanes.

Where CPython returns an iterator (``map``, ``zip``), these functions return a list of all items.

On other arguments, and in code that is traced as a whole, such as a ``lambda``, these functions have the meaning in
``frontend/python_functions.py``.
"""

from __future__ import annotations

import builtins
from typing import Any

_NONE: Any = object()


class list(builtins.list):  # type: ignore[type-arg]
    def sort(self, *, key: Any = None, reverse: Any = False) -> None:
        items = sorted(self, key=key, reverse=reverse)
        if len(items) != len(self):
            raise ValueError("list modified during sort")
        for at in range(len(items)):
            self[at] = items[at]


def enumerate(iterable: Any, start: Any = 0) -> Any:
    numbered: Any = []
    number = start
    for item in iterable:
        numbered.append((number, item))
        number += 1
    return numbered


def filter(function: Any, iterable: Any, /) -> Any:
    kept: Any = []
    for item in iterable:
        if item if function is None else function(item):
            kept.append(item)
    return kept


def map(function: Any, iterable: Any, /, *iterables: Any) -> Any:
    if len(iterables) == 0:
        return [function(item) for item in iterable]
    return [function(*items) for items in zip(iterable, *iterables)]  # as Python has it


def max(*args: Any, key: Any = None, default: Any = _NONE) -> Any:
    items = args[0] if len(args) == 1 else args
    pairs = [(item if key is None else key(item), item) for item in items]
    if len(pairs) > 0:
        return builtins.max(pairs, key=_rank)[1]
    if default is _NONE:
        raise ValueError("max() arg is an empty sequence")
    return default


def min(*args: Any, key: Any = None, default: Any = _NONE) -> Any:
    items = args[0] if len(args) == 1 else args
    pairs = [(item if key is None else key(item), item) for item in items]
    if len(pairs) > 0:
        return builtins.min(pairs, key=_rank)[1]
    if default is _NONE:
        raise ValueError("min() arg is an empty sequence")
    return default


def max_by_methods(*args: Any, default: Any = _NONE) -> Any:
    """``max`` of objects whose class says which of two is greater."""
    items = args[0] if len(args) == 1 else args
    if len(items) == 0:
        if default is _NONE:
            raise ValueError("max() arg is an empty sequence")
        return default
    best = items[0]
    for at in range(1, len(items)):
        if items[at] > best:
            best = items[at]
    return best


def min_by_methods(*args: Any, default: Any = _NONE) -> Any:
    """``min`` of objects whose class says which of two is less."""
    items = args[0] if len(args) == 1 else args
    if len(items) == 0:
        if default is _NONE:
            raise ValueError("min() arg is an empty sequence")
        return default
    best = items[0]
    for at in range(1, len(items)):
        if items[at] < best:
            best = items[at]
    return best


def sorted_by_ranks(iterable: Any, /, *, key: Any, reverse: Any = False) -> Any:
    """``sorted``, of as many items as all lanes have, by a key that the program calls."""
    pairs = [(key(item), item) for item in iterable]
    return [item for _, item in builtins.sorted(pairs, key=_rank, reverse=reverse)]


def _rank(pair: Any) -> Any:
    """The rank of an item in a pair of both."""
    return pair[0]


def zip(*iterables: Any, strict: Any = False) -> Any:
    rows: Any = iterables
    if isinstance(rows, builtins.list):
        return _transposed(rows)
    columns = [builtins.list(iterable) for iterable in iterables]
    lengths = [len(column) for column in columns]
    if strict and builtins.min(lengths) != builtins.max(lengths):
        raise ValueError("zip() has arguments of several lengths")
    return [tuple(column[at] for column in columns) for at in range(builtins.min(lengths, default=0))]


def _transposed(rows: Any) -> Any:
    """``zip(*rows)`` of as many rows as a list has, where that differs between lanes: lists in place of tuples."""
    columns = [builtins.list(row) for row in rows]
    shortest = builtins.min((len(column) for column in columns), default=0)
    return [[column[at] for column in columns] for at in range(shortest)]


def sum(iterable: Any, /, start: Any = 0) -> Any:
    total = start
    for item in iterable:
        total = total + item
    return total


def sorted(iterable: Any, /, *, key: Any = None, reverse: Any = False) -> Any:
    items = builtins.list(iterable)
    ranks = items if key is None else [key(item) for item in items]
    width = 1
    while width < len(items):
        items, ranks = _merged(items, ranks, width, key is not None, reverse)
        width = 2 * width
    return items


def _merged(items: Any, ranks: Any, width: Any, has_key: Any, reverse: Any) -> Any:
    """Merge sorted runs of ``width`` items to runs twice as wide; return the items and their ranks."""
    merged: Any = []
    of_merged: Any = []
    while len(merged) < len(items):
        left = len(merged)
        middle, last = left + width, left + 2 * width
        if last > len(items):
            last = len(items)
        if middle > last:
            middle = last
        right = middle
        while left < middle or right < last:
            if right == last:
                is_left = True
            elif left == middle:
                is_left = False
            else:
                is_left = not (ranks[left] < ranks[right] if reverse else ranks[right] < ranks[left])
            at = left if is_left else right
            left, right = left + is_left, right + (not is_left)
            merged.append(items[at])
            if has_key:
                of_merged.append(ranks[at])
    return merged, (of_merged if has_key else merged)
