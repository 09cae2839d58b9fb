"""A statement while it is traced -> which results are, in Python, parts of its operands, and which of these it changes.

::

    b = a                 b is a
    row = grid[1]         row is a part of grid, or, of an array, a view of it
    a[i] = v              a is the object that it was, and has changed

A statement is traced on pytrees that are made anew for it, and JAX's arrays are immutable, so ``is`` says nothing about
the user's objects. So operations note, while the statement is traced, which object of the trace stands for which object
in Python, and which was changed in place. ``aliases.py`` uses these notes.
"""

from __future__ import annotations

import collections
import contextvars
import gc
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Final

import jax
import numpy as np

from hlobatch.diagnostics import UnsupportedSyntaxError
from hlobatch.ir.boxed import is_in_own_order
from hlobatch.ir.maybe import Maybe
from hlobatch.ir.patterns import opened, parts_of
from hlobatch.ir.value import is_value
from hlobatch.ir.walk import walked
from hlobatch.scoped import having
from hlobatch.values.boxes import attributes_of, is_boxable
from hlobatch.values.held_classes import is_held
from hlobatch.values.kinds import Kinds
from hlobatch.values.number_tables import NUMBERS

Path = tuple[int, ...]
"""Child positions on the way from a value to a part of it."""
Node = tuple[int, Path]
"""A part of one of several values: the index of the value, and a path in it."""
Spot = tuple[types.CodeType, int]
"""A place in the user's code: the code of a function, and the position of an instruction in it."""


@dataclass
class _Notes:
    """Notes taken while a statement is traced. They keep the objects alive, so that ids stay unique.

    Attributes:
        given: The parts of the operands, each with the children that it had before the statement.
        became: By id: objects of the trace, and the objects in place of which they stand.
        chosen: Containers that stand for one of several, each with its children.
        changed: Objects that the code reports as changed in place.
        fresh: By id: objects that are new in Python.
        held: By id: an object that stands for all items of a container, and the values of those items.
        renewed: Arrays that the code of a function changes in place: the array before, the one after, and the
            place of the change.
    """

    given: list[tuple[Node, Any, list[Any]]] = field(default_factory=list)
    became: dict[int, tuple[Any, list[Any]]] = field(default_factory=dict)
    chosen: list[tuple[Any, list[Any]]] = field(default_factory=list)
    changed: list[Any] = field(default_factory=list)
    fresh: dict[int, Any] = field(default_factory=dict)
    held: dict[int, tuple[Any, list[Any]]] = field(default_factory=dict)
    renewed: list[tuple[Any, Any, Spot]] = field(default_factory=list)


_notes: contextvars.ContextVar[_Notes | None] = contextvars.ContextVar("hlobatch_identity", default=None)


def noting() -> AbstractContextManager[_Notes]:
    """A context in which operations note what they do to objects."""
    return having(_notes, _Notes())


def is_now(new: Any, *old: Any) -> None:
    """Note that ``new`` stands for the Python object that ``old`` stands for, or for one of several."""
    if (notes := _notes.get()) is not None and not any(new is one for one in old):
        notes.became[id(new)] = new, list(old)


def is_another(value: Any) -> bool:
    """Whether an object was noted to stand for another object."""
    notes = _notes.get()
    return notes is not None and notes.became.get(id(value), (None,))[0] is value


def has_changed(value: Any) -> None:
    """Note that a statement changes an object in place."""
    if (notes := _notes.get()) is not None:
        notes.changed.append(value)


def is_renewed(old: Any, new: Any, frame: types.FrameType) -> None:
    """Note that the code of a function changes an array in place, which is another object of the trace from then on."""
    if (notes := _notes.get()) is not None and new is not old:
        notes.renewed.append((old, new, (frame.f_code, frame.f_lasti)))


def is_as_before(value: Any) -> None:
    """Note that an operand has not changed, though its children are other objects of the trace."""
    if (notes := _notes.get()) is not None:
        notes.given = [
            (node, part, (children_of(value) or []) if part is value else before) for node, part, before in notes.given
        ]


def fresh(value: Any) -> Any:
    """The value, noted to be new in Python, with all its parts, even if JAX reuses the object."""
    if (notes := _notes.get()) is not None:
        notes.fresh |= {id(part): part for _, part in mutable_parts(value)}
    return value


