"""Functions of all items of a growing container -> operations on all of its rows.

::

    sum(xs)                         the sum of all rows, with 0 for those that are not in use
    [x for x in xs if x > 0]        the rows for which the test holds, moved to the front

The module also makes growing containers: from ``hb.capacity``, from a comprehension whose ``if`` differs between lanes,
and from a display (``[*a, b]``) with a growing list in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch._jax import is_tracer, weakly
from hlobatch.analysis.tracing import is_one_lane
from hlobatch.diagnostics import BatchTypeError
from hlobatch.frontend.builtins import is_array
from hlobatch.frontend.dict_order import in_known_order
from hlobatch.frontend.lane_numbers import as_number, differs, select
from hlobatch.frontend.lane_ranges import LaneRange, as_range
from hlobatch.frontend.overflow import check_sum, exact
from hlobatch.frontend.possible_items import Possible, in_use, items_of
from hlobatch.ir.choice import Choice
from hlobatch.ir.growing import ALTERNATIVES, KINDS, Growing
from hlobatch.ir.types import TensorType
from hlobatch.ir.value import Collection
from hlobatch.values import rows
from hlobatch.values.containers import SIZE
from hlobatch.values.growing_kinds import growing
from hlobatch.values.growing_lists import GrowingDeque, GrowingList, Most
from hlobatch.values.growing_tables import GrowingCounter, GrowingDefaults, GrowingDict, GrowingOrdered, GrowingSet
from hlobatch.values.growing_tuples import GrowingTuple, tuple_of
from hlobatch.values.identity import places_of
from hlobatch.values.kinds import kind_of_value
from hlobatch.values.lane_arrays import LaneArray, worst
from hlobatch.values.lane_failures import fails, needed
from hlobatch.values.one_of import ranked
from hlobatch.values.optional import any_optional
from hlobatch.values.own_containers import has_content, python_class
from hlobatch.values.tables import Table, type_of_value
from hlobatch.values.texts import LaneText
from hlobatch.values.whole_numbers import default as default_dtype
from hlobatch.values.whole_numbers import is_small

_NONE: Final = object()
_SHARED: Final = (int, float, complex, str, type(None), jax.Array)
"""Values that several keys may share, since nothing can change them."""
T = TypeVar("T")


def capacity(items: T, n: int) -> T:
    """A list or another container that may grow to a number of items, in every lane.

    In batched code a container whose length differs between lanes has room for that many items, and a lane that puts
    more into it fails with ``hb.CapacityError``. Without this, there is room for some, and for more where the function
    is called by itself, outside of ``jax.jit``. In plain Python it returns the container unchanged.

    Args:
        items: A list, a tuple, a ``collections.deque``, a set or a dict.
        n: The most items, a number known when the program is built.

    Returns:
        The container.

    Raises:
        BatchTypeError: ``n`` differs between lanes, or ``items`` is not such a container.

    Examples:
        >>> import hlobatch as hb, jax.numpy as jnp
        >>> @hb.batch
        ... def hailstones(n):
        ...     seen = hb.capacity([], 200)
        ...     while n > 1:
        ...         seen.append(n)
        ...         n = n // 2 if n % 2 == 0 else 3 * n + 1
        ...     return len(seen), max(seen, default=1)
        >>> [column.tolist() for column in hailstones(jnp.array([1, 6, 27]))]
        [[0, 8, 111], [1, 16, 9232]]
    """
    if not is_one_lane():
        return items
    if is_tracer(n):
        raise BatchTypeError(
            "the capacity of a container differs between lanes", help="give the greatest, which all lanes then have."
        )
    if not isinstance(items, (Growing, *KINDS, *ALTERNATIVES)):
        raise BatchTypeError(
            f"`hb.capacity` is given {type(items).__name__!r}", help=f"it takes {', '.join(k.__name__ for k in KINDS)}."
        )
    bound: T = growing(items, n)
    return bound


# Containers made of other values


def tupled(are_starred: Sequence[bool], *parts: Any) -> Any:
    """``(*a, b)``."""
    return tuple_of(listed(are_starred, *parts))


def listed(are_starred: Sequence[bool], *parts: Any) -> Any:
    """``[*a, b]``; ``are_starred`` says which parts have a star."""
    parts = tuple(_opened(part) if starred else part for part, starred in zip(parts, are_starred, strict=True))
    if not any(isinstance(part, GrowingList) for part, starred in zip(parts, are_starred, strict=True) if starred):
        pairs = zip(parts, are_starred, strict=True)
        return [value for part, starred in pairs for value in (part if starred else [part])]
    new = GrowingList()
    for part, starred in zip(parts, are_starred, strict=True):
        if starred and new.items is None and isinstance(part, GrowingList):
            new = GrowingList(part.items, part.size, part.start, part.bound)
        elif starred:
            new.extend(part)
        else:
            new.append(part)
    return new


def _opened(part: Any) -> Any:
    """The iterable of ``*part`` in a display."""
    return as_list(part) if isinstance(in_known_order(part), Collection) else part


def as_list(iterable: Any = (), /) -> Any:
    """``list(iterable)``."""
    if isinstance(iterable, GrowingList):
        own = iterable.in_order()
        return GrowingList(own.items, own.size, own.start, own.bound)
    if isinstance(iterable, GrowingSet):
        iterable.turn(0)  # refuses a set, whose order is not known
    if isinstance(iterable, (Table, LaneText, GrowingTuple, LaneArray)):
        return iterable.in_order()
    if isinstance(iterable, Choice):
        known: Any = as_range(iterable)
        iterable = items_of(iterable) if known is None else known
    if isinstance(iterable, LaneRange):
        return iterable.in_order()
    items = list(iterable)
    return those_there(items) if any(isinstance(item, Possible) for item in items) else items


def as_tuple(iterable: Any = (), /) -> Any:
    """``tuple(iterable)``."""
    return iterable if type(iterable) in (tuple, GrowingTuple) else tuple_of(as_list(iterable))


def as_deque(iterable: Any = (), maxlen: int | None = None) -> Any:
    """``deque(iterable)``."""
    if is_tracer(maxlen):
        raise BatchTypeError(
            "the `maxlen` of a deque differs between lanes",
            help="write `if len(queue) == n: queue.popleft()` before what is appended.",
        )
    items = as_list(iterable)
    if maxlen is not None:
        items = items[-maxlen:] if maxlen else []
    if not isinstance(items, GrowingList):
        return GrowingDeque.of(items, None if maxlen is None else Most(maxlen))
    if maxlen is None:
        return GrowingDeque(items.items, items.size, items.start, items.bound)
    kind = None if items.items is None else rows.rows_kind(items.kind, max(items.capacity, maxlen))
    return GrowingDeque(kind, SIZE, None, Most(maxlen)).hold(items)


def as_set(iterable: Any = (), /) -> Any:
    """``set(iterable)``; an item of a comprehension may exist in some lanes only."""
    if isinstance(iterable, GrowingSet):
        return iterable.copy()
    if isinstance(iterable, (Choice, LaneRange)):
        iterable = as_list(iterable)
    if isinstance(iterable, Growing) or (is_array(iterable) and iterable.ndim == 1):
        in_a_row = in_rows(iterable) if isinstance(iterable, Growing) else _of_array(iterable)
        return GrowingSet.of_list(in_a_row)
    items = list(iterable)
    if not _differ(items) and not any(isinstance(item, Possible) for item in items):
        return set(items)
    return GrowingSet.of_those_there(*in_use(items_of(items)))


def _differ(keys: Sequence[Any]) -> bool:
    """Whether keys differ between lanes; one that is None in some lanes may be an object without arrays of a lane."""
    return differs(keys) or any_optional(keys)


def as_dict(pairs: Any, kind: type[GrowingDict] = GrowingDict, factory: Callable[[], Any] | None = None) -> Any:
    """A dict of pairs of a key and a value, or of another dict; a pair may exist in some lanes only.

    Args:
        pairs: The pairs, or the dict.
        kind: The class of the dict, if its keys differ between lanes.
        factory: Makes the value of a missing key, in a ``defaultdict``.
    """
    if isinstance(pairs, (Mapping, GrowingDict)):
        pairs = pairs.items()
    if isinstance(pairs, GrowingList):
        new = kind.of_pairs(pairs)
    else:
        known = items_of(list(pairs))
        if not _differ([item.value[0] for item in known]) and all(item.is_there is True for item in known):
            first = () if factory is None else (factory,)
            return kind.python(*first, [item.value for item in known])
        new = kind.of_those_there([item.value for item in known], [item.is_there for item in known])
    new.factory = factory
    return new


def from_keys(iterable: Any, value: Any = None, /) -> Any:
    """``dict.fromkeys(iterable, value)``.

    Raises:
        BatchTypeError: Keys differ between lanes, and the value that all of them share is an object that can change.
    """
    items = as_list(iterable)
    if not isinstance(items, Growing) and not _differ(items):
        return dict.fromkeys(items, value)
    if not isinstance(value, _SHARED):
        raise BatchTypeError(
            f"all keys, which differ between lanes, have one value, a {type(value).__name__!r}, that can change",
            help="make one for each key, as in `{k: [] for k in keys}`.",
        )
    if not isinstance(items, GrowingList):
        return as_dict([(key, value) for key in items])
    return GrowingDict.gathered(items, lambda new, key: new.put(key, value, checks=False), type_of_value(value))


def as_ordered(pairs: Any = (), /, **more: Any) -> Any:
    """``OrderedDict(pairs)``."""
    new = as_dict(pairs, GrowingOrdered)
    new.update(more)
    return new


def as_defaults(factory: Callable[[], Any] | None = None, pairs: Any = (), /, **more: Any) -> Any:
    """``defaultdict(factory, pairs)``."""
    new = as_dict(pairs, GrowingDefaults, factory)
    new.update(more)
    return new


def as_counter(iterable: Any = (), /, **more: Any) -> Any:
    """``Counter(iterable)``."""
    if isinstance(iterable, GrowingDict) and not more:
        return GrowingCounter.of_pairs(iterable.items())
    if isinstance(iterable, Mapping) or (more and iterable == ()):
        counts = list(Counter(iterable, **more).items())
        return GrowingCounter.of_those_there(counts, [True] * len(counts))
    if more:
        raise BatchTypeError(
            "a Counter is made of items that differ between lanes, and of keywords",
            help="add the keywords by `update`.",
        )
    items = iterable
    if not isinstance(items, Growing):
        items = _of_array(items) if is_array(items) else those_there(list(items))
    rows_ = in_rows(items)
    one = TensorType(default_dtype(int), (), weak=True)
    return GrowingCounter.gathered(rows_, lambda new, item: new.put(item, new.get(item, 0) + 1, checks=False), one)


def starred_set(are_starred: Sequence[bool], *parts: Any) -> Any:
    """``{*a, b}``; ``are_starred`` says which parts have a star."""
    found: Any = set()
    for part, starred in zip(parts, are_starred, strict=True):
        members = as_set(in_known_order(part) if starred else [part])
        found = members | found if isinstance(members, GrowingSet) else found | members
    return found


def displayed_set(*items: Any) -> Any:
    """``{a, b}``."""
    return as_set(items) if _differ(items) else set(items)


UNPACKED: Final = object()
"""The key of ``**d`` in a display."""


def displayed_dict(*parts: Any) -> Any:
    """``{a: x, **d}``, given keys and values alternately."""
    pairs = list(zip(parts[::2], parts[1::2], strict=True))
    if not any(key is UNPACKED for key, _ in pairs):
        return as_dict(pairs) if _differ([key for key, _ in pairs]) else dict(pairs)
    for key, value in pairs:
        if key is UNPACKED:
            _check_mapping(value)
    grows = any(isinstance(value, Growing) if key is UNPACKED else differs(key) for key, value in pairs)
    new: Any = GrowingDict() if grows else {}
    for key, value in pairs:
        new.update(value if key is UNPACKED else {key: value} if not grows else [(key, value)])
    return new


def _check_mapping(value: Any) -> None:
    """Raise Python's error for ``**value`` in a display; ``update`` takes the items of any iterable, too."""
    needed(value, TypeError, "'NoneType' object is not a mapping")
    is_number = is_array(value) and not value.ndim
    kind = python_class(type(value)) if has_content(value) else getattr(value, "python", type(value))
    kind = kind_of_value(value) if is_number else np.ndarray if is_array(value) else kind
    if not hasattr(kind, "keys"):
        raise TypeError(f"{kind.__name__!r} object is not a mapping")


