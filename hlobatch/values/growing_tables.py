"""Growing sets and dicts: stand-ins for those whose keys differ between lanes, while the user's code is traced.

::

    seen = set()                 seen = GrowingSet(keys=i32[64], size=0)
    seen.add(n)          ==>     the next free row = n, unless a row has it; size = size + 1
    n in seen                    any(keys == n, among rows in use)

They have the methods of Python's classes, which change the object, as it lives for one statement; the variable holds
its arrays afterwards (``tables.py``).
"""

from __future__ import annotations

import functools
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, Self

import jax
import jax.numpy as jnp

from hlobatch.diagnostics import MissingValueError, UnsupportedSyntaxError
from hlobatch.ir.boxed import unboxed
from hlobatch.ir.growing import Growing
from hlobatch.ir.value import Collection
from hlobatch.values import rows
from hlobatch.values.boxes import boxed
from hlobatch.values.containers import not_yet
from hlobatch.values.growing_lists import GrowingList
from hlobatch.values.identity import holds, is_now, is_one_of
from hlobatch.values.lane_failures import fails, is_for_all_items
from hlobatch.values.one_of import maybe
from hlobatch.values.tables import UNIT, Table, type_of_value
from hlobatch.values.whole_numbers import holding_all

_NONE: Final = object()


@jax.tree_util.register_pytree_with_keys_class
class GrowingSet(Table):
    """A set."""

    python: ClassVar[Any] = set

    def contents(self) -> Any:
        return self.keys_

    def turn(self, number: Any) -> Any:
        raise UnsupportedSyntaxError(
            "a `for` goes over a set whose members differ between lanes, in an order that nobody knows",
            help="go over `sorted(members)`, or keep a list beside the set.",
        )

    def add(self, item: Any) -> None:
        self.put(item, UNIT)

    def discard(self, item: Any) -> None:
        if self.keys_ is not None:
            found, place = self.find(item)
            self.take_out(place, found)

    def remove(self, item: Any) -> None:
        """Remove an item; a lane in which it is missing raises ``KeyError``."""
        if self.keys_ is None:
            raise not_yet(KeyError, "nothing is in the set", in_lane=True)
        found, place = self.find(item)
        fails(KeyError, "what is to be removed is not in the set", ~found)
        self.take_out(place, found)

    def pop(self) -> Any:
        raise UnsupportedSyntaxError(
            "`pop` takes a member out of a set, and nobody knows which",
            help="take the least, as in `x = min(members)`, and `members.remove(x)`; or keep a list.",
        )

    def update(self, *others: Any) -> None:
        for other in others:
            if isinstance(other, Collection):
                self.merge(self._as_set(other))
                continue
            for item in other:
                self.add(item)

    def union(self, *others: Any) -> Self:
        new = self.copy()
        new.update(*others)
        return new

    def intersection(self, *others: Any) -> Self:
        return functools.reduce(lambda one, other: one._members_in(other, are_in_it=True), others, self.copy())

    def difference(self, *others: Any) -> Self:
        return functools.reduce(lambda one, other: one._members_in(other, are_in_it=False), others, self.copy())

    def symmetric_difference(self, other: Any) -> Self:
        other = self._as_set(other)
        new: Self = self.difference(other)
        new.update(other.difference(self))
        return new

    def isdisjoint(self, other: Any) -> Any:
        return self.intersection(other).length() == 0

    def issubset(self, other: Any) -> Any:
        return self.difference(other).length() == 0

    def issuperset(self, other: Any) -> Any:
        return self._as_set(other).difference(self).length() == 0

    def intersection_update(self, *others: Any) -> None:
        self._become(self.intersection(*others))

    def difference_update(self, *others: Any) -> None:
        self._become(self.difference(*others))

    def symmetric_difference_update(self, other: Any) -> None:
        self._become(self.symmetric_difference(other))

    def equals(self, other: Any) -> Any:
        if not isinstance(other, (set, GrowingSet)):
            return False
        both = self._members_in(other, are_in_it=True).length()
        other = other.length() if isinstance(other, GrowingSet) else len(other)
        return (both == self.length()) & (both == other)

    def ordered(self, operation: str, other: Any) -> Any:
        """Whether one is a subset of the other: ``lt``, ``le``, ``gt`` or ``ge``."""
        if not isinstance(other, (set, frozenset, GrowingSet)):
            raise TypeError(f"a set has no order beside {getattr(other, 'python', type(other)).__name__!r}")
        other = self._as_set(other)
        small, large = (self, other) if operation in ("lt", "le") else (other, self)
        is_subset = small.issubset(large)
        return is_subset if operation in ("le", "ge") else is_subset & (small.length() < large.length())

    def _as_set(self, other: Any) -> Self:
        """Another set, or the members of another container, as a growing set."""
        if isinstance(other, type(self)):
            return other
        return self.of_list(other.in_order()) if isinstance(other, Collection) else self.of(list(other))

    @classmethod
    def of_list(cls, items: GrowingList) -> Self:
        """The set of the items of a list."""
        return cls.gathered(items, lambda new, item: new.put(item, UNIT, checks=False), UNIT)

    def _become(self, other: Self) -> None:
        self.keys_, self.values_, self.size = other.keys_, other.values_, other.size

    def _members_in(self, other: Any, *, are_in_it: bool) -> Self:
        """The members of this set that are in another set, or those that are not."""
        new = self.copy()
        other = self._as_set(other)
        if new.keys_ is None or (other.keys_ is None and not are_in_it):
            return new
        if other.keys_ is None:
            new.clear()
            return new
        found = jax.vmap(lambda key: other.find(key)[0])(self.keys_)
        kept = self.in_use() & (found if are_in_it else ~found)
        new.keep(kept)
        return new