def is_one_of(new: Any, values: Sequence[Any]) -> None:
    """Note that a value, and each of its parts, stands for the same part of one of several values."""
    _stands_for(new, values)


def holds(new: Any, values: Sequence[Any]) -> None:
    """Note that a value, and each of its parts, stands for all items of a container, which are ``values``."""
    _stands_for(new, values, holds_all=True)


def moved(new: Any, *rows: Any) -> None:
    """Note that rows of a container hold items of other rows; rows of numbers, which cannot change, do not count."""
    _stands_for(new, rows, holds_all=True, are_rows=True)


def _stands_for(new: Any, values: Sequence[Any], *, holds_all: bool = False, are_rows: bool = False) -> None:
    if (notes := _notes.get()) is None:
        return
    parts = collections.defaultdict[Path, list[Any]](list)
    for value in values:
        for path, part in mutable_parts(value):
            parts[path].append(part)
    for path, part in mutable_parts(new):
        if are_rows and getattr(part, "ndim", None) == 1:
            continue
        alike = parts.get(path, [])
        is_now(part, *alike)
        notes.chosen.append((part, children_of(part) or []))
        if holds_all:
            notes.held[id(part)] = part, alike


@dataclass(frozen=True)
class Identity:
    """The effect of a statement on objects.

    Attributes:
        sources: For parts of its results, the parts of its operands that may be the same objects.
        alike: Pairs of parts of its results that may be one object which is no part of its operands.
        outside: Parts of its results that are objects from outside of the function, by their names there.
        fresh: Parts of its results that are new objects, whatever the code says.
        changed: Parts of its operands that it changes in place.
        held: For parts of its results that stand for all items of a container: for each item, the parts it may be.
        shown: Parts of its results that may be views of parts of its operands, which another operation has made.
    """

    sources: Mapping[Node, Sequence[Node]] = field(default_factory=dict)
    alike: Sequence[tuple[Node, Node]] = ()
    outside: Mapping[Node, str] = field(default_factory=dict)
    fresh: frozenset[Node] = frozenset()
    changed: Sequence[Node] = ()
    held: Mapping[Node, Sequence[Sequence[Node]]] = field(default_factory=dict)
    shown: Mapping[Node, Sequence[Node]] = field(default_factory=dict)


NOTHING: Final = Identity()
_NUMBERS: Final = frozenset(NUMBERS)
_VIEWS: Final[tuple[type, ...]] = (type({}.keys()), type({}.values()), type({}.items()))
_LEAVES: Final = (jax.Array, np.ndarray, int, float, str)
"""Types without parts that operands have most often."""


OPAQUE: Final = (set, collections.deque, collections.Counter)
"""Mutable containers that are pytree leaves: their items are no parts of a variable."""


def see(arguments: Sequence[Any]) -> None:
    """Note the operands of a statement before it is traced."""
    if (notes := _notes.get()) is not None:
        notes.given = [
            ((index, path), part, children_of(part) or [])
            for index, value in enumerate(arguments)
            for path, part in mutable_parts(value)
        ]


def places_of(value: Any) -> tuple[Node, ...]:
    """The parts of the statement's operands that an object stands for."""
    notes = _notes.get()
    given = {id(part): node for node, part, _ in notes.given} if notes else {}
    return _origins(value, notes, given) if notes else ()


def changes_chosen() -> bool:
    """Whether a container has changed that stands for one of several."""
    notes = _notes.get()
    return notes is not None and any(_holds_other(part, before) for part, before in notes.chosen)


def changed_arguments() -> frozenset[int]:
    """The positions of the operands in which a container has other children than before the statement."""
    notes = _notes.get()
    return frozenset(index for (index, _), part, before in (notes.given if notes else ()) if _holds_other(part, before))


def attributes_assigned() -> frozenset[str]:
    """The names of the attributes, of objects in the statement's operands, to which it has assigned."""
    notes, names = _notes.get(), set[str]()
    for _, part, before in notes.given if notes else ():
        if is_boxable(part) and _holds_other(part, before):
            now = attributes_of(part)
            names |= {name for name, value, old in zip(now, now.values(), before, strict=False) if value is not old}
    return frozenset(names)


def _holds_other(part: Any, before: Sequence[Any]) -> bool:
    """Whether a container has other children than ``before``."""
    now = children_of(part) or []
    return len(now) != len(before) or any(a is not b for a, b in zip(now, before, strict=True))


