"""Growing tables: keys, and values of one type, in rows of arrays; growing sets and dicts are tables.

::

    last[c] = i         the row with the key c, or the next row that is free, becomes (c, i)
    c in last           whether a row in use has the key c
    del last[c]         the rows behind that of c move up by one

Keys are numbers, or tuples of numbers. Rows are in the order in which keys were added, as in Python's dict, and a key
is looked for in all rows at once.

A table with ``TensorType`` in place of arrays is the type of a variable that holds a table.
"""

from __future__ import annotations

import collections
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final, Self

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch.diagnostics import BatchTypeError, UnsupportedSyntaxError
from hlobatch.ir.boxed import as_dict
from hlobatch.ir.growing import Growing
from hlobatch.ir.types import Static, Type
from hlobatch.values import rows
from hlobatch.values.containers import SIZE, Container, capacity, not_yet, static
from hlobatch.values.draws import is_users_class
from hlobatch.values.growing_lists import GrowingList
from hlobatch.values.held_classes import is_holding
from hlobatch.values.identity import holds, is_one_of
from hlobatch.values.kinds import Kinds, asked
from hlobatch.values.known_orders import check_order
from hlobatch.values.one_of import held
from hlobatch.values.whole_numbers import number

UNIT: Final = ()
"""The value of each key in a set."""
_UNHASHABLE: Final = (list, dict, set, bytearray, collections.deque)
"""Python's containers that are no keys."""


