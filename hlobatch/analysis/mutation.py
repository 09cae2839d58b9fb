"""An object -> the objects it refers to, and whether tracing a statement has changed any of them.

A statement is traced once, however many lanes and turns it runs in. An object that it changes would be changed once,
for all of them.
"""

from __future__ import annotations

import array
import collections
import functools
import io
import itertools
import operator
import pickle
import random
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from hlobatch.diagnostics import UnsupportedSyntaxError
from hlobatch.ir.sameness import are_same
from hlobatch.ir.walk import attributes, is_filled
from hlobatch.values.draws import GENERATORS, owner_of, refuse_source


@dataclass(frozen=True)
class Namespace:
    """Names of a module that code uses, and may bind to other objects.

    Attributes:
        bound: The namespace of the module.
        names: The names.
    """

    bound: dict[str, Any]
    names: frozenset[str]


@dataclass(frozen=True)
class Part:
    """A snapshot of one object that may change.

    Attributes:
        item: The object.
        read: A function that gives its items, entries or attributes.
        before: The result of ``read`` when the snapshot was taken.
        may_grow: Whether a new entry, or a value for an entry that was None, counts as memory and not as a change.
        name: The name by which code reached the object; empty if unknown.
    """

    item: Any
    read: Callable[[Any], Any]
    before: Any
    may_grow: bool
    name: str = ""

    @classmethod
    def now(cls, item: Any, read: Callable[[Any], Any], name: str = "", *, may_grow: bool = True) -> Part:
        """A snapshot of an object."""
        return cls(item, read, read(item), may_grow, name)

    def differs(self) -> bool:
        """Whether the object has changed or grown since the snapshot."""
        before, now = self.before, self.read(self.item)
        if isinstance(before, dict):
            return before.keys() != now.keys() or any(old is not now[name] for name, old in before.items())
        if isinstance(before, tuple):
            return len(before) != len(now) or any(old is not new for old, new in zip(before, now, strict=True))
        return bool(before != now)

    def has_changed(self) -> bool:
        """Whether the object has changed since the snapshot, growth excepted if ``may_grow``."""
        before, now = self.before, self.read(self.item)
        if isinstance(before, bytes):
            return bool(before != now)
        if isinstance(before, tuple):
            return not _are_same(before, self._known_before(now) if self.may_grow else now)
        if self.may_grow:
            return any(
                old is not None and not (name in now and _is_same(old, now[name])) for name, old in before.items()
            )
        return not _are_same([*before, *before.values()], [*now, *now.values()])

    def _known_before(self, now: Sequence[Any]) -> Sequence[Any]:
        """The items of the object that it had before, if its container can grow."""
        if isinstance(self.item, set):
            return tuple(old for old in self.before if old in self.item)
        return now[: len(self.before)]

    def added(self) -> list[Any]:
        """The items that were added since the snapshot."""
        before, now = self.before, self.read(self.item)
        if isinstance(before, bytes):
            return []
        if isinstance(self.item, set):
            return [item for item in now if item not in before]
        if isinstance(before, tuple):
            return list(now[len(before) :])
        return [value for name, value in now.items() if name not in before or not _is_same(before[name], value)]

    @property
    def what(self) -> str:
        """The user's name for the change: the variable bound to another object, or else ``name``."""
        if not isinstance(self.item, Namespace):
            return self.name
        now = self.read(self.item)
        return next((name for name in self.item.names if self.before.get(name) is not now.get(name)), self.name)

    def put_back(self) -> None:
        """Restore the object, so that code that changes it is found to do so again when it runs again."""
        item, before = self.item, self.before
        match item:
            case Namespace(bound):
                _bind_again(bound.__setitem__, bound.pop, before, named(item))
            case types.CellType() if before:
                item.cell_contents = before[CONTENT]
            case types.CellType():
                del item.cell_contents
            case type():
                bind, drop = functools.partial(setattr, item), functools.partial(delattr, item)
                _bind_again(bind, drop, before, class_attributes(item))
            case _ if self.read is attributes:
                bind = functools.partial(object.__setattr__, item)
                _bind_again(bind, functools.partial(object.__delattr__, item), before, attributes(item))
            case bytearray() | list():
                item[:] = before
            case array.array():
                item[:] = array.array(item.typecode, before)
            case set() | dict():
                item.clear()
                item.update(before)
            case collections.deque():
                item.clear()
                item.extend(before)


