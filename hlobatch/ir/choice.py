"""What a variable holds that is one Python object in some lanes and another in others: an index into all of them.

``analysis/type_join.py`` makes it of two objects where a variable was found to need it. What it means in code that is
being traced says its only subclass, ``analysis/one_of.py``; here is what types and joins ask of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import jax.numpy as jnp
import numpy as np

from hlobatch.ir.carrier import Carrier
from hlobatch.ir.sameness import are_same
from hlobatch.ir.types import Static

MOST_SHOWN: Final = 8
"""Objects of a choice that its type names in print."""


class Choice(Carrier):
    """One of several Python objects, which do not change. All other names are those of the objects' attributes.

    Attributes:
        hb_index: Which one.
        hb_objects: All of them, each once.
    """

    __slots__ = ("hb_index", "hb_objects")
    hb_index: Any
    hb_objects: tuple[Any, ...]

    def __init__(self, index: Any, objects: tuple[Any, ...]) -> None:
        object.__setattr__(self, "hb_index", index)
        object.__setattr__(self, "hb_objects", objects)

    def hb_known(self, known: Callable[[Any], Any]) -> Any:
        del known  # the objects are Python's own
        return self.hb_objects[int(self.hb_index)]

    def hb_text(self, text: Callable[[Any], str]) -> str:
        more = len(self.hb_objects[MOST_SHOWN:])
        shown = [text(Static(value)) for value in self.hb_objects[:MOST_SHOWN]]
        return " or ".join([*shown, *([f"{more} others"] if more else [])])

    def hb_hold(self, value: Any, hold: Callable[[Any, Any], Any]) -> Any:
        del hold
        return type(self)(jnp.asarray(moved(value, self)), self.hb_objects)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.hb_index, self.hb_objects)


def position(choice: Choice, value: Any) -> int:
    """Where an object stands among all of them."""
    return next(i for i, other in enumerate(choice.hb_objects) if are_same(value, other))


def holds(choice: Choice, question: Callable[[Any], bool]) -> Any:
    """The answer to a question of the lane's object: a bool, or one that differs between lanes."""
    answers = list(map(question, choice.hb_objects))
    return answers[0] if len(set(answers)) == 1 else jnp.asarray(np.array(answers))[choice.hb_index]


def without_none(choice: Choice) -> Any:
    """The choice where it is not None; the object itself where only one is left."""
    left = tuple(value for value in choice.hb_objects if value is not None)
    if len(left) < 2:
        return left[0] if left else None
    table = np.asarray([0 if value is None else left.index(value) for value in choice.hb_objects], np.int32)
    return type(choice)(jnp.asarray(table)[choice.hb_index], left)


def moved(value: Any, into: Choice) -> Any:
    """The index of an object, or of one of several, in another choice."""
    if not isinstance(value, Choice):
        return np.int32(position(into, value))
    table = np.asarray([position(into, one) for one in value.hb_objects], np.int32)
    return jnp.asarray(table)[value.hb_index]