def _operator(method: str, in_place: str) -> Mapping[str, Callable[[Any, Any], Any]]:
    """An operator of sets by the beginnings of its methods' names, given the methods of sets that it stands for."""

    def changed(self: GrowingSet, other: Any) -> GrowingSet:
        getattr(self, in_place)(other)
        return self

    return {
        "": lambda self, other: getattr(self, method)(other),
        "r": lambda self, other: getattr(self._as_set(other), method)(self),
        "i": changed,
    }


for _name, _method, _in_place in (
    ("or", "union", "update"),
    ("and", "intersection", "intersection_update"),
    ("sub", "difference", "difference_update"),
    ("xor", "symmetric_difference", "symmetric_difference_update"),
):
    for _begin, _function in _operator(_method, _in_place).items():
        setattr(GrowingSet, f"__{_begin}{_name}__", _function)


@jax.tree_util.register_pytree_with_keys_class
class GrowingDict(Table):
    """A dict."""

    python: ClassVar[Any] = dict

    @classmethod
    def of_pairs(cls, pairs: GrowingList) -> Self:
        """A dict of pairs of keys and values; later pairs replace earlier ones."""
        new = cls()
        if pairs.items is not None:
            key, value = pairs.kind
            new.make_room(key, value, pairs.capacity)
            new._one_by_one(pairs.capacity, pairs.size, lambda part, turn: part.put(*pairs.at(turn), checks=False))
            holds(new.values_, [pairs.items[1]])
        return new

    def item(self, key: Any) -> Any:
        if self.keys_ is None and self.factory is None:
            raise not_yet(KeyError, "the dict has no key", in_lane=True)
        if self.factory is not None and not is_for_all_items():
            return self.setdefault(key, self.factory())
        found, place = self.find(key)
        if self.factory is None:
            fails(KeyError, "the dict has no such key", ~found)
        else:
            fails(MissingValueError, "a function called for all items at once reads a key that the dict lacks", ~found)
        return self._taken(place)

    def with_item(self, key: Any, value: Any, *, is_other: bool) -> Growing:
        new = self.copy()
        new.put(key, value, is_other=is_other)
        return new

    def __setitem__(self, key: Any, value: Any) -> None:
        self.put(key, value)

    def __delitem__(self, key: Any) -> None:
        self.pop(key)

    def get(self, key: Any, default: Any = None) -> Any:
        if self.keys_ is None:
            return default
        found, place = self.find(key)
        return self._or_else(found, self._taken(place), default)

    def setdefault(self, key: Any, default: Any = None) -> Any:
        self.make_room(rows.kind_of(key), type_of_value(default))
        found, place = self.find(key)
        value, before = self._or_else(found, self._taken(place), default), self.values_
        self.put(key, value)
        holds(self.values_, [before, default])  # not `value`, which is one of these
        return value

    def pop(self, key: Any, default: Any = _NONE) -> Any:
        if self.keys_ is None:
            if default is _NONE:
                raise not_yet(KeyError, "the dict has no key", in_lane=True)
            return default
        found, place = self.find(key)
        value = self._taken(place)
        if default is _NONE:
            fails(KeyError, "the dict has no such key", ~found)
        self.take_out(place, found)
        return value if default is _NONE else self._or_else(found, value, default)

    def popitem(self) -> Any:
        if self.keys_ is None:
            raise not_yet(KeyError, "popitem(): dictionary is empty", in_lane=True)
        fails(KeyError, "popitem(): dictionary is empty", self.size == 0)
        place = jnp.maximum(self.size - 1, 0)
        entry = rows.taken(self.keys_, place), self._taken(place)
        self.size = place
        return entry

    def update(self, other: Any = (), /, **named: Any) -> None:
        if isinstance(other, GrowingList):
            other = GrowingDict.of_pairs(other)
        if isinstance(other, Table):
            self.merge(other)
        else:
            for key, value in other.items() if isinstance(other, Mapping) else other:
                self.put(key, value)
        for key, value in named.items():
            self.put(key, value)

    def equals(self, other: Any) -> Any:
        if not isinstance(other, (dict, GrowingDict)):
            return False
        other = other if isinstance(other, GrowingDict) else GrowingDict.of(other)
        if self.keys_ is None or other.keys_ is None:
            return jnp.equal(self.length(), other.length())
        rows.check_equality(self.values_)
        alike = self._values_at_keys_of(other)
        return (self.size == other.size) & jnp.all(alike | ~self.in_use())

    def _values_at_keys_of(self, other: GrowingDict) -> Any:
        """A mask of the rows whose key another dict has with an equal value: ``bool[capacity]``."""

        def is_alike(key: Any, value: Any) -> Any:
            found, place = other.find(key)
            if value is None or other.values_ is None:
                return found & (value is None and other.values_ is None)
            here = jax.tree.map(lambda leaf: leaf[place][None], other.values_)
            same = rows.equal(here, value)
            return found & (jnp.bool_(False) if same is None else same[0])

        return jax.vmap(is_alike)(self.keys_, self.values_)

    def __or__(self, other: Any) -> Any:
        if not isinstance(other, (dict, GrowingDict)):
            return NotImplemented
        new = self.copy()
        new.update(other)
        return new

    def __ror__(self, other: Any) -> Any:
        return type(self).of(other, factory=self.factory) | self if isinstance(other, dict) else NotImplemented

    def __ior__(self, other: Any) -> Self:
        self.update(other)
        return self

    def as_dict(self) -> GrowingDict:
        """A dict with the same entries, of no other class, in which a missing key is missing."""
        return GrowingDict(self.keys_, self.values_, self.size, self.bound)

    def keys(self) -> GrowingList:
        return self._view(self.in_order())

    def values(self) -> GrowingList:
        if self.keys_ is not None and self.values_ is None:
            rows.kind_of(None)  # refuses None as an item of a list
        return self._view(GrowingList(self.values_, self.size, None, self.bound))

    def items(self) -> GrowingList:
        both = None if self.keys_ is None else (self.keys_, self.values_)
        return self._view(GrowingList(both, self.size, None, self.bound))

    def _view(self, items: GrowingList) -> GrowingList:
        """Items that show later changes of the dict in Python, so that one that is kept counts as the dict itself."""
        is_now(items, self)
        return items

    def _taken(self, place: Any) -> Any:
        return rows.taken(self.values_, place)

    def _or_else(self, found: Any, value: Any, default: Any) -> Any:
        """``value`` in lanes where ``found`` holds, else ``default``."""
        if value is None:
            return None if default is None else maybe(~found, default)
        if default is None:
            return maybe(found, value)
        kind = rows.joined(rows.kind_of(value), rows.kind_of(default))
        sides = (rows.held(boxed(one, ()), kind) for one in (value, default))
        either = unboxed(jax.tree.map(lambda one, other: jnp.where(found, *holding_all([one, other])), *sides))
        is_one_of(either, [value, default])
        return either


