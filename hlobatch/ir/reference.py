"""A reference to an object of the lane, or None: the object's number, by which its attributes are found.

::

    head = None                %head = Reference(Node, 0)
    head = Node(v, head)       %head = Reference(Node, 1), and row 1 of the columns ``val`` and ``next`` is written

An object whose attributes lead to other objects of its class cannot be held in a variable with all of them. Its class
is then held in columns (``values/columns.py``), one for each attribute, with a row for each object. Objects are
numbered from 1 on, so that zeros are None.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeGuard

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch.ir.boxed import Boxed
from hlobatch.ir.patterns import INSIDE
from hlobatch.ir.types import TensorType

NUMBER: Final = "hb_number"
"""The attribute that holds the number of an object whose class is held in columns."""


class Nothing:
    """The class of what a reference is to, where no object has been met yet: its number is 0."""

    __slots__ = (NUMBER,)
    hb_is_held: ClassVar[bool] = True

    def __bool__(self) -> Any:
        return jnp.not_equal(self.hb_number, 0)  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        raise TypeError("unhashable type: 'Tracer'")  # the message for other values that differ between lanes


@jax.tree_util.register_pytree_node_class
@dataclass(frozen=True, eq=False)
class Reference(Boxed):
    """A reference to an object of a class, or None; of the class ``Nothing``, where no object has been met yet."""

    hb_differs: ClassVar[bool] = True

    @property
    def number(self) -> Any:
        """The number of the object, ``i32[]``; 0 for None."""
        (number,) = self.values
        return number

    def hb_truth(self, truth: Callable[[Any], Any]) -> Any:
        del truth
        return jnp.not_equal(self.number, 0)

    def hb_text(self, text: Callable[[Any], str]) -> str:
        del text
        return "None" if self.is_none else f"a {self.cls.__name__} or None"

    @property
    def is_none(self) -> bool:
        """Whether it refers to nothing, whichever the lane."""
        return self.cls is Nothing

    @property
    def is_told_by_identity(self) -> bool:
        """Whether an object of the class equals no other one."""
        return getattr(self.cls, "__eq__", None) is object.__eq__

    @classmethod
    def hb_join(cls, left: Any, right: Any, join: Callable[[Any, Any], Any], held: Callable[[Any], Any]) -> Any:
        del join, held
        sides = [side for side in (left, right) if side is not None]
        if not all(isinstance(side, cls) for side in sides):
            return NotImplemented
        known = [side for side in sides if not side.is_none] or sides
        return known[0] if all(side.cls is known[0].cls for side in known) else NotImplemented

    def hb_hold(self, value: Any, hold: Callable[[Any, Any], Any]) -> Any:
        if value is None:
            return type(self)(self.cls, self.names, (jnp.int32(0),))
        if isinstance(value, Reference):
            return type(self)(self.cls, self.names, (hold(*self.values, *value.values),))
        return INSIDE


def to(cls: type, number: Any) -> Reference:
    """The reference to an object of a class."""
    return Reference(cls, (NUMBER,), (number,))


TO_NOTHING: Final = to(Nothing, TensorType(np.dtype(np.int32)))
"""The type of None beside objects that are held in columns."""


def is_reference(part: Any) -> TypeGuard[Reference]:
    """Whether a part of a value or of a type is a reference."""
    return isinstance(part, Reference)
