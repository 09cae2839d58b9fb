"""Classes whose objects are held in columns, and the classes in their place, of which lanes have objects.

::

    class Node:                              class Node(Node):           in its place
        def __init__(self, v, next): …           hb_number               the row of the object in all columns; 0: None
                                                 v, next                 read where no column is: refused

The user's code gets an object that has nothing but its number. Reads of its attributes are items of columns
(``frontend/rewriting/references.py``). What is read in any other way is refused here, and never wrong.
"""

from __future__ import annotations

import contextvars
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import jax.numpy as jnp

from hlobatch.diagnostics import BatchTypeError, UnsupportedSyntaxError, as_also
from hlobatch.ir.carrier import BINARY, UNARY
from hlobatch.ir.reference import NUMBER, Nothing
from hlobatch.scoped import having
from hlobatch.values.draws import is_users_class
from hlobatch.values.facts import NotYet

MARK: Final = "hb_is_held"
"""An attribute of the classes that stand in for classes that are held in columns."""
MADE: Final = "_hb_made"
"""The variable that counts the objects that a lane has made."""
_HELP: Final = "give the object a name in a statement before, and read the attribute of that name."


@dataclass(frozen=True)
class HeldInColumns:
    """The fact that objects of some classes are held in columns.

    Attributes:
        kinds: The classes, each with the names of the attributes that its objects have.
        containers: The plan by which containers are in objects of some of the classes; None if there are none.
    """

    kinds: tuple[tuple[type, tuple[str, ...]], ...]
    containers: Any = None

    @cached_property
    def families(self) -> dict[type, frozenset[str]]:
        """By the first of the user's classes that a class is derived from, the attributes of all of them."""
        found = dict[type, frozenset[str]]()
        for kind, names in self.kinds:
            found[family(kind)] = found.get(family(kind), frozenset()).union(names)
        return found

    @cached_property
    def columns(self) -> dict[tuple[type, str], str]:
        """By family and attribute, the variable that holds the column."""
        kinds = list(self.families)
        return {
            (kind, name): f"_hb_{name}_of_{kind.__name__}{kinds.index(kind)}"
            for kind, names in self.families.items()
            for name in sorted(names)
        }

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables that hold all columns, and the one that counts the objects."""
        return (*self.columns.values(), MADE)

    @cached_property
    def names(self) -> frozenset[str]:
        """The attributes of all classes."""
        return frozenset(name for _, name in self.columns)

    def families_with(self, name: str) -> list[type]:
        """The families whose objects have an attribute."""
        return [kind for kind, names in self.families.items() if name in names]


def family(kind: type) -> type:
    """The first of the user's classes that a class is derived from, or the class itself."""
    return [base for base in kind.__mro__ if is_users_class(base)][-1]


@dataclass(frozen=True, slots=True)
class BelongsTo:
    """The fact that an attribute is read, or assigned, of an object of another class than the first that has it.

    Attributes:
        family: The family of the class; None if its objects are not held in columns.
    """

    family: type | None


@dataclass(frozen=True)
class _Held:
    """The classes that are held in columns, and those in their place."""

    fact: HeldInColumns
    stand_ins: dict[type, type]


_held: contextvars.ContextVar[_Held | None] = contextvars.ContextVar("hlobatch_held", default=None)


def holding(fact: HeldInColumns | None) -> AbstractContextManager[Any]:
    """A context in which objects of some classes are held in columns."""
    return having(_held, None if fact is None else _Held(fact, _stand_ins(fact)))


def held() -> HeldInColumns | None:
    """The classes whose objects are held in columns; None if there are none."""
    known = _held.get()
    return None if known is None else known.fact


def is_holding() -> bool:
    """Whether there are classes whose objects are held in columns."""
    return _held.get() is not None


def held_class(kind: Any) -> type | None:
    """The class that stands in for one that is held in columns; None for any other."""
    known = _held.get()
    return None if known is None or not isinstance(kind, type) else known.stand_ins.get(kind)


def families() -> dict[type, frozenset[str]]:
    """The families that are held in columns, each with the attributes of its objects."""
    known = _held.get()
    return {} if known is None else known.fact.families


def is_held(value: Any) -> bool:
    """Whether a value is a reference to an object that is held in columns, as code sees it."""
    return MARK in vars(type(value))


def is_there(value: Any) -> Any:
    """Whether a reference is not None."""
    return jnp.not_equal(value.hb_number, 0)


