"""Python objects outside of a statement -> whether tracing the statement has changed them, which is undone and refused.

A statement is traced once, however many lanes and turns it runs in. An object that it changes would be changed once,
for all of them.
"""

from __future__ import annotations

import array
import collections
import functools
import gc
import io
import itertools
import operator
import pickle
import random
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import jax
import numpy as np

from hlobatch.analysis.draws import GENERATORS, is_used_up, is_users_class, owner_of, refuse_source
from hlobatch.analysis.objects import ATOMS
from hlobatch.diagnostics import UnsupportedSyntaxError
from hlobatch.ir.sameness import attributes

MOST_PARTS_COMPARED: Final = 1_000
"""Objects looked at, of those that an object consists of, the nearest first."""
_WHOLE: Final = (*ATOMS, types.FunctionType, np.generic, jax.Array)
"""What is looked at no further: it does not change, or not by what code says that names it."""


@dataclass(frozen=True)
class Part:
    """A part of an object that may change.

    Attributes:
        item: The object, or one that it consists of.
        read: What gives its items, its entries or its attributes.
        before: What that gave.
        may_grow: Whether a new entry, or one for what was None, is no change, but something that it remembers.
    """

    item: Any
    read: Callable[[Any], Any]
    before: Any
    may_grow: bool

    def has_changed(self) -> bool:
        """Whether it consists of something else now."""
        before, now = self.before, self.read(self.item)
        if isinstance(before, bytes):
            return bool(before != now)
        if isinstance(before, tuple):
            return not _are_same(before, now)
        if self.may_grow:
            return any(old is not None and now.get(name) is not old for name, old in before.items())
        return not _are_same([*before, *before.values()], [*now, *now.values()])

    def put_back(self) -> None:
        """Let it consist of what it did, so that the same code is found to change it if it is run again."""
        match self.item:
            case type():
                for name, value in self.before.items():
                    setattr(self.item, name, value)
            case _ if self.read is attributes:
                for name, value in self.before.items():
                    object.__setattr__(self.item, name, value)
            case bytearray() | list():
                self.item[:] = self.before
            case array.array():
                self.item[:] = array.array(self.item.typecode, self.before)
            case set() | dict():
                self.item.clear()
                self.item.update(self.before)
            case collections.deque():
                self.item.clear()
                self.item.extend(self.before)


def refuse_generator(value: Any) -> None:
    """Refuse a generator of random numbers, or a method of one, or an iterator.

    Raises:
        UnsupportedSyntaxError: It is one.
    """
    value = owner_of(value)
    if isinstance(value, GENERATORS) and not isinstance(value, random.SystemRandom):
        raise UnsupportedSyntaxError(
            f"a {type(value).__name__} draws as the program is built, once for all lanes and turns",
            help="use jax.random, with a key for each lane.",
        )
    refuse_source(value)


def parts(value: Any, *, remembers: bool = False) -> list[Part]:
    """The parts of an object that may change, with what they hold now.

    Args:
        value: The object.
        remembers: Whether new entries of a dict are no change of it.
    """
    found: list[Part] = []
    pending, seen = collections.deque([value]), set[int]()
    while pending and len(seen) < MOST_PARTS_COMPARED:
        item = pending.popleft()
        kind = item if isinstance(item, type) else type(item)
        if id(kind) not in seen and is_users_class(kind):
            seen.add(id(kind))
            found.append(Part(kind, class_attributes, class_attributes(kind), may_grow=True))
        if isinstance(item, _WHOLE) or hasattr(type(item), "__hlobatch_function__") or id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, functools.partial):
            pending.extend([item.func, *item.args, *item.keywords.values()])
        if (owner := owner_of(item)) is not item:
            pending.append(owner)
            continue
        if is_used_up(item):
            found.append(Part(item, _position, _position(item), may_grow=False))
            pending.extend(filter(is_used_up, _held_by(item)))
            continue
        content, own = _content(item), attributes(item)
        if content is not None and not isinstance(item, tuple):
            found.append(Part(item, _content, content, may_grow=remembers or item is not value))
        if own:
            found.append(Part(item, attributes, own, may_grow=True))
        pending.extend([*_values(content), *own.values()])
    return found


def class_attributes(kind: type) -> dict[str, Any]:
    """The attributes of a class, and of those that it inherits from, that are neither functions nor Python's own."""
    bases = [base for base in reversed(kind.__mro__) if is_users_class(base)]
    found = {name: value for base in bases for name, value in vars(base).items()}
    own = {name for name in found if name.startswith("__")}
    return {n: v for n, v in found.items() if n not in own and not hasattr(type(v), "__get__")}


def has_changed(known: Sequence[Part]) -> bool:
    """Whether an object has changed since its parts were taken down; if so, the change is undone."""
    return bool(changed(known))


def changed(known: Sequence[Part]) -> list[Part]:
    """The parts of an object that have changed since they were taken down; the changes are undone."""
    found = [part for part in known if part.has_changed()]
    for part in found:
        part.put_back()
    return found


def _content(item: Any) -> Any:
    """What a container of Python's own holds, or what a generator draws from; None for anything else."""
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


def _held_by(iterator: Any) -> Iterator[Any]:
    """What an iterator goes over, as ``zip`` does over others."""
    for item in gc.get_referents(iterator):
        yield from item if isinstance(item, tuple) else (item,)


def _position(iterator: Any) -> bytes:
    """How far an iterator is, as far as it can be seen without a step."""
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


def _values(before: Any) -> Iterable[Any]:
    """The objects that a container holds."""
    if before is None or isinstance(before, bytes):
        return ()
    return before.values() if isinstance(before, dict) else before


def _are_same(left: Sequence[Any], right: Sequence[Any]) -> bool:
    return len(left) == len(right) and all(a is b for a, b in zip(left, right, strict=True))
