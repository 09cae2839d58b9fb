"""Items of a comprehension whose ``if`` differs between lanes -> items with a flag that says whether each is there.

::

    sum(x for x in xs if x > 0)      ==>      sum of Possible(x, is_there=x > 0)

Functions that go over items, such as ``sum``, ``any`` and ``min``, leave out the items that are not there. They make no
list of the others, as its length would differ between lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from hlobatch.analysis.growing_lists import GrowingList
from hlobatch.analysis.lane_failures import fails, given, where
from hlobatch.analysis.one_of import Rows
from hlobatch.diagnostics import MissingValueError, UnsupportedSyntaxError
from hlobatch.frontend.endless import finite
from hlobatch.frontend.lane_numbers import select
from hlobatch.frontend.sequences import both, either
from hlobatch.ir.choice import Choice


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class Possible:
    """An item, and whether it is there: a bool, or one that differs between lanes."""

    value: Any
    is_there: Any = True


def possible(conditions: Sequence[Any], item: Callable[[], Any]) -> Any:
    """An item under conditions, none of which is known not to hold; the item itself if all are known to."""
    is_there = both(conditions)
    with where(is_there):
        value = item()
    return value if is_there is True else Possible(value, is_there)


def possible_now(conditions: Sequence[Any], value: Any) -> Any:
    """An item under conditions, as ``possible`` gives it, whose value has been computed already."""
    return possible(conditions, lambda: value)


def items_of(iterable: Any) -> list[Possible]:
    """The items of what is gone over."""
    if isinstance(iterable, Choice):
        rows = Rows.of(iterable)
        return [Possible(rows.item(place), rows.is_there(place)) for place in range(rows.most)]
    return list(_each(iterable))


def _each(iterable: Iterable[Any]) -> Iterator[Possible]:
    return (item if isinstance(item, Possible) else Possible(item) for item in finite(iterable))


def kept(item: Possible) -> Any:
    """The value of an item that a list keeps: lanes fail in which it is there, and is None."""
    with where(item.is_there):
        return given(item.value, MissingValueError, "an item of a list of the lane's length is None")


def certain(items: Sequence[Possible]) -> bool:
    """Whether all items are there."""
    return all(item.is_there is True for item in items)


def first(items: Iterable[Any], *default: Any) -> Any:
    """``next`` of a comprehension: the first item that is there."""
    known = list[Possible]()
    for item in _each(items):
        known.append(item)
        if item.is_there is True:
            break
    is_certain = bool(known) and known[-1].is_there is True
    if not known or (not is_certain and default):
        known.append(Possible(next(iter(()), *default)))
    elif not is_certain:
        fails(StopIteration, "there is no next item", jnp.logical_not(either(item.is_there for item in known)))
    result = known[-1].value
    for item in reversed(known[:-1]):
        result = select(item.is_there, item.value, result)
    return result


def whole(items: Any) -> Any:
    """What a comprehension gives where it is kept, or used where the number of its items has to be known.

    Raises:
        UnsupportedSyntaxError: That differs between lanes, and it is no list.
    """
    if isinstance(items, list) and any(isinstance(item, Possible) for item in items):
        known = list(_each(items))
        return GrowingList.of_those_there([kept(item) for item in known], [item.is_there for item in known])
    if isinstance(items, Iterator):
        return map(_there, items)
    for item in items.values() if isinstance(items, dict) else items:
        _there(item)
    return items


def _there(item: Any) -> Any:
    if isinstance(item, Possible):
        raise UnsupportedSyntaxError(
            "the `if` of this comprehension depends on the lane, and so would its length",
            help="go over it where it stands, as in `sum(x for x in items if x > 0)`: any, all, min, max and len leave "
            "out what is not there as well; or keep all items, `[x if x > 0 else 0 for x in items]`.",
        )
    return item
