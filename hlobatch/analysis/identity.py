"""A statement while it is traced -> which results are, in Python, objects that it was given, and which it changed.

::

    b = a                 b is a
    row = grid[1]         row is a part of grid, or, of an array, a view of it
    a[i] = v              a is the object that it was, and has changed

A statement is traced on pytrees that are made anew for it, and JAX's arrays do not change, so that ``is`` says nothing
of the user's objects. While the statement is traced, operations note here which object stands for which in Python, and
which was changed in place. ``aliases.py`` makes use of it.
"""

from __future__ import annotations

import collections
import contextlib
import contextvars
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import jax
import numpy as np

from hlobatch.analysis.boxes import attributes_of, is_boxable
from hlobatch.diagnostics import UnsupportedSyntaxError
from hlobatch.ir.boxed import is_in_own_order
from hlobatch.ir.choice import Choice
from hlobatch.ir.maybe import Maybe, Present
from hlobatch.ir.patterns import opened, parts_of
from hlobatch.ir.walk import walked

Path = tuple[int, ...]
"""Positions of children, from a value to a part of it."""
Node = tuple[int, Path]
"""A part of one of several values: which value, and where."""


@dataclass
class _Notes:
    """What is noted while a statement is traced. Objects are kept, so that no other gets the id of one of them.

    Attributes:
        given: The parts of what code is given, and what containers among them held then.
        became: Objects, and those that they stand for.
        chosen: Containers that stand for one of several, and what they held.
        changed: Objects that code changes, as it says itself.
        fresh: Objects that are new ones.
        held: What stands for all items of a container, and the values that are items of it, or all of another's.
    """

    given: list[tuple[Node, Any, list[Any]]] = field(default_factory=list)
    became: dict[int, tuple[Any, list[Any]]] = field(default_factory=dict)
    chosen: list[tuple[Any, list[Any]]] = field(default_factory=list)
    changed: list[Any] = field(default_factory=list)
    fresh: dict[int, Any] = field(default_factory=dict)
    held: dict[int, tuple[Any, list[Any]]] = field(default_factory=dict)


_notes: contextvars.ContextVar[_Notes | None] = contextvars.ContextVar("hlobatch_identity", default=None)


@contextlib.contextmanager
def noting() -> Iterator[_Notes]:
    """A context in which operations note what they do to objects."""
    notes = _Notes()
    token = _notes.set(notes)
    try:
        yield notes
    finally:
        _notes.reset(token)


def is_now(new: Any, *old: Any) -> None:
    """Note that an object stands for another, or for one of several, where Python has one object."""
    if (notes := _notes.get()) is not None and not any(new is one for one in old):
        notes.became[id(new)] = new, list(old)


def is_another(value: Any) -> bool:
    """Whether an object stands for one that is another object."""
    notes = _notes.get()
    return notes is not None and notes.became.get(id(value), (None,))[0] is value


def has_changed(value: Any) -> None:
    """Note that a statement changes an object in place."""
    if (notes := _notes.get()) is not None:
        notes.changed.append(value)


def fresh(value: Any) -> Any:
    """The value, noting that it and its parts are new objects in Python, where JAX may give those that there were."""
    if (notes := _notes.get()) is not None:
        notes.fresh |= {id(part): part for _, part in mutable_parts(value)}
    return value


def is_one_of(new: Any, values: Sequence[Any]) -> None:
    """Note that a value and all that it consists of stand for one of several that are alike."""
    _stands_for(new, values)


def holds(new: Any, values: Sequence[Any]) -> None:
    """Note that a value, and each of its parts, stands for the items of a container, which are all of some values."""
    _stands_for(new, values, holds_all=True)


def _stands_for(new: Any, values: Sequence[Any], *, holds_all: bool = False) -> None:
    if (notes := _notes.get()) is None:
        return
    parts = [dict(mutable_parts(value)) for value in values]
    for path, part in mutable_parts(new):
        alike = [each[path] for each in parts if path in each]
        is_now(part, *alike)
        notes.chosen.append((part, children_of(part) or []))
        if holds_all:
            notes.held[id(part)] = part, alike