class Table(Container):
    """Rows of keys and values.

    Attributes:
        keys_: Rows for its keys; None as long as it has had no entry, so that their type is not known.
        values_: Rows for its values; no arrays in a set.
        size: The number of entries, ``i32[]``.
        bound: The capacity that the user gave it, or None.
        factory: Makes the value of a missing key, as in a ``defaultdict``; None if a missing key is an error.
    """

    differs = "keys differ"
    parts = "keys"
    arrays = ("keys", "values", "size")

    def __init__(
        self,
        keys: Any = None,
        values: Any = None,
        size: Any = None,
        bound: int | None = None,
        factory: Callable[[], Any] | None = None,
    ) -> None:
        self.keys_, self.values_, self.size, self.bound, self.factory = keys, values, size, bound, factory

    def tree_flatten(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        return (self.keys_, self.values_, self.size), (self.keys_ is not None, self.bound, self.factory)

    @classmethod
    def tree_unflatten(cls, data: tuple[Any, ...], children: Any) -> Self:
        keys, values, size = children
        return cls(keys, values, size, *data[1:])

    @classmethod
    def of(cls, entries: Any, bound: int | None = None, factory: Any = None) -> Self:
        """A table of the entries of a Python container, or of pairs, whose keys may differ between lanes."""
        new = cls(bound=bound, factory=getattr(entries, "default_factory", factory))
        for key, value in _in_order(entries):
            new.make_room(rows.kind_of(key), type_of_value(value), len(entries))
            new.put(key, value, checks=False)
        return new

    # A table as a type

    def together(self, other: Any) -> Self:
        above: Any = as_dict(other)
        held = above.value if isinstance(above, Static) else above
        if type(held) is self.python:
            above = type(self).type_of(above)
        if type(above) is not type(self):
            raise BatchTypeError(f"one is a {self.name} whose keys differ between lanes, the other {Type(other)}")
        bound = max((side.bound for side in (self, above) if side.bound is not None), default=None)
        known = [side for side in (self, above) if side.keys_ is not None]
        factory = self.factory or above.factory
        if not known:
            return type(self)(size=self.size or above.size, bound=bound, factory=factory)
        kinds = [known[0].key_kind, known[0].value_kind]
        if len(known) > 1:
            kinds = [rows.joined(kinds[0], known[1].key_kind), _joined(kinds[1], known[1].value_kind)]
        room = max(side.capacity for side in known)
        return type(self)(rows.rows_kind(kinds[0], room), rows.rows_kind(kinds[1], room), SIZE, bound, factory)

    @classmethod
    def can_hold(cls, entries: Any) -> bool:
        held = entries.value if isinstance(entries, Static) else entries
        return all(isinstance(part, (int, float, str)) for part in jax.tree.leaves(list(held)))

    @classmethod
    def type_of(cls, entries: Any, bound: int | None = None) -> Self:
        if isinstance(entries, Static):
            entries = entries.value
            if isinstance(entries, dict):
                entries = {key: static(value) for key, value in entries.items()}
        factory = getattr(entries, "default_factory", None)
        pairs = _pairs(entries)
        if not pairs:
            return cls(bound=bound, factory=factory)
        key, value = (rows.kind_of(static(pairs[0][0])), type_of_value(pairs[0][1]))
        for one, other in pairs[1:]:
            key, value = rows.joined(key, rows.kind_of(static(one))), _joined(value, type_of_value(other))
        room = capacity(key, len(pairs), bound)
        return cls(rows.rows_kind(key, room), rows.rows_kind(value, room), SIZE, bound, factory)

    def with_items(self, other: Callable[[Any], Any]) -> Self:
        if self.keys_ is None or self.value_kind == UNIT:
            return self
        values = rows.rows_kind(other(self.value_kind), self.capacity)
        return type(self)(self.keys_, values, self.size, self.bound, self.factory)

    def counted(self) -> Self:
        return self if self.keys_ is not None else type(self)(size=SIZE, bound=self.bound, factory=self.factory)

    def hold(self, value: Any) -> Self:
        if self.keys_ is None:
            return type(self)(size=self.size and jnp.int32(0), bound=self.bound, factory=self.factory)
        if isinstance(value, Table) and value.keys_ is not None:
            keys = rows.converted(value.keys_, self.key_kind, self.capacity, adopts=False)
            values = rows.converted(value.values_, self.value_kind, self.capacity, adopts=False)
            return type(self)(keys, values, value.size, self.bound, self.factory)
        pairs = [] if isinstance(value, Table) else _in_order(as_dict(value))
        keys, values = (rows.empty(kind, self.capacity) for kind in (self.key_kind, self.value_kind))
        for place, (one, other) in enumerate(pairs):
            keys, values = rows.put(keys, place, one), rows.put(values, place, other)
        return type(self)(keys, values, jnp.int32(len(pairs)), self.bound, self.factory)

    @property
    def key_kind(self) -> Any:
        """The type of a key."""
        return rows.row_kind(self.keys_)

    @property
    def value_kind(self) -> Any:
        """The type of a value."""
        return rows.row_kind(self.values_)

    @property
    def capacity(self) -> int:
        """The number of entries that it has room for."""
        return rows.capacity_of(self.keys_)

    # Questions about the table

    def length(self) -> Any:
        return 0 if self.keys_ is None else number(self.size)

    def contains(self, item: Any) -> Any:
        return False if self.keys_ is None else self.find(item)[0]

    def equals(self, other: Any) -> Any:
        raise UnsupportedSyntaxError(
            f"a {self.name} whose keys differ between lanes is compared", help="compare what is in them, key by key."
        )

    def turn(self, number: Any) -> Any:
        if self.keys_ is None:
            raise not_yet(KeyError, "there is no key")
        return rows.taken(self.keys_, number)

    def item(self, key: Any) -> Any:
        raise TypeError(f"{self.name!r} object is not subscriptable")

    def with_item(self, key: Any, value: Any, *, is_other: bool) -> Growing:
        raise TypeError(f"{self.name!r} object does not support item assignment")

    def contents(self) -> Any:
        return self.keys_, self.values_

    def hb_known(self, known: Callable[[Any], Any]) -> Any:
        made = self.python() if self.factory is None else self.python(self.factory)
        for place in range(0 if self.keys_ is None else int(self.size)):
            key = known(jax.tree.map(lambda leaf, place=place: _in_row(leaf, place), self.keys_))
            if isinstance(made, set):
                made.add(key)
            else:
                made[key] = known(jax.tree.map(operator.itemgetter(place), self.values_))
        return made

    def with_capacity(self, bound: int | None) -> Self:
        if self.keys_ is None:
            return type(self)(bound=bound, factory=self.factory)
        room = max(bound or 0, self.capacity)
        keys, values = (rows.rows_kind(kind, room) for kind in (self.key_kind, self.value_kind))
        return type(self)(keys, values, SIZE, bound, self.factory).hold(self)

    def copy(self) -> Self:
        """Another table with the same entries."""
        return type(self)(self.keys_, self.values_, self.size, self.bound, self.factory)

    def in_order(self) -> GrowingList:
        """Its keys as a list."""
        return GrowingList(self.keys_, self.size, None, self.bound)

    def __contains__(self, item: Any) -> bool:
        raise UnsupportedSyntaxError(
            f"a Python `if` asks what is in a {self.name} whose keys differ between lanes",
            help="decorate the function that contains it with @hb.batch.",
        )

    # Changes of the table

    def clear(self) -> None:
        if self.keys_ is not None:
            self.size = jnp.int32(0)

    @classmethod
    def of_those_there(cls, entries: Any, there: Any) -> Self:
        """A table of those entries whose flag in ``there`` is set."""
        new = cls()
        pairs = [entry if cls.python is not set else (entry, UNIT) for entry in entries]
        for (key, value), is_there in zip(pairs, there, strict=True):
            new.make_room(rows.kind_of(key), type_of_value(value), len(pairs))
            new.put(key, value, checks=False, there=is_there)
        return new

    @classmethod
    def gathered(cls, items: GrowingList, entry: Callable[[Self, Any], Any], value: Any) -> Self:
        """A table made of the items of a list, one after the other.

        Args:
            items: The list.
            entry: Puts one item into the table.
            value: The type of the values.
        """
        new = cls()
        if items.items is None:
            return new
        new.make_room(items.kind, value, items.capacity)
        new._one_by_one(items.capacity, items.size, lambda part, turn: entry(part, items.at(turn)))
        return new

    def merge(self, other: Table) -> None:
        """Put the entries of another table into this one."""
        if other.keys_ is None:
            return
        keys, values = other.keys_, other.values_
        self.make_room(other.key_kind, other.value_kind, other.capacity)

        def entry(part: Self, turn: Any) -> None:
            part.put(rows.taken(keys, turn), rows.taken(values, turn), checks=False)

        before = self.values_
        self._one_by_one(other.capacity, other.size, entry)
        holds(self.values_, [before, values])
        self.check_room(self.size > self.capacity)

    def _one_by_one(self, most: int, count: Any, entry: Callable[[Self, Any], None]) -> None:
        """Call ``entry`` for the turns 0 to ``count``, at most ``most``; it may change entries, but not their types."""

        def step(turn: Any, state: Any) -> Any:
            part = type(self)(*state)
            entry(part, turn)
            after = (part.keys_, part.values_, part.size)
            return jax.tree.map(lambda a, b: jnp.where(turn < count, a, b), after, state)

        self.keys_, self.values_, self.size = jax.lax.fori_loop(0, most, step, (self.keys_, self.values_, self.size))

    # How entries are stored

    def make_room(self, key: Any, value: Any, more: int = 1) -> None:
        """Widen the types of keys and values to include some types; make rows if there are none."""
        if self.keys_ is None:
            room = capacity(key, more, self.bound)
            self.keys_, self.values_, self.size = rows.empty(key, room), rows.empty(value, room), jnp.int32(0)
            return
        key, value = rows.joined(self.key_kind, key), _joined(self.value_kind, value)
        if Type(key) != Type(self.key_kind):
            self.keys_ = rows.converted(self.keys_, key, self.capacity)
        if Type(value) != Type(self.value_kind):
            self.values_ = rows.converted(self.values_, value, self.capacity)

    def find(self, key: Any) -> tuple[Any, Any]:
        """Whether a key is in the table, and its row; row 0 if it is not."""
        check_hashable(key)
        key = held(key, self.key_kind, is_sought=True)
        if rows.has_arrays(self.keys_):
            raise BatchTypeError(f"the keys of a {self.name} are arrays", help="use numbers, or tuples of them.")
        same = rows.equal(self.keys_, key)
        if same is None:
            return jnp.bool_(False), jnp.int32(0)
        return rows.first(same & self.in_use())

    def put(self, key: Any, value: Any, *, checks: bool = True, there: Any = True, is_other: bool = True) -> None:
        check_hashable(key)
        if self.keys_ is not None:
            key, value = held(key, self.key_kind), held(value, self.value_kind)
        self.make_room(rows.kind_of(key), type_of_value(value))
        found, place = self.find(key)
        if checks:
            self.check_room(~found & (self.size >= self.capacity))
        place = jnp.where(found, place, self.size)
        if there is not True:
            place, found = jnp.where(there, place, self.capacity), found | ~jnp.asarray(there)
        before = self.values_
        self.keys_, self.values_ = rows.put(self.keys_, place, key), rows.put(self.values_, place, value)
        (holds if is_other else is_one_of)(self.values_, [before, value])
        self.size = self.size + ~found

    def keep(self, kept: Any) -> None:
        """Keep the entries in the rows of a mask alone, in order."""
        order = rows.those_first(kept)
        self.keys_, self.values_ = rows.rearranged(self.keys_, order), rows.rearranged(self.values_, order)
        self.size = jnp.sum(kept, dtype=jnp.int32)

    def take_out(self, place: Any, found: Any) -> None:
        """Remove the entry in a row, in lanes where ``found`` holds; rows after it move up."""
        order = jnp.arange(self.capacity)
        order = jnp.minimum(jnp.where(found & (order >= place), order + 1, order), self.capacity - 1)
        self.keys_, self.values_ = rows.rearranged(self.keys_, order), rows.rearranged(self.values_, order)
        self.size = self.size - found


def check_hashable(key: Any) -> None:
    """Refuse a key that Python cannot hash: a container that may change, or an object that only ``__eq__`` compares.

    Args:
        key: The key, which is refused if it is a tuple of such a key, too.

    Raises:
        BatchTypeError: The key is one.
        Learned: The key is of one of several kinds, for each of which the statement has to be lowered.
    """
    if isinstance(key, Kinds):
        asked(key)
    if isinstance(key, tuple):
        for part in key:
            check_hashable(part)
    kind = key.python if isinstance(key, Growing) else type(key)
    kind = getattr(kind, "hb_stands_for", kind)  # the class of an object that is held in columns
    if issubclass(kind, _UNHASHABLE) or (kind.__hash__ is None and is_users_class(kind)):
        raise BatchTypeError(
            f"TypeError: unhashable type: '{kind.__name__}'", help="keys are numbers, texts, and tuples of them."
        )


def _in_row(leaf: Any, place: int) -> Any:
    """A Python number in a row of numbers, or the codes of a text in a row of texts."""
    found = np.asarray(leaf)[place]
    return found if found.ndim else found.item()


def _pairs(entries: Any) -> list[tuple[Any, Any]]:
    """Pairs of a key and its value; ``UNIT`` is the value in a set."""
    return list(entries.items()) if isinstance(entries, Mapping) else [(key, UNIT) for key in entries]


def _in_order(entries: Any) -> list[tuple[Any, Any]]:
    """The pairs that become the rows of a table, whose order is that of the dict.

    Raises:
        BatchTypeError: The keys of the dict are in different orders on two paths.
    """
    if isinstance(entries, dict):
        check_order(entries, "changes, or keeps in a container or an object,")
    return _pairs(entries)


def type_of_value(value: Any) -> Any:
    """The type of a value; a table whose values are all None, like a set, has keys alone."""
    return value if value is UNIT or (value is None and not is_holding()) else rows.kind_of(value)


def _joined(left: Any, right: Any) -> Any:
    if Type(left) == Type(right) and Type(left) in (Type(UNIT), Type(None)):
        return left
    return rows.joined(left, right)
