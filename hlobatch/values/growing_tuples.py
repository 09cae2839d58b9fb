"""Growing tuples: stand-ins for tuples whose length differs between lanes, while the user's code is traced.

::

    path = ()                    path = GrowingTuple(items=i32[64], size=0)
    path = path + (x,)    ==>    path = a tuple with x at size, and size + 1
    path in seen                 whether a row of ``seen`` has its items and its size

Invariant: a tuple never changes, and its rows that are not in use are 0. So tuples are equal if their arrays are, which
makes them keys of sets and dicts. Its items are numbers, texts, and tuples of these, which do not change either: two
names for one tuple are never told apart.

A tuple keeps its known length, and a type for each item, wherever all paths agree on the length.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp

from hlobatch._jax import weakly
from hlobatch.diagnostics import BatchTypeError
from hlobatch.ir.growing import Growing
from hlobatch.ir.types import Static, TensorType, Type
from hlobatch.ir.value import is_value
from hlobatch.values import rows
from hlobatch.values.containers import SIZE
from hlobatch.values.growing_lists import GrowingList
from hlobatch.values.rings import Ring


@jax.tree_util.register_pytree_with_keys_class
class GrowingTuple(Ring):
    """A tuple."""

    python: ClassVar[Any] = tuple
    is_alternative: ClassVar[bool] = True
    has_columns: ClassVar[bool] = True

    @property
    def hb_inside(self) -> Any:
        return None  # a tuple does not change, and neither do its items

    @classmethod
    def of_list(cls, items: GrowingList) -> Self:
        """The tuple of the items of a list."""
        if items.items is None:
            return cls(size=items.size, bound=items.bound)
        _check_items(items.kind)
        straight = items.copy()
        straight.straighten()
        used = straight.in_use()
        settled = jax.tree.map(lambda leaf: _zero_behind(leaf, used), straight.items)
        return cls(settled, straight.size, None, straight.bound)

    # A tuple as a type

    @classmethod
    def can_hold(cls, values: Any) -> bool:
        """Whether the items of a tuple, or of the type of one, have one type, and cannot change."""
        try:
            cls.type_of(values)
        except BatchTypeError:
            return False
        return True

    @classmethod
    def type_of(cls, values: Any, bound: int | None = None) -> Self:
        found = super().type_of(values, bound)
        if found.items is not None:
            _check_items(found.kind)
        return found

    @classmethod
    def of(cls, values: Any, bound: int | None = None) -> Self:
        return values if isinstance(values, cls) else super().of(values, bound)

    def together(self, other: Any) -> Self:
        held = other.value if isinstance(other, Static) else other
        if isinstance(held, tuple) and type(held) is not tuple:
            raise BatchTypeError(f"one is a tuple whose length differs between lanes, the other {Type(other)}")
        return super().together(other)

    def with_capacity(self, bound: int | None) -> Self:
        if self.items is None:
            return type(self)(bound=bound)
        kind = rows.rows_kind(self.kind, max(bound or 0, self.capacity))
        return type(self)(kind, SIZE, None, bound).hold(self)

    # Questions about the tuple

    def in_order(self) -> GrowingList:
        return GrowingList(self.items, self.size, None, self.bound)

    def equals(self, other: Any) -> Any:
        if type(other) is tuple and not self.can_hold(other):
            return self.length() == 0 if not other else False
        if not isinstance(other, (tuple, GrowingTuple)):
            return False
        one, two = self.in_order(), GrowingTuple.of(other).in_order()
        trees: list[Any] = [jax.tree.structure(part.kind) for part in (one, two) if part.items is not None]
        if len(trees) == 2 and trees[0] != trees[1]:
            return (one.length() == 0) & (two.length() == 0)
        return one.equals(two)

    def ordered(self, operation: str, other: Any) -> Any:
        """A comparison by order: ``lt``, ``le``, ``gt`` or ``ge``."""
        if not isinstance(other, (tuple, GrowingTuple)):
            signs = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
            name = getattr(other, "python", type(other)).__name__
            raise TypeError(f"'{signs[operation]}' not supported between instances of 'tuple' and '{name}'")
        return self.in_order().ordered(operation, GrowingTuple.of(other).in_order())

    def index(self, item: Any, *bounds: Any) -> Any:
        """The index of the first item that equals ``item``, among those from a position on, up to another."""
        return self.in_order().index(item, *bounds)

    def count(self, item: Any) -> Any:
        """The number of items that equal ``item``."""
        return self.in_order().count(item)

    def item(self, key: Any) -> Any:
        if isinstance(key, slice):
            return self.of_list(self.in_order().item(key))
        self.need("tuple index out of range", in_lane=True)
        return self.taken(self.index_of(key))

    def turn(self, number: Any) -> Any:
        return self.in_order().turn(number)

    def with_item(self, key: Any, value: Any, *, is_other: bool) -> Self:
        raise TypeError("'tuple' object does not support item assignment")

    # Tuples made of tuples

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, (tuple, GrowingTuple)):
            return NotImplemented
        return self.of_list(self.in_order() + GrowingTuple.of(other).in_order())

    def __radd__(self, other: Any) -> Any:
        return GrowingTuple.of(other) + self if isinstance(other, tuple) else NotImplemented

    def __mul__(self, times: Any) -> Any:
        return self.of_list(self.in_order() * times)

    __rmul__ = __mul__

    # Tuples in rows

    def sought(self, item: Any) -> Any:
        """Of tuples in rows: an item to be compared with them; anything but a tuple is returned unchanged."""
        if not isinstance(item, (tuple, GrowingTuple)) or (type(item) is tuple and not self.can_hold(item)):
            return item
        own = GrowingTuple.of(item)
        if self.items is None:
            return GrowingTuple(None, jnp.asarray(own.length(), jnp.int32), None, self.bound)
        size = jnp.asarray(own.length(), jnp.int32)
        inner = jax.tree.map(lambda leaf: leaf[0], self.items)
        if own.items is None:
            return GrowingTuple(jax.tree.map(jnp.zeros_like, inner), size, None, self.bound)
        found = jax.vmap(lambda one: rows.as_sought(one, inner))(own.items)
        room = rows.capacity_of(inner)
        return GrowingTuple(jax.tree.map(lambda leaf: _with_rows(leaf, room), found), size, None, self.bound)

    def columns(self) -> tuple[Any, ...]:
        """Of tuples in rows: arrays ``[rows]`` that put the tuples in order, as keys of a sort, the first first."""
        return tuple(self._columns())

    def _columns(self) -> Iterator[Any]:
        for at in range(0 if self.items is None else rows.capacity_of(jax.tree.map(lambda leaf: leaf[0], self.items))):
            yield self.size > at
            item = jax.tree.map(lambda leaf, at=at: leaf[:, at], self.items)
            for part in jax.tree.leaves(item, is_leaf=is_value):
                yield from part.columns() if isinstance(part, Growing) else [part]
        yield self.size

    def __hash__(self) -> int:  # type: ignore[override]
        raise BatchTypeError(
            "the hash of a tuple whose length differs between lanes is asked for",
            help="keep it in a set or a dict of the lane's, in a statement of its own.",
        )


def tuple_of(items: Any) -> Any:
    """The tuple of a list, known or growing."""
    return GrowingTuple.of_list(items) if isinstance(items, GrowingList) else tuple(items)


def longest(kinds: Sequence[GrowingTuple]) -> GrowingTuple:
    """The type that holds tuples of several types."""
    return functools.reduce(lambda one, other: one.together(other), kinds)


def _check_items(kind: Any) -> None:
    """Refuse items that could be changed in place, or are random keys."""
    if isinstance(kind, tuple):
        for part in kind:
            _check_items(part)
        return
    is_number = isinstance(kind, TensorType) and not kind.shape and not kind.is_key
    if not is_number and not (isinstance(kind, Growing) and kind.python in (str, tuple)):
        raise BatchTypeError(
            "a tuple whose length differs between lanes holds what is no number, text or tuple of these",
            help="keep lists, arrays and objects in a list, as in `items = [*items, x]`.",
        )


def _zero_behind(leaf: Any, used: Any) -> Any:
    """Rows with 0 in those that are not in use."""
    settled = jnp.where(used.reshape(-1, *[1] * (leaf.ndim - 1)), leaf, jnp.zeros((), leaf.dtype))
    return weakly(settled, leaf.dtype) if getattr(leaf, "weak_type", False) else settled


def _with_rows(leaf: Any, room: int) -> Any:
    """The first rows of an array, or the array with rows of 0 behind its own: ``room`` rows."""
    more = room - leaf.shape[0]
    return leaf[:room] if more <= 0 else jnp.concatenate([leaf, jnp.zeros((more, *leaf.shape[1:]), leaf.dtype)])
