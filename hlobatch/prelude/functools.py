"""``functools``: ``reduce`` where the number of items differs between lanes, and the methods of ``total_ordering``."""

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


def _gt_from_lt(self: Any, other: Any) -> Any:
    given = self.__lt__(other)
    return given if given is NotImplemented else (not given and self != other)


def _le_from_lt(self: Any, other: Any) -> Any:
    given = self.__lt__(other)
    return given if given is NotImplemented else (given or self == other)


def _ge_from_lt(self: Any, other: Any) -> Any:
    given = self.__lt__(other)
    return given if given is NotImplemented else (not given)


def _ge_from_le(self: Any, other: Any) -> Any:
    given = self.__le__(other)
    return given if given is NotImplemented else (not given or self == other)


def _lt_from_le(self: Any, other: Any) -> Any:
    given = self.__le__(other)
    return given if given is NotImplemented else (given and self != other)


def _gt_from_le(self: Any, other: Any) -> Any:
    given = self.__le__(other)
    return given if given is NotImplemented else (not given)


def _lt_from_gt(self: Any, other: Any) -> Any:
    given = self.__gt__(other)
    return given if given is NotImplemented else (not given and self != other)


def _ge_from_gt(self: Any, other: Any) -> Any:
    given = self.__gt__(other)
    return given if given is NotImplemented else (given or self == other)


def _le_from_gt(self: Any, other: Any) -> Any:
    given = self.__gt__(other)
    return given if given is NotImplemented else (not given)


def _le_from_ge(self: Any, other: Any) -> Any:
    given = self.__ge__(other)
    return given if given is NotImplemented else (not given or self == other)


def _gt_from_ge(self: Any, other: Any) -> Any:
    given = self.__ge__(other)
    return given if given is NotImplemented else (given and self != other)


def _lt_from_ge(self: Any, other: Any) -> Any:
    given = self.__ge__(other)
    return given if given is NotImplemented else (not given)
