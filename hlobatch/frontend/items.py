"""``container[index]``, where the index or the container differs between lanes -> the lane's item.

::

    primes[n]         a gather from an array of all numbers
    colours[n]        a choice among the objects, if they are alike
    prices[key]       the position of the key among all keys, then a gather

A list, a tuple, a dict or a range holds Python objects, and a NumPy array takes no traced index. So the items are
joined to an array, from which the lane's item is taken; among a few items it is selected.
"""

from __future__ import annotations

import array
import collections
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from hlobatch._jax import is_tracer
from hlobatch.analysis.explanations import LOOKS_UP, NO_KEY
from hlobatch.diagnostics import BatchTypeError
from hlobatch.frontend.builtins import is_array, logical_not
from hlobatch.frontend.lane_numbers import NUMBERS, as_index, as_number, differs, is_of_lane, select
from hlobatch.frontend.lane_slices import integers, without_none
from hlobatch.frontend.own_methods import by_methods
from hlobatch.frontend.sequences import both, compare, either, equal, less
from hlobatch.ir.boxed import unboxed
from hlobatch.ir.choice import Choice
from hlobatch.ir.growing import Growing
from hlobatch.ir.joined import are_of_one_dtype, as_one, exact, in_parts, nearest, read_at, written_at
from hlobatch.ir.value import Collection
from hlobatch.values.boxes import boxed
from hlobatch.values.growing_kinds import growing
from hlobatch.values.growing_tuples import GrowingTuple
from hlobatch.values.identity import is_now, is_one_of, places_of
from hlobatch.values.lane_arrays import LaneArray
from hlobatch.values.lane_failures import by_python, fails, is_there, is_wanted, surely_fails
from hlobatch.values.number_tables import from_table, numbers, table_of, together
from hlobatch.values.one_of import chosen, for_each, of_classes
from hlobatch.values.optional import any_optional, is_any_optional, is_optional
from hlobatch.values.own_containers import content
from hlobatch.values.tables import check_hashable
from hlobatch.values.texts import LaneText

_SEQUENCES: Final = (list, tuple, range, collections.deque)
_BYTES: Final = (bytes, bytearray, array.array)
_MOST_SELECTS: Final = 4
"""Most items, or keys of a dict, among which one is chosen by a comparison and a select for each. Chosen by judgement
(2026-11), not measured."""
_MOST_KEYS_COMPARED: Final = 64
"""Most keys of a dict with which a key is compared all at once; in more it is found by binary search. Chosen by
judgement (2026-11), not measured."""


def item(container: Any, *indices: Any) -> Any:
    """``container[i][j]…``."""
    if len(indices) > 1 and any(map(is_tracer, indices)):
        table = _table(container, len(indices)) if all(map(_is_index, indices)) else None
        if table is not None:
            return from_table(jnp.asarray(table)[tuple(map(within, indices, table.shape))], table)
        lists = Lists.of(container, indices)
        if lists is not None:
            return lists.found()
    for index in indices:
        container = _item(container, index)
    return container


def _is_index(value: Any) -> bool:
    return type(value) is int or (is_tracer(value) and value.shape == ())


def _item(container: Any, index: Any) -> Any:
    is_there(container, "an item of")
    if is_array(container) or not isinstance(container, dict):
        is_there(index, "an item at")
    if isinstance(index, slice) and is_any_optional():
        index = slice(*without_none(index.start, index.stop, index.step))
    if isinstance(index, slice):
        index = slice(*integers(index.start, index.stop, index.step))
    if isinstance(container, Choice) or (isinstance(index, Choice) and not isinstance(container, Growing)):
        return for_each(_item, container, index)
    if isinstance(container, dict) and is_optional(index):
        return for_each(_item, container, index)
    container = content(container, "__getitem__")
    if is_tracer(container) and not container.shape and (_is_index(index) or isinstance(index, slice)):
        raise TypeError(f"{'a float' if jnp.issubdtype(container.dtype, jnp.floating) else 'an int'} has no items")
    if isinstance(container, Collection):
        return container.item(index)
    if (result := by_methods("getitem", container, index)) is not NotImplemented:
        return result
    if isinstance(index, slice) and differs((index.start, index.stop, index.step)):
        return _lane_slice(container, index)
    if isinstance(index, LaneArray) and is_array(container):
        return LaneArray.of(container).item(index)
    if isinstance(index, tuple) and is_array(container) and any(map(_is_lane_slice, index)):
        return _lane_part(container, index)
    if isinstance(index, list) and is_array(container):
        index = jnp.asarray(index)
    return _lane_item(container, index) if differs(index) else _known_item(container, index)


