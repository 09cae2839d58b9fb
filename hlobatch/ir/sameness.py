"""Whether two Python objects are the same to code that computes with them, which is more than equal.

``1``, ``1.0`` and ``True`` are equal, but code built for one is wrong for another; the same goes for objects that
contain them. Objects that Python calls unequal are never the same, except for NaN.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final

import jax
import numpy as np

from hlobatch.ir.walk import attributes

_EXACT: Final = (int, str, bytes)
"""Classes whose equal instances are the same."""
_FLOATS: Final = (float, complex, np.inexact)


def are_same(left: Any, right: Any) -> bool:
    """Whether two objects are of one class, equal, and have parts that are the same."""
    return _are_same(left, right, frozenset())


def _are_same(left: Any, right: Any, around: frozenset[tuple[int, int]]) -> bool:
    """Whether two objects are the same, as parts of other objects.

    Args:
        left: One object.
        right: Another one.
        around: Pairs of ids of the objects that contain these and are being compared. A pair that is met again counts
            as the same: a cycle differs only if a difference is found elsewhere.
    """
    if left is right:
        return True
    if type(left) is not type(right) or isinstance(left, (np.ndarray, jax.Array)):
        return False
    if isinstance(left, _FLOATS):  # 0.0 and -0.0 are equal, and not the same
        return repr(left) == repr(right)
    if isinstance(left, _EXACT):
        return bool(left == right)
    pair = id(left), id(right)
    if pair in around:
        return True

    def inside(one: Any, other: Any) -> bool:
        return _are_same(one, other, around | {pair})

    if isinstance(left, (tuple, list)):
        return len(left) == len(right) and all(map(inside, left, right))
    return _are_equal(left, right) and _consist_of_the_same(left, right, inside)


def _are_equal(left: Any, right: Any) -> bool:
    try:
        return bool(left == right)
    except Exception:  # noqa: BLE001  # the comparison is the user's code
        return False


def _consist_of_the_same(left: Any, right: Any, are_same: Callable[[Any, Any], bool]) -> bool:
    """Whether equal objects of one class have parts that are the same.

    Attributes that differ are ignored: the class does not compare them. So are attributes that only one object has,
    such as a cached property that was computed.
    """
    if isinstance(left, AbstractSet):
        items = {item: item for item in right}
        return all(item in items and are_same(item, items[item]) for item in left)
    if isinstance(left, Mapping):
        keys = {key: key for key in right}
        return all(k in keys and are_same(k, keys[k]) and are_same(left[k], right[k]) for k in left)
    own, other = _compared(left), _compared(right)
    if own or other:
        names = [name for name in own.keys() & other.keys() if _are_equal(own[name], other[name])]
        return all(are_same(own[name], other[name]) for name in names)
    kind: Any = type(left)
    return kind.__repr__ is object.__repr__ or repr(left) == repr(right)


def _compared(item: Any) -> dict[str, Any]:
    """The attributes of an object that are compared: all, unless it is a dataclass that excludes some."""
    if not dataclasses.is_dataclass(item):
        return attributes(item)
    names = [field.name for field in dataclasses.fields(item) if field.compare]
    return {name: getattr(item, name) for name in names if hasattr(item, name)}