def unpacked(value: Any, star: int | None, count: int) -> Any:
    """The values that names get when a value is unpacked, which may be a list whose length differs between lanes.

    Args:
        value: The value that is unpacked.
        star: The index of the name with a star; None if there is none.
        count: The number of names.
    """
    needed(value, TypeError, "cannot unpack non-iterable NoneType object")
    in_known_order(value)
    if not isinstance(value, Growing):
        return value if star is None else _with_rest(list(value), star, count - star - 1)
    items, least = in_rows(value), count - (star is not None)
    expected = f"expected {'' if star is None else 'at least '}{least}"
    fails(ValueError, f"not enough values to unpack ({expected})", jnp.asarray(items.length() < least))
    if star is None:
        fails(ValueError, f"too many values to unpack ({expected})", jnp.asarray(items.length() > least))
        return [items.turn(jnp.int32(i)) for i in range(count)]
    behind = count - star - 1
    first = [items.turn(jnp.int32(i)) for i in range(star)]
    last = [items.turn(jnp.maximum(items.size - behind + i, 0)) for i in range(behind)]
    return [*first, items.item(slice(star, -behind or None)), *last]


def _with_rest(items: list[Any], before: int, behind: int) -> list[Any]:
    """Items for names with a star among them: ``before`` items, a list of the next, and the last ``behind`` items."""
    if len(items) < before + behind:
        raise ValueError(f"not enough values to unpack (expected at least {before + behind}, got {len(items)})")
    end = len(items) - behind
    return [*items[:before], items[before:end], *items[end:]]


