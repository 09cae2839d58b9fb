"""Whether a program asks for the classes of numbers, and makes one variable of numbers of several classes.

::

    x = 0 if n > 2 else 0.5            x: f32[]*, since most programs compute with it
    if isinstance(x, int): …    ==>    x: Kinds(int, float), since its class counts

Both are noted while the types of a program are found. If both happen, they are found again with the fact
``NumbersApart``: integers, floats and bools are then of different kinds wherever they meet.

Members of an ``IntEnum`` become integers where they meet others, and stay so. If code asks for what tells a member from
an integer, ``type(x)`` or ``repr(x)``, it is refused, by the fact ``MembersAreNumbers``.
"""

from __future__ import annotations

import contextvars
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from hlobatch.diagnostics import BatchTypeError
from hlobatch.scoped import having


@dataclass(frozen=True, slots=True)
class NumbersApart:
    """The fact that numbers of several classes are kept apart, since the program asks for their classes."""


@dataclass(frozen=True, slots=True)
class MembersAreNumbers:
    """The fact that members of an ``IntEnum`` have become integers, and that code asks for what tells them apart."""


@dataclass
class Noted:
    """What is noted of a program.

    Attributes:
        are_one: Whether numbers of several classes have become one.
        is_asked: Whether code asks for the class of a number that differs between lanes.
        has_members: Whether members of an ``IntEnum`` have become integers.
        is_member_asked: Whether code asks for what tells a member from an integer.
    """

    are_one: bool = False
    is_asked: bool = False
    has_members: bool = False
    is_member_asked: bool = False


_noted: contextvars.ContextVar[Noted | None] = contextvars.ContextVar("hlobatch_number_classes", default=None)
_kept: contextvars.ContextVar[tuple[bool, bool]] = contextvars.ContextVar("hlobatch_numbers", default=(False, False))


def noting() -> AbstractContextManager[Noted]:
    """A context for all builds of a program, in which it is noted whether the classes of numbers count."""
    return having(_noted, Noted())


def keeping(apart: bool, refusing: bool = False) -> AbstractContextManager[Any]:
    """A context for finding types.

    Args:
        apart: Whether numbers of several classes are kept apart.
        refusing: Whether it is refused to ask for what tells a member of an ``IntEnum`` from an integer.
    """
    return having(_kept, (apart, refusing))


def kept() -> tuple[bool, bool]:
    """Whether numbers of several classes are kept apart, and whether questions about members are refused."""
    return _kept.get()


def count() -> bool:
    """Whether numbers of several classes have become one, and code has asked for a class."""
    noted = _noted.get()
    return noted is not None and noted.are_one and noted.is_asked


def ask() -> None:
    """Note that the class of a number that differs between lanes is asked for."""
    if (noted := _noted.get()) is not None:
        noted.is_asked = True


def stay_apart() -> bool:
    """Whether numbers of several classes that meet stay apart; if they do not, it is noted that they become one."""
    (is_apart, _), noted = _kept.get(), _noted.get()
    if noted is not None and not is_apart:
        noted.are_one = True
    return is_apart


def member_is_number() -> None:
    """Note that a member of an ``IntEnum`` becomes an integer."""
    if (noted := _noted.get()) is not None:
        noted.has_members = True


def members_count() -> bool:
    """Whether members of an ``IntEnum`` have become integers, and code has asked for what tells them apart."""
    noted = _noted.get()
    return noted is not None and noted.has_members and noted.is_member_asked


def ask_for_member() -> None:
    """Note that code asks an integer of a lane for what tells a member of an ``IntEnum`` from it.

    Raises:
        BatchTypeError: It may be one.
    """
    if (noted := _noted.get()) is not None:
        noted.is_member_asked = True
    _, is_refused = _kept.get()
    if is_refused:
        raise BatchTypeError(
            "whether a number is a member of an `IntEnum` is not known: those that differ between lanes are numbers",
            help="write `isinstance(n, int)`, which holds for members, too, and `str(n)`; or use a plain `Enum`.",
        )