@dataclass(frozen=True)
class Identity:
    """What a statement says about objects.

    Attributes:
        sources: For parts of its results, the parts of what it is given that may be the same objects.
        alike: Parts of its results that are one object which is none of those.
        outside: Parts of its results that stand outside of the function, by the name that it has there.
        fresh: Parts of its results that are new objects, whatever the code says.
        changed: Parts of what it is given that it changes.
        held: For parts of its results that stand for the items of a container, what each of them may be.
    """

    sources: Mapping[Node, Sequence[Node]] = field(default_factory=dict)
    alike: Sequence[tuple[Node, Node]] = ()
    outside: Mapping[Node, str] = field(default_factory=dict)
    fresh: frozenset[Node] = frozenset()
    changed: Sequence[Node] = ()
    held: Mapping[Node, Sequence[Sequence[Node]]] = field(default_factory=dict)


NOTHING: Final = Identity()
_NUMBERS: Final = frozenset({bool, int, float, complex})
_LEAVES: Final = (jax.Array, np.ndarray, int, float, str)
"""What consists of nothing, of all that statements are given most."""


OPAQUE: Final = (set, collections.deque, collections.Counter)
"""Containers that change, and are leaves of a pytree: of what they hold nothing is a part of a variable."""


def see(arguments: Sequence[Any]) -> None:
    """Note the arguments of a statement, before it is traced."""
    if (notes := _notes.get()) is not None:
        notes.given = [
            ((index, path), part, children_of(part) or [])
            for index, value in enumerate(arguments)
            for path, part in mutable_parts(value)
        ]


def places_of(value: Any) -> tuple[Node, ...]:
    """The places of an object within the arguments of the statement."""
    notes = _notes.get()
    given = {id(part): node for node, part, _ in notes.given} if notes else {}
    return _origins(value, notes, given) if notes else ()


def changed_arguments() -> frozenset[int]:
    """The positions of those arguments in which a container holds other objects now than before the statement."""
    notes = _notes.get()
    return frozenset(index for (index, _), part, before in (notes.given if notes else ()) if _holds_other(part, before))


def attributes_assigned() -> frozenset[str]:
    """The attributes of the statement's arguments, and of objects in them, that it has put other objects into."""
    notes, names = _notes.get(), set[str]()
    for _, part, before in notes.given if notes else ():
        if is_boxable(part) and _holds_other(part, before):
            now = attributes_of(part)
            names |= {name for name, value, old in zip(now, now.values(), before, strict=False) if value is not old}
    return frozenset(names)


def _holds_other(part: Any, before: Sequence[Any]) -> bool:
    """Whether a container holds other objects than it did."""
    now = children_of(part) or []
    return len(now) != len(before) or any(a is not b for a, b in zip(now, before, strict=True))


def identity_of(notes: _Notes, results: Sequence[Any], outside: Mapping[str, Any]) -> Identity:
    """What is known after a statement has been traced.

    Args:
        notes: What was noted.
        results: The values that it gives.
        outside: The objects that it names and that are not its own.

    Raises:
        UnsupportedSyntaxError: It changes an item that is another one in each lane.
    """
    given = {id(part): node for node, part, _ in notes.given}
    _check_chosen(notes, given)
    found = _Found(notes, given, {id(p): name for name, value in outside.items() for _, p in mutable_parts(value)})
    for index, value in enumerate(results):
        for path, part in mutable_parts(value):
            found.add((index, path), part)
    values = [*notes.changed, *(part for _, part, before in notes.given if _holds_other(part, before))]
    return found.identity(dict.fromkeys(node for value in values for node in _origins(value, notes, given)))


def _check_chosen(notes: _Notes, given: Mapping[int, Node]) -> None:
    """Refuse a change of what stands for one of several containers."""
    for part, before in notes.chosen:
        if _holds_other(part, before):
            error = UnsupportedSyntaxError(
                "this code changes an item of a list in place, which is another one in each lane",
                help="assign to the item: `items[i] = [*items[i], x]`.",
            )
            error.about = _origins(part, notes, given)
            raise error


