"""What Python has built in, for lists that have another length in each lane.

On anything else these functions mean what ``frontend/python_functions.py`` says, and so they do in code that is traced
as a whole, such as a ``lambda``.
"""

from __future__ import annotations

from typing import Any

_NOTHING = object()


def sum(iterable: Any, /, start: Any = 0) -> Any:
    if isinstance(start, (str, bytes, bytearray)):
        raise TypeError("sum() can't sum texts: write ''.join(items)")
    total = start
    for item in iterable:
        total = total + item
    return total


def min(*args: Any, key: Any = None, default: Any = _NOTHING) -> Any:
    items = _compared("min", args, default)
    if len(items) == 0:
        if default is _NOTHING:
            raise ValueError("min() iterable argument is empty")
        return default
    least = items[0]
    rank = least if key is None else key(least)
    for at in range(1, len(items)):
        other = items[at] if key is None else key(items[at])
        if other < rank:
            least = items[at]
            rank = other
    return least


def max(*args: Any, key: Any = None, default: Any = _NOTHING) -> Any:
    items = _compared("max", args, default)
    if len(items) == 0:
        if default is _NOTHING:
            raise ValueError("max() iterable argument is empty")
        return default
    most = items[0]
    rank = most if key is None else key(most)
    for at in range(1, len(items)):
        other = items[at] if key is None else key(items[at])
        if other > rank:
            most = items[at]
            rank = other
    return most


def _compared(name: str, args: Any, default: Any) -> Any:
    """What `min` or `max` is asked for the least or the greatest of."""
    if len(args) == 0:
        raise TypeError(f"{name} expected at least 1 argument, got 0")
    if len(args) > 1 and default is not _NOTHING:
        raise TypeError(f"Cannot specify a default for {name}() with multiple positional arguments")
    if len(args) > 1 or isinstance(args[0], list):
        return args if len(args) > 1 else args[0]
    return list(args[0])


def sorted(iterable: Any, /, *, key: Any = None, reverse: Any = False) -> Any:
    items = list(iterable)
    ranks = items if key is None else [key(item) for item in items]
    width = 1
    while width < len(items):
        items, ranks = _merged(items, ranks, width, key is not None, reverse)
        width = 2 * width
    return items


def _merged(items: Any, ranks: Any, width: Any, has_key: Any, reverse: Any) -> Any:
    """Items of which runs of some width are in order -> the same in runs twice as wide, and their ranks."""
    merged: list[Any] = []
    of_merged: list[Any] = []
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
