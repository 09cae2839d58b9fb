"""Growing lists and deques: what the user's code is given, while it is traced, for those whose length differs by lane.

::

    stack = [(0, 0)]             stack = GrowingList(items=(i32[64], i32[64]), size=1)
    r, c = stack.pop()    ==>    r, c = the items at size - 1; size = size - 1
    stack.append((r, c))         the items at size = (r, c);   size = size + 1

A growing list lives as long as one statement: its methods replace its arrays, and after the statement the variable
holds the arrays that it has then. A list from whose beginning items are taken is a ring buffer (``rings.py``).
"""

from __future__ import annotations

from collections import deque
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp

from hlobatch._jax import is_tracer
from hlobatch.analysis import rows
from hlobatch.analysis.containers import SIZE, number
from hlobatch.analysis.lane_failures import fails
from hlobatch.analysis.one_of import held, ranked
from hlobatch.analysis.rings import Ring
from hlobatch.diagnostics import BatchTypeError, UnsupportedSyntaxError


@jax.tree_util.register_pytree_node_class
class GrowingList(Ring):
    """A list."""

    python: ClassVar[Any] = list

    # What it says

    def in_order(self) -> GrowingList:
        return self

    def equals(self, other: Any) -> Any:
        if not isinstance(other, GrowingList):
            if not isinstance(other, self.python):
                return False
            other = type(self).of(other)
        if other.items is None or self.items is None:
            return jnp.equal(other.length(), self.length())
        new = self.copy()
        new.make_room(other.kind)
        wide = other.copy()
        wide.make_room(new.kind)
        count = min(new.capacity, wide.capacity)
        order, same = jnp.arange(count), new.size == wide.size
        for leaf, its in zip(jax.tree.leaves(new.items), jax.tree.leaves(wide.items), strict=True):
            equal = (leaf[new.place(order)] == its[wide.place(order)]).reshape(count, -1)
            same &= jnp.all(jnp.all(equal, axis=1) | (order >= new.size))
        return same

    def index(self, item: Any) -> Any:
        """Where an item is first."""
        self.need("index of an item that is not in it", ValueError)
        found, place = rows.first(self.equal(item))
        fails(ValueError, f"{'x' if is_tracer(item) else item!r} is not in {self.name}", ~found)
        return number(place)

    def count(self, item: Any) -> Any:
        """How often an item is in it."""
        return 0 if self.items is None else number(jnp.sum(self.equal(item)))

    def item(self, key: Any) -> Any:
        if isinstance(key, slice):
            return self._slice(key)
        self.need(f"{self.name} index out of range")
        place = self.place(self.index_of(key))
        return self.taken(place)

    def turn(self, number: Any) -> Any:
        self.need("no item")
        return self.taken(self.place(number))

    # What changes it

    def append(self, value: Any) -> None:
        self.put_at_end(value)

    def pop(self, index: Any = -1) -> Any:
        self.need(f"pop from empty {self.name}")
        fails(IndexError, f"pop from empty {self.name}", self.size == 0)
        if type(index) is int and index == -1:
            return self.pop_last()
        if type(index) is int and index == 0:
            return self.pop_first()
        at, is_there = self.found_at(index, "pop index out of range")
        item = self.taken(self.place(at))
        self.remove_at(at, is_there)
        return item

    def insert(self, index: Any, value: Any) -> None:
        """Put an item before another; every item behind it moves."""
        if self.items is None:
            self.put_at_end(value)
            return
        at = self._bound(index, 0)
        self.put_at_end(value)
        order = jnp.arange(self.capacity)
        last = self.size - 1
        order = jnp.where(order == at, last, jnp.where((order > at) & (order <= last), order - 1, order))
        self.reorder(order)

    def remove(self, item: Any) -> None:
        """Take out the first item that equals another."""
        text = f"{self.name}.remove(x): x not in {self.name}"
        self.need(text, ValueError)
        found, place = rows.first(self.equal(item))
        fails(ValueError, text, ~found)
        self.remove_at(place, found)

    def extend(self, values: Any) -> None:
        if not isinstance(values, GrowingList):
            for value in values:
                self.put_at_end(value)
            return
        if values.items is None:
            return
        values = values.copy()
        self.make_room(values.kind, values.capacity)
        given, places = values.place(jnp.arange(values.capacity)), jnp.arange(values.capacity)
        self.check_room(self.size + values.size > self.capacity)
        targets = jnp.where(places < values.size, self.place(self.size + places), self.capacity)
        self.set_items(rows.put(self.items, targets, rows.rearranged(values.items, given)), [values.items])
        self.size = self.size + values.size

    def clear(self) -> None:
        if self.items is not None:
            self.size, self.start = jnp.int32(0), None if self.start is None else jnp.int32(0)

    def reverse(self) -> None:
        if self.items is not None:
            order = jnp.arange(self.capacity)
            self.reorder(jnp.where(order < self.size, self.size - 1 - order, order))

    def arrange(self, *, key: Any = None, reverse: bool = False) -> None:
        """Sort the items at once; equal ones keep their order."""
        if self.items is None:
            return
        keys = self.items if key is None else jax.vmap(key)(self.items)
        leaves = list(map(self.arranged, jax.tree.leaves(ranked(keys))))
        if any(leaf.ndim > 1 for leaf in leaves):
            raise BatchTypeError(
                "arrays are sorted, which have no order", help="sort by a number: `key=lambda a: a[0]`."
            )
        order = jnp.arange(self.capacity)
        if reverse:  # what is equal stays in the order that it was in
            leaves = [leaf[::-1] for leaf in leaves]
        beyond = order >= self.size
        found = jnp.lexsort([*leaves[::-1], beyond[::-1] if reverse else beyond])
        if reverse:
            found = self.capacity - 1 - found
            found = found[jnp.where(order < self.size, self.size - 1 - order, order)]
        self.reorder(found.astype(jnp.int32))

    def with_item(self, key: Any, value: Any, *, is_other: bool) -> GrowingList:
        if isinstance(key, slice):
            raise UnsupportedSyntaxError(
                f"a slice of a {self.name} is assigned to whose length differs between lanes",
                help="assign to one item after the other.",
            )
        self.need(f"{self.name} assignment index out of range")
        place, value = (
            self.place(self.index_of(key, f"{self.name} assignment index out of range")),
            held(value, self.kind),
        )
        new = self.copy()
        new.widen(rows.joined(self.kind, rows.kind_of(value)))
        new.set_items(rows.put(new.items, place, value), [value], are_others=is_other)
        return new

    def with_capacity(self, bound: int | None) -> GrowingList:
        """The container with room for some number of items, and for no more."""
        if self.items is None:
            return type(self)(bound=bound)
        kind = rows.rows_kind(self.kind, max(bound or 0, self.capacity))
        return type(self)(kind, SIZE, self.start, bound).hold(self)

    def __setitem__(self, key: Any, value: Any) -> None:
        new = self.with_item(key, value, is_other=True)
        self.items = new.items

    def __delitem__(self, key: Any) -> None:
        if isinstance(key, slice):
            self._take_out_slice(key)
            return
        self.need(f"{self.name} assignment index out of range")
        self.remove_at(*self.found_at(key, f"{self.name} assignment index out of range"))

    def __iadd__(self, values: Any) -> Self:
        self.extend(values)
        return self

    def __add__(self, values: Any) -> GrowingList:
        new = self.copy()
        new.extend(values)
        return new

    def __mul__(self, times: Any) -> GrowingList:
        new = self.copy()
        new *= times
        return new

    __rmul__ = __mul__

    def __imul__(self, times: Any) -> Self:
        if is_tracer(times):
            raise BatchTypeError(
                f"how often a {self.name} is repeated differs between lanes", help="write a loop with `extend`."
            )
        once = self.copy()
        if times <= 0:
            self.clear()
        for _ in range(times - 1):
            self.extend(once)
        return self

    def __radd__(self, values: Any) -> GrowingList:
        new = type(self).of(values)
        new.extend(self)
        return new

    def _take_out_slice(self, key: slice) -> None:
        """``del items[first:last]``: what comes behind moves up."""
        if key.step not in (None, 1):
            raise UnsupportedSyntaxError(
                f"a slice with a step is taken out of a {self.name} whose length differs between lanes",
                help="take out one item after the other in a loop.",
            )
        if self.items is not None:
            first, last = (self._bound(value, default) for value, default in ((key.start, 0), (key.stop, self.size)))
            count, order = jnp.maximum(last - first, 0), jnp.arange(self.capacity)
            self.reorder(jnp.minimum(jnp.where(order >= first, order + count, order), self.capacity - 1))
            self.size = self.size - count

    def _slice(self, key: slice) -> GrowingList:
        new = self.copy()
        if self.items is None:
            return new
        step = 1 if key.step is None else key.step
        if type(step) is not int or step not in (1, -1) or (step == -1 and (key.start, key.stop) != (None, None)):
            raise UnsupportedSyntaxError(
                f"a slice with a step of a {self.name} whose length differs between lanes",
                help="take one item after the other in a loop.",
            )
        if step == -1:
            new.reverse()
            return new
        first, last = (self._bound(value, default) for value, default in ((key.start, 0), (key.stop, self.size)))
        order = jnp.minimum(jnp.arange(self.capacity) + first, self.capacity - 1)
        new.reorder(order)
        new.size = jnp.maximum(last - first, 0)
        return new

    def _bound(self, value: Any, default: Any) -> Any:
        if value is None:
            return jnp.asarray(default, jnp.int32)
        return jnp.clip(jnp.where(value < 0, value + self.size, value), 0, self.size).astype(jnp.int32)


@jax.tree_util.register_pytree_node_class
class GrowingDeque(GrowingList):
    """A ``collections.deque``."""

    python = deque

    def popleft(self) -> Any:
        self.need("pop from an empty deque")
        fails(IndexError, "pop from an empty deque", self.size == 0)
        return self.pop_first()

    def pop(self, index: Any = -1) -> Any:
        if not (type(index) is int and index == -1):
            raise TypeError("deque.pop() takes no arguments")
        self.need("pop from an empty deque")
        return super().pop()

    def appendleft(self, value: Any) -> None:
        self.make_room(rows.kind_of(value))
        self.check_room(self.size >= self.capacity)
        start = jnp.int32(0) if self.start is None else self.start
        self.start = jnp.where(start == 0, self.capacity - 1, start - 1)
        self.set_items(rows.put(self.items, self.start, value), [value])
        self.size = self.size + 1

    def extendleft(self, values: Any) -> None:
        for value in values:
            self.appendleft(value)

    def rotate(self, n: Any = 1) -> None:
        if self.items is None:
            return
        order = jnp.arange(self.capacity)
        turned = (order - n) % jnp.maximum(self.size, 1)
        self.reorder(jnp.where(order < self.size, turned, order))
