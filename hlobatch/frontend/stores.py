"""A value, and what is assigned to a part of it -> the value after the assignment.

::

    a[i] = v           a = stored(a, v, ("[]", i))         of an array another array, of a list another list, …
    grid[y].x = v      grid = stored(grid, v, ("[]", y), (".", "x"))

A value never changes: containers on the way to the place are copied, all else is shared. ``identity.py`` is told which
object of Python's the new value stands for. The code runs as it is traced; errors of Python's own are explained by
whoever traces it.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch._jax import is_tracer, weakly
from hlobatch.analysis.boxes import attributes_of, boxed, is_boxable
from hlobatch.analysis.identity import has_changed, is_now, is_one_of, places_of
from hlobatch.analysis.lane_failures import is_there
from hlobatch.analysis.leaf_types import is_scalar, leaf_type, widened_leaf
from hlobatch.analysis.lifting import lift
from hlobatch.analysis.optional import any_optional, is_optional
from hlobatch.analysis.type_join import DisagreementError, join
from hlobatch.diagnostics import BatchTypeError, UnsupportedSyntaxError
from hlobatch.frontend import array_stores
from hlobatch.frontend.array_stores import Span, Stretch, is_lane_index
from hlobatch.frontend.builtins import is_array
from hlobatch.frontend.items import Lists, check_index, gathered, within
from hlobatch.frontend.lane_numbers import NUMBERS
from hlobatch.ir.boxed import mapped, unboxed
from hlobatch.ir.growing import Growing
from hlobatch.ir.joined import LEAST_NUMBERS_JOINED, as_one, exact, in_parts, written_at
from hlobatch.ir.types import Static, TensorType, Type

Step = tuple[str, Any]
"""``("[]", key)`` or ``(".", name)``, as ``places.py`` writes them."""


def item(value: Any, key: Any) -> Any:
    """``value[key]``."""
    if is_array(value):
        if _has_span(key):
            return array_stores.taken(value, key)
        check_index(key, value)
        return value[_as_python(key)]
    if isinstance(value, (list, tuple)):
        if is_lane_index(key):
            return gathered(value, key)
        if isinstance(key, Span):
            return type(value)([item(value, key.start + k) for k in range(key.size)])
    return value[_as_python(key)]


def stored(root: Any, value: Any, *steps: Step) -> Any:
    """What a value is after an assignment to the part of it that steps lead to."""
    in_lists = _in_lists(root, value, steps)
    return _changed(root, steps, lambda base, step: _assigned(base, step, value)) if in_lists is None else in_lists


def part(root: Any, *steps: Step) -> Any:
    """What an augmented assignment to a part of a value begins with."""
    *way, last = steps
    is_there(last[1], "an item at")
    if way and (lists := Lists.of(root, _keys(steps))) is not None:
        return lists.found()
    for step in way:
        root = _read(root, step)
    if is_array(root) and last[0] == "[]":
        check_index(last[1], root)
        return array_stores.part(root, last[1])
    return _read(root, last)


def part_to_change(root: Any, *steps: Step) -> Any:
    """A container that is a part of a value, as one of its own: it is changed, and put back."""
    value = part(root, *steps)
    if isinstance(value, Growing):
        return copy.copy(value)
    if any(is_lane_index(key) for _, key in steps):
        raise UnsupportedSyntaxError(
            "this code changes an item of a list in place, which is another one in each lane",
            help="assign to the item: `items[i] = [*items[i], x]`.",
        )
    return value


def put(root: Any, value: Any, *steps: Step) -> Any:
    """What a value is after an augmented assignment, which made ``value`` of ``part``."""

    def assigned(base: Any, step: Step) -> Any:
        is_element = is_array(base) and step[0] == "[]"
        return array_stores.put(base, step[1], value) if is_element else _assigned(base, step, value)

    in_lists = _in_lists(root, value, steps)
    return _changed(root, steps, assigned) if in_lists is None else in_lists


def _keys(steps: Sequence[Step]) -> list[Any]:
    """The indices that steps are; of an attribute, one that there is not."""
    return [key if kind == "[]" else None for kind, key in steps]


def _in_lists(root: list[Any], value: Any, steps: Sequence[Step]) -> list[Any] | None:
    """Lists in which another number is at a lane's indices, if that is what steps lead to."""
    if any_optional([value, root]) or not (is_array(value) or isinstance(value, NUMBERS)) or np.ndim(value):
        return None
    lists = Lists.of(root, _keys(steps), _are_alike)
    if lists is None:
        return None
    for _, key in steps:
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
    """Whether values are numbers of one type, enough of them to be worth an array."""
    if len(values) < LEAST_NUMBERS_JOINED or not all(is_array(value) or isinstance(value, NUMBERS) for value in values):
        return False
    kind, *others = {widened_leaf(leaf_type(value)) for value in values}
    return not others and isinstance(kind, TensorType) and kind.shape == ()


