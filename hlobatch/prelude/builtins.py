"""What Python has built in, for lists that have another length in each lane.

On anything else these functions mean what ``frontend/python_functions.py`` says, and so they do in code that is traced
as a whole, such as a ``lambda``.
"""

from __future__ import annotations

import builtins
from typing import Any


class list(builtins.list):  # type: ignore[type-arg]
    def sort(self, *, key: Any = None, reverse: Any = False) -> None:
        items = sorted(self, key=key, reverse=reverse)
        if len(items) != len(self):
            raise ValueError("list modified during sort")
        for at, item in enumerate(items):
            self[at] = item


def sorted(iterable: Any, /, *, key: Any = None, reverse: Any = False) -> Any:
    items = builtins.list(iterable)
    ranks = items if key is None else [key(item) for item in items]
    width = 1
    while width < len(items):
        items, ranks = _merged(items, ranks, width, key is not None, reverse)
        width = 2 * width
    return items


def _merged(items: Any, ranks: Any, width: Any, has_key: Any, reverse: Any) -> Any:
    """Items of which runs of some width are in order -> the same in runs twice as wide, and their ranks."""
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
