"""Boxes, in which variables hold what JAX would change: objects of the user's classes, and dicts in their own order.

JAX takes an object for a leaf unless its class is registered, and returns a dict with its keys sorted. User code and
the caller of the batched function get the object itself, and the dict in the order in which its keys were inserted; in
between it is a ``Boxed``. No user class is registered with JAX.
"""

from __future__ import annotations

import contextvars
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax

from hlobatch.ir.value import Collection, Value, is_value
from hlobatch.prelude.bases import Content
from hlobatch.scoped import having


@jax.tree_util.register_pytree_node_class
@dataclass(frozen=True, eq=False)
class Boxed(Value):
    """An object, or a dict whose keys are not sorted.

    Attributes:
        cls: The class of the object or dict.
        names: The object's attribute names, sorted; or the dict's keys in order, after the factory of a
            ``defaultdict``.
        values: The values of the attributes or keys, each a pytree.
    """

    cls: type
    names: tuple[Any, ...]
    values: tuple[Any, ...]

    def hb_known(self, known: Callable[[Any], Any]) -> Any:
        return as_python(object_of(self, known))

    def hb_truth(self, truth: Callable[[Any], Any]) -> Any:
        return truth(object_of(self, lambda inner: inner))

    def hb_text(self, text: Callable[[Any], str]) -> str:
        parts = zip(self.names[-len(self.values) :], map(text, self.values), strict=True) if self.values else ()
        if issubclass(self.cls, dict):
            return "{" + ", ".join(f"{name}: {part}" for name, part in parts) + "}"
        return f"{self.cls.__name__}({', '.join(f'{name}={part}' for name, part in parts)})"

    @property
    def hb_content(self) -> Any:
        """The container in an object of a class that is derived from one; None for any other object."""
        if not issubclass(self.cls, Content):
            return None
        return next((value for name, value in zip(self.names, self.values, strict=True) if name == "hb_content"), None)

    def hb_with_content(self, content: Any) -> Boxed:
        """The object with another container in it."""
        values = [content if name == "hb_content" else own for name, own in zip(self.names, self.values, strict=True)]
        return Boxed(self.cls, self.names, tuple(values))

    def tree_flatten(self) -> tuple[tuple[Any, ...], tuple[type, tuple[Any, ...]]]:
        return self.values, (self.cls, self.names)

    @classmethod
    def tree_unflatten(cls, data: tuple[type, tuple[Any, ...]], values: Sequence[Any]) -> Boxed:
        return cls(*data, tuple(values))


def unboxed(value: Any, finished: Callable[[Any], Any] = lambda made: made) -> Any:
    """A pytree with objects in place of boxes, except within collections; unchanged if there are no boxes.

    Args:
        value: The pytree.
        finished: A function applied to each object.
    """
    if not boxes_in(value):
        return value
    is_whole = lambda part: isinstance(part, (Boxed, Collection))  # noqa: E731
    inside = partial(unboxed, finished=finished)
    return jax.tree.map(
        lambda part: finished(object_of(part, inside)) if is_boxed(part) else part, value, is_leaf=is_whole
    )


def in_python(value: Any, of_array: Callable[[Any], Any] = lambda array: array) -> Any:
    """A pytree of arrays with known values, with Python objects in place of our kinds of value.

    Args:
        value: The pytree.
        of_array: Converts the arrays.
    """
    known = partial(in_python, of_array=of_array)
    return mapped(lambda part: part.hb_known(known) if is_value(part) else of_array(part), value, is_value)


def is_boxed(part: Any) -> bool:
    """Whether a value is a box."""
    return isinstance(part, Boxed)


def boxes_in(value: Any) -> list[Boxed]:
    """The outermost boxes in a pytree."""
    return list(filter(is_boxed, jax.tree.leaves(value, is_leaf=is_boxed)))


Keys = frozenset[Any]
"""The keys of a dict, whatever their order."""


@dataclass
class Dicts:
    """How dicts are kept while code is traced.

    Attributes:
        are_sorted: The key sets of the dicts that are sorted as JAX does; None if all are.
        differ: Whether a dict was met for which that makes a difference.
    """

    are_sorted: frozenset[Keys] | None
    differ: bool = False


