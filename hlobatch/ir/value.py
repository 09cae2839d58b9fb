"""What a variable holds that is no number, no array and no object of Python's own: the protocol of all such kinds.

An instance is a pytree. With arrays in it, it is what a lane has; with ``TensorType`` in their place, its type. What
code asks of a kind while it is traced say the modules of ``analysis/`` and ``frontend/``; here is what types, joins and
conversions ask of any. A kind that leaves out what is abstract cannot be made.

The names begin with ``hb_``, since some kinds have the attributes of the objects that they stand for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, TypeGuard

import jax

from hlobatch.ir.patterns import INSIDE


class Value(ABC):
    """A kind of value, or the type of one."""

    __slots__ = ()

    @abstractmethod
    def hb_known(self, known: Callable[[Any], Any]) -> Any:
        """What Python has in its place, of arrays whose values are known, as on the host.

        Args:
            known: The same of what is in it.
        """

    @abstractmethod
    def hb_truth(self, truth: Callable[[Any], Any]) -> Any:
        """Whether the lane's value is true.

        Args:
            truth: The same of what it consists of.
        """

    def hb_text(self, text: Callable[[Any], str]) -> str:
        """What a type is called in print, in the user's words.

        Args:
            text: The same of what is in it.
        """
        kind = getattr(type(self), "python", type(self))
        return f"{kind.__name__}({', '.join(map(text, jax.tree.leaves(self)))})"

    def hb_hold(self, value: Any, hold: Callable[[Any, Any], Any]) -> Any:
        """A value as a variable of this type holds it; ``INSIDE`` if it is one of this kind already.

        Args:
            value: What the variable is given.
            hold: The same of a type in this one, and what stands in its place.
        """
        del value, hold
        return INSIDE


class Collection(Value):
    """A kind that has items, in another number in each lane.

    Attributes:
        python: The class of Python's that it stands for.
    """

    __slots__ = ()
    python: ClassVar[Any]

    @abstractmethod
    def length(self) -> Any:
        """How many items there are."""

    @abstractmethod
    def contains(self, item: Any) -> Any:
        """``item in collection``."""

    @abstractmethod
    def equals(self, other: Any) -> Any:
        """``collection == other``."""

    @abstractmethod
    def item(self, key: Any) -> Any:
        """``collection[key]``."""

    @abstractmethod
    def in_order(self) -> Any:
        """Its items, or the keys of a set or a dict, as the list in whose order a ``for`` goes over them."""

    @abstractmethod
    def turn(self, number: Any) -> Any:
        """What a ``for`` comes by in its turn of some number, which is known to be one."""


def is_value(part: Any) -> TypeGuard[Value]:
    """Whether something is of one of our kinds."""
    return isinstance(part, Value)
