"""A list, and a value assigned to an item at a lane's index -> the list after the assignment.

::

    items[i] = v        [where(i == 0, v, items[0]), where(i == 1, v, items[1]), …]      of a few numbers, or of arrays
                        a scatter into an array of all numbers                           of many numbers

Which item changes depends on the lane, so all items get one type. ``transforms/merge_lists.py`` keeps the array of all
numbers, if there is one, from statement to statement.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch._jax import weakly
from hlobatch.diagnostics import BatchTypeError, UnsupportedSyntaxError
from hlobatch.frontend.builtins import is_array
from hlobatch.frontend.items import Lists, within
from hlobatch.frontend.lane_numbers import NUMBERS
from hlobatch.ir.boxed import unboxed
from hlobatch.ir.choice import Choice
from hlobatch.ir.joined import LEAST_NUMBERS_JOINED, as_one, exact, in_parts, written_at
from hlobatch.ir.types import Static, TensorType, Type
from hlobatch.ir.value import Collection
from hlobatch.values.boxes import boxed
from hlobatch.values.held_classes import as_references
from hlobatch.values.identity import has_changed, is_now, is_one_of, mutable_parts, places_of
from hlobatch.values.lane_failures import is_there
from hlobatch.values.leaf_types import is_scalar, leaf_type, widened_leaf
from hlobatch.values.lifting import lift
from hlobatch.values.one_of import maybe
from hlobatch.values.optional import any_optional, in_any_case, is_optional, is_present
from hlobatch.values.type_join import DisagreementError, join


def in_lists(root: list[Any], value: Any, keys: Sequence[Any]) -> list[Any] | None:
    """Nested lists after an assignment to a number in them.

    Args:
        root: The outermost list.
        value: The number.
        keys: The indices that lead to its place; None for a step that is no index.

    Returns:
        The outermost list; None if the place is not among numbers of one type, or no index differs between lanes.
    """
    if any_optional([value, root]) or not (is_array(value) or isinstance(value, NUMBERS)) or np.ndim(value):
        return None
    lists = Lists.of(root, keys, _are_alike)
    if lists is None:
        return None
    for key in keys:
        is_there(key, "an item at")
    number, *numbers = _of_one_dtype([value, *lists.numbers])
    for one in lists.around:
        has_changed(one)
    new = replace(lists, numbers=numbers).stored(number)
    for one, old in zip(new, root, strict=True):
        is_one_of(one, [old])
    is_now(new, root)
    return new


def _are_alike(values: Sequence[Any]) -> bool:
    """Whether values are numbers of one type, and enough of them to be worth an array."""
    if len(values) < LEAST_NUMBERS_JOINED or not all(is_array(value) or isinstance(value, NUMBERS) for value in values):
        return False
    kind, *others = {widened_leaf(leaf_type(value)) for value in values}
    return not others and isinstance(kind, TensorType) and kind.shape == ()


def all_chosen(items: Sequence[Any], index: Any, value: Any) -> list[Any]:
    """The items of a list after an assignment to the one at a lane's index."""
    value, *items = as_references((value, *items))
    if any(map(_may_be_none, (value, *items))):
        return _all_chosen_or_none(items, index, value)
    if _has_none([value, *items]):
        return _all_parts_chosen(items, index, value)
    differ = _lists_that_differ(value, items)
    size, value, olds = len(items), boxed(value, ()), [boxed(item, ()) for item in items]
    value, *olds = _with_lengths([value, *olds])
    tree: Any = jax.tree.structure(value)
    other = next((item for item in olds if jax.tree.structure(item) != tree), None)
    if other is not None:
        error = _of_several_types(_type_of(value), _type_of(other))
        error.about = differ or None
        raise error
    numbers = [leaf for old in olds for leaf in jax.tree.leaves(old)]
    if tree.num_leaves and _are_alike(numbers) and all(np.ndim(leaf) == 0 for leaf in jax.tree.leaves(value)):
        count = tree.num_leaves
        both = _of_one_dtype([*jax.tree.leaves(value), *numbers])
        place = exact([within(index, size)], (size, count))
        parts = in_parts(written_at(as_one(both[count:]), place, _row(both[:count])))
        return [unboxed(jax.tree.unflatten(tree, parts[k * count : (k + 1) * count])) for k in range(size)]
    columns = []
    for column in zip(jax.tree.leaves(value), *map(tree.flatten_up_to, olds), strict=True):
        new, *others = _of_one_type(column)
        columns.append([jnp.where((index == k) | (index == k - size), new, old) for k, old in enumerate(others)])
    if not columns:
        return list(items)
    return [unboxed(jax.tree.unflatten(tree, row)) for row in zip(*columns, strict=True)]


def _all_chosen_or_none(items: Sequence[Any], index: Any, value: Any) -> list[Any]:
    """The items as in ``all_chosen``, some of which are None: a list of flags and a list of values.

    ::

        memo[k] = n        memo = [None, 3, None]: flags = [False, True, False], values = [n, 3, n]
    """
    present = next((one for one in (value, *items) if one is not None), None)
    if present is None:
        return list(items)
    flag, *flags = map(is_present, (value, *items))
    value, *values = [present if one is None else in_any_case(one) for one in (value, *items)]
    pairs = zip(all_chosen(flags, index, flag), all_chosen(values, index, value), strict=True)
    return [maybe(is_there, one) for is_there, one in pairs]


