"""``bisect``: the position of an item in a sorted list."""

from __future__ import annotations

from typing import Any


def bisect_left(a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Any = None) -> Any:
    if lo < 0:
        raise ValueError("lo must be non-negative")
    is_given = hi is not None
    if hi is None:
        hi = len(a)
    while lo < hi:
        mid = (lo + hi) // 2
        if is_given and mid >= len(a):
            raise IndexError("list index out of range")
        if (a[mid] if key is None else key(a[mid])) < x:
            lo = mid + 1
        else:
            hi = mid
    return lo


def bisect_right(a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Any = None) -> Any:
    if lo < 0:
        raise ValueError("lo must be non-negative")
    is_given = hi is not None
    if hi is None:
        hi = len(a)
    while lo < hi:
        mid = (lo + hi) // 2
        if is_given and mid >= len(a):
            raise IndexError("list index out of range")
        if x < (a[mid] if key is None else key(a[mid])):
            hi = mid
        else:
            lo = mid + 1
    return lo


def insort_left(a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Any = None) -> None:
    at = bisect_left(a, x if key is None else key(x), lo, hi, key=key)
    a.insert(at, x)


def insort_right(a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Any = None) -> None:
    at = bisect_right(a, x if key is None else key(x), lo, hi, key=key)
    a.insert(at, x)


bisect = bisect_right
insort = insort_right
