"""Ring buffers: items of one type in rows of arrays, and the rows in use; growing lists and deques are rings.

::

    items  [capacity, *event]     …  c  d  .  .  .  a  b      start = capacity - 2, size = 4
    popleft()                     …  c  d  .  .  .  .  b      start = capacity - 1, size = 3

A ring has a ``start`` only if the program takes items from its beginning; all others begin at the first row. A ring
with ``TensorType`` in place of arrays is the type of a variable that holds a ring.

Invariant: rows that are not in use may hold anything; an operation on all rows masks them (``in_use``).
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import jax
import jax.numpy as jnp

from hlobatch._jax import weakly
from hlobatch.diagnostics import BatchTypeError
from hlobatch.ir.boxed import unboxed
from hlobatch.ir.types import Static, Type
from hlobatch.values import rows
from hlobatch.values.containers import SIZE, Container, capacity, not_yet, static
from hlobatch.values.identity import holds, is_one_of
from hlobatch.values.one_of import held
from hlobatch.values.whole_numbers import number


class Ring(Container):
    """Items in a ring. Its methods replace its arrays, which never change themselves.

    Attributes:
        items: Rows for its items; None as long as it has had no item, so that their type is not known.
        size: The number of items, ``i32[]``.
        start: The row of the first item, ``i32[]``; None if that is row 0.
        bound: The capacity that the user gave it, or None.
    """

    arrays = ("items", "size", "start")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, items: Any = None, size: Any = None, start: Any = None, bound: int | None = None) -> None:
        self.items, self.size, self.start, self.bound = items, size, start, bound

    def tree_flatten(self) -> tuple[tuple[Any, ...], tuple[bool, int | None]]:
        return (self.items, self.size, self.start), (self.items is not None, self.bound)

    @classmethod
    def tree_unflatten(cls, data: tuple[bool, int | None], children: Any) -> Self:
        items, size, start = children
        return cls(items, size, start, data[1])

    @classmethod
    def of(cls, values: Iterable[Any], bound: int | None = None) -> Self:
        """A ring of some values."""
        known = list(values)
        new = cls.type_of(known, bound).hold(known)
        if new.items is not None:
            holds(new.items, known)
        return new

    @classmethod
    def of_those_there(cls, values: Sequence[Any], there: Sequence[Any]) -> Self:
        """A ring of those values whose flag in ``there`` is set, in order."""
        new = cls.of(values)
        if new.items is None:
            return new
        flags = jnp.zeros(new.capacity, bool).at[: len(there)].set(jnp.stack(list(map(jnp.asarray, there))))
        order = rows.those_first(flags)
        return cls(rows.rearranged(new.items, order), jnp.sum(flags).astype(jnp.int32))

    @classmethod
    def one_of(cls, lists: Sequence[Any], index: Any) -> Self:
        """The list at an index that differs between lanes, of lists that have different lengths.

        Args:
            lists: The lists, Python's or growing.
            index: The index.
        """
        kinds = [rows.kind_of(one) if isinstance(one, Ring) else cls.type_of(one) for one in lists]
        whole = functools.reduce(lambda one, other: one.together(other), kinds)
        held = [whole.hold(one) for one in lists]
        return jax.tree.map(lambda *leaves: _one_of(leaves, index), *held)  # type: ignore[no-any-return]

    # A ring as a type

    def together(self, other: Any) -> Self:
        held = other.value if isinstance(other, Static) else other
        if isinstance(held, self.python):
            other = type(self).type_of(other)
        if type(other) is not type(self):
            raise BatchTypeError(f"one is a {self.name} whose length differs between lanes, the other {Type(other)}")
        bound = max((side.bound for side in (self, other) if side.bound is not None), default=None)
        known = [side for side in (self, other) if side.items is not None]
        if not known:
            return type(self)(size=self.size or other.size, bound=bound)
        kind = known[0].kind if len(known) == 1 else rows.joined(known[0].kind, known[1].kind)
        capacity = max(side.capacity for side in known)
        start = None if all(side.start is None for side in known) else SIZE
        return type(self)(rows.rows_kind(kind, capacity), SIZE, start, bound)

    @classmethod
    def can_hold(cls, values: Any) -> bool:  # noqa: ARG003  # whether its items are of one type is checked later
        return True

    @classmethod
    def type_of(cls, values: Any, bound: int | None = None) -> Self:
        values = list(map(static, values.value)) if isinstance(values, Static) else list(values)
        if not values:
            return cls(bound=bound)
        kind = rows.kind_of(values[0])
        for value in values[1:]:
            kind = rows.joined(kind, rows.kind_of(value))
        return cls(rows.rows_kind(kind, capacity(kind, len(values), bound)), SIZE, None, bound)

    def with_items(self, other: Callable[[Any], Any]) -> Self:
        if self.items is None:
            return self
        return type(self)(rows.rows_kind(other(self.kind), self.capacity), self.size, self.start, self.bound)

    def counted(self) -> Self:
        return self if self.items is not None else type(self)(size=SIZE, bound=self.bound)

    def hold(self, value: Any) -> Self:
        if self.items is None:
            return type(self)(size=self.size and jnp.int32(0), bound=self.bound)
        if not isinstance(value, Ring) or value.items is None:
            values = [] if isinstance(value, Ring) else list(value)
            items, size = rows.empty(self.kind, self.capacity), jnp.int32(len(values))
            for place, one in enumerate(values):
                items = rows.put(items, place, one)
        else:
            start, items, size = value.start, value.items, value.size
            # In a larger ring, items would wrap around at another row.
            if start is not None and value.capacity < self.capacity:
                items, start = rows.rearranged(items, value.place(jnp.arange(value.capacity))), None
            items = rows.converted(items, self.kind, self.capacity, adopts=False)
            if start is not None:
                return type(self)(items, size, start, self.bound)
        return type(self)(items, size, None if self.start is None else jnp.int32(0), self.bound)

    @property
    def kind(self) -> Any:
        """The type of an item."""
        return rows.row_kind(self.items)

    @property
    def capacity(self) -> int:
        """The number of items that it has room for."""
        return rows.capacity_of(self.items)

    def length(self) -> Any:
        return 0 if self.items is None else number(self.size)

    def hb_known(self, known: Callable[[Any], Any]) -> Any:
        if self.items is None:
            return self.python()
        first = 0 if self.start is None else int(self.start)
        places = ((first + number) % self.capacity for number in range(int(self.size)))
        return self.python(known(jax.tree.map(operator.itemgetter(place), self.items)) for place in places)

    def contents(self) -> Any:
        return jax.tree.map(self.arranged, self.items)

    def contains(self, item: Any) -> Any:
        return False if self.items is None else rows.first(self.equal(item))[0]

    def copy(self) -> Self:
        """Another ring with the same items."""
        return type(self)(self.items, self.size, self.start, self.bound)

    # For methods of subclasses

    def need(self, text: str, kind: type[Exception] = IndexError, *, in_lane: bool = False) -> None:
        """Raise ``NotYet`` if the type of the items is not known; ``kind`` and ``text`` say what is wrong then."""
        if self.items is None:
            raise not_yet(kind, text, in_lane=in_lane)

    def place(self, number: Any) -> Any:
        """The row of the item at a position from the beginning."""
        if self.start is None:
            return number
        place = self.start + number
        return jnp.where(place >= self.capacity, place - self.capacity, place)

    def taken(self, place: Any) -> Any:
        return rows.taken(self.items, place)

    def at(self, number: Any) -> Any:
        """The item at a position that is in range."""
        return rows.taken(self.items, self.place(number))

    def straighten(self) -> None:
        """Move the items so that the first is in row 0."""
        if self.items is not None and self.start is not None:
            self.reorder(jnp.arange(self.capacity))
            self.start = None

    def widen_for(self, item: Any) -> Any:
        """Widen the type of the items for one that is about to be stored; return that as it is stored."""
        self.widen(rows.joined(self.kind, rows.kind_of(item)))
        return unboxed(rows.stored(item, self.items))

    def set_items(self, items: Any, others: list[Any], *, are_others: bool = True) -> None:
        """Replace the rows; note that they hold the present items and ``others``, or else one of these as a whole."""
        (holds if are_others else is_one_of)(items, [self.items, *others])
        self.items = items

    def make_room(self, kind: Any, more: int = 1) -> None:
        """Widen the type of the items to include ``kind``; make rows for ``more`` items if there are none."""
        if self.items is None:
            self.items, self.size = rows.empty(kind, capacity(kind, more, self.bound)), jnp.int32(0)
        else:
            self.widen(rows.joined(self.kind, kind))

    def widen(self, kind: Any) -> None:
        if Type(kind) != Type(self.kind):
            self.items = rows.converted(self.items, kind, self.capacity)

    def put_at_end(self, value: Any) -> None:
        value = value if self.items is None else held(value, self.kind)
        self.make_room(rows.kind_of(value))
        self.check_room(self.size >= self.capacity)
        self.set_items(rows.put(self.items, self.place(self.size), value), [value])
        self.size = self.size + 1

    def pop_last(self) -> Any:
        """Remove the last item, if there is one, and return it."""
        last = jnp.maximum(self.size - 1, 0)
        item = self.taken(self.place(last))
        self.size = last
        return item

    def pop_first(self) -> Any:
        """Remove the first item, if there is one, and return it."""
        if self.start is None:
            self.start = jnp.int32(0)
        item = self.taken(self.start)
        self.start = self.place(1)
        self.size = jnp.maximum(self.size - 1, 0)
        return item

    def remove_at(self, at: Any, is_there: Any) -> None:
        """Remove the item at a position, in lanes where ``is_there`` holds."""
        order = jnp.arange(self.capacity)
        self.reorder(jnp.where(is_there & (order >= at), order + 1, order))
        self.size = self.size - jnp.int32(is_there)

    def reorder(self, numbers: Any) -> None:
        """Rearrange the items: the new ones are those at the positions ``numbers``, ``i32[capacity]``."""
        self.items = rows.rearranged(self.items, self.place(numbers) % self.capacity)
        self.start = None if self.start is None else jnp.int32(0)

    def arranged(self, leaf: Any) -> Any:
        """An array of rows in the order of the items."""
        return leaf if self.start is None else leaf[self.place(jnp.arange(self.capacity))]

    def in_turn(self, flags: Any) -> Any:
        """Flags of rows in the order of the items, and False behind the last: ``bool[capacity]``."""
        return self.in_use() & self.arranged(flags)

    def equal(self, item: Any) -> Any:
        """A mask of the items equal to ``item``, from the beginning: ``bool[capacity]``."""
        item = held(item, self.kind, is_sought=True)
        same = rows.equal(self.items, item)
        return jnp.zeros(self.capacity, bool) if same is None else self.in_turn(same)


def _one_of(leaves: Sequence[Any], index: Any) -> Any:
    """The array at an index, of arrays of one type."""
    found = jnp.stack(leaves)[index]
    return weakly(found, found.dtype) if all(getattr(leaf, "weak_type", False) for leaf in leaves) else found