def identity_of(notes: _Notes, results: Sequence[Any], outside: Mapping[str, Any]) -> Identity:
    """The effect of a statement on objects, once it has been traced.

    Args:
        notes: The notes of the trace.
        results: The values of the statement's results.
        outside: The objects from outside of the function that it names, by their names.

    Raises:
        UnsupportedSyntaxError: It changes an item in place that is a different object in each lane.
    """
    given = {id(part): node for node, part, _ in notes.given}
    _check_chosen(notes, given)
    found = _Found(notes, given, {id(p): name for name, value in outside.items() for _, p in mutable_parts(value)})
    for index, value in enumerate(results):
        for path, part in mutable_parts(value):
            found.add((index, path), part)
    values = [*notes.changed, *(part for _, part, before in notes.given if _holds_other(part, before))]
    return found.identity(dict.fromkeys(node for value in values for node in _origins(value, notes, given)))


@dataclass(frozen=True)
class OnTheWay:
    """Arrays that a statement makes on the way to its results, by their positions in ``arrays``.

    Attributes:
        arrays: The arrays.
        results: For parts of its results, the arrays that they may be.
        items: For parts of its results that stand for all items of a container: for each item, the arrays it may be.
        renewed: Arrays that the code of a function changes in place, as in the notes.
        places: The position of each array, by its id.
    """

    arrays: list[Any] = field(default_factory=list)
    results: dict[Node, list[int]] = field(default_factory=dict)
    items: dict[Node, list[list[int]]] = field(default_factory=dict)
    renewed: list[tuple[int, int, Spot]] = field(default_factory=list)
    places: dict[int, int] = field(default_factory=dict)

    def position(self, array: Any) -> int:
        """The position of an array, which is put in if it is new."""
        found = self.places.setdefault(id(array), len(self.arrays))
        self.arrays.extend([array] if found == len(self.arrays) else [])
        return found


def on_the_way(notes: _Notes, results: Sequence[Any], is_of_trace: Callable[[Any], bool]) -> OnTheWay:
    """The arrays that a statement has made, and that parts of its results may be, or that it has changed.

    Args:
        notes: The notes of the trace.
        results: The values of the statement's results.
        is_of_trace: Whether an array is computed by the statement itself.
    """
    found, given = OnTheWay(), {id(part) for _, part, _ in notes.given}

    def made(part: Any, *, itself: bool) -> list[int]:
        others = (one for one in _may_be(part, notes) if (itself or one is not part) and id(one) not in given)
        return [found.position(one) for one in others if getattr(one, "ndim", 0) and is_of_trace(one)]

    for index, value in enumerate(results if notes.became else ()):
        for path, part in mutable_parts(value):
            if id(part) in notes.fresh:
                continue
            if places := made(part, itself=False):
                found.results[index, path] = places
            if items := [made(item, itself=True) for item in _items(part, notes)]:
                found.items[index, path] = items
    for old, new, spot in notes.renewed:
        if is_of_trace(old) and is_of_trace(new):
            found.renewed.append((found.position(old), found.position(new), spot))
    return found