def _changed(base: Any, steps: Sequence[Step], assigned: Callable[[Any, Step], Any]) -> Any:
    """A value in which the part that the last step leads to is another."""
    step, *rest = steps
    is_there(step[1], "an item at")
    if not rest or is_array(base):
        has_changed(base)
    if not rest:
        new = assigned(base, step)
        is_now(new, base)
        return new
    if is_array(base) and step[0] == "[]" and rest[0][0] == "[]":
        if not array_stores.is_view(step[1]):
            raise BatchTypeError(
                "an item of a copy is assigned to: what an array of indices or a mask takes out of an array is one",
                help="write all indices into one pair of brackets, as in `a[i, j] = …`.",
            )
        keys = [key if isinstance(key, tuple) else (key,) for key in (step[1], rest[0][1])]
        if all(map(_is_number, keys[0])):
            return _changed(base, [("[]", (*keys[0], *keys[1])), *rest[1:]], assigned)
    new = _with_part(base, step, _changed(_read(base, step), rest, assigned))
    is_now(new, base)
    return new


def _read(base: Any, step: Step) -> Any:
    kind, key = step
    return item(base, key) if kind == "[]" else getattr(base, key)


def _assigned(base: Any, step: Step, value: Any) -> Any:
    """What a value is after an item or an attribute of it is assigned to, if Python allows that."""
    kind, key = step
    if kind == ".":
        new = _copied(base, f"attribute {key!r}")
        setattr(new, key, value)
        return new
    if is_array(base) and np.ndim(base):
        check_index(key, base)
        return array_stores.stored(jnp.asarray(base), key, value)
    if isinstance(base, tuple):
        raise TypeError(f"{type(base).__name__!r} object does not support item assignment")
    return _with_part(base, step, value, is_other=True)


def _with_part(base: Any, step: Step, value: Any, *, is_other: bool = False) -> Any:
    """A value with another item or attribute; of a tuple too, which then is not assigned to, but what is in it.

    Args:
        base: The value.
        step: Where the part is.
        value: What is there then.
        is_other: Whether that is another object, and not the one that is there with a change in it.
    """
    kind, key = step
    if kind == ".":
        return _with_attribute(base, key, value)
    if is_array(base) and np.ndim(base):
        check_index(key, base)
        return array_stores.stored(jnp.asarray(base), key, value)
    if isinstance(base, Growing):
        return base.with_item(key, value, is_other=is_other)
    if isinstance(base, (list, tuple)):
        return _with_list_item(base, key, value, is_other=is_other)
    if isinstance(base, dict):
        return _with_entry(base, key, value)
    if hasattr(type(base), "__setitem__") and not is_array(base):
        raise UnsupportedSyntaxError(
            f"this assigns to an item of a {type(base).__name__!r}, whose `__setitem__` is not followed",
            help="write a method of another name, and call it by that, as in `x.put(i, value)`.",
        )
    raise TypeError(f"{_kind(base)!r} object does not support item assignment")


def _with_attribute(base: Any, name: str, value: Any) -> Any:
    if hasattr(base, "_replace"):
        return base._replace(**{name: value})
    new = _copied(base, f"attribute {name!r}")
    object.__setattr__(new, name, value)
    return new


def _with_list_item(base: list[Any] | tuple[Any, ...], key: Any, value: Any, *, is_other: bool) -> Any:
    if isinstance(key, (Span, Stretch)):
        raise BatchTypeError(
            "a slice of a list begins or ends where the lane says",
            help="assign to one item after the other in a loop, or keep an array: `jnp.array(items)`.",
        )
    new = list(base)
    if not is_lane_index(key):
        new[_as_python(key)] = value
        return _like(base, new)
    within(key, len(new))
    new = _all_chosen(new, key, value)
    for one, old in zip(new, base, strict=True):
        is_one_of(one, [old, value] if is_other else [old])
    return _like(base, new)


def _with_entry(base: dict[Any, Any], key: Any, value: Any) -> dict[Any, Any]:
    if any(map(is_tracer, jax.tree.leaves(key))):
        error = BatchTypeError(
            "the key of a dict differs between lanes",
            help="let all its keys be numbers, and no texts; or keep an array, and use the key for its index.",
        )
        error.about = places_of(base) or type(base)
        raise error
    new = copy.copy(base)
    new[key] = value
    return new