def _known_item(container: Any, index: Any) -> Any:
    """An item at a known index or key; an index out of bounds raises, where JAX would take the last item."""
    check_index(index, container)
    with by_python():
        return container[index]


def _lane_item(container: Any, index: Any) -> Any:
    """An item at an index or a key that differs between lanes."""
    if isinstance(container, dict):
        if type(container) is collections.Counter:
            return _count(container, index)
        if hasattr(container, "__missing__"):  # a defaultdict has a value for each key, and puts it in
            check_key(container, index)
        if not container:
            surely_fails(KeyError, "there is no such key")
        place, found = place_of_key(container, index)
        fails(KeyError, "there is no such key", logical_not(found))
        return gathered(list(container.values()), place)
    if isinstance(container, _SEQUENCES):
        if not len(container):
            surely_fails(IndexError, "index out of range")
        return gathered(container, index)
    if isinstance(container, (str, *_BYTES)):
        return gathered(list(container), index)
    check_index(index, container)
    if _is_mask(index):
        return LaneArray.of_those(container, index)
    if isinstance(index, tuple) and any(map(_is_mask, index)):
        raise BatchTypeError(
            "a mask takes elements out of an array, as many as it has, which differs between lanes, and other indices "
            "stand beside it",
            help="take what the mask selects first, as in `y = x[m]`, and of that `y[:, k]`.",
        )
    if not isinstance(container, np.ndarray):
        return container[index]
    found = jnp.asarray(container)[index]
    if not any(is_array(one) and one.ndim for one in (index if isinstance(index, tuple) else (index,))):
        is_now(found, container)  # NumPy returns a view
    return found


def _count(counts: collections.Counter[Any], key: Any) -> Any:
    """The count of a key, which is 0 for one that is not there."""
    if not counts:
        return 0
    place, found = place_of_key(counts, key)
    return select(found, gathered(list(counts.values()), place), 0)


def check_key(entries: Any, key: Any) -> None:
    """Refuse a key that differs between lanes, for a Python dict or set.

    Raises:
        BatchTypeError: The key differs between lanes, so that the container may have to grow.
    """
    if any(map(is_of_lane, jax.tree.leaves(key))) or any_optional([key]):
        error = BatchTypeError(LOOKS_UP, help=NO_KEY)
        error.about = places_of(entries) or type(entries)
        raise error


def check_index(index: Any, array: Any) -> None:
    """Note the lanes in which Python would raise an ``IndexError`` for this index of an array."""
    if is_wanted(IndexError) and is_array(array):
        for one, size in zip(index if isinstance(index, tuple) else (index,), array.shape, strict=False):
            if is_tracer(one) and one.shape == () and jnp.issubdtype(one.dtype, jnp.integer):
                _check_range(one, size)
            elif type(one) is int and not -size <= one < size:
                surely_fails(IndexError, "index out of range")


def _check_range(index: Any, size: int) -> None:
    if is_wanted(IndexError):
        fails(IndexError, "index out of range", (index < -size) | (index >= size))


def _lane_slice(container: Any, key: slice) -> Any:
    """A slice whose bounds or step differ between lanes: a list whose length differs between lanes."""
    if type(container) is list or (type(container) is tuple and GrowingTuple.can_hold(container)):
        return growing(container).item(key)
    if type(container) is str:
        return LaneText.of(container).item(key)
    if is_array(container) and np.ndim(container):
        return LaneArray.part(container, key)
    if isinstance(container, (tuple, range)):
        raise BatchTypeError(
            f"the bounds of this slice of a {type(container).__name__} differ between lanes, and so would its length",
            help="its items would have to be of one type, and no lists, arrays or objects: a tuple whose length "
            "differs between lanes is one of numbers, texts or tuples of these.",
        )
    raise BatchTypeError(
        "the bounds of this slice differ between lanes, and so would the length of what it gives",
        help="make a list of it, as in `list(x)[:n]`.",
    )


def _is_lane_slice(part: Any) -> bool:
    return isinstance(part, slice) and differs((part.start, part.stop, part.step))


def _is_mask(index: Any) -> bool:
    return bool(is_tracer(index) and index.ndim and index.dtype == bool)