@jax.tree_util.register_pytree_with_keys_class
class GrowingDefaults(GrowingDict):
    """A ``collections.defaultdict``."""

    python: ClassVar[Any] = defaultdict


@jax.tree_util.register_pytree_with_keys_class
class GrowingCounter(GrowingDict):
    """A ``collections.Counter``."""

    python: ClassVar[Any] = Counter

    def item(self, key: Any) -> Any:
        return self.get(key, 0)

    def __delitem__(self, key: Any) -> None:
        self.pop(key, None)  # Python's raises nothing where the key is missing

    def most_common(self, n: int | None = None) -> GrowingList:
        """Pairs of a key and its count, the highest first."""
        pairs = self.items()
        pairs.arrange(key=lambda pair: pair[1], reverse=True)
        return pairs if n is None else pairs.item(slice(None, n))

    def equals(self, other: Any) -> Any:
        if not isinstance(other, (Counter, GrowingCounter)):
            return super().equals(other)
        return jnp.all(self._counts_beside(other, jnp.not_equal).values_ == 0)

    def ordered(self, operation: str, other: Any) -> Any:
        """Whether no count is greater, or smaller, than that of another: ``lt``, ``le``, ``gt`` or ``ge``."""
        if not isinstance(other, (Counter, GrowingCounter)):
            raise TypeError(f"a Counter has no order beside {getattr(other, 'python', type(other)).__name__!r}")
        against = jnp.greater if operation in ("lt", "le") else jnp.less
        holds_for_all = jnp.all(self._counts_beside(other, against).values_ == 0)
        return holds_for_all if operation in ("le", "ge") else holds_for_all & jnp.logical_not(self.equals(other))

    def _counts_beside(self, other: Any, combine: Callable[[Any, Any], Any]) -> GrowingCounter:
        """A Counter of the keys of both, each with what is made of its two counts; 0 in rows that are not in use."""
        other = other if isinstance(other, GrowingCounter) else GrowingCounter.of(other)
        new = self.copy()
        new.merge(other)
        if new.keys_ is None:
            return GrowingCounter(None, jnp.zeros(1, jnp.int32))
        counts = jax.vmap(lambda key: combine(self.get(key, 0), other.get(key, 0)))(new.keys_)
        new.values_ = jnp.where(new.in_use(), counts, 0)
        return new

    def _positive(self, other: Any, combine: Callable[[Any, Any], Any]) -> Any:
        """The keys of both whose counts together are positive; ``NotImplemented`` beside what is no Counter."""
        if not isinstance(other, (Counter, GrowingCounter)):
            return NotImplemented
        new = self._counts_beside(other, combine)
        if new.keys_ is not None:
            new.keep(new.in_use() & (new.values_ > 0))
        return new if new.keys_ is not None else self.copy()

    def _become(self, other: Any) -> Self:
        self.keys_, self.values_, self.size = other.keys_, other.values_, other.size
        return self

    def __add__(self, other: Any) -> Any:
        return self._positive(other, jnp.add)

    def __sub__(self, other: Any) -> Any:
        return self._positive(other, jnp.subtract)

    def __or__(self, other: Any) -> Any:
        return self._positive(other, jnp.maximum)

    def __and__(self, other: Any) -> Any:
        return self._positive(other, jnp.minimum)

    def __radd__(self, other: Any) -> Any:
        return GrowingCounter.of(other) + self if isinstance(other, Counter) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return GrowingCounter.of(other) - self if isinstance(other, Counter) else NotImplemented

    def __ror__(self, other: Any) -> Any:
        return GrowingCounter.of(other) | self if isinstance(other, Counter) else NotImplemented

    def __rand__(self, other: Any) -> Any:
        return GrowingCounter.of(other) & self if isinstance(other, Counter) else NotImplemented

    def __iadd__(self, other: Any) -> Self:
        return self._become(self + other)

    def __isub__(self, other: Any) -> Self:
        return self._become(self - other)

    def __ior__(self, other: Any) -> Self:
        return self._become(self | other)

    def __iand__(self, other: Any) -> Self:
        return self._become(self & other)

    def __pos__(self) -> Any:
        return self + Counter()

    def __neg__(self) -> Any:
        return GrowingCounter() - self

    def total(self) -> Any:
        return 0 if self.keys_ is None else jnp.sum(jnp.where(self.in_use(), self.values_, 0))


@jax.tree_util.register_pytree_with_keys_class
class GrowingOrdered(GrowingDict):
    """A ``collections.OrderedDict``."""

    python: ClassVar[Any] = OrderedDict

    def equals(self, other: Any) -> Any:
        same = super().equals(other)
        if not isinstance(other, (OrderedDict, GrowingOrdered)):
            return same
        return same & self.in_order().equals(other.in_order() if isinstance(other, GrowingOrdered) else list(other))
