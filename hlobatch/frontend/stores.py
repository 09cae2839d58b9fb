"""A value, and the new value of a part of it -> the whole value after the assignment.

::

    a[i] = v           a = stored(a, v, ("[]", i))         for an array a new array, for a list a new list, …
    grid[y].x = v      grid = stored(grid, v, ("[]", y), (".", "x"))

A value never changes: containers on the path to the part are copied, all else is shared. ``identity.py`` notes which
Python object the new value stands for. The code runs while it is traced; exceptions of Python's are explained by the
tracing.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch.diagnostics import BatchTypeError, UnsupportedSyntaxError
from hlobatch.frontend import array_stores
from hlobatch.frontend.builtins import is_array
from hlobatch.frontend.items import Lists, check_index, check_key, gathered, within
from hlobatch.frontend.items import item as chosen_item
from hlobatch.frontend.lane_numbers import is_of_lane
from hlobatch.frontend.lane_slices import Span, Stretch, is_lane_index
from hlobatch.frontend.list_stores import all_chosen, in_lists
from hlobatch.frontend.own_methods import own_method_error
from hlobatch.ir.boxed import Boxed, mapped
from hlobatch.ir.choice import Choice
from hlobatch.ir.growing import Growing
from hlobatch.ir.value import Collection
from hlobatch.prelude.bases import Content
from hlobatch.values.boxes import attributes_of, boxed, is_boxable
from hlobatch.values.growing_tables import GrowingDict
from hlobatch.values.held_classes import is_held
from hlobatch.values.identity import has_changed, is_now, is_one_of, mutable_parts, places_of
from hlobatch.values.kinds import Kinds, asked
from hlobatch.values.lane_failures import by_python, is_there, needed
from hlobatch.values.one_of import chosen
from hlobatch.values.optional import is_optional
from hlobatch.values.own_containers import are_made, content, has_content

Step = tuple[str, Any]
"""A step to a part of a value: ``("[]", key)`` or ``(".", name)``, as ``places.py`` makes them."""


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
    """The value after an assignment to the part to which the steps lead."""
    steps = _into_contents(root, steps)
    _refuse_circle(root, value, steps)
    new = in_lists(root, value, _keys(steps))
    return _changed(root, steps, lambda base, step: _assigned(base, step, value)) if new is None else new


def _refuse_circle(root: Any, value: Any, steps: Sequence[Step]) -> None:
    """Refuse to put an object into a part of itself, since a variable holds an object with all its parts."""
    if not is_boxable(value) and not isinstance(value, (list, dict, tuple)):
        return
    inside = {id(part): part for _, part in mutable_parts(value) if is_boxable(part)}
    base = root
    for step in steps if inside else ():
        if id(base) in inside:
            error = UnsupportedSyntaxError(
                f"an object of {type(base).__name__!r} is made to refer to itself",
                help="keep its parts in arrays or lists, and refer to them by their index.",
            )
            error.is_of_references = True
            raise error
        base = _read(base, step) if step is not steps[-1] else None


def part(root: Any, *steps: Step) -> Any:
    """The operand of an augmented assignment to a part of a value."""
    *way, last = _into_contents(root, steps, is_read=True)
    _check_step(None if way else root, last)
    if way and (lists := Lists.of(root, _keys(steps))) is not None:
        return lists.found()
    for step in way:
        root = _to_read(_read(root, step))
    if is_array(root) and last[0] == "[]":
        check_index(last[1], root)
        return array_stores.part(root, last[1])
    return _own(_read(root, last))


def _own(value: Any) -> Any:
    """A value to be changed and stored back: a copy of a growing container, any other value itself."""
    if not isinstance(value, Growing):
        return value
    new = copy.copy(value)
    has_changed(value)
    is_now(new, value)
    return new


def _to_read(value: Any) -> Any:
    """An item that is read; a ``defaultdict`` is copied, since the read may add a key, and is stored back."""
    return _own(value) if getattr(value, "factory", None) is not None else value


def part_to_change(root: Any, *steps: Step) -> Any:
    """A container that is a part of a value, as a copy to be changed and stored back."""
    value = part(root, *steps)
    if isinstance(value, Kinds):
        asked(value)
    if isinstance(value, Growing) or is_boxable(value):  # a method of a user's object is a call of the program
        return value
    if any(is_lane_index(key) for _, key in steps):
        error = UnsupportedSyntaxError(
            "this code changes an item of a list in place, which is another one in each lane",
            help="assign to the item: `items[i] = [*items[i], x]`.",
        )
        error.about = places_of(value) or None
        raise error
    return value


def put(root: Any, value: Any, *steps: Step) -> Any:
    """The value after an augmented assignment, where ``value`` is the new value of ``part``."""

    def assigned(base: Any, step: Step) -> Any:
        if is_array(base) and step[0] == "[]":
            return array_stores.put(base, step[1], value)
        return _with_part(base, step, value) if isinstance(value, Growing) else _assigned(base, step, value)

    steps = _into_contents(root, steps, is_read=True)
    new = in_lists(root, value, _keys(steps))
    return _changed(root, steps, assigned) if new is None else new


def put_back(root: Any, value: Any, *steps: Step) -> Any:
    """The value after a call has changed the part to which the steps lead to ``value``, perhaps a new object."""
    steps = _into_contents(root, steps)
    if _is_copy(root, steps):
        return root
    new = in_lists(root, value, _keys(steps))
    return _changed(root, steps, lambda base, step: _with_part(base, step, value)) if new is None else new


def _holds_container(part: Any) -> bool:
    """Whether a part of a value is an object of a class that is derived from a container."""
    return isinstance(part, Boxed) and issubclass(part.cls, Content)


def _into_contents(root: Any, steps: Sequence[Step], *, is_read: bool = False) -> tuple[Step, ...]:
    """The steps, with one to the container in each object of a class that is derived from a container.

    An item of such an object is an item of its container, unless methods of the user's say otherwise.

    Args:
        root: The value at the beginning.
        steps: The steps.
        is_read: Whether the part is also read.

    Raises:
        UnsupportedSyntaxError: Methods of the user's have to be called for an item.
    """
    if not are_made() or not any(map(_holds_container, jax.tree.leaves(boxed(root, ()), is_leaf=_holds_container))):
        return tuple(steps)
    found, base = list[Step](), root
    for index, (kind, key) in enumerate(steps):
        is_last = index == len(steps) - 1
        if kind == "[]" and has_content(base):
            reads = ("__getitem__",) if is_read or not is_last else ()
            if (inner := content(base, *reads, *(("__setitem__",) if is_last else ()))) is base:
                raise own_method_error(base, "__setitem__", "assigns to")
            found.append((".", "hb_content"))
            base = inner
        found.append((kind, key))
        base = None if is_last else _read(base, (kind, key))
    return tuple(found)


def _is_copy(root: Any, steps: Sequence[Step]) -> bool:
    """Whether steps lead to a copy, whose changes are not stored back: a slice, or some elements of an array.

    The items of a slice of a list are stored back if they can change, since they are the same objects.
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
    """The indices among the steps; None for an attribute."""
    return [key if kind == "[]" else None for kind, key in steps]