def _lane_part(array: Any, key: tuple[Any, ...]) -> Any:
    """``array[i, a:b]``: of a part of an array, the rows of a slice whose bounds differ between lanes."""
    at = next(i for i, part in enumerate(key) if _is_lane_slice(part))
    before, rest = key[:at], key[at + 1 :]
    if not all(map(_is_index, before)) or any(_is_lane_slice(part) or np.ndim(part) for part in rest):
        raise BatchTypeError(
            "the bounds of a slice differ between lanes, along an axis that is not the first one which is left",
            help="go over the other axis by a `for`, as in `sum(x[k, a:b].sum() for k in range(c, d))`.",
        )
    part = LaneArray.part(item(array, before) if before else array, key[at])
    return part[(slice(None), *rest)] if rest else part


# Sequences


def within(index: Any, size: int) -> Any:
    """An index counted from the beginning; out of range, a lane fails or goes on as if it were the nearest one."""
    index = as_index(index, "an index")
    if not is_array(index):
        return range(size)[index]
    _check_range(index, size)
    if jnp.issubdtype(index.dtype, jnp.unsignedinteger):
        return index
    return jnp.where(index < 0, index + size, index)


def gathered(items: Sequence[Any], index: Any) -> Any:
    """The item at an index that differs between lanes.

    Raises:
        BatchTypeError: There is no item, or one variable cannot hold all of them.
    """
    if not len(items):
        error = BatchTypeError(
            "an item of an empty sequence", help="there has to be an item at each index that occurs."
        )
        error.about = places_of(items) or type(items)
        raise error
    index = within(index, len(items))
    if len(items) > _MOST_SELECTS and (table := table_of(items)) is not None:
        return items[0] if len(set(map(id, items))) == 1 else from_table(jnp.asarray(table)[index], table)
    flat: list[tuple[list[Any], Any]] = [jax.tree.flatten(boxed(value, ())) for value in items]
    if any(treedef != flat[0][1] for _, treedef in flat) or any_optional(items):
        return chosen(items, jnp.clip(index, 0, len(items) - 1))
    values = [leaf for leaves, _ in flat for leaf in leaves]
    if are_of_one_dtype(values):  # all numbers in one array, from which one is read
        count = len(flat[0][0])
        found = read_at(as_one(values), nearest([index], (len(items), count)), count)
        result = unboxed(jax.tree.unflatten(flat[0][1], in_parts(found)))
        is_one_of(result, items)
        return result
    columns = list(zip(*(leaves for leaves, _ in flat), strict=True))
    result = unboxed(jax.tree.unflatten(flat[0][1], [_from_column(column, index) for column in columns]))
    is_one_of(result, items)
    return result


def _from_column(column: Sequence[Any], index: Any) -> Any:
    first = column[0]
    if all(value is first for value in column):
        return first
    if not all(is_array(value) or isinstance(value, NUMBERS) for value in column):
        return chosen(column, jnp.clip(index, 0, len(column) - 1))
    shapes = {jnp.shape(value) for value in column}
    if len(shapes) > 1:
        raise BatchTypeError(
            f"an item is chosen by the lane, and items have shapes {' and '.join(map(str, map(list, shapes)))}",
            help="make the shapes equal, as with jnp.broadcast_to or by padding.",
        )
    if (apart := of_classes(column, jnp.clip(index, 0, len(column) - 1))) is not None:
        return apart
    column = together(column)
    if len(column) <= _MOST_SELECTS and shapes == {()}:
        result = column[-1]
        for place in reversed(range(len(column) - 1)):
            result = select(index == place, column[place], result)
        return result
    if not any(map(is_array, column)):
        table = numbers(column)
        return from_table(jnp.asarray(table)[index], table)
    return jnp.stack(list(map(jnp.asarray, column)))[index]


def _table(items: Any, depth: int) -> np.ndarray | None:
    """Numbers in nested lists, of equal lengths on each level, as an array; None if the lists are of another kind."""
    shape, level = list[int](), [items]
    while len(shape) < depth:
        if not all(isinstance(part, (list, tuple)) for part in level) or len({len(part) for part in level}) != 1:
            return None
        shape.append(len(level[0]))
        level = [value for part in level for value in part]
    if not level or not all(type(value) in (bool, int, float, complex) for value in level):
        return None
    return numbers(level).reshape(shape)