@dataclass
class _Found:
    """What is found about the parts of a statement's results, which are added one after the other.

    Attributes:
        notes: What was noted while the statement was traced.
        given: By their ids, the parts of what it is given.
        outside: By their ids, the objects outside of the function, and their names.
        first: By the ids of objects that are none of these, the first part of the results that is the object.
        sources: As in ``Identity``, and so are those below.
    """

    notes: _Notes
    given: Mapping[int, Node]
    outside: Mapping[int, str]
    first: dict[int, Node] = field(default_factory=dict)
    sources: dict[Node, Sequence[Node]] = field(default_factory=dict)
    alike: list[tuple[Node, Node]] = field(default_factory=list)
    names: dict[Node, str] = field(default_factory=dict)
    fresh: set[Node] = field(default_factory=set)
    held: dict[Node, Sequence[Sequence[Node]]] = field(default_factory=dict)

    def add(self, node: Node, part: Any) -> None:
        """Find out what a part of the results is."""
        self._add_items(node, part)
        if id(part) in self.notes.fresh:
            self.fresh.add(node)
        elif sources := _origins(part, self.notes, self.given):
            self.sources[node] = sources
        elif name := self._outside(part):
            self.names[node] = name
        elif id(part) in self.first:
            self.alike.append((node, self.first[id(part)]))
        self.first.setdefault(id(part), node)

    def _outside(self, part: Any) -> str:
        """The name of what stands outside and is a part of the results, or an array that the part is a view of."""
        alike = [part, getattr(part, "base", None), *self.notes.became.get(id(part), (part, ()))[1]]
        return next((self.outside[id(one)] for one in alike if id(one) in self.outside), "")

    def _add_items(self, node: Node, part: Any) -> None:
        """Note what the items of a container may be, if a part stands for all of them."""
        items = list(_items(part, self.notes))
        if items:
            self.held[node] = [_origins(item, self.notes, self.given) for item in items]
        if len({id(item) for item in items}) < len(items):
            self.alike.append((node, node))

    def identity(self, changed: Iterable[Node]) -> Identity:
        """All that was found, and the parts of what the statement is given that it changes."""
        changed = tuple(changed)
        if not (self.sources or self.alike or self.names or self.fresh or changed):
            return NOTHING
        return Identity(self.sources, self.alike, self.names, frozenset(self.fresh), changed, self.held)


def _items(part: Any, notes: _Notes) -> Iterator[Any]:
    """What was put into a container, one value after the other, where a part stands for all of it."""
    for item in notes.held.get(id(part), (part, ()))[1]:
        if id(item) in notes.held:
            yield from _items(item, notes)
        else:
            yield item


def mutable_parts(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The parts of a value that can change: containers, and arrays that are more than a number."""
    if isinstance(value, (Maybe, Present)):
        yield from mutable_parts(value.value, path)
        return
    if isinstance(value, Choice):  # objects that do not change
        return
    if isinstance(value, (jax.Array, np.ndarray)):
        if value.ndim:
            yield path, value
        return
    children = children_of(value)
    if children is None:
        return
    if not isinstance(value, (tuple, type(None))):
        yield path, value
    if isinstance(value, OPAQUE) or _NUMBERS.issuperset(map(type, children)):
        return
    for index, child in enumerate(children):
        yield from mutable_parts(child, (*path, index))


def children_of(value: Any) -> list[Any] | None:
    """What a pytree consists of, one level down; None of a leaf."""
    if isinstance(value, _LEAVES):
        return None
    if isinstance(value, OPAQUE):
        return [*value, *value.values()] if isinstance(value, collections.Counter) else list(value)
    if is_boxable(value):
        return list(attributes_of(value).values())
    if is_in_own_order(value):
        return list(value.values())
    try:
        children, _ = opened(value)
    except ValueError:  # a dict whose keys have no order, which no variable holds
        return list(value.values())
    return None if len(children) == 1 and children[0] is value else children


def parts_of_type(tree: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The parts of a type that are containers or leaves, in the order of its leaves."""
    if isinstance(tree, Maybe):
        yield (*path, -1), tree.is_there
        yield from parts_of_type(tree.value, path)
        return
    yield path, tree
    for index, child in enumerate(parts_of(tree)):
        yield from parts_of_type(child, (*path, index))


def _origins(part: Any, notes: _Notes, given: Mapping[int, Node]) -> tuple[Node, ...]:
    """The parts of what was given that an object may be."""
    alike = walked([part], lambda one: notes.became.get(id(one), (one, ()))[1])
    return tuple(dict.fromkeys(given[id(one)] for one in alike if id(one) in given))