def _all_parts_chosen(items: Sequence[Any], index: Any, value: Any) -> list[Any]:
    """The items as in ``all_chosen``, with parts that may be None: each part is chosen by itself."""
    flat: list[tuple[list[Any], Any]] = [jax.tree.flatten(boxed(one, ()), is_leaf=_is_whole) for one in (value, *items)]
    (parts, tree), *others = flat
    if any(other != tree for _, other in others):
        raise UnsupportedSyntaxError(
            "an item is chosen by the lane, and what items hold is None in some lanes",
            help="keep a number in place of None, or a list of flags beside the items.",
        )
    columns = zip(parts, *(parts for parts, _ in others), strict=True)
    chosen = [all_chosen(olds, index, new) for new, *olds in columns]
    return [unboxed(jax.tree.unflatten(tree, row)) for row in zip(*chosen, strict=True)]


def _has_none(values: Sequence[Any]) -> bool:
    """Whether any part of some values is None, or None in some lanes."""
    return any(map(_may_be_none, jax.tree.leaves(boxed(list(values), ()), is_leaf=_is_whole)))


def _is_whole(part: Any) -> bool:
    """Whether a part is not opened further: it may be None, or is a container of hlobatch's."""
    return _may_be_none(part) or isinstance(part, (Collection, Choice))


def _may_be_none(part: Any) -> bool:
    return part is None or is_optional(part)


def _row(numbers: Sequence[Any]) -> Any:
    return as_one(numbers) if len(numbers) > 1 else jnp.reshape(numbers[0], (1,))


def _lists_that_differ(value: Any, items: Sequence[Any]) -> tuple[Any, ...]:
    """The places of lists in the items of a list, of which an item that takes a place among them has another length."""
    given, found = dict(mutable_parts(value)), dict[Any, None]()
    for path, part in (pair for item in items for pair in mutable_parts(item)):
        other = given.get(path)
        is_one_kind = isinstance(part, (list, dict)) and isinstance(other, type(part))
        if is_one_kind and len(part) != len(other):  # type: ignore[arg-type]
            found.update(dict.fromkeys(places_of(part)))
    return tuple(found)


def _with_lengths(values: Sequence[Any]) -> list[Any]:
    """Values with their growing containers converted to a common type."""
    types = [Type(jax.tree.map(leaf_type, value)) for value in values]
    if not any(type_.grows for type_ in types):
        return list(values)
    try:
        joined = functools.reduce(join, types)
    except DisagreementError:
        raise _of_several_types(types[0], types[1]) from None
    return [lift(value, joined) for value in values]


def _of_one_type(leaves: Sequence[Any]) -> list[Any]:
    """Leaves as arrays of their common type.

    Raises:
        BatchTypeError: They have none.
    """
    types = [Type(leaf) for leaf in dict.fromkeys(map(leaf_type, leaves))]
    if not all(isinstance(leaf, TensorType) or is_scalar(leaf) for kind in types for leaf in kind.leaves):
        raise BatchTypeError(
            "an item is chosen by an index that differs between lanes, and the items are no numbers",
            help="number them, and do in each branch what depends on it.",
        )
    joined = types[0]
    for other in types[1:]:
        try:
            joined = join(joined, other)
        except DisagreementError:
            raise _of_several_types(joined, other) from None
    kind = widened_leaf(joined.leaves[0])
    assert isinstance(kind, TensorType)
    written = {
        leaf: _converted(leaf.value, kind) for type_ in types for leaf in type_.leaves if isinstance(leaf, Static)
    }
    return [_converted(leaf, kind) if is_array(leaf) else written[Static(leaf)] for leaf in leaves]


def _of_one_dtype(leaves: Sequence[Any]) -> list[Any]:
    """Leaves as arrays of their common type and of one dtype.

    In ``_of_one_type``, Python numbers keep their kind; here, integers beside a float become floats.
    """
    numbers = _of_one_type(leaves)
    dtype = jnp.result_type(*dict.fromkeys(number.dtype for number in numbers))
    return [number if number.dtype == dtype else weakly(number, dtype) for number in numbers]


def _converted(leaf: Any, kind: TensorType) -> Any:
    """A number converted to the common type; a Python number keeps its dtype if that type is weak."""
    if is_array(leaf) and leaf.dtype == kind.dtype:
        return leaf
    return jnp.asarray(leaf) if kind.weak else jnp.asarray(leaf, kind.dtype)


def _type_of(value: Any) -> Type:
    """The type of a value, for messages."""
    return Type(jax.tree.map(leaf_type, boxed(value, ())))


def _of_several_types(left: Type, right: Type) -> BatchTypeError:
    return BatchTypeError(
        f"an item of a list is chosen by an index that differs between lanes, and the items are of several types: "
        f"one is {left}, another {right}",
        help="make them of one type, and of one shape.",
    )