@dataclass(frozen=True)
class Lists:
    """A number in nested lists, of equal lengths on each level, whose numbers all have one type.

    Attributes:
        lists: The outermost list.
        numbers: All numbers, in order.
        indices: The indices that lead to the number, counted from the beginning.
        shape: The length of the lists on each level, and 1 for the number.
    """

    lists: Sequence[Any]
    numbers: Sequence[Any]
    indices: Sequence[Any]
    shape: tuple[int, ...]

    @classmethod
    def of(
        cls, container: Any, indices: Sequence[Any], alike: Callable[[Sequence[Any]], bool] = are_of_one_dtype
    ) -> Lists | None:
        """The number at some indices, one of which differs between lanes; None if not all numbers are alike.

        Numbers that are None in some lanes are not: an array of them would have no place for that.
        """
        if not all(map(_is_index, indices)) or not any(map(is_tracer, indices)):
            return None
        parts, shape = [container], list[int]()
        for _ in indices:
            if not all(type(part) is list for part in parts) or len({len(part) for part in parts}) != 1:
                return None
            shape.append(len(parts[0]))
            parts = [item for part in parts for item in part]
        if any_optional(parts) or not alike(parts):
            return None
        return cls(container, parts, list(map(within, indices, shape)), (*shape, 1))

    @property
    def around(self) -> Sequence[Any]:
        """The innermost lists that may hold the number."""
        parts: Sequence[Any] = [self.lists]
        for index in self.indices[:-1]:
            parts = [item for part in parts for item in ([part[index]] if isinstance(index, int) else part)]
        return parts

    def found(self) -> Any:
        """The number."""
        return read_at(as_one(self.numbers), nearest(self.indices, self.shape), 1).squeeze(0)

    def stored(self, value: Any) -> list[Any]:
        """The lists with another number in its place, of the same type."""
        array = written_at(as_one(self.numbers), exact(self.indices, self.shape), lax.reshape(value, (1,)))
        parts: list[Any] = list(in_parts(array))
        for size in reversed(self.shape[:-1]):
            parts = [parts[start : start + size] for start in range(0, len(parts), size)]
        whole: list[Any] = parts[0]
        return whole


def place_of_key(entries: dict[Any, Any], key: Any) -> tuple[Any, Any]:
    """The position of a key in a dict, and whether it is there; if it is not, the position is arbitrary."""
    check_hashable(key)
    keys = list(entries)
    if not keys:
        error = BatchTypeError("a dict without entries is looked up", help="there has to be an entry for each key.")
        error.about = places_of(entries) or type(entries)
        raise error
    if isinstance(key, LaneText) and all(type(known) is str for known in keys):
        return _place_of_text(keys, key)
    are_integers = all(isinstance(known, int) for known in keys) and not isinstance(key, tuple)
    if not are_integers or len(keys) <= _MOST_SELECTS:
        found = [_is_key(key, known) for known in keys]
        place: Any = len(keys) - 1
        for i in reversed(range(len(keys) - 1)):
            place = select(found[i], i, place)
        return place, either(found)
    table = numbers(keys)
    key = jnp.asarray(as_number(as_index(key, "a dict whose keys are integers")))
    if keys == list(range(keys[0], keys[0] + len(keys))):
        return key - keys[0], both([logical_not(less(key, keys[0])), logical_not(less(keys[-1], key))])
    if len(keys) <= _MOST_KEYS_COMPARED:
        found = compare("eq", jnp.asarray(table), key)
        return jnp.argmax(found), jnp.any(found)
    order = np.argsort(table)
    place = jnp.minimum(jnp.searchsorted(jnp.asarray(table[order]), key), len(keys) - 1)
    return jnp.asarray(order.astype(np.int32))[place], equal(jnp.asarray(table[order])[place], key)


def _place_of_text(keys: Sequence[str], key: LaneText) -> tuple[Any, Any]:
    """The position among known texts of a lane's text, and whether it is there."""
    room = max(1, *map(len, keys))
    known = jax.tree.map(lambda *leaves: jnp.stack(leaves), *(LaneText.type_of("x" * room).hold(one) for one in keys))
    own = key.within(room)
    found = (known.size == own.size) & jnp.all(known.codes == own.codes, axis=1)
    return jnp.argmax(found), jnp.any(found)


def _is_key(key: Any, known: Any) -> Any:
    is_text = isinstance(known, (str, bytes)) or known is None
    return False if is_text and is_array(key) else equal(key, known)