def from_the_end(items: Any, /) -> Any:
    """``reversed(items)``."""
    if isinstance(items, Growing):
        return in_rows(items).item(slice(None, None, -1))
    return reversed(items)


def _of_array(array: Any) -> GrowingList:
    """The numbers of an array as a growing list, of the same length in all lanes."""
    return GrowingList(jnp.asarray(array), jnp.int32(array.shape[0]))


def those_there(items: Sequence[Any]) -> GrowingList:
    """The growing list of those items that exist in a lane, in order."""
    return GrowingList.of_those_there(*in_use(items_of(items)))


def in_any_order(items: Any) -> Any:
    """The members of a set as a list, for code whose result does not depend on their order; else the iterable."""
    return in_rows(items) if isinstance(items, GrowingSet) else items


# Functions of all items


def in_rows(items: Growing) -> GrowingList:
    """The items of a list, or the keys of a set or a dict, as a growing list."""
    rows: GrowingList = items.in_order()
    return rows


def total(items: Growing, start: Any) -> Any:
    """``sum``."""
    items = in_rows(items)
    if items.items is None:
        return start
    return total_of_array(jnp.where(items.in_use(), _numbers(items, "sum"), 0), start)


def total_of_array(array: Any, start: Any) -> Any:
    """``sum`` of an array; of single flags or small integers, it is a Python integer."""
    of_pythons = array.ndim == 1 and (array.dtype == jnp.bool_ or is_small(array.dtype))
    dtype = default_dtype(int) if of_pythons else array.dtype
    value = jnp.sum(array, axis=0, dtype=dtype)
    check_sum(value, array)
    return exact("add", as_number(start), weakly(value, dtype) if of_pythons or array.weak_type else value)


