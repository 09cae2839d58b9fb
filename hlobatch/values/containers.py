"""``Container``: the base of growing lists, deques, sets and dicts: rows with room for items, and the number in use.

::

    Container(items  [capacity, *event], size  i32[])         while code is traced
    Container(items  the types of rows,  size  i32[])         the type of a variable that holds one

A container that is full fails in its lane with ``CapacityError``; where the function is called by itself, it runs again
with more room (``with_room``). ``rings.py`` and ``tables.py`` have what lists, and what sets and dicts, have in common.
"""

from __future__ import annotations

import contextvars
import math
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Final, Self

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch import prelude
from hlobatch._jax import is_tracer
from hlobatch.diagnostics import BatchTypeError, CapacityError, UnsupportedSyntaxError, as_also
from hlobatch.ir.growing import Growing
from hlobatch.ir.types import TensorType
from hlobatch.scoped import having
from hlobatch.values.facts import NotYet
from hlobatch.values.lane_failures import fails, is_trusted, read_of_nothing
from hlobatch.values.leaf_types import leaf_type
from hlobatch.values.texts_made import shown

SIZE: Final = TensorType(np.dtype(np.int32))
"""The type of the number of items."""
_room: contextvars.ContextVar[int] = contextvars.ContextVar("hlobatch_room", default=1)
_FIRST_CAPACITY: Final = 64
"""Capacity at first, if the user gave none and the items are small. Items of 32 numbers and more get less, but at least
4. A full container runs again with more. Chosen by judgement (2026-11), not measured."""


def with_room(times: int) -> AbstractContextManager[int]:
    """A context in which containers have ``times`` the usual capacity, if the user gave them none."""
    return having(_room, times)


def check_integer(value: Any) -> None:
    """Raise Python's ``TypeError`` for a number that has to be an integer, as a position or a width, and is none."""
    if isinstance(value, (float, complex)) or (is_tracer(value) and jnp.issubdtype(value.dtype, jnp.inexact)):
        kind = "complex" if jnp.iscomplexobj(value) else "float"
        raise TypeError(f"{kind!r} object cannot be interpreted as an integer")


_FULL: Final = "a {} {}: write `hb.capacity(items, n)` where it is made, for n items at most"


