"""``functools``, for arguments whose length differs between lanes."""

from __future__ import annotations

from typing import Any

_NONE: Any = object()


def reduce(function: Any, sequence: Any, initial: Any = _NONE, /) -> Any:
    items = list(sequence)
    if initial is _NONE:
        if len(items) == 0:
            raise TypeError("reduce() of empty iterable with no initial value")
        total, first = items[0], 1
    else:
        total, first = initial, 0
    for at in range(first, len(items)):
        total = function(total, items[at])
    return total
