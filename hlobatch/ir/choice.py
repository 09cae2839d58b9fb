"""A variable that holds one Python object in some lanes and another in others: an index into a tuple of objects.

``values/type_join.py`` makes one from two objects, for a variable that needs it. User code sees the only subclass,
``values/one_of.py``; this module has what types and joins need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import jax.numpy as jnp
import numpy as np

from hlobatch.diagnostics import BatchTypeError
from hlobatch.ir.carrier import Carrier
from hlobatch.ir.growing import KINDS
from hlobatch.ir.sameness import are_same
from hlobatch.ir.types import Static, TensorType, number_kind

MOST_SHOWN: Final = 8
"""Number of objects that the printed type of a choice names; the rest are counted."""
MOST_CHOICES: Final = 64
"""Most Python objects that a variable may be one of."""
MOST_GROWING_TEXTS: Final = 8
"""Most texts that a variable may be one of, before a longer one makes it a text of any length. Chosen by judgement
(2026-11), not measured."""


class Choice(Carrier):
    """One of several Python objects, which do not change. Attributes without ``hb_`` are those of the objects.

    Attributes:
        hb_index: The index of the lane's object.
        hb_objects: All objects, each once.
    """

    __slots__ = ("hb_index", "hb_objects")
    hb_index: Any
    hb_objects: tuple[Any, ...]
    hb_differs = True

    def __init__(self, index: Any, objects: tuple[Any, ...]) -> None:
        object.__setattr__(self, "hb_index", index)
        object.__setattr__(self, "hb_objects", objects)

    def hb_known(self, known: Callable[[Any], Any]) -> Any:
        del known  # the objects are Python objects already
        return self.hb_objects[int(self.hb_index)]

    @property
    def hb_alternatives(self) -> Iterator[tuple[Any, Any]]:
        """The objects, each with the lanes that have it."""
        return ((self.hb_index == place, one) for place, one in enumerate(self.hb_objects))

    @property
    def hb_is_none(self) -> Any:
        """Whether the lane has None: a bool if that is so in all lanes or in none, else an array."""
        return holds(self, lambda one: one is None)

    @property
    def hb_without_none(self) -> Any:
        """The choice in a lane where it is not None; an object instead of a choice if it is the only other one."""
        left = tuple(value for value in self.hb_objects if value is not None)
        if len(left) < 2:
            return left[0] if left else None
        table = np.asarray([0 if value is None else left.index(value) for value in self.hb_objects], np.int32)
        return type(self)(jnp.asarray(table)[self.hb_index], left)

    @classmethod
    def hb_join(cls, left: Any, right: Any, join: Callable[[Any, Any], Any], held: Callable[[Any], Any]) -> Any:
        del join, held
        first, others = _objects(left), _objects(right)
        if first is None or others is None:
            return NotImplemented
        objects = (*first, *_further(others, first))
        if _grows(first, others) or (len(objects) > MOST_CHOICES and _are_texts(objects)):
            return KINDS[str].type_of(cls(None, objects))
        if len(objects) > MOST_CHOICES:
            raise BatchTypeError("there are too many objects")
        return cls(TensorType(np.dtype(np.int32)), objects)

    @property
    def hb_inside(self) -> Any:
        return None  # its objects do not change

    def hb_text(self, text: Callable[[Any], str]) -> str:
        more = len(self.hb_objects[MOST_SHOWN:])
        shown = [text(Static(value)) for value in self.hb_objects[:MOST_SHOWN]]
        return " or ".join([*shown, *([f"{more} others"] if more else [])])

    def hb_hold(self, value: Any, hold: Callable[[Any, Any], Any]) -> Any:
        del hold
        return type(self)(jnp.asarray(moved(value, self)), self.hb_objects)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.hb_index, self.hb_objects)


def objects_of(value: Any) -> tuple[Any, ...]:
    """The objects that a value is one of."""
    return value.hb_objects if isinstance(value, Choice) else (value,)


def _objects(type_: Any) -> tuple[Any, ...] | None:
    """The objects that a value of a type is one of; None if it may be something else."""
    if isinstance(type_, Choice):
        return type_.hb_objects
    if isinstance(type_, Static) and number_kind(type_.value) is None:
        return (type_.value,)
    return (None,) if type_ is None else None


def _further(objects: tuple[Any, ...], known: tuple[Any, ...]) -> tuple[Any, ...]:
    """The objects that are none of those known."""
    texts = {one for one in known if type(one) is str}
    return tuple(
        one
        for one in objects
        if not (one in texts if type(one) is str else any(are_same(one, other) for other in known))
    )


def _are_texts(objects: tuple[Any, ...]) -> bool:
    return all(type(one) is str for one in objects)


def _grows(first: tuple[Any, ...], others: tuple[Any, ...]) -> bool:
    """Whether a text seems to grow: several extend others, or one is longer than all that are known.

    A loop that puts letters behind a text would else be traced again for each of its lengths.
    """
    if not (_are_texts(first) and _are_texts(others)):
        return False
    few, many = sorted((first, others), key=len)
    if len(many) >= MOST_GROWING_TEXTS and max(map(len, few)) > max(map(len, many)):
        return True
    texts = {*first, *others}
    return sum(any(_extends(one, other) for other in texts) for one in texts) >= MOST_GROWING_TEXTS


def _extends(one: str, other: str) -> bool:
    """Whether a text is another one, and letters before or behind it."""
    return 0 < len(other) < len(one) and (one.startswith(other) or one.endswith(other))


def position(choice: Choice, value: Any) -> int:
    """The index of an object in ``choice.hb_objects``."""
    return next(i for i, other in enumerate(choice.hb_objects) if are_same(value, other))


def holds(choice: Choice, question: Callable[[Any], bool]) -> Any:
    """The answer to a question about the lane's object: a bool if it is the same for all, else an array."""
    answers = list(map(question, choice.hb_objects))
    return answers[0] if len(set(answers)) == 1 else jnp.asarray(np.array(answers))[choice.hb_index]


def moved(value: Any, into: Choice) -> Any:
    """The index in the choice ``into`` of an object, or of the object that the choice ``value`` holds."""
    if not isinstance(value, Choice):
        return np.int32(position(into, value))
    table = np.asarray([position(into, one) for one in value.hb_objects], np.int32)
    return jnp.asarray(table)[value.hb_index]