def _check_chosen(notes: _Notes, given: Mapping[int, Node]) -> None:
    """Refuse a change of a container that stands for one of several."""
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
    """The effect of a statement, found part by part of its results.

    Attributes:
        notes: The notes of the trace.
        given: The parts of the operands, by id.
        outside: The names of objects outside of the function, by id.
        first: By id of an object that is neither, the first part of the results that may be this object.
        surely: By id of such an object, the first part of the results that is this object in all lanes.
        sources: As in ``Identity``, like the remaining attributes; ``names`` is its ``outside``.
    """

    notes: _Notes
    given: Mapping[int, Node]
    outside: Mapping[int, str]
    first: dict[int, Node] = field(default_factory=dict)
    surely: dict[int, Node] = field(default_factory=dict)
    sources: dict[Node, Sequence[Node]] = field(default_factory=dict)
    alike: list[tuple[Node, Node]] = field(default_factory=list)
    names: dict[Node, str] = field(default_factory=dict)
    fresh: set[Node] = field(default_factory=set)
    held: dict[Node, Sequence[Sequence[Node]]] = field(default_factory=dict)

    def add(self, node: Node, part: Any) -> None:
        """Find out which object a part of the results is."""
        self._add_items(node, part)
        if id(part) in self.notes.fresh:
            self.fresh.add(node)
            if id(part) not in self.given:  # no array that JAX reuses
                self._add_made(node, part)
            return
        if sources := _origins(part, self.notes, self.given):
            self.sources[node] = sources
        elif name := self._outside(part):
            self.names[node] = name
            return
        self._add_made(node, part)

    def _add_made(self, node: Node, part: Any) -> None:
        """Record the other parts of the results that may be an object which the statement has made.

        Two parts of one result that are each one of several objects are different ones: what is put at a lane's index
        is one of the items.
        """
        may_be = list(_may_be(part, self.notes))
        made = [id(one) for one in may_be if id(one) not in self.given]
        is_sure = len(may_be) == 1
        others = [(self.first[one], False) for one in made if one in self.first]
        others += [(self.surely[one], True) for one in made if one in self.surely]
        pairs = [(node, other) for other, surely in others if is_sure or surely or other[0] != node[0]]
        self.alike += dict.fromkeys(pairs)
        for one in made:
            self.first.setdefault(one, node)
            if is_sure:
                self.surely.setdefault(one, node)

    def _outside(self, part: Any) -> str:
        """The name of the object outside of the function that a part of the results is, or is a view of; else empty."""
        alike = [part, getattr(part, "base", None), *self.notes.became.get(id(part), (part, ()))[1]]
        return next((self.outside[id(one)] for one in alike if id(one) in self.outside), "")

    def _add_items(self, node: Node, part: Any) -> None:
        """Record the parts that the items of a container may be, if ``part`` stands for all of them."""
        items = list(_items(part, self.notes))
        if items:
            self.held[node] = [_origins(item, self.notes, self.given) for item in items]
        if len({id(item) for item in items}) < len(items):
            self.alike.append((node, node))

    def identity(self, changed: Iterable[Node]) -> Identity:
        """The effect of the statement, which changes the given parts of its operands."""
        changed = tuple(changed)
        if not (self.sources or self.alike or self.names or self.fresh or changed):
            return NOTHING
        return Identity(self.sources, self.alike, self.names, frozenset(self.fresh), changed, self.held)


def _items(part: Any, notes: _Notes, around: frozenset[int] = frozenset()) -> Iterator[Any]:
    """The values that were put into a container, if ``part`` stands for all its items.

    Args:
        part: The part.
        notes: The notes of the statement.
        around: The ids of those whose items are being gone over: rows that JAX returns unchanged hold their own items.
    """
    around |= {id(part)}
    for item in notes.held.get(id(part), (part, ()))[1]:
        if id(item) not in notes.held:
            yield item
        elif id(item) not in around:
            yield from _items(item, notes, around)


def mutable_parts(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The parts of a value that can change: containers, and arrays with dimensions.

    An object of one of several kinds is at the path of the variable, whichever its kind.
    """
    if isinstance(value, Kinds):
        for one in value.hb_parts:
            yield from mutable_parts(one, path)
        return
    if is_held(value):  # what it refers to is in columns
        return
    if is_value(value) and value.hb_inside is not value:
        yield from mutable_parts(value.hb_inside, path)
        return
    if isinstance(value, _VIEWS):  # it shows what the dict holds when it is read
        yield path, gc.get_referents(value)[0]
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
    """The children of a pytree node; None for a leaf."""
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
    except ValueError:  # its keys cannot be sorted; no variable holds such a dict
        return list(value.values())
    return None if len(children) == 1 and children[0] is value else children


def parts_of_type(tree: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The containers and leaves of a type with their paths, in the order of its leaves."""
    if isinstance(tree, Maybe):
        yield (*path, -1), tree.is_there
        yield from parts_of_type(tree.value, path)
        return
    if isinstance(tree, Kinds):
        yield (*path, -1), tree.hb_tag
        for one in tree.hb_parts:
            yield from parts_of_type(one, path)
        return
    yield path, tree
    for index, child in enumerate(parts_of(tree)):
        yield from parts_of_type(child, (*path, index))


def _origins(part: Any, notes: _Notes, given: Mapping[int, Node]) -> tuple[Node, ...]:
    """The parts of the operands that an object may be."""
    return tuple(dict.fromkeys(given[id(one)] for one in _may_be(part, notes) if id(one) in given))


def _may_be(part: Any, notes: _Notes) -> Iterator[Any]:
    """An object, and the objects of the trace that it may stand for."""
    return walked([part], lambda one: notes.became.get(id(one), (one, ()))[1])