def _copied(base: Any, what: str) -> Any:
    """Another object like one whose attributes are assigned to."""
    is_leaf = jax.tree_util.all_leaves([base]) and not is_boxable(base)
    if isinstance(base, (list, dict, tuple)) or is_array(base) or is_leaf:
        raise UnsupportedSyntaxError(
            f"assignment to the {what} of {'an array' if is_array(base) else f'a {_kind(base)}'}",
            help="build a new value, as `_replace` of a NamedTuple does.",
        )
    return copy.copy(base)


def _like(base: Any, items: list[Any]) -> Any:
    """Items as a container of the same class."""
    if isinstance(base, list):
        return items
    return type(base)(*items) if hasattr(base, "_fields") else tuple(items)


def _all_chosen(items: Sequence[Any], index: Any, value: Any) -> list[Any]:
    """Items of a list after the one at a lane's index is assigned to."""
    if any_optional([value, *items]):
        raise UnsupportedSyntaxError(
            "an item is chosen by the lane, and items are None in some lanes",
            help="keep a number in place of None, or a list of flags beside the items.",
        )
    size, value, olds = len(items), boxed(value, ()), [boxed(item, ()) for item in items]
    value, *olds = _with_lengths([value, *olds])
    tree: Any = jax.tree.structure(value)
    other = next((item for item in olds if jax.tree.structure(item) != tree), None)
    if other is not None:
        raise _of_several_types(type_of(value), type_of(other))
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


def _row(numbers: Sequence[Any]) -> Any:
    return as_one(numbers) if len(numbers) > 1 else jnp.reshape(numbers[0], (1,))


def _with_lengths(values: Sequence[Any]) -> list[Any]:
    """Values, whose containers are of one type in all if they have another length in each lane."""
    types = [Type(jax.tree.map(leaf_type, value)) for value in values]
    if not any(type_.grows for type_ in types):
        return list(values)
    try:
        joined = functools.reduce(join, types)
    except DisagreementError:
        raise _of_several_types(types[0], types[1]) from None
    return [lift(value, joined) for value in values]


def _of_one_type(leaves: Sequence[Any]) -> list[Any]:
    """Leaves as arrays of the type that all of them have together.

    Raises:
        BatchTypeError: There is none.
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
    """Leaves as arrays of the type that all of them have together, and of one dtype.

    Python's own numbers keep their kind in ``_of_one_type``; of integers and a float, all are floats here.
    """
    numbers = _of_one_type(leaves)
    dtype = jnp.result_type(*dict.fromkeys(number.dtype for number in numbers))
    return [number if number.dtype == dtype else weakly(number, dtype) for number in numbers]


def _converted(leaf: Any, kind: TensorType) -> Any:
    """A number as one of the type of all; Python's own stay what they are where that is one of Python's too."""
    if is_array(leaf) and leaf.dtype == kind.dtype:
        return leaf
    return jnp.asarray(leaf) if kind.weak else jnp.asarray(leaf, kind.dtype)


def own(value: Any) -> Any:
    """An argument that is changed: if it is static, an object of the function's own; the caller's stays as it is."""
    if not is_boxable(value):
        return value
    new = _copied_with_its_objects(value)
    is_one_of(new, [value])
    return new


def _copied_with_its_objects(value: Any) -> Any:
    """Another object like one, and like those in it; what is None in some lanes is known by itself, and stays."""
    new = copy.copy(value)
    for name, part in attributes_of(value).items():
        own_part = mapped(
            lambda leaf: _copied_with_its_objects(leaf) if is_boxable(leaf) and not is_optional(leaf) else leaf,
            part,
            is_optional,
        )
        object.__setattr__(new, name, own_part)
    return new


def type_of(value: Any) -> Type:
    """The type of a value, for messages."""
    return Type(jax.tree.map(leaf_type, boxed(value, ())))


def _of_several_types(left: Type, right: Type) -> BatchTypeError:
    return BatchTypeError(
        f"an item of a list is chosen by an index that differs between lanes, and the items are of several types: "
        f"one is {left}, another {right}",
        help="make them of one type, and of one shape.",
    )


def _is_number(key: Any) -> bool:
    return is_lane_index(key) or (isinstance(key, (int, np.integer)) and not isinstance(key, bool))


def _has_span(key: Any) -> bool:
    return any(isinstance(part, Span) for part in (key if isinstance(key, tuple) else (key,)))


def _as_python(key: Any) -> Any:
    """A key with slices that differ between lanes as they are written, which is for the value to refuse."""
    if isinstance(key, tuple):
        return tuple(map(_as_python, key)) if any(isinstance(k, Stretch) for k in key) else key
    return slice(key.lower, key.upper, key.step) if isinstance(key, Stretch) else key


def _kind(value: Any) -> str:
    return "array" if is_array(value) else type(value).__name__
