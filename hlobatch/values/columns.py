"""Columns: for each attribute of objects that refer to each other, the rows of its values, by the objects' numbers.

::

    head = Node(v, head)        number = made = made + 1;  val[number] = v;  next[number] = head
    head = head.next      ==>   head = next[head.number]

A column is a growing list that has a row for whatever number is written, and whose length nobody asks for. Row 0 is
that of None: a lane that reads it has failed.
"""

from __future__ import annotations

from typing import Any, Final

import jax
import jax.numpy as jnp

from hlobatch.diagnostics import BatchTypeError, CapacityError, MissingValueError, UnsupportedSyntaxError, as_also
from hlobatch.ir.reference import Nothing
from hlobatch.values import own_containers, rows
from hlobatch.values.facts import Learned, NotYet, Site
from hlobatch.values.growing_lists import GrowingList
from hlobatch.values.held_classes import BelongsTo, families, family, held_class, is_held, new
from hlobatch.values.held_classes import held as held_in_columns
from hlobatch.values.holders import is_content
from hlobatch.values.kinds import Kinds, asked
from hlobatch.values.lane_failures import fails
from hlobatch.values.one_of import held

_FULL: Final = "there are more objects that refer to each other than there is room for: call the function by itself, "
_FULL_HELP: Final = "outside of `jax.jit`, which gives them more room"


@jax.tree_util.register_pytree_with_keys_class
class Column(GrowingList):
    """The values of one attribute, of all objects that have it."""

    def item(self, key: Any) -> Any:
        self.need("an attribute is read before any object has been made", AttributeError)
        return self.taken(jnp.clip(key, 0, self.capacity - 1))

    def with_item(self, key: Any, value: Any, *, is_other: bool) -> Column:
        changed = self.copy()
        value = value if self.items is None else held(value, self.kind)
        changed.make_room(rows.kind_of(value))
        fails(CapacityError, _FULL + _FULL_HELP, key >= changed.capacity, True)
        changed.set_items(rows.put(changed.items, key, value), [value], are_others=is_other)
        changed.size = jnp.maximum(changed.size, key + 1)
        return changed


Place = tuple[str, int, int, int, int]
"""The file of an attribute, and the line and column of its beginning and end."""


def site_of(place: Any) -> Any:
    """The site of facts about the attribute at a place, or the place of a site."""
    if isinstance(place, Site):
        return (place.function[1], *place.span)  # type: ignore[index]
    return Site((BelongsTo, place[0]), (), place[1:])


def row(value: Any, name: str, place: Place, number: int) -> Any:
    """The row of an object in the column of an attribute.

    Args:
        value: The object.
        name: The name of the attribute.
        place: Where it is read or assigned.
        number: The number of the family of classes to which the column belongs.

    Raises:
        Learned: The object is of another family, or is not held in columns.
    """
    if isinstance(value, Kinds):
        asked(value)
    if is_content(name):
        return _row_of_container(value, name)
    if value is None or isinstance(value, Nothing):
        raise NotYet(as_also(BatchTypeError, AttributeError)(f"'NoneType' object has no attribute {name!r}"))
    if not is_held(value):
        raise Learned(site_of(place), BelongsTo(None))
    own = family(type(value))
    if name not in families()[own]:
        raise AttributeError(f"{type(value).__name__!r} object has no attribute {name!r}")
    if own is not list(families())[number]:
        raise Learned(site_of(place), BelongsTo(own))
    fails(AttributeError, f"'NoneType' object has no attribute {name!r}", jnp.equal(value.hb_number, 0))
    return value.hb_number


def _row_of_container(value: Any, name: str) -> Any:
    """The row of a holder in the column of containers."""
    if not is_held(value) or name not in families()[family(type(value))]:
        raise UnsupportedSyntaxError(
            "a container is held by reference here, and this is another object", help="give it a variable of its own."
        )
    known = held_in_columns()
    if known is not None and name in known.containers.may_be_none:
        fails(MissingValueError, "a container is None here", jnp.equal(value.hb_number, 0))
    return value.hb_number


def made(kind: Any, counts: Any) -> Any:
    """The new object of a class, before its ``__init__``; the number of objects has been counted up."""
    stand_in = held_class(kind)
    if stand_in is None and not isinstance(kind, type):
        raise UnsupportedSyntaxError(
            "which class an object is made of depends on the lane", help="make it in a branch for each class."
        )
    return own_containers.new(kind) if stand_in is None else new(stand_in, counts[0])


def none_made() -> Any:
    """The number of objects made so far, before any is made, as an array of one number."""
    return jnp.zeros(1, jnp.int32)
