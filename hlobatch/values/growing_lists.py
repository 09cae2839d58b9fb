"""Growing lists and deques: stand-ins for those whose length differs between lanes, while the user's code is traced.

::

    stack = [(0, 0)]             stack = GrowingList(items=(i32[64], i32[64]), size=1)
    r, c = stack.pop()    ==>    r, c = the items at size - 1; size = size - 1
    stack.append((r, c))         the items at size = (r, c);   size = size + 1

A growing list lives as long as one statement: its methods replace its arrays, and after the statement the variable
holds the arrays that it has then. A list from whose beginning items are taken is a ring buffer (``rings.py``).
"""

from __future__ import annotations

import functools
import operator
import sys
from collections import deque
from collections.abc import Callable
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch._jax import is_tracer
from hlobatch.diagnostics import BatchTypeError, UnsupportedSyntaxError
from hlobatch.ir.types import Static
from hlobatch.ir.value import Collection
from hlobatch.values import rows
from hlobatch.values.containers import SIZE, capacity
from hlobatch.values.identity import holds, is_one_of
from hlobatch.values.kinds import kind_of_value
from hlobatch.values.lane_failures import fails
from hlobatch.values.one_of import held, ranked
from hlobatch.values.rings import Ring
from hlobatch.values.whole_numbers import number