def is_one_object(left: Any, right: Any) -> Any:
    """Whether two values, one of which is a reference, are one object."""
    if is_held(left) and is_held(right):
        if Nothing in (type(left), type(right)) or family(type(left)) is not family(type(right)):
            return jnp.logical_not(is_there(left) | is_there(right))
        return jnp.equal(left.hb_number, right.hb_number)
    one, other = (left, right) if is_held(left) else (right, left)
    return jnp.logical_not(is_there(one)) if other is None else jnp.bool_(False)


def is_told_by_identity(value: Any) -> bool:
    """Whether a value is a reference that equals no other object."""
    return is_held(value) and getattr(type(value), "__eq__", None) is object.__eq__


def new(kind: type, number: Any) -> Any:
    """The object with a number."""
    made: Any = object.__new__(kind)
    object.__setattr__(made, NUMBER, number)
    return made


def _of_nothing(*_: Any) -> Any:
    raise NotYet(
        as_also(BatchTypeError, TypeError)(
            "this code computes with an attribute that is None in all objects that were made so far",
            help="begin with a number in place of None, such as -1.",
        ).of_references()
    )


for _name in (
    *BINARY,
    *(f"r{name}" for name in BINARY),
    *UNARY,
    "lt",
    "le",
    "gt",
    "ge",
    "getitem",
    "len",
    "iter",
    "call",
):
    setattr(Nothing, f"__{_name}__", _of_nothing)
Nothing.__getattr__ = _of_nothing  # type: ignore[attr-defined]


def as_references(values: Sequence[Any]) -> list[Any]:
    """Values, with references in place of None if any of them is a reference."""
    known = next((type(value) for value in values if is_held(value) and type(value) is not Nothing), None)
    if known is None:
        return list(values)
    return [new(known, jnp.int32(0)) if value is None or isinstance(value, Nothing) else value for value in values]


_MADE: Final[dict[tuple[type, Any], type]] = {}
"""The classes that stand in, by the user's class, its members, and the attributes of its objects."""


def _stand_ins(fact: HeldInColumns) -> dict[type, type]:
    return {kind: _stand_in(kind, tuple(sorted(fact.families[family(kind)]))) for kind, _ in fact.kinds}


def _stand_in(kind: type, names: tuple[str, ...]) -> type:
    if (kind, names) not in _MADE:
        members = dict(_members(kind, names))
        _MADE[kind, names] = type(kind)(kind.__name__, (kind,), members)
    return _MADE[kind, names]


def _members(kind: type, names: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """The members of the class that stands in for another one."""
    yield from {"__slots__": (NUMBER,), MARK: True, "hb_stands_for": kind}.items()
    yield from {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__}.items()
    for name in names:
        yield name, _unseen(kind, name)
    yield "__setattr__", _no_such(kind)
    for name in ("__copy__", "__deepcopy__", "__reduce_ex__"):
        if not _is_users(kind, name):
            yield name, _refuses(kind, "copies")
    for name in ("__repr__", "__str__", "__format__"):
        if not _is_users(kind, name):
            yield name, _refuses(kind, "makes a text of")
    yield "__hash__", _unhashable
    if _is_users(kind, "__bool__") or _is_users(kind, "__len__"):
        yield "__bool__", _refuses(kind, "asks for the truth, by a method, of")
    else:
        yield "__bool__", is_there


def _is_users(kind: type, name: str) -> bool:
    """Whether a class has a special method that ``object`` does not give it."""
    return getattr(kind, name, None) is not getattr(object, name, None)


def _unseen(kind: type, name: str) -> property:
    def refuse(*_: Any) -> Any:
        raise UnsupportedSyntaxError(
            f"the attribute {name!r} of a {kind.__name__!r}, which refers to other objects, is read or assigned where "
            "the program cannot see it",
            help=_HELP,
        ).of_references()

    return property(refuse, refuse)


def _no_such(kind: type) -> Any:
    def refuse(one: Any, name: str, value: Any) -> Any:
        if isinstance(getattr(type(one), name, None), property):
            object.__setattr__(one, name, value)
            return
        raise UnsupportedSyntaxError(
            f"the attribute {name!r} of a {kind.__name__!r}, which refers to other objects, is not one of those that "
            "`__init__` surely gives to it",
            help=f"give each object this attribute in `__init__`, as in `self.{name} = None`.",
        ).of_references()

    return refuse


def _refuses(kind: type, what: str) -> Any:
    def refuse(*_: Any, **__: Any) -> Any:
        raise BatchTypeError(
            f"this code {what} a {kind.__name__!r}, which refers to other objects",
            help="read the attributes that it has, and make what is needed of these.",
        ).of_references()

    return refuse


def _unhashable(_: Any) -> int:
    raise TypeError("unhashable type: 'Tracer'")  # the message for other values that differ between lanes
