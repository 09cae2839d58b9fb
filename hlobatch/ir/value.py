"""The base class of values that are neither arrays nor Python's own objects, such as growing containers and boxes.

An instance is a pytree. With arrays as its leaves it is a lane's value; with ``TensorType`` in their place, it is the
type of one. The methods here serve types, joins and conversions; the operations of user code on such values are
defined in ``values/`` and ``frontend/``. A subclass has to define every abstract method.

The names begin with ``hb_``, since some subclasses have the attributes of the user's objects that they stand for.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, TypeGuard

import jax

from hlobatch.ir.patterns import INSIDE


class WithoutVirtual(ABCMeta):
    """The metaclass of abstract classes that have no virtual subclasses, so that ``isinstance`` takes half the time."""

    __instancecheck__ = type.__instancecheck__


class Value(metaclass=WithoutVirtual):
    """A value of one of these kinds, or the type of one."""

    __slots__ = ()
    hb_differs: ClassVar[bool] = False
    """Whether it is None, or one of several objects, depending on the lane."""

    @abstractmethod
    def hb_known(self, known: Callable[[Any], Any]) -> Any:
        """The Python object that this value stands for, once its arrays have known values, as on the host.

        Args:
            known: Converts a value inside of this one in the same way.
        """

    @abstractmethod
    def hb_truth(self, truth: Callable[[Any], Any]) -> Any:
        """The truth value of the lane's value, as ``bool(value)`` in Python.

        Args:
            truth: Gives the truth value of a part in the same way.
        """

    def hb_text(self, text: Callable[[Any], str]) -> str:
        """The name of this type in messages, in the user's words.

        Args:
            text: Gives the name of a type inside of this one.
        """
        kind = getattr(type(self), "python", type(self))
        return f"{kind.__name__}({', '.join(map(text, jax.tree.leaves(self)))})"

    @classmethod
    def hb_join(cls, left: Any, right: Any, join: Callable[[Any, Any], Any], held: Callable[[Any], Any]) -> Any:
        """The least type of this kind above two types that differ; ``NotImplemented`` if there is none.

        Args:
            left: A part of one type, in the form of ``Type.tensors``.
            right: The part of another type in its place.
            join: Joins types inside of these.
            held: Checks that a type can be a part of this kind, and widens it so that it can.
        """
        del left, right, join, held
        return NotImplemented

    @property
    def hb_inside(self) -> Any:
        """The value in which the objects are that code may change in place; None if there are none."""
        return self

    def hb_hold(self, value: Any, hold: Callable[[Any, Any], Any]) -> Any:
        """A value converted to what a variable of this type holds; ``INSIDE`` if it is of this kind already.

        Args:
            value: The value that is assigned.
            hold: Converts a part: given its type and its value.
        """
        del value, hold
        return INSIDE


class Collection(Value):
    """A kind of container whose number of items differs between lanes.

    Attributes:
        python: The Python class that it stands for.
    """

    __slots__ = ()
    python: ClassVar[Any]

    @abstractmethod
    def length(self) -> Any:
        """The number of items."""

    @abstractmethod
    def contains(self, item: Any) -> Any:
        """``item in collection``."""

    @abstractmethod
    def equals(self, other: Any) -> Any:
        """``collection == other``."""

    def ordered(self, operation: str, other: Any) -> Any:
        """A comparison by order, named as in ``operator``: ``lt``, ``le``, ``gt`` or ``ge``."""
        del other
        signs = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
        raise TypeError(f"{signs[operation]!r} is not supported between instances of {self.python.__name__!r}")

    @abstractmethod
    def item(self, key: Any) -> Any:
        """``collection[key]``."""

    @abstractmethod
    def in_order(self) -> Any:
        """Its items, or the keys of a set or a dict, as a list in the order in which ``for`` visits them."""

    @abstractmethod
    def turn(self, number: Any) -> Any:
        """The item that a ``for`` visits in turn ``number``, which has to be less than the length."""


def is_value(part: Any) -> TypeGuard[Value]:
    """Whether an object is of one of the kinds that this package defines."""
    return isinstance(part, Value)
