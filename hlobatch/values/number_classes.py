"""Whether a program asks for the classes of numbers, and makes one variable of numbers of several classes.

::

    x = 0 if n > 2 else 0.5            x: f32[]*, since most programs compute with it
    if isinstance(x, int): …    ==>    x: Kinds(int, float), since its class counts

Both are noted while the types of a program are found. If both happen, they are found again with the fact
``NumbersApart``: integers, floats and bools are then of different kinds wherever they meet.
"""

from __future__ import annotations

import contextvars
from contextlib import AbstractContextManager
from dataclasses import dataclass

from hlobatch.scoped import having


@dataclass(frozen=True, slots=True)
class NumbersApart:
    """The fact that numbers of several classes are kept apart, since the program asks for their classes."""


@dataclass
class Noted:
    """What is noted of a program.

    Attributes:
        are_one: Whether numbers of several classes have become one.
        is_asked: Whether code asks for the class of a number that differs between lanes.
    """

    are_one: bool = False
    is_asked: bool = False


_noted: contextvars.ContextVar[Noted | None] = contextvars.ContextVar("hlobatch_number_classes", default=None)
_apart: contextvars.ContextVar[bool] = contextvars.ContextVar("hlobatch_numbers_apart", default=False)


def noting() -> AbstractContextManager[Noted]:
    """A context for all builds of a program, in which it is noted whether the classes of numbers count."""
    return having(_noted, Noted())


def keeping(apart: bool) -> AbstractContextManager[bool]:
    """A context for finding types: whether numbers of several classes are kept apart."""
    return having(_apart, apart)


def kept_apart() -> bool:
    """Whether numbers of several classes are kept apart."""
    return _apart.get()


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
    is_apart, noted = _apart.get(), _noted.get()
    if noted is not None and not is_apart:
        noted.are_one = True
    return is_apart