@jax.tree_util.register_pytree_with_keys_class
class GrowingList(Ring):
    """A list."""

    python: ClassVar[Any] = list

    # Questions about the list

    def in_order(self) -> GrowingList:
        return self

    def equals(self, other: Any) -> Any:
        if not isinstance(other, GrowingList):
            if isinstance(other, tuple):
                raise BatchTypeError(
                    "a list whose length differs between lanes, as those that `*` and `zip(*rows)` give in place of "
                    "tuples, is compared with a tuple",
                    help="compare with a list, or compare the items.",
                )
            if not isinstance(other, self.python):
                return False
            other = type(self).of(other)
        if other.items is None or self.items is None:
            return jnp.equal(other.length(), self.length())
        rows.check_equality(self.items)
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

    def ordered(self, operation: str, other: Any) -> Any:
        """A comparison by order: ``lt``, ``le``, ``gt`` or ``ge``."""
        if not isinstance(other, (self.python, type(self))):
            signs, name = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}, getattr(other, "python", type(other)).__name__
            raise TypeError(f"'{signs[operation]}' not supported between instances of '{self.name}' and '{name}'")
        other = other if isinstance(other, type(self)) else type(self).of(other)
        compare = getattr(operator, operation)
        by_length = compare(self.length(), other.length())
        if self.items is None or other.items is None:
            return by_length
        one, two = self.copy(), other.copy()
        one.make_room(two.kind)
        two.make_room(one.kind)
        count = min(one.capacity, two.capacity)
        turns = jnp.arange(count)
        sides = [rows.columns_of(rows.rearranged(side.items, side.place(turns))) for side in (one, two)]
        columns = list(zip(*sides, strict=True))
        is_other = functools.reduce(operator.or_, [left != right for left, right in columns])
        differs, place = rows.first(is_other & (turns < one.size) & (turns < two.size))
        decided = jnp.bool_(False)
        for left, right in reversed(columns):
            left, right = left[place], right[place]
            decided = jnp.where(left != right, compare(left, right), decided)
        return jnp.where(differs, decided, by_length)

    def index(self, item: Any, start: Any = 0, stop: Any = sys.maxsize, /) -> Any:
        """The index of the first item that equals ``item``, among those from ``start`` to ``stop``."""
        self.need("index of an item that is not in it", ValueError, in_lane=True)
        among, order = self.equal(item), jnp.arange(self.capacity)
        if type(start) is not int or start != 0:
            among &= order >= self.bounded(start, 0)
        if type(stop) is not int or stop != sys.maxsize:
            among &= order < self.bounded(stop, self.size)
        found, place = rows.first(among)
        fails(ValueError, f"{'x' if is_tracer(item) else item!r} is not in {self.name}", ~found)
        return number(place)

    def count(self, item: Any) -> Any:
        """The number of items that equal ``item``."""
        return 0 if self.items is None else number(jnp.sum(self.equal(item)))

    def item(self, key: Any) -> Any:
        if isinstance(key, slice):
            return self._slice(key)
        self.need(f"{self.name} index out of range", in_lane=True)
        place = self.place(self.index_of(key))
        return self.taken(place)

    def turn(self, number: Any) -> Any:
        self.need("no item")
        return self.taken(self.place(number))

    # Changes of the list

    def append(self, value: Any) -> None:
        self.put_at_end(value)

    def pop(self, index: Any = -1) -> Any:
        self.need(f"pop from empty {self.name}", in_lane=True)
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
        """Insert an item before the one at ``index``; all items after it move by one."""
        if self.items is None:
            self.put_at_end(value)
            return
        at = self.bounded(index, 0)
        self.put_at_end(value)
        order = jnp.arange(self.capacity)
        last = self.size - 1
        order = jnp.where(order == at, last, jnp.where((order > at) & (order <= last), order - 1, order))
        self.reorder(order)

    def remove(self, item: Any) -> None:
        """Remove the first item that equals ``item``."""
        text = f"{self.name}.remove(x): x not in {self.name}"
        self.need(text, ValueError, in_lane=True)
        found, place = rows.first(self.equal(item))
        fails(ValueError, text, ~found)
        self.remove_at(place, found)

    def extend(self, values: Any) -> None:
        if not isinstance(values, Collection):
            for value in values:
                self.put_at_end(value)
            return
        values = self._listed(values).copy()
        if values.items is None:
            return
        self.make_room(values.kind, values.capacity)
        given, places = values.place(jnp.arange(values.capacity)), jnp.arange(values.capacity)
        self.check_room(self.size + values.size > self.capacity)
        targets = jnp.where(places < values.size, self.place(self.size + places), self.capacity)
        self.set_items(rows.put_all(self.items, targets, rows.rearranged(values.items, given)), [values.items])
        self.size = self.size + values.size

    def clear(self) -> None:
        if self.items is not None:
            self.size, self.start = jnp.int32(0), None if self.start is None else jnp.int32(0)

    def reverse(self) -> None:
        if self.items is not None:
            order = jnp.arange(self.capacity)
            self.reorder(jnp.where(order < self.size, self.size - 1 - order, order))

    def arrange(self, *, key: Any = None, reverse: bool = False) -> None:
        """Sort the items in place; equal items keep their order."""
        if self.items is None:
            return
        keys = rows.keys_of_order(self.items, key, self.in_turn)
        leaves = list(map(self.arranged, jax.tree.leaves(ranked(keys))))
        if any(leaf.ndim > 1 for leaf in leaves):
            raise BatchTypeError(
                "arrays are sorted, which have no order", help="sort by a number: `key=lambda a: a[0]`."
            )
        order = jnp.arange(self.capacity)
        if reverse:  # equal items keep their order
            leaves = [leaf[::-1] for leaf in leaves]
        beyond = order >= self.size
        found = jnp.lexsort([*leaves[::-1], beyond[::-1] if reverse else beyond])
        if reverse:  # from ascending to descending order, for the items in use
            found = self.capacity - 1 - found
            found = found[jnp.where(order < self.size, self.size - 1 - order, order)]
        self.reorder(found.astype(jnp.int32))

    def with_item(self, key: Any, value: Any, *, is_other: bool) -> GrowingList:
        if isinstance(key, slice):
            return self._with_slice(key, value)
        self.need(f"{self.name} assignment index out of range", in_lane=True)
        place, value = (
            self.place(self.index_of(key, f"{self.name} assignment index out of range")),
            held(value, self.kind),
        )
        new = self.copy()
        new.widen(rows.joined(self.kind, rows.kind_of(value)))
        new.set_items(rows.put(new.items, place, value), [value], are_others=is_other)
        return new

    def with_capacity(self, bound: int | None) -> GrowingList:
        """The container with the capacity ``bound``, or unbounded if that is None."""
        if self.items is None:
            return type(self)(bound=bound)
        kind = rows.rows_kind(self.kind, max(bound or 0, self.capacity))
        return type(self)(kind, SIZE, self.start, bound).hold(self)

    def __setitem__(self, key: Any, value: Any) -> None:
        new = self.with_item(key, value, is_other=True)
        self.items, self.size = new.items, new.size

    def __delitem__(self, key: Any) -> None:
        if isinstance(key, slice):
            self._take_out_slice(key)
            return
        self.need(f"{self.name} assignment index out of range", in_lane=True)
        self.remove_at(*self.found_at(key, f"{self.name} assignment index out of range"))

    def __iadd__(self, values: Any) -> Self:
        self.extend(values)
        return self

    def __add__(self, values: Any) -> GrowingList:
        self._check_kind(values)
        new = self.copy()
        new.extend(values)
        return new

    def __mul__(self, times: Any) -> GrowingList:
        new = self.copy()
        new._repeated(times)
        return new

    __rmul__ = __mul__

    def __imul__(self, times: Any) -> Self:
        self._repeated(times)
        return self

    def __radd__(self, values: Any) -> GrowingList:
        self._check_kind(values)
        new = type(self).of(values)
        new.extend(self)
        return new

    def _check_kind(self, other: Any) -> None:
        """Refuse the other operand of `+`, which joins containers of one kind alone.

        Raises:
            BatchTypeError: It is a tuple, and the list may stand for one, as the list of all arguments does that a
                function is given by `*`; or it is an array, with which NumPy adds item by item.
            TypeError: Python raises it.
        """
        kind = getattr(other, "python", type(other))
        if issubclass(kind, self.python):
            return
        is_array = isinstance(other, (jax.Array, np.ndarray))
        if kind is tuple or (is_array and other.ndim):
            raise BatchTypeError(
                f"`+` joins a {self.name} of the lane's length and {'an array' if is_array else 'a tuple'}",
                help="write `[*a, *b]` for the items of both; a `for` for the sums of items.",
            )
        kind = kind_of_value(other) if is_array else kind
        raise TypeError(f'can only concatenate {self.name} (not "{kind.__name__}") to {self.name}')

    def _repeated(self, times: Any) -> None:
        """Repeat the items ``times`` times."""
        kind = jnp.result_type(times)
        if kind != jnp.bool_ and not jnp.issubdtype(kind, jnp.integer):
            raise TypeError(f"can't multiply sequence by non-int of type '{kind}'")
        if self.items is None:
            return
        once, room = jnp.maximum(self.size, 1), self.capacity // jnp.maximum(self.size, 1)
        times = jnp.clip(times, 0, self.capacity + 1).astype(jnp.int32)
        self.check_room((self.size > 0) & (times > room))
        before = self.items
        self.reorder(jnp.arange(self.capacity) % once)
        holds(self.items, [before, before])
        self.size = jnp.minimum(times, room) * self.size

    def _take_out_slice(self, key: slice) -> None:
        """``del items[first:last:step]``: items behind the slice move up."""
        if self.items is None:
            return
        first, step, count = self.span(key)
        order = jnp.arange(self.capacity)
        if _is_one(key.step):
            self.reorder(jnp.minimum(jnp.where(order >= first, order + count, order), self.capacity - 1))
        else:
            turn = (order - first) // step
            stays = ((order - first) % step != 0) | (turn < 0) | (turn >= count)
            self.reorder(rows.those_first(stays & self.in_use()))
        self.size = self.size - count

    def _slice(self, key: slice) -> GrowingList:
        new = self.copy()
        if self.items is not None:
            first, step, count = self.span(key)
            new.reorder(jnp.clip(first + step * jnp.arange(self.capacity), 0, self.capacity - 1))
            new.size = count
        return new

    def _with_slice(self, key: slice, values: Any) -> GrowingList:
        """The list after ``items[first:last:step] = values``."""
        values = self._listed(values).copy()
        whole = self._with_another_part(key, values)
        if _is_one(key.step):
            return whole
        first, step, count = self.span(key)
        text = "attempt to assign a sequence to an extended slice of another size"
        fails(ValueError, text, jnp.asarray((step != 1) & (count != values.length())))
        if values.items is None or self.items is None:
            return whole
        new, turns = self.copy(), jnp.arange(values.capacity)
        new.make_room(values.kind)
        values.make_room(new.kind)
        places = jnp.where(turns < count, self.place(first + step * turns), self.capacity)
        changed = rows.put_all(new.items, places, rows.rearranged(values.items, values.place(turns)))
        new.set_items(changed, [values.items])
        if not is_tracer(key.step):
            return new
        either: GrowingList = jax.tree.map(lambda one, other: jnp.where(step == 1, one, other), whole, new)
        is_one_of(either.items, [whole.items, new.items])
        return either

    def _listed(self, values: Any) -> GrowingList:
        """The items of another container as a growing list."""
        if not isinstance(values, Collection):
            return type(self).of(values)
        if issubclass(values.python, set):
            values.turn(0)  # refuses a set, whose order is not known
        items: GrowingList = values.in_order()
        return items

    def _with_another_part(self, key: slice, values: GrowingList) -> GrowingList:
        """The list with ``values`` in place of the items of a slice without a step."""
        if self.items is None:
            return values
        first, _, count = self.span(slice(key.start, key.stop))
        new, behind = self.copy(), self._slice(slice(first + count, None))
        new.size = first
        new.extend(values)
        new.extend(behind)
        return new