_dicts: contextvars.ContextVar[Dicts | None] = contextvars.ContextVar("hlobatch_dicts", default=None)


def dicts(are_sorted: frozenset[Keys] | None) -> AbstractContextManager[Dicts]:
    """Within it, dicts of user code keep their own order, except those with keys in ``are_sorted``, or all for None."""
    return having(_dicts, Dicts(are_sorted))


def is_in_own_order(value: Any) -> bool:
    """Whether a value is a dict that JAX would return in another order, and that is to keep its own."""
    if not has_own_order(value):
        return False
    if (kept := _dicts.get()) is None:
        return True
    kept.differ = True
    return kept.are_sorted is not None and frozenset(value) not in kept.are_sorted


def has_lost_its_order(value: Mapping[Any, Any]) -> bool:
    """Whether a dict has been sorted because two paths give a variable its keys in different orders."""
    if (kept := _dicts.get()) is None or len(value) < 2:
        return False
    return kept.are_sorted is None or frozenset(value) in kept.are_sorted


def has_own_order(value: Any) -> bool:
    """Whether a value is a dict that JAX would return in another order, or reject because its keys cannot be sorted."""
    if type(value) not in (dict, defaultdict) or len(value) < 2:
        return False
    try:
        return sorted(value) != list(value)
    except TypeError:  # keys of several kinds
        return True


def in_own_order(value: dict[Any, Any], inside: Callable[[Any], Any]) -> Boxed:
    """A dict as a box.

    Args:
        value: The dict.
        inside: Converts each of its values.
    """
    first = (value.default_factory,) if isinstance(value, defaultdict) else ()
    return Boxed(type(value), (*first, *value), tuple(map(inside, value.values())))


def with_boxes(value: Any) -> Any:
    """A pytree with boxes in place of the dicts that are to keep their own order."""
    return jax.tree.map(
        lambda part: in_own_order(part, with_boxes) if is_in_own_order(part) else part, value, is_leaf=is_in_own_order
    )


def as_dict(value: Any) -> Any:
    """The dict in a box; any other value, or type, unchanged."""
    if isinstance(value, Boxed) and issubclass(value.cls, dict):
        return object_of(value, lambda inner: inner)
    return value


def leaves_of(value: Any, is_leaf: Callable[[Any], bool]) -> Iterator[Any]:
    """``jax.tree.leaves`` that also accepts dicts whose keys cannot be sorted."""
    for leaf in jax.tree.leaves(value, is_leaf=lambda part: is_leaf(part) or has_own_order(part)):
        if has_own_order(leaf) and not is_leaf(leaf):
            yield from leaves_of(list(leaf.values()), is_leaf)
        else:
            yield leaf


def mapped(function: Callable[[Any], Any], value: Any, is_leaf: Callable[[Any], bool]) -> Any:
    """``jax.tree.map`` that keeps dicts in their own order."""

    def part_of(part: Any) -> Any:
        if is_in_own_order(part) and not is_leaf(part):
            return object_of(in_own_order(part, lambda inner: mapped(function, inner, is_leaf)), lambda inner: inner)
        return function(part)

    return jax.tree.map(part_of, value, is_leaf=lambda part: is_leaf(part) or is_in_own_order(part))


def as_python(value: Any) -> Any:
    """The object that the user gets: one of a class that stands for the user's in lanes becomes one of the user's."""
    return value.hb_as_python() if isinstance(value, Content) else value


def object_of(box: Boxed, inside: Callable[[Any], Any]) -> Any:
    """The object, or the dict, in a box.

    Args:
        box: The box.
        inside: Converts the value of each attribute, in which there may be boxes.
    """
    if box.cls is dict:
        return dict(zip(box.names, map(inside, box.values), strict=True))
    if box.cls is defaultdict:
        return defaultdict(box.names[0], zip(box.names[1:], map(inside, box.values), strict=True))
    new: Any = (BaseException if issubclass(box.cls, BaseException) else object).__new__(box.cls)
    for name, value in zip(box.names, box.values, strict=True):
        object.__setattr__(new, name, inside(value))
    return new