def _bind_again(
    bind: Callable[[str, Any], Any], drop: Callable[[str], Any], before: Mapping[str, Any], now: Mapping[str, Any]
) -> None:
    """Bind names to the values that they had before."""
    for name in now.keys() - before.keys():
        drop(name)
    for name, value in before.items():
        if name not in now or now[name] is not value:
            bind(name, value)


def refuse_generator(value: Any) -> None:
    """Refuse a random generator, a method of one, or an iterator.

    Raises:
        UnsupportedSyntaxError: The value is such an object.
    """
    value = owner_of(value)
    if isinstance(value, GENERATORS) and not isinstance(value, random.SystemRandom):
        raise UnsupportedSyntaxError(
            f"a {type(value).__name__} draws as the program is built, once for all lanes and turns",
            help="use jax.random, with a key for each lane.",
        )
    refuse_source(value)


def has_changed(known: Sequence[Part]) -> bool:
    """Whether any object has changed since its snapshot; changes are undone."""
    return bool(changed(known))


def changed(known: Iterable[Part]) -> list[Part]:
    """The snapshots of objects that have changed since; the changes are undone."""
    found = [part for part in known if part.has_changed()]
    for part in found:
        part.put_back()
    return found


CONTENT: Final = "content"
"""The key of a closure variable's value in its snapshot."""


def cell_content(cell: types.CellType) -> dict[str, Any]:
    """The value of a closure variable; empty if it has none."""
    return {CONTENT: cell.cell_contents} if is_filled(cell) else {}


def named(namespace: Namespace) -> dict[str, Any]:
    """The values of the names that are bound."""
    return {name: namespace.bound[name] for name in namespace.names if name in namespace.bound}


def class_attributes(kind: type) -> dict[str, Any]:
    """The attributes of a class, without functions, other descriptors, and names that begin with two underscores."""
    found = {name: value for name, value in vars(kind).items() if not name.startswith("__")}
    return {name: value for name, value in found.items() if not hasattr(type(value), "__get__")}


def content(item: Any) -> Any:
    """The items of a Python container, or the state of a random generator; None for anything else."""
    match item:
        case dict():
            return dict(item)
        case set() | list() | tuple() | collections.deque():
            return tuple(item)
        case bytearray() | array.array():
            return bytes(item)
        case random.SystemRandom():
            return None
        case random.Random() | np.random.Generator() | np.random.RandomState():
            return pickle.dumps(item)
    return None


def position(iterator: Any) -> bytes:
    """The position of an iterator, as far as it can be read without advancing it."""
    match iterator:
        case types.GeneratorType():
            at: Any = iterator.gi_frame and iterator.gi_frame.f_lasti
        case itertools.count():
            at = repr(iterator)
        case io.IOBase():
            try:
                at = iterator.tell()
            except (OSError, ValueError):  # it is being iterated over, or closed
                at = None
        case _:
            at = operator.length_hint(iterator, -1)
    return repr(at).encode()


def _are_same(left: Sequence[Any], right: Sequence[Any]) -> bool:
    return len(left) == len(right) and all(map(_is_same, left, right))


_NUMBERS: Final = (int, float, complex, str, bytes)


def _is_same(left: Any, right: Any) -> bool:
    """Whether two objects are identical, or equal numbers or texts, whose identity does not matter."""
    return left is right or (isinstance(left, _NUMBERS) and are_same(left, right))