def _is_one(step: Any) -> bool:
    """Whether the step of a slice is known to be one."""
    return step is None or (not is_tracer(step) and step == 1)


class Most(int):
    """The ``maxlen`` of a deque: a capacity beyond which it forgets items."""


@jax.tree_util.register_pytree_with_keys_class
class GrowingDeque(GrowingList):
    """A ``collections.deque``."""

    python = deque

    @classmethod
    def of(cls, values: Any, bound: int | None = None) -> Self:
        return super().of(values, _most_of(values, bound))

    @classmethod
    def type_of(cls, values: Any, bound: int | None = None) -> Self:
        return super().type_of(values, _most_of(values, bound))

    def together(self, other: Any) -> Self:
        both: Self = super().together(other)
        others = other.bound if isinstance(other, GrowingDeque) else _most_of(other, None)
        if self.forgets != isinstance(others, Most) or (self.forgets and self.bound != others):
            raise BatchTypeError("one is a deque of another `maxlen` than the other")
        return both

    @property
    def forgets(self) -> bool:
        """Whether it has a ``maxlen``, and forgets items beyond it."""
        return isinstance(self.bound, Most)

    @property
    def maxlen(self) -> int | None:
        """Python's ``maxlen``."""
        return int(self.bound) if isinstance(self.bound, Most) else None

    def hb_known(self, known: Callable[[Any], Any]) -> Any:
        return deque(super().hb_known(known), self.maxlen)

    def with_capacity(self, bound: int | None) -> GrowingList:
        return self if self.forgets else super().with_capacity(bound)

    def in_order(self) -> GrowingList:
        items = GrowingList(self.items, self.size, self.start, None if self.forgets else self.bound)
        if not self.forgets or self.items is None:
            return items
        more = capacity(self.kind, self.capacity, None)  # the list may get further items
        return GrowingList(rows.rows_kind(self.kind, more), SIZE).hold(items)

    def append(self, value: Any) -> None:
        if self.forgets and self.items is not None:
            self.start = jnp.int32(0) if self.start is None else self.start
            self.start = jnp.where(self._is_full(), self.place(1), self.start)
            self.size = jnp.where(self._is_full(), self.size - 1, self.size)
        self.put_at_end(value)
        self._leave_out_what_is_too_much()

    def extend(self, values: Any) -> None:
        if not self.forgets:
            super().extend(values)
            return
        if isinstance(values, Collection):
            raise UnsupportedSyntaxError(
                "a deque with a `maxlen` takes items whose number differs between lanes",
                help="write a `for` over them, and `append` each.",
            )
        for value in values:
            self.append(value)

    def insert(self, index: Any, value: Any) -> None:
        if self.forgets:
            raise UnsupportedSyntaxError(
                "`insert` puts an item into a deque with a `maxlen`, which Python refuses where it is full",
                help="use `append` or `appendleft`, which forget an item for it.",
            )
        super().insert(index, value)

    def _is_full(self) -> Any:
        return self.size >= jnp.int32(self.bound)

    def _leave_out_what_is_too_much(self) -> None:
        """Empty a deque whose ``maxlen`` is 0."""
        if self.forgets and self.bound == 0:
            self.size = jnp.int32(0)

    def popleft(self) -> Any:
        self.need("pop from an empty deque", in_lane=True)
        fails(IndexError, "pop from an empty deque", self.size == 0)
        return self.pop_first()

    def pop(self, index: Any = -1) -> Any:
        if not (type(index) is int and index == -1):
            raise TypeError("deque.pop() takes no arguments")
        self.need("pop from an empty deque", in_lane=True)
        return super().pop()

    def appendleft(self, value: Any) -> None:
        self.make_room(rows.kind_of(value))
        if self.forgets:
            self.size = jnp.where(self._is_full(), self.size - 1, self.size)
        self.check_room(self.size >= self.capacity)
        start = jnp.int32(0) if self.start is None else self.start
        self.start = jnp.where(start == 0, self.capacity - 1, start - 1)
        self.set_items(rows.put(self.items, self.start, value), [value])
        self.size = self.size + 1
        self._leave_out_what_is_too_much()

    def extendleft(self, values: Any) -> None:
        for value in values:
            self.appendleft(value)

    def rotate(self, n: Any = 1) -> None:
        if self.items is None:
            return
        order = jnp.arange(self.capacity)
        turned = (order - n) % jnp.maximum(self.size, 1)
        self.reorder(jnp.where(order < self.size, turned, order))


def _most_of(values: Any, bound: int | None) -> int | None:
    """The capacity of a Python deque or of its type: its ``maxlen`` if it has one, else ``bound``."""
    most = getattr(values.value if isinstance(values, Static) else values, "maxlen", None)
    return bound if most is None else Most(most)
