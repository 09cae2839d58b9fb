"""Lanes' texts: strings that are computed from a lane's values, as the codes of their letters.

::

    text = str(n)             LaneText(codes=i32[20], size=i32[])        codes: those of the letters, and then zeros
    text += "!"               the code of "!" at size; size = size + 1

A text is a value that does not change, so that two names for one text never disagree. It has no more letters than it
has room for; one that becomes longer fails in its lane, as other containers do (``containers.py``). A text that is
known when the program is built stays Python's, until it meets a lane's text where two paths meet or in an operation.

Invariant: codes behind the last letter are 0. So two texts of one room are equal if their arrays are, and are in the
order of their codes, and then of their lengths.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partialmethod
from typing import Any, ClassVar, Final, Self

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch._jax import is_tracer
from hlobatch.diagnostics import BatchTypeError
from hlobatch.ir.choice import Choice, objects_of
from hlobatch.ir.types import Static, TensorType, Type
from hlobatch.values.containers import SIZE
from hlobatch.values.growing_lists import GrowingList
from hlobatch.values.lane_failures import fails
from hlobatch.values.letters import LETTER
from hlobatch.values.text_methods import TextMethods
from hlobatch.values.whole_numbers import number

_MOST_LETTERS_PUT: Final = 8
"""Most letters that are put behind a text one by one; longer texts are joined by a gather. Chosen by judgement
(2026-11), not measured."""


@jax.tree_util.register_pytree_with_keys_class
class LaneText(TextMethods):
    """A text, or, with ``TensorType`` in place of arrays, the type of one; see ``Letters`` for its attributes."""

    python: ClassVar[Any] = str
    has_columns: ClassVar[bool] = True
    parts = "letters"
    arrays = ("codes", "size")

    def tree_flatten(self) -> tuple[tuple[Any, ...], tuple[bool, int | None]]:
        return (self.codes, self.size), (True, self.bound)

    @classmethod
    def tree_unflatten(cls, data: tuple[bool, int | None], children: Any) -> Self:
        codes, size = children
        return cls(codes, size, data[1])

    @classmethod
    def letter(cls, code: Any) -> Self:
        """The text of one letter."""
        return cls(jnp.asarray(code, jnp.int32)[None], jnp.int32(1))

    def hb_known(self, known: Callable[[Any], Any]) -> Any:
        del known
        if not hasattr(self.codes, "shape") or not isinstance(self.size, (int, np.generic, np.ndarray, jax.Array)):
            return "…"  # there was no room for it among the values of an exception
        text = "".join(map(chr, np.asarray(self.codes)[: int(self.size)].tolist()))
        return text + "…" * (len(text) < int(self.size))

    @property
    def hb_inside(self) -> Any:
        return None  # a text does not change

    # A text as a type

    @classmethod
    def can_hold(cls, values: Any) -> bool:
        del values
        return False  # a known text stays known, unless it meets a lane's

    @classmethod
    def type_of(cls, values: Any, bound: int | None = None) -> Self:
        texts = objects_of(values.value if isinstance(values, Static) else values)
        room = max(1, bound or 0, *map(len, texts))
        return cls(TensorType(LETTER.dtype, (room,)), SIZE, bound)

    def together(self, other: Any) -> Self:
        if not isinstance(other, LaneText):
            if not is_known_text(other):
                raise BatchTypeError(f"one is a text that differs between lanes, the other {Type(other)}")
            other = type(self).type_of(other)
        bound = max((side.bound for side in (self, other) if side.bound is not None), default=None)
        room = max(self.capacity, other.capacity)
        return type(self)(TensorType(LETTER.dtype, (room,)), SIZE, bound)

    def with_items(self, other: Callable[[Any], Any]) -> Self:
        del other
        return self

    def counted(self) -> Self:
        return self

    def hold(self, value: Any) -> Self:
        own = type(self).of(value)
        return type(self)(own.with_room(self.capacity).codes, own.size, self.bound)

    def with_capacity(self, bound: int | None) -> Self:
        new = self.with_room(max(bound or 0, self.capacity))
        return type(self)(new.codes, new.size, bound)

    def copy(self) -> Self:
        return type(self)(self.codes, self.size, self.bound)

    def within(self, room: int) -> Self:
        """The text in exactly some room, in which a longer text equals no text."""
        wide = self.with_room(room)
        return type(self)(wide.codes[:room], self.size, self.bound)

    def shortened(self, room: int) -> Self:
        """The text, or the type of one, with room for no more letters; its length stays as it is."""
        if self.capacity <= room:
            return self
        codes = TensorType(LETTER.dtype, (room,)) if isinstance(self.codes, TensorType) else self.codes[:room]
        return type(self)(codes, self.size, self.bound)

    def contents(self) -> Any:
        return self.codes

    # Questions about the text

    def length(self) -> Any:
        return number(self.size)

    def contains(self, item: Any) -> Any:
        if not is_text(item):
            raise TypeError(f"'in <string>' requires string as left operand, not {_name(item)}")
        return jnp.any(self.matches(type(self).of(item)))

    def equals(self, other: Any) -> Any:
        if not is_text(other):
            return False
        other = type(self).of(other)
        room = min(self.capacity, other.capacity)
        return (self.size == other.size) & jnp.all(self.codes[:room] == other.codes[:room])

    def ordered(self, operation: str, other: Any) -> Any:
        """A comparison by order: ``lt``, ``le``, ``gt`` or ``ge``."""
        if not is_text(other):
            signs = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
            raise TypeError(f"'{signs[operation]}' not supported between instances of 'str' and '{_name(other)}'")
        other = type(self).of(other)
        room = max(self.capacity, other.capacity)
        one, two = self.with_room(room), other.with_room(room)
        place = jnp.argmax(one.codes != two.codes)
        left, right = one.codes[place], two.codes[place]
        is_same = left == right
        before = (left < right) | (is_same & (one.size < two.size))
        equal = is_same & (one.size == two.size)
        return {"lt": before, "le": before | equal, "gt": ~(before | equal), "ge": ~before}[operation]

    def item(self, key: Any) -> Any:
        if isinstance(key, slice):
            return self._slice(key)
        return self.turn(self.index_of(key, "string index out of range"))

    def turn(self, number: Any) -> Any:
        return type(self).letter(self.codes.at[number].get(mode="promise_in_bounds", wrap_negative_indices=False))

    def in_order(self) -> GrowingList:
        ones = jnp.ones(self.capacity, jnp.int32)
        return GrowingList(type(self)(self.codes[:, None], ones), self.size)

    def with_item(self, key: Any, value: Any, *, is_other: bool) -> Self:
        raise TypeError("'str' object does not support item assignment")

    @classmethod
    def one_of(cls, values: Sequence[Any], index: Any) -> Self:
        """The text at an index that differs between lanes."""
        texts = list(map(cls.of, values))
        room = max(text.capacity for text in texts)
        bound = max((text.bound for text in texts if text.bound is not None), default=None)
        codes = jnp.stack([text.with_room(room).codes for text in texts])[index]
        return cls(codes, jnp.stack([text.size for text in texts])[index], bound)

    def sought(self, item: Any) -> Any:
        """Of texts in rows: an item to be compared with them; anything but a text is returned unchanged."""
        if not is_text(item):
            return item
        own = type(self).of(item).within(self.codes.shape[1])
        return type(self)(own.codes, own.size, self.bound)

    def columns(self) -> tuple[Any, ...]:
        """Of texts in rows: arrays ``[rows]`` that put the texts in order, as keys of a sort, the first first."""
        return (*(self.codes[:, at] for at in range(self.codes.shape[1])), self.size)

    # Questions in code that Python runs itself

    def __hash__(self) -> int:
        raise BatchTypeError(
            "the hash of a text that differs between lanes is asked for",
            help="keep it in a set or a dict of the lane's, in a statement of its own.",
        )

    def __eq__(self, other: object) -> Any:
        return self is other if isinstance(self.codes, TensorType) else self.equals(other)

    def __ne__(self, other: object) -> Any:
        return self is not other if isinstance(self.codes, TensorType) else jnp.logical_not(self.equals(other))

    __lt__ = partialmethod(ordered, "lt")
    __le__ = partialmethod(ordered, "le")
    __gt__ = partialmethod(ordered, "gt")
    __ge__ = partialmethod(ordered, "ge")

    def __contains__(self, item: Any) -> bool:
        return bool(self.contains(item))

    # Texts made of texts

    def _slice(self, key: slice) -> Self:
        first, step, count = self.span(key)
        order = first + step * jnp.arange(self.capacity, dtype=jnp.int32)
        return type(self).masked(self.codes[jnp.clip(order, 0, self.capacity - 1)], count, self.bound)

    def __add__(self, other: Any) -> Any:
        if not is_text(other):
            return NotImplemented
        behind = type(self).of(other)
        room, bound = self.room_beside(other if isinstance(other, str) else behind)
        size = self.size + behind.size
        if self.capacity + behind.capacity > room:
            self.blank(room, size, bound)
        new = self.within(room) if room < self.capacity else self.with_room(room)
        order = jnp.arange(room, dtype=jnp.int32)
        if behind.capacity <= _MOST_LETTERS_PUT:
            own = jnp.arange(behind.capacity, dtype=jnp.int32)
            places = jnp.where(own < behind.size, self.size + own, room)
            codes = new.codes.at[places].set(behind.codes, mode="drop", wrap_negative_indices=False)
        else:
            others = behind.codes[jnp.clip(order - self.size, 0, behind.capacity - 1)]
            codes = jnp.where(order < self.size, new.codes, jnp.where(order < size, others, 0))
        return type(self)(codes, jnp.minimum(size, room), bound)

    def __radd__(self, other: Any) -> Any:
        return type(self).of(other) + self if is_text(other) else NotImplemented

    def __mul__(self, times: Any) -> Any:
        kind = jnp.result_type(times)
        if kind != jnp.bool_ and not jnp.issubdtype(kind, jnp.integer):
            raise TypeError(f"can't multiply sequence by non-int of type '{_name(times)}'")
        room, bound = self.room_beside()
        if type(times) is int and self.bound is None:
            room = max(room, min(self.capacity * max(times, 0), 4 * room))
        new = self.with_room(room)
        once = jnp.maximum(self.size, 1)
        times = jnp.clip(times, 0, room + 1).astype(jnp.int32)
        new.check_room((self.size > 0) & (times > room // once))
        order = jnp.arange(room, dtype=jnp.int32)
        size = jnp.minimum(times, room // once) * self.size
        return type(self).masked(new.codes[order % once], size, bound)

    __rmul__ = __mul__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(str, name):
            raise AttributeError(f"'str' object has no attribute {name!r}")
        raise BatchTypeError(
            f"`{name}` of a text that differs between lanes is not implemented",
            help="write a `for` over its letters.",
        )


def is_known_text(value: Any) -> bool:
    """Whether a value, or a type, is a text that is known when the program is built, or one of several."""
    held = value.value if isinstance(value, Static) else value
    return type(held) is str or (isinstance(held, Choice) and all(type(one) is str for one in held.hb_objects))


def is_lane_text(value: Any) -> bool:
    """Whether a value is a lane's text."""
    return isinstance(value, LaneText)


def is_text(value: Any) -> bool:
    """Whether a value is a text."""
    return is_lane_text(value) or is_known_text(value)


def as_texts(values: Sequence[Any]) -> tuple[Any, ...]:
    """Operands, with lanes' texts in place of choices among texts if one of them is a lane's text."""
    if not any(isinstance(value, LaneText) for value in values):
        return tuple(values)
    return tuple(LaneText.of(one) if isinstance(one, Choice) and is_known_text(one) else one for one in values)


def of_one_letter(text: Any, function: str) -> Any:
    """The code of a text of one letter; lanes with another text fail."""
    if not isinstance(text, LaneText):
        raise TypeError(f"{function} expected string of length 1, but {_name(text)} found")
    fails(TypeError, f"{function} expected a character, but a string of another length was found", text.size != 1)
    return number(text.codes[0])


def _name(value: Any) -> str:
    kind = value.dtype.type(0).item() if is_tracer(value) and value.shape == () else value
    return type(kind).__name__
