"""``Letters``: a lane's text as the codes of its letters, and masks of letters and of places between them.

::

    "a b"                    codes = i32[64]: 97, 32, 98, 0, …        size = 3
    text.matches("b")        bool[65]: set at 2, where "b" stands

``text_methods.py`` has the methods of Python's ``str``, which combine these masks.
"""

from __future__ import annotations

from typing import Any, Final, Self

import jax.numpy as jnp
import numpy as np
from jax import lax

from hlobatch._jax import is_tracer
from hlobatch.diagnostics import LetterError
from hlobatch.ir.choice import Choice, objects_of
from hlobatch.ir.types import TensorType
from hlobatch.values.containers import Container, capacity
from hlobatch.values.lane_failures import fails

LETTER: Final = TensorType(np.dtype(np.int32))
"""The type of the code of a letter."""
SPACES: Final = (
    (9, 13),
    (28, 32),
    (133, 133),
    (160, 160),
    (5760, 5760),
    (8192, 8202),
    (8232, 8233),
    (8239, 8239),
    (8287, 8287),
    (12288, 12288),
)
"""The first and the last of each run of codes of white space, which ``str.strip`` takes off."""
_ASCII: Final = 128


class Letters(Container):
    """A text; ``LaneText`` adds the methods of ``str``, and what it is as a type and as an operand.

    Attributes:
        codes: The codes of its letters, ``i32[room]``; 0 behind the last.
        size: The number of its letters, ``i32[]``.
        bound: The room that the user gave it, or None.
    """

    def __init__(self, codes: Any, size: Any, bound: int | None = None) -> None:
        self.codes, self.size, self.bound = codes, size, bound

    @classmethod
    def of(cls, values: Any, bound: int | None = None) -> Self:
        """A lane's text that equals a text: one of Python's, one of several, or a lane's."""
        if isinstance(values, Letters):
            return values  # type: ignore[return-value]
        texts = objects_of(values)
        room = max(1, bound or 0, *map(len, texts))
        table = np.zeros((len(texts), room), np.int32)
        for row, text in zip(table, texts, strict=True):
            row[: len(text)] = list(map(ord, text))
        sizes = np.array(list(map(len, texts)), np.int32)
        at = values.hb_index if isinstance(values, Choice) else 0
        return cls(jnp.asarray(table)[at], jnp.asarray(sizes)[at], bound)

    @classmethod
    def masked(cls, codes: Any, size: Any, bound: int | None = None) -> Self:
        """The text of the first ``size`` codes; those behind them may be anything."""
        order = jnp.arange(codes.shape[0], dtype=jnp.int32)
        return cls(jnp.where(order < size, codes, 0).astype(jnp.int32), jnp.asarray(size, jnp.int32), bound)

    @classmethod
    def blank(cls, room: int, size: Any, bound: int | None = None, *, may_be_longer: bool = True) -> Self:
        """A text of a length, into which no letter is put yet; a lane fails whose text is longer than the room."""
        new = cls(jnp.zeros(room, jnp.int32), size, bound)
        if may_be_longer:
            new.check_room(size > room)
        return new

    @property
    def capacity(self) -> int:
        return int(self.codes.shape[0])

    def with_room(self, room: int) -> Self:
        """The text with room for at least some number of letters."""
        more = room - self.capacity
        return self if more <= 0 else type(self)(jnp.pad(self.codes, (0, more)), self.size, self.bound)

    def room_beside(self, *others: Letters | str) -> tuple[int, int | None]:
        """The room, and the bound, of a text that is made of this one and others."""
        texts = (self, *others)
        bounds = [one.bound for one in texts if isinstance(one, Letters) and one.bound is not None]
        if bounds:
            return max(bounds), max(bounds)
        known = max((len(one) for one in texts if isinstance(one, str)), default=0)
        rooms = [one.capacity for one in texts if isinstance(one, Letters)]
        return max(capacity(LETTER, known, None), *rooms), None

    # Masks of places, which are the letters and the end: ``bool[room + 1]``

    def matches(self, part: Any) -> Any:
        """The places at which a text stands in this one."""
        places = jnp.arange(self.capacity + 1, dtype=jnp.int32)
        padded = jnp.pad(self.codes, (0, part.capacity))
        is_inside = places + part.size <= self.size
        if part.capacity == 1:
            return is_inside & ((padded == part.codes[0]) | (part.size == 0))
        own = jnp.arange(part.capacity, dtype=jnp.int32)
        windows = padded[places[:, None] + own[None, :]]
        return is_inside & jnp.all((windows == part.codes) | (own >= part.size), axis=1)

    def _apart(self, part: Any, matches: Any, most: Any = None) -> Any:
        """Those of the places that do not overlap, from the left, and ``most`` of them at most."""
        if part.capacity == 1 and most is None:
            return matches
        width = jnp.maximum(part.size, 1)
        left = jnp.int32(matches.shape[0] if most is None else most)

        def step(state: Any, here: Any) -> Any:
            place, free, left = state
            hit = here & (place >= free) & (left > 0)
            return (place + 1, jnp.where(hit, place + width, free), left - hit.astype(jnp.int32)), hit

        return lax.scan(step, (jnp.int32(0), jnp.int32(0), left), matches)[1]

    def _between(self, part: Any, start: Any, end: Any) -> Any:
        """The places at which a text stands between two bounds."""
        found = self.matches(part)
        if start is None and end is None:
            return found
        first = jnp.int32(0) if start is None else jnp.where(start < 0, jnp.maximum(start + self.size, 0), start)
        last = self.bounded(end, self.size)
        places = jnp.arange(self.capacity + 1, dtype=jnp.int32)
        return found & (places >= first) & (places + part.size <= last)

    def _part(self, first: Any, last: Any) -> Any:
        """The letters from one place, which is no less than 0, to another, which is no more than the length."""
        order = jnp.minimum(first + jnp.arange(self.capacity, dtype=jnp.int32), self.capacity - 1)
        return type(self).masked(self.codes[order], last - first, self.bound)

    def _own(self, text: Any) -> Any:
        """An operand, which has to be a text, as a lane's text."""
        known = text.hb_objects if isinstance(text, Choice) else (text,)
        if not isinstance(text, type(self)) and not all(type(one) is str for one in known):
            kind = "int" if is_tracer(text) else type(text).__name__
            raise TypeError(f"must be str, not {kind}")
        return type(self).of(text)

    # Masks of letters: ``bool[room]``

    def _known(self, letter: str) -> Any:
        """The letters that are a known one."""
        return (self.codes == ord(letter)) & self.in_use()

    def _lowers(self) -> Any:
        return self._from("a", "z")

    def _uppers(self) -> Any:
        return self._from("A", "Z")

    def _from(self, first: str, last: str) -> Any:
        return (self.codes >= ord(first)) & (self.codes <= ord(last))

    def _spaces(self) -> Any:
        known: Any = jnp.zeros(self.capacity, bool)
        for first, last in SPACES:
            known |= (self.codes >= first) & (self.codes <= last)
        return known & self.in_use()

    def _check_letters(self) -> None:
        text = "a letter of a text is not of ASCII, and of others its kind, case and value are not known in lanes"
        fails(LetterError, text, jnp.any(self._others()))

    def _others(self) -> Any:
        """The letters that are not of ASCII."""
        return self.codes >= _ASCII
