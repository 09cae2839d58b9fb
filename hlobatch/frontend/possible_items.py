"""Items of a comprehension whose ``if`` differs between lanes -> items with a flag that says whether each exists.

::

    sum(x for x in xs if x > 0)      ==>      sum of Possible(x, is_there=x > 0)

Functions of all items, such as ``sum``, ``any`` and ``min``, leave out the items that do not exist. They make no list
of the others, since its length would differ between lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from hlobatch.diagnostics import MissingValueError, UnsupportedSyntaxError
from hlobatch.frontend.endless import finite
from hlobatch.frontend.lane_numbers import select
from hlobatch.frontend.sequences import both, either
from hlobatch.ir.choice import Choice
from hlobatch.values.growing_lists import GrowingList
from hlobatch.values.lane_failures import fails, given, where
from hlobatch.values.one_of import Rows


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class Possible:
    """An item, and whether it exists: a Python bool, or one that differs between lanes."""

    value: Any
    is_there: Any = True


def possible(conditions: Sequence[Any], item: Callable[[], Any]) -> Any:
    """An item that exists if all conditions hold, none of them known to be false; bare if all are known to hold."""
    is_there = both(conditions)
    with where(is_there):
        value = item()
    return value if is_there is True else Possible(value, is_there)


def possible_now(conditions: Sequence[Any], value: Any) -> Any:
    """An item as in ``possible``, whose value has been computed already."""
    return possible(conditions, lambda: value)


def items_of(iterable: Any) -> list[Possible]:
    """The items of an iterable, as ``Possible``."""
    if isinstance(iterable, Choice):
        rows = Rows.of(iterable)
        return [Possible(rows.item(place), rows.is_there(place)) for place in range(rows.most)]
    return list(_each(iterable))


def _each(iterable: Iterable[Any]) -> Iterator[Possible]:
    return (item if isinstance(item, Possible) else Possible(item) for item in finite(iterable))


def kept(item: Possible) -> Any:
    """The value of an item to be kept in a list; a lane fails in which it exists and is None."""
    with where(item.is_there):
        return given(item.value, MissingValueError, "an item of a list of the lane's length is None")


def in_use(items: Iterable[Possible]) -> tuple[list[Any], list[Any]]:
    """The values of items to be kept in a container, and the flags that say which exist."""
    known = list(items)
    return [kept(item) for item in known], [item.is_there for item in known]


def certain(items: Sequence[Possible]) -> bool:
    """Whether all items exist in every lane."""
    return all(item.is_there is True for item in items)


def first(items: Iterable[Any], *default: Any) -> Any:
    """``next`` of a comprehension: the first item that exists."""
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
    """The result of a comprehension that is kept, or used where the number of its items has to be known.

    Raises:
        UnsupportedSyntaxError: That number differs between lanes, and the comprehension is no list.
    """
    if isinstance(items, list) and any(isinstance(item, Possible) for item in items):
        return GrowingList.of_those_there(*in_use(_each(items)))
    if isinstance(items, Iterator):
        return map(_there, items)
    for item in items.values() if isinstance(items, dict) else items:
        _there(item)
    return items


def all_there(items: Any) -> Any:
    """The items of a comprehension that a container takes at once, as many as there are in a lane."""
    found = list(items)
    return whole(found) if any(isinstance(item, Possible) for item in found) else iter(found)


def _there(item: Any) -> Any:
    if isinstance(item, Possible):
        raise UnsupportedSyntaxError(
            "the `if` of this comprehension depends on the lane, and so would its length",
            help="go over it where it stands, as in `sum(x for x in items if x > 0)`: any, all, min, max and len leave "
            "out what is not there as well; or keep all items, `[x if x > 0 else 0 for x in items]`.",
        )
    return item