def _check_step(base: Any, step: Step) -> None:
    """Note the lanes in which an index is None; refuse a key that is, which a dict may have."""
    kind, key = step
    if kind == "[]" and isinstance(base, dict) and is_optional(key):
        check_key(base, key)
    if not isinstance(base, (dict, GrowingDict)):
        is_there(key, "an item at")


def _changed(base: Any, steps: Sequence[Step], assigned: Callable[[Any, Step], Any]) -> Any:
    """A copy of a value with the part to which the steps lead replaced by ``assigned(base, step)``."""
    step, *rest = steps
    _check_step(base, step)
    if step[0] == ".":
        needed(base, AttributeError, f"'NoneType' object has no attribute {step[1]!r}")
    else:
        needed(base, TypeError, "'NoneType' object does not support item assignment")
    if not rest or is_array(base):
        has_changed(base)
    if not rest:
        new = assigned(base, step)
        is_now(new, base)
        return new
    if is_array(base) and step[0] == "[]" and rest[0][0] == "[]":
        if isinstance(step[1], Stretch):
            raise BatchTypeError(
                "an element of a slice is assigned, whose bounds differ between lanes",
                help="write into the array itself: `x[i + k] = v` for `x[i:j][k] = v`.",
            )
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
    """The value after an assignment to an item or an attribute; an error if Python does not allow it."""
    kind, key = step
    if kind == "." and isinstance(base, Growing):
        raise AttributeError(f"{base.python.__name__!r} object has no attribute {key!r}")
    if kind == ".":
        if is_held(base):
            setattr(base, key, value)  # refuses it
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
    """The value with another item or attribute; a tuple is allowed, since not the tuple but a part of its item changes.

    Args:
        base: The value.
        step: The step to the part.
        value: The new part.
        is_other: Whether the new part is another object, and not the old one after a change in place.
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
        raise own_method_error(base, "__setitem__", "assigns to")
    raise TypeError(f"{_kind(base)!r} object does not support item assignment")


def _with_attribute(base: Any, name: str, value: Any) -> Any:
    if hasattr(base, "_replace"):
        return base._replace(**{name: value})
    new = _copied(base, f"attribute {name!r}")
    object.__setattr__(new, name, value)
    return new


def _with_list_item(base: list[Any] | tuple[Any, ...], key: Any, value: Any, *, is_other: bool) -> Any:
    given = isinstance(key, slice) and isinstance(value, (Collection, Choice))
    if given or isinstance(key, (Span, Stretch)):
        error = BatchTypeError(
            "a slice of a list begins or ends where the lane says, or is given as many items as the lane says",
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
    if any(map(is_of_lane, jax.tree.leaves(key))):
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
    """A copy of an object to whose attribute is assigned; an error if it has none."""
    is_leaf = jax.tree_util.all_leaves([base]) and not is_boxable(base)
    if isinstance(base, (list, dict, tuple)) or is_array(base) or is_leaf:
        raise UnsupportedSyntaxError(
            f"assignment to the {what} of {'an array' if is_array(base) else f'a {_kind(base)}'}",
            help="build a new value, as `_replace` of a NamedTuple does.",
        )
    return copy.copy(base)


def _like(base: Any, items: list[Any]) -> Any:
    """Items in a container of the same class as ``base``."""
    if isinstance(base, list):
        return items
    return type(base)(*items) if hasattr(base, "_fields") else tuple(items)


def own(value: Any) -> Any:
    """An argument that the function changes: an object is copied, so that the caller's static object stays as it is."""
    if not is_boxable(value) or is_held(value):
        return value
    new = _copied_with_its_objects(value)
    is_one_of(new, [value])
    return new


def _copied_with_its_objects(value: Any) -> Any:
    """A copy of an object and of the objects in it; those that are None in some lanes are not copied."""
    new = copy.copy(value)
    for name, part in attributes_of(value).items():
        own_part = mapped(
            lambda leaf: (
                _copied_with_its_objects(leaf)
                if is_boxable(leaf) and not (is_optional(leaf) or is_held(leaf))
                else leaf
            ),
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
    """A key with slices that differ between lanes as plain slices, for ``value[key]`` to refuse."""
    if isinstance(key, tuple):
        return tuple(map(_as_python, key)) if any(isinstance(k, (Span, Stretch)) for k in key) else key
    if isinstance(key, Span):
        return slice(key.start, key.start + key.size)
    return slice(key.lower, key.upper, key.step) if isinstance(key, Stretch) else key


def _kind(value: Any) -> str:
    return "array" if is_array(value) else type(value).__name__