def any_of(items: Growing) -> Any:
    """``any``."""
    items = in_rows(items)
    return False if items.items is None else jnp.any(items.in_use() & (_numbers(items, "any") != 0))


def all_of(items: Growing) -> Any:
    """``all``."""
    items = in_rows(items)
    return True if items.items is None else jnp.all(~items.in_use() | (_numbers(items, "all") != 0))


def extreme(name: str, items: Growing, key: Callable[[Any], Any] | None, default: Any = _NONE) -> Any:
    """``min`` or ``max``: the first item that no other one surpasses."""
    items = in_rows(items)
    text = f"{name}() iterable argument is empty"
    if items.items is None:
        if default is _NONE:
            items.need(text, ValueError, in_lane=True)
        return default
    if default is _NONE:
        fails(ValueError, text, items.size == 0)
    ranks = ranked(rows.keys_of_order(items.items, key, items.in_turn))
    left = items.in_use()  # each part of a key leaves only the items that are best so far
    for leaf in jax.tree.leaves(ranks):
        if leaf.ndim > 1:
            raise BatchTypeError(
                "arrays are compared, which have no order", help="compare numbers: `key=lambda a: a[0]`."
            )
        leaf = items.arranged(leaf)
        worst_one = worst(leaf.dtype, name)
        best = (jnp.min if name == "min" else jnp.max)(jnp.where(left, leaf, worst_one))
        left &= leaf == best
    found = items.turn(rows.first(left)[1])
    if default is _NONE:
        return found
    return select(items.size > 0, found, default)


def first_item(items: Any, *default: Any) -> Any:
    """``next(iter(items), default)``."""
    in_known_order(items)
    if isinstance(items, Choice):
        items = as_list(items)
    if isinstance(items, tuple(KINDS)) and not items and not default:  # before it is known what is put into it
        error = BatchTypeError(
            "the first item of an empty container", help="there has to be an item, or a default: `next(iter(d), None)`."
        )
        error.about = places_of(items) or type(items)
        raise error
    if not isinstance(items, Collection):
        return next(iter(items), *default)
    if not isinstance(items, Growing):
        items = items.in_order()
    if isinstance(items, GrowingSet):
        items.turn(0)  # refuses a set, whose order is not known
    in_a_row = in_rows(items)
    if in_a_row.items is None:
        if default:
            return default[0]
        in_a_row.need("", StopIteration, in_lane=True)
    is_empty = in_a_row.size == 0
    if not default:
        fails(StopIteration, "", is_empty)
    first = in_a_row.turn(0)
    return select(jnp.logical_not(is_empty), first, default[0]) if default else first


def sorted_list(items: Growing, key: Callable[[Any], Any] | None, reverse: bool) -> GrowingList:
    """``sorted``."""
    new = in_rows(items).copy()
    new.arrange(key=key, reverse=reverse)
    return new


def _numbers(items: GrowingList, name: str) -> Any:
    """The items in order, which have to be numbers; ``name`` is that of the function in the error."""
    leaf = items.items
    if not is_array(leaf) or leaf.ndim != 1:
        raise BatchTypeError(
            f"`{name}` of a list whose length differs between lanes, of items that are no numbers",
            help="write a `for` over it.",
        )
    return items.arranged(leaf)
