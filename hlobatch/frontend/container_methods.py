"""Methods of lists, tuples and dicts -> their meaning if an argument or the items differ between lanes.

::

    prices.get(key, 0)        the lane's item, or 0 if no key is equal
    names.index(n)            the index of the first item that is equal; a ValueError in lanes where none is
    items.sort()              the list, sorted
    del items[n:]             the list, with another length in each lane
"""

from __future__ import annotations

import collections
import operator
import sys
from collections.abc import Sequence
from typing import Any, Final

import jax.numpy as jnp

from hlobatch.diagnostics import BatchTypeError
from hlobatch.frontend.builtins import is_array, logical_and, logical_not, truth
from hlobatch.frontend.items import check_key, gathered, place_of_key
from hlobatch.frontend.lane_numbers import as_index, as_int, as_number, differs, select
from hlobatch.frontend.meaning import Function
from hlobatch.frontend.own_methods import own_method, own_method_error
from hlobatch.frontend.python_numbers import type_of
from hlobatch.frontend.sequences import alike_numbers, either, same
from hlobatch.frontend.sorting import sorted_by
from hlobatch.ir.choice import Choice
from hlobatch.ir.growing import Growing
from hlobatch.ir.value import Collection
from hlobatch.values.growing_tables import GrowingSet
from hlobatch.values.identity import places_of
from hlobatch.values.lane_failures import fails, needed
from hlobatch.values.one_of import OneOf, each, for_each
from hlobatch.values.optional import is_several
from hlobatch.values.own_containers import content


def member(kind: Any, value: Any) -> Any:
    """The member of an enum with a value; a member is returned as it is."""
    if isinstance(value, Choice):
        return each(value, kind)
    members = {one.value: one for one in kind}
    place, found = place_of_key(members, value)
    fails(ValueError, f"not a valid {kind.__name__}", logical_not(found))
    return OneOf(jnp.asarray(place, jnp.int32), tuple(members.values()))


def _get(entries: dict[Any, Any], key: Any, default: Any = None, /) -> Any:
    if is_several(key):
        return for_each(lambda one: _get(entries, one, default), key)
    if not entries or not differs(key):
        return entries.get(key, default) if entries else default
    place, found = place_of_key(entries, key)
    return select(truth(found), gathered(list(entries.values()), place), default)


def index(items: Sequence[Any], value: Any, start: Any = 0, stop: Any = sys.maxsize, /) -> Any:
    """The index of the first item that equals a value, among those from ``start`` to ``stop``."""
    if differs((start, stop)):
        begin, end = _position(start, len(items)), _position(stop, len(items))
        return _first([logical_and(same(item, value), begin <= i, i < end) for i, item in enumerate(items)])
    begin = _position(start, len(items))
    items = items[begin : _position(stop, len(items))]
    if (alike := alike_numbers(items, value)) is not None:
        fails(ValueError, "the value is not in the sequence", logical_not(jnp.any(alike)))
        return begin + as_int(jnp.argmax(alike))
    return begin + _first([same(item, value) for item in items])


def _position(bound: Any, length: int) -> Any:
    """A bound of a part of a sequence, counted from its beginning; one of a lane may be outside."""
    if not differs(bound):
        return slice(operator.index(bound)).indices(length)[1]
    place = as_number(as_index(bound, "index()"))
    return jnp.where(place < 0, place + length, place)


def _first(found: Sequence[Any]) -> Any:
    """The first position with a flag that is set; the lane raises if none is."""
    fails(ValueError, "the value is not in the sequence", logical_not(either(found)))
    place: Any = len(found) - 1
    for i in reversed(range(len(found) - 1)):
        place = select(found[i], i, place)
    return place


def count(items: Sequence[Any], value: Any, /) -> Any:
    """The number of items that equal a value."""
    if (alike := alike_numbers(items, value)) is not None:
        return as_int(jnp.sum(alike))
    return sum(as_int(same(other, value)) for other in items)


def check_filled(container: Any, method: str) -> int:
    """Refuse a container whose own method is given the items: it may do something else than to add each.

    Args:
        container: The container; if it is missing, Python raises before it computes an item.
        method: The method.
    """
    if isinstance(container, Collection):
        return 0
    names = [method, "append"] if method == "extend" else [method]
    if not any(own_method(container, name) for name in names):
        return 0
    raise BatchTypeError(
        f"`{method}` of a {type(container).__name__!r} is given a generator, whose items may depend on what it holds, "
        "or raise",
        help="make a list of the items first, as in `found = [… for …]`.",
    )