class Container(Growing):
    """A container whose length differs between lanes, in arrays with room for a number of items.

    Attributes:
        size: The number of its rows that are in use, ``i32[]``.
        bound: The capacity that the user gave it, or None.
        differs: What about it differs between lanes, as part of an error message.
        parts: What a loop over it iterates over, as part of an error message.
        arrays: Names of its arrays, in the order of ``tree_flatten``.
    """

    differs: ClassVar[str] = "length differs"
    parts: ClassVar[str] = "items"
    arrays: ClassVar[tuple[str, ...]]
    size: Any
    bound: int | None

    def tree_flatten_with_keys(self) -> tuple[list[tuple[Any, Any]], tuple[Any, ...]]:
        """As ``tree_flatten``, with the names of the arrays."""
        parts, data = self.tree_flatten()
        return list(zip(map(jax.tree_util.GetAttrKey, self.arrays), parts, strict=True)), data

    def __init_subclass__(cls) -> None:
        """Take over the methods that the prelude defines for the Python class that this one stands for."""
        super().__init_subclass__()
        for name, own in prelude.methods(getattr(cls, "python", None)).items():
            if name not in vars(cls):
                setattr(cls, name, own)

    @property
    def name(self) -> str:
        """The name of the Python class that it stands for."""
        return str(self.python.__name__)

    @property
    @abstractmethod
    def capacity(self) -> int:
        """The number of items or entries that it has room for."""

    @abstractmethod
    def copy(self) -> Self:
        """Another container with the same items."""

    def in_use(self) -> Any:
        """A mask of the rows in use: ``bool[capacity]``."""
        return jnp.arange(self.capacity) < self.size

    def check_room(self, full: Any) -> None:
        """Fail in the lanes of the mask ``full``, where there is no room for a further item.

        The message has the number of items only where the user has set it, so that a program made with more room fails
        in no further ways.
        """
        text = _FULL.format(self.name, "is full" if self.bound is None else f"has more than {self.bound} items")
        fails(CapacityError, text, full, self.bound is None)

    def __repr__(self) -> str:
        return shown(self, object.__repr__(self))

    def index_of(self, key: Any, text: str = "") -> Any:
        """An index as a position from the beginning, clipped to the rows; a lane fails where it is out of range."""
        return self.found_at(key, text)[0]

    def found_at(self, key: Any, text: str = "") -> tuple[Any, Any]:
        """An index as a position from the beginning, clipped to the rows, and whether it is in range."""
        if isinstance(key, (bool, float, str)) or (is_tracer(key) and not jnp.issubdtype(key.dtype, jnp.integer)):
            raise TypeError(f"{self.name} indices must be integers or slices, not {type(key).__name__}")
        at = key if not isinstance(key, int) else jnp.int32(key) if key >= 0 else self.size + key
        if is_trusted():
            return jnp.asarray(at, jnp.int32), True
        if not isinstance(key, int):
            at = jnp.where(at < 0, at + self.size, at).astype(jnp.int32)
        wrong = (at < 0) | (at >= self.size)
        if isinstance(key, int):
            wrong = self.size <= key if key >= 0 else self.size < -key
        fails(IndexError, text or f"{self.name} index out of range", wrong)
        return jnp.clip(at, 0, self.capacity - 1), jnp.logical_not(wrong)

    def span(self, key: slice) -> tuple[Any, Any, Any]:
        """The index of a slice's first item, its step, and its number of items."""
        step: Any = 1 if key.step is None else key.step
        none = step == 0
        if none is True:
            raise ValueError("slice step cannot be zero")
        fails(ValueError, "slice step cannot be zero", none)
        step = jnp.where(none, 1, step)
        step = jnp.clip(step, -self.capacity - 1, self.capacity + 1).astype(jnp.int32)
        forwards = step > 0
        least, most = jnp.where(forwards, 0, -1), jnp.where(forwards, self.size, self.size - 1)
        first = self.bounded(key.start, jnp.where(forwards, least, most), least, most)
        last = self.bounded(key.stop, jnp.where(forwards, most, least), least, most)
        way = jnp.where(forwards, last - first, first - last)
        count = jnp.maximum((way + jnp.abs(step) - 1) // jnp.abs(step), 0)
        return first, step, jnp.where(none, 0, count)

    def bounded(self, value: Any, default: Any, least: Any = 0, most: Any = None) -> Any:
        """A bound of a slice as a position from the beginning, ``default`` if there is none; clipped."""
        if value is None:
            return jnp.asarray(default, jnp.int32)
        check_integer(value)
        place = jnp.where(value < 0, value + self.size, value)
        return jnp.clip(place, least, self.size if most is None else most).astype(jnp.int32)

    def __len__(self) -> int:
        raise BatchTypeError(
            f"the length of a {self.name} differs between lanes, and here a Python number is needed",
            help="use it in a function of yours, where `len` gives the lane's own.",
        )

    def __bool__(self) -> bool:
        raise UnsupportedSyntaxError(
            f"a Python `if` asks whether a {self.name} is empty, whose {self.differs} between lanes",
            help="decorate the function that contains it with @hb.batch.",
        )

    def __iter__(self) -> Iterator[Any]:
        error = BatchTypeError(
            f"all {self.parts} of a {self.name} are gone over, and how many there are differs between lanes",
            help="write a `for` over it, or keep a list of its items.",
        )
        error.goes_over = True
        raise error


def without_bounds(tensors: Any) -> Any:
    """A type in which no container has a bound of its capacity."""

    def without(part: Any) -> Any:
        if not isinstance(part, Container):
            return part
        part = part.copy()
        part.bound = None
        return part

    return jax.tree.map(without, tensors, is_leaf=lambda part: isinstance(part, Container))


def not_yet(kind: type[Exception], text: str, *, in_lane: bool = False) -> NotYet:
    """The exception for a read from a container whose items have no known type yet.

    Args:
        kind: The exception class that Python raises, if no item is ever put in.
        text: The message of Python's exception.
        in_lane: Whether lanes raise it if the program catches it. Not where the code around makes sure that there is an
            item, nor in code that changes the container, too.

    Raises:
        SurelyFails: It is known that none is, where the statement is reached first.
    """
    fact = read_of_nothing(kind, text) if in_lane else None
    error = as_also(BatchTypeError, kind)
    return NotYet(error(f"{kind.__name__}: {text}", help="nothing is put into it on any path that leads here."), fact)


def capacity(kind: Any, size: int, bound: int | None) -> int:
    """The initial capacity of a container of ``size`` items: ``bound`` if one is given, else by the size of an item."""
    if bound is not None:
        return max(bound, size, 1)
    taken = max(sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(kind)), 1)
    least: int = max(_FIRST_CAPACITY // max(taken // 16, 1), 4) * _room.get()
    return max(least, 2 * size)


def static(value: Any) -> Any:
    """The type of the contents of a Python container that is the same in every lane."""
    return jax.tree.map(leaf_type, value)
