"""``Container``: the base of growing lists, deques, sets and dicts: rows with room for items, and how many are in use.

::

    Container(items  [capacity, *event], size  i32[])         while code is traced
    Container(items  the types of rows,  size  i32[])         the type of a variable that holds one

A container that is full fails in its lane with ``CapacityError``; where the function is called by itself, it runs again
with more room (``with_room``). ``rings.py`` and ``tables.py`` have what lists, and what sets and dicts, have in common.
"""

from __future__ import annotations

import contextlib
import contextvars
import math
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, Final

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch import prelude
from hlobatch._jax import weakly
from hlobatch.analysis.facts import NotYet
from hlobatch.analysis.lane_failures import fails
from hlobatch.analysis.leaf_types import leaf_type
from hlobatch.diagnostics import BatchTypeError, CapacityError, UnsupportedSyntaxError, as_also
from hlobatch.ir.growing import Growing
from hlobatch.ir.types import TensorType

SIZE: Final = TensorType(np.dtype(np.int32))
"""The type of a number of items."""
_room: contextvars.ContextVar[int] = contextvars.ContextVar("hlobatch_room", default=1)
_FIRST_CAPACITY: Final = 64
"""Items that a container has room for at first if its user gave it no capacity and its items are small: of items of 32
numbers and more it has room for fewer, but for four. A full one runs again with more. Chosen by judgement (2026-11),
not measured."""


@contextlib.contextmanager
def with_room(times: int) -> Iterator[None]:
    """A context in which containers have ``times`` as much room as usual, if the user gave them no capacity."""
    token = _room.set(times)
    try:
        yield
    finally:
        _room.reset(token)


FULL: Final = "a {} has more than {} items: write `hb.capacity(items, n)` where it is made, for n items at most"


class Container(Growing):
    """A container whose length differs between lanes, in arrays with room for a number of items.

    Attributes:
        size: How many of its rows are in use, ``i32[]``.
        bound: The capacity that the user gave it, if one was given.
        differs: The property that differs between lanes, in the user's words, as part of an error.
        parts: What a loop over the container goes over, in the user's words.
    """

    differs: ClassVar[str] = "length differs"
    parts: ClassVar[str] = "items"
    size: Any
    bound: int | None

    def __init_subclass__(cls) -> None:
        """Methods of Python's class that stand in the prelude are methods of this one."""
        super().__init_subclass__()
        for name, own in prelude.methods(getattr(cls, "python", None)).items():
            if name not in vars(cls):
                setattr(cls, name, own)

    @property
    def name(self) -> str:
        """What Python calls it."""
        return str(self.python.__name__)

    @property
    @abstractmethod
    def capacity(self) -> int:
        """For how many items or entries there is room."""

    def in_use(self) -> Any:
        """Which rows, in order, are in use: ``bool[capacity]``."""
        return jnp.arange(self.capacity) < self.size

    def check_room(self, full: Any) -> None:
        """Say in which lanes there is no room for what is about to be put into it."""
        fails(CapacityError, FULL.format(self.name, self.capacity), full, self.bound is None)

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
            help="write a `for` over it.",
        )
        error.goes_over = True
        raise error


def not_yet(kind: type[Exception], text: str) -> NotYet:
    """What is raised where something is taken out of a container, and the type of what is in it is not known.

    Args:
        kind: What is wrong if nothing ever is put into it.
        text: What Python says then.
    """
    error = as_also(BatchTypeError, kind)
    return NotYet(error(f"{kind.__name__}: {text}", help="nothing is put into it on any path that leads here."))


def capacity(kind: Any, size: int, bound: int | None) -> int:
    """For how many items of a type there is room at first, if some are there."""
    if bound is not None:
        return max(bound, size, 1)
    taken = max(sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(kind)), 1)
    least: int = max(_FIRST_CAPACITY // max(taken // 16, 1), 4) * _room.get()
    return max(least, 2 * size)


def number(value: Any) -> Any:
    """A number as one of Python's."""
    return weakly(value, jax.dtypes.canonicalize_dtype(int))


def static(value: Any) -> Any:
    """The type of what a container of Python's holds that is the same in every lane."""
    return jax.tree.map(leaf_type, value)