def take_out(container: Any, key: Any) -> None:
    """``del container[key]``."""
    needed(container, TypeError, "'NoneType' object doesn't support item deletion")
    container = content(container, "__delitem__")
    if not hasattr(getattr(container, "python", container), "__delitem__") and not (
        is_array(container) and container.ndim
    ):
        raise TypeError(f"{type_of(container).__name__!r} object doesn't support item deletion")
    parts = (key.start, key.stop, key.step) if isinstance(key, slice) else key
    if type(container) is list and differs(parts):
        error = BatchTypeError(
            "`del` changes a list, at another place in each lane",
            help="give the list a name, and write `del` of a part of that.",
        )
        error.about = places_of(container) or type(container)
        raise error
    if own_method(container, "__delitem__"):
        raise own_method_error(container, "__delitem__", "takes out")
    if type(container) is dict:
        check_key(container, key)
    del container[key]


def _sort(items: list[Any], /, *, key: Any = None, reverse: bool = False) -> None:
    items[:] = sorted_by(list(items), list(items) if key is None else list(map(key, items)), reverse)


def _update(entries: dict[Any, Any], /, *others: Any, **named: Any) -> None:
    if not any(isinstance(other, Growing) for other in others):
        entries.update(*others, **named)
        return
    error = BatchTypeError(
        "a dict takes the entries of one whose keys differ between lanes",
        help="give the dict a name, and call `update` in a statement of its own.",
    )
    error.about = places_of(entries) or type(entries)
    raise error


def _of_sets(name: str) -> Function:
    """A method of a set that goes over other containers, which may have other members in each lane."""

    def apply(members: set[Any], *others: Any) -> Any:
        if not differs(others):
            return getattr(set, name)(members, *others)
        if not name.endswith("update"):
            return getattr(GrowingSet.of(members), name)(*others)
        error = BatchTypeError(
            "a set takes the members of a container that differs between lanes",
            help="give the set a name, and call the method in a statement of its own.",
        )
        error.about = places_of(members) or type(members)
        raise error

    return apply


_BETWEEN_SETS: Final = (
    *("union", "intersection", "difference", "symmetric_difference", "isdisjoint", "issubset", "issuperset"),
    *("update", "intersection_update", "difference_update", "symmetric_difference_update"),
)


def _grown(name: str) -> Function:
    """A method of a list at an index, or by a number of items, that differs between lanes: the list has to grow."""

    def apply(items: Any, *args: Any, **kwargs: Any) -> Any:
        stays = (
            not any(isinstance(arg, Collection) for arg in args)
            if name.startswith("extend")
            else not differs((args, kwargs))
        )
        if name != "remove" and stays:
            return getattr(type(items), name)(items, *args, **kwargs)
        error = BatchTypeError(
            f"`{name}` changes a list, at another place in each lane",
            help="give the list a name, and call the method in a statement of its own.",
        )
        error.about = places_of(items) or type(items)
        raise error

    return apply


def _by_key(name: str) -> Function:
    """A method of a set or a dict that looks up a key."""

    def apply(entries: Any, key: Any, *args: Any) -> Any:
        check_key(entries, key)
        return getattr(type(entries), name)(entries, key, *args)

    return apply


METHODS: Final[dict[tuple[type, str], Function]] = {
    **{(set, name): _by_key(name) for name in ("add", "discard", "remove")},
    **{(set, name): _of_sets(name) for name in _BETWEEN_SETS},
    **{(dict, name): _by_key(name) for name in ("pop", "setdefault")},
    (dict, "get"): _get,
    (dict, "update"): _update,
    **{(kind, name): _grown(name) for kind in (list, collections.deque) for name in ("remove", "insert", "extend")},
    (list, "pop"): _grown("pop"),
    (list, "sort"): _sort,
    **{(collections.deque, name): _grown(name) for name in ("rotate", "extendleft")},
    **{(kind, name): method for kind in (list, tuple) for name, method in (("index", index), ("count", count))},
}
"""Methods of containers, which get the container as their first argument."""
