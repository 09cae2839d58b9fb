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
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch._jax import is_tracer
from hlobatch.analysis.boxes import attributes_of, is_boxable
from hlobatch.analysis.identity import has_changed, is_now, is_one_of, mutable_parts, places_of
from hlobatch.analysis.lane_failures import by_python, is_there
from hlobatch.analysis.one_of import chosen
from hlobatch.analysis.optional import is_optional
from hlobatch.diagnostics import BatchTypeError, UnsupportedSyntaxError
from hlobatch.frontend import array_stores
from hlobatch.frontend.builtins import is_array
from hlobatch.frontend.items import Lists, check_index, check_key, gathered, within
from hlobatch.frontend.items import item as chosen_item
from hlobatch.frontend.lane_slices import Span, Stretch, is_lane_index
from hlobatch.frontend.list_stores import all_chosen, in_lists
from hlobatch.ir.boxed import mapped
from hlobatch.ir.choice import Choice
from hlobatch.ir.growing import Growing

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
    if isinstance(key, Choice) and not isinstance(value, Growing):
        return chosen_item(value, key)
    if isinstance(value, dict):
        check_key(value, key)
    return value[_as_python(key)]


def stored(root: Any, value: Any, *steps: Step) -> Any:
    """What a value is after an assignment to the part of it that steps lead to."""
    new = in_lists(root, value, _keys(steps))
    return _changed(root, steps, lambda base, step: _assigned(base, step, value)) if new is None else new


def part(root: Any, *steps: Step) -> Any:
    """What an augmented assignment to a part of a value begins with."""
    *way, last = steps
    is_there(last[1], "an item at")
    if way and (lists := Lists.of(root, _keys(steps))) is not None:
        return lists.found()
    for step in way:
        root = _to_read(_read(root, step))
    if is_array(root) and last[0] == "[]":
        check_index(last[1], root)
        return array_stores.part(root, last[1])
    return _own(_read(root, last))


def _own(value: Any) -> Any:
    """A container that is changed, and put back."""
    if not isinstance(value, Growing):
        return value
    new = copy.copy(value)
    has_changed(value)
    is_now(new, value)
    return new


def _to_read(value: Any) -> Any:
    """An item that is read: what a key that is not there puts into it is put there with its new value."""
    return _own(value) if getattr(value, "factory", None) is not None else value


def part_to_change(root: Any, *steps: Step) -> Any:
    """A container that is a part of a value, as one of its own: it is changed, and put back."""
    value = part(root, *steps)
    if isinstance(value, Growing):
        return value
    if any(is_lane_index(key) for _, key in steps):
        raise UnsupportedSyntaxError(
            "this code changes an item of a list in place, which is another one in each lane",
            help="assign to the item: `items[i] = [*items[i], x]`.",
        )
    return value


def put(root: Any, value: Any, *steps: Step) -> Any:
    """What a value is after an augmented assignment, which made ``value`` of ``part``."""

    def assigned(base: Any, step: Step) -> Any:
        if is_array(base) and step[0] == "[]":
            return array_stores.put(base, step[1], value)
        return _with_part(base, step, value) if isinstance(value, Growing) else _assigned(base, step, value)

    new = in_lists(root, value, _keys(steps))
    return _changed(root, steps, assigned) if new is None else new


def put_back(root: Any, value: Any, *steps: Step) -> Any:
    """What a value is after a call has made ``value`` of the object that steps lead to, which may be a new one."""
    if _is_copy(root, steps):
        return root
    new = in_lists(root, value, _keys(steps))
    return _changed(root, steps, lambda base, step: _with_part(base, step, value)) if new is None else new


def _is_copy(root: Any, steps: Sequence[Step]) -> bool:
    """Whether steps lead to a copy of which nothing is put back: a slice, or some elements of an array.

    Of a slice of a list the items are put back if they can change; they are the same objects.
    """
    for index, (kind, key) in enumerate(steps):
        is_last = index == len(steps) - 1
        if kind == "[]" and is_array(root):
            return not (array_stores.is_view(key) or isinstance(key, Stretch))
        if is_last:
            is_slice = kind == "[]" and isinstance(key, (slice, Span, Stretch))
            return is_slice and (isinstance(root, Growing) or len(list(mutable_parts(root))) <= 1)
        root = _read(root, (kind, key))
    return False


def _keys(steps: Sequence[Step]) -> list[Any]:
    """The indices that steps are; of an attribute, one that there is not."""
    return [key if kind == "[]" else None for kind, key in steps]


def _changed(base: Any, steps: Sequence[Step], assigned: Callable[[Any, Step], Any]) -> Any:
    """A copy of a value in which the part that the steps lead to is replaced."""
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
        return base.with_item(_as_python(key), value, is_other=is_other)
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
        error = BatchTypeError(
            "a slice of a list begins or ends where the lane says",
            help="give the list a name, and assign to the slice in a statement of its own.",
        )
        error.about = places_of(base) or type(base)
        raise error
    new = list(base)
    if not is_lane_index(key):
        with by_python():
            new[_as_python(key)] = value
        return _like(base, new)
    within(key, len(new))
    new = all_chosen(new, key, value)
    for one, old in zip(new, base, strict=True):
        is_one_of(one, [old, value] if is_other else [old])
    return _like(base, new)


def _with_entry(base: dict[Any, Any], key: Any, value: Any) -> dict[Any, Any]:
    if isinstance(key, Choice) and all(one in base for one in key.hb_objects):
        new = copy.copy(base)
        for place, one in enumerate(key.hb_objects):
            new[one] = chosen([base[one], value], jnp.asarray(key.hb_index == place, jnp.int32))
        return new
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


def _is_number(key: Any) -> bool:
    return is_lane_index(key) or (isinstance(key, (int, np.integer)) and not isinstance(key, bool))


def _has_span(key: Any) -> bool:
    return any(isinstance(part, Span) for part in (key if isinstance(key, tuple) else (key,)))


def _as_python(key: Any) -> Any:
    """A key with slices that differ between lanes as they are written, which is for the value to refuse."""
    if isinstance(key, tuple):
        return tuple(map(_as_python, key)) if any(isinstance(k, (Span, Stretch)) for k in key) else key
    if isinstance(key, Span):
        return slice(key.start, key.start + key.size)
    return slice(key.lower, key.upper, key.step) if isinstance(key, Stretch) else key


def _kind(value: Any) -> str:
    return "array" if is_array(value) else type(value).__name__
