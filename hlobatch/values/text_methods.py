"""Methods of Python's ``str`` for texts of lanes, on the codes of all letters at once.

::

    text.find("ab")           the first place at which both letters stand
    text.split(",")           the letters of each field, scattered to a row of its own

They compute with arrays and have no loops of their own, so that they may stand wherever an expression may, as in a
``lambda``. What a letter is, and its upper case, is known of ASCII letters alone: a lane with another one fails
(``hb.LetterError``). White space is what Python strips, whatever the alphabet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import jax
import jax.numpy as jnp
from jax import lax

from hlobatch.diagnostics import BatchTypeError
from hlobatch.ir.choice import Choice
from hlobatch.ir.value import Collection
from hlobatch.values.containers import capacity, check_integer
from hlobatch.values.growing_lists import GrowingList
from hlobatch.values.lane_failures import fails
from hlobatch.values.letters import Letters
from hlobatch.values.rows import kind_of
from hlobatch.values.whole_numbers import number

_CASE: Final = 32
"""The difference between the codes of an ASCII letter in its two cases."""


class TextMethods(Letters):
    """A text with these methods.

    Attributes:
        known_counts: How often some texts stand in it, where there is a quicker way to tell than to look.
    """

    known_counts: Mapping[str, Callable[[], Any]] = MappingProxyType({})

    # Texts in texts

    def find(self, sub: Any, start: Any = None, end: Any = None, /) -> Any:
        found = self._between(self._own(sub), start, end)
        return number(jnp.where(jnp.any(found), jnp.argmax(found), -1).astype(jnp.int32))

    def rfind(self, sub: Any, start: Any = None, end: Any = None, /) -> Any:
        found = self._between(self._own(sub), start, end)
        last = self.capacity - jnp.argmax(found[::-1])
        return number(jnp.where(jnp.any(found), last, -1).astype(jnp.int32))

    def index(self, sub: Any, start: Any = None, end: Any = None, /) -> Any:
        place = self.find(sub, start, end)
        fails(ValueError, "substring not found", place < 0)
        return place

    def rindex(self, sub: Any, start: Any = None, end: Any = None, /) -> Any:
        place = self.rfind(sub, start, end)
        fails(ValueError, "substring not found", place < 0)
        return place

    def count(self, sub: Any, start: Any = None, end: Any = None, /) -> Any:
        if type(sub) is str and sub in self.known_counts and start is None and end is None:
            return self.known_counts[sub]()
        part = self._own(sub)
        return number(jnp.sum(self._apart(part, self._between(part, start, end)), dtype=jnp.int32))

    def startswith(self, prefix: Any, start: Any = None, end: Any = None, /) -> Any:
        return self._stands(prefix, start, end, is_at_end=False)

    def endswith(self, suffix: Any, start: Any = None, end: Any = None, /) -> Any:
        return self._stands(suffix, start, end, is_at_end=True)

    def _stands(self, parts: Any, start: Any, end: Any, *, is_at_end: bool) -> Any:
        first, last = self.bounded(start, jnp.int32(0), 0, self.capacity + 1), self.bounded(end, self.size)
        result: Any = jnp.bool_(False)
        for one in parts if isinstance(parts, tuple) else (parts,):
            part = self._own(one)
            place = last - part.size if is_at_end else first
            found = self.matches(part)[jnp.clip(place, 0, self.capacity)]
            result |= found & (place >= first) & (place + part.size <= last)
        return result

    # Texts with other letters

    def replace(self, old: Any, new: Any, count: Any = -1, /) -> Any:
        is_of_letters = type(old) is str and type(new) is str and len(old) == len(new) == 1
        if is_of_letters and type(count) is int and count < 0:
            return type(self)(jnp.where(self._known(old), ord(new), self.codes), self.size, self.bound)
        part, instead = self._own(old), self._own(new)
        most = None if type(count) is int and count < 0 else jnp.where(count < 0, self.capacity + 1, count)
        hits = self._apart(part, self.matches(part), most)
        places = jnp.arange(self.capacity + 1, dtype=jnp.int32)
        last = lax.cummax(jnp.where(hits, places, -self.capacity - 2))
        kept = (places < self.size) & (places - last >= part.size)
        lengths = jnp.where(hits, instead.size, 0) + kept
        ends = jnp.cumsum(lengths, dtype=jnp.int32)
        begins = ends - lengths
        grows = not (type(old) is type(new) is str and len(new) <= len(old))
        room, bound = self.room_beside(instead) if grows else (self.capacity, self.bound)
        made = self.blank(room, ends[-1], bound, may_be_longer=grows)
        own = jnp.where(kept, begins + jnp.where(hits, instead.size, 0), room)
        codes = _scattered(made.codes, own, jnp.pad(self.codes, (0, 1)))
        letters = jnp.arange(instead.capacity, dtype=jnp.int32)
        is_put = hits[:, None] & (letters < instead.size)
        given = jnp.broadcast_to(instead.codes, is_put.shape)
        codes = _scattered(codes, jnp.where(is_put, begins[:, None] + letters, room), given)
        return type(self)(codes, jnp.minimum(ends[-1], room), bound)

    def upper(self) -> Any:
        return self._with_case(self._lowers(), jnp.zeros(self.capacity, bool))

    def lower(self) -> Any:
        return self._with_case(jnp.zeros(self.capacity, bool), self._uppers())

    def swapcase(self) -> Any:
        return self._with_case(self._lowers(), self._uppers())

    def title(self) -> Any:
        letters = self._lowers() | self._uppers()
        first = ~jnp.pad(letters, (1, 0))[:-1]
        return self._with_case(self._lowers() & first, self._uppers() & ~first)

    def capitalize(self) -> Any:
        first = jnp.arange(self.capacity) == 0
        return self._with_case(self._lowers() & first, self._uppers() & ~first)

    def casefold(self) -> Any:
        return self.lower()

    def _with_case(self, up: Any, down: Any) -> Any:
        """The text with some letters in upper case and some in lower case."""
        self._check_letters()
        codes = self.codes - _CASE * up.astype(jnp.int32) + _CASE * down.astype(jnp.int32)
        return type(self)(codes, self.size, self.bound)

    # What kind of letters there are

    def _all(self, flags: Any) -> Any:
        self._check_letters()
        return (self.size > 0) & jnp.all(flags | ~self.in_use())

    def isdigit(self) -> Any:
        return self._all(self._from("0", "9"))

    isdecimal = isnumeric = isdigit

    def isalpha(self) -> Any:
        return self._all(self._lowers() | self._uppers())

    def isalnum(self) -> Any:
        return self._all(self._lowers() | self._uppers() | self._from("0", "9"))

    def isspace(self) -> Any:
        return (self.size > 0) & jnp.all(self._spaces() | ~self.in_use())

    def isupper(self) -> Any:
        self._check_letters()
        return jnp.any(self._uppers()) & ~jnp.any(self._lowers())

    def islower(self) -> Any:
        self._check_letters()
        return jnp.any(self._lowers()) & ~jnp.any(self._uppers())

    def isascii(self) -> Any:
        return ~jnp.any(self._others())

    # Letters at the ends

    def strip(self, chars: Any = None, /) -> Any:
        return self._stripped(chars, left=True, right=True)

    def lstrip(self, chars: Any = None, /) -> Any:
        return self._stripped(chars, left=True, right=False)

    def rstrip(self, chars: Any = None, /) -> Any:
        return self._stripped(chars, left=False, right=True)

    def _stripped(self, chars: Any, *, left: bool, right: bool) -> Any:
        if chars is None:
            taken = self._spaces()
        else:
            known = self._own(chars)
            taken = jnp.any((self.codes[:, None] == known.codes) & known.in_use(), axis=1)
        kept = self.in_use() & ~taken
        places = jnp.arange(self.capacity, dtype=jnp.int32)
        first = jnp.min(jnp.where(kept, places, self.size)) if left else jnp.int32(0)
        last = jnp.max(jnp.where(kept, places + 1, 0)) if right else self.size
        return self._part(first, jnp.maximum(last, first))

    def removeprefix(self, prefix: Any, /) -> Any:
        part = self._own(prefix)
        return self._part(jnp.where(self.startswith(part), part.size, 0), self.size)

    def removesuffix(self, suffix: Any, /) -> Any:
        part = self._own(suffix)
        return self._part(jnp.int32(0), self.size - jnp.where(self.endswith(part), part.size, 0))

    def ljust(self, width: Any, fillchar: Any = " ", /) -> Any:
        return self.filled(width, fillchar, jnp.zeros_like)

    def rjust(self, width: Any, fillchar: Any = " ", /) -> Any:
        return self.filled(width, fillchar, lambda more: more)

    def center(self, width: Any, fillchar: Any = " ", /) -> Any:
        return self.filled(width, fillchar, lambda more: more // 2 + (more & width & 1))

    def zfill(self, width: Any, /) -> Any:
        is_signed = (self.size > 0) & ((self.codes[0] == ord("+")) | (self.codes[0] == ord("-")))
        return self.filled(width, "0", lambda more: more, jnp.where(is_signed, 1, 0))

    def filled(self, width: Any, fill: Any, before: Any, kept: Any = 0) -> Any:
        """The text with letters put in, so that it has ``width`` of them.

        Args:
            width: The number of letters.
            fill: The letter that is put in.
            before: Of the number of letters to put in, how many stand on the left; the others stand on the right.
            kept: The number of letters of the text in front of those on the left.
        """
        check_integer(width)
        letter = self._own(fill)
        fails(TypeError, "The fill character must be exactly one character long", letter.size != 1)
        room, bound = self.room_beside()
        if type(width) is int:
            room = max(room, width) if bound is None else room
        wanted = jnp.maximum(self.size, jnp.minimum(width, room + 1)).astype(jnp.int32)
        if type(width) is not int or width > room:
            self.blank(room, wanted, bound)
        left = before(wanted - self.size)
        order = jnp.arange(room, dtype=jnp.int32)
        own = jnp.where(order < kept, order, order - left)
        is_own = (order < kept) | ((own >= kept) & (own < self.size))
        letters = self.codes[jnp.clip(own, 0, self.capacity - 1)]
        return type(self).masked(jnp.where(is_own, letters, letter.codes[0]), jnp.minimum(wanted, room), bound)

    # Texts of parts, and parts of texts

    def partition(self, sep: Any, /) -> Any:
        part = self._separator(sep)
        place = jnp.asarray(self.find(part), jnp.int32)
        return self._in_three(part, jnp.where(place < 0, self.size, place), place >= 0)

    def rpartition(self, sep: Any, /) -> Any:
        part = self._separator(sep)
        place = jnp.asarray(self.rfind(part), jnp.int32)
        return self._in_three(part, jnp.maximum(place, 0), place >= 0)

    def _in_three(self, part: Any, place: Any, is_there: Any) -> tuple[Any, Any, Any]:
        """The letters before a place, the separator if it stands there, and the letters behind it."""
        width = jnp.where(is_there, part.size, 0)
        behind = self._part(jnp.minimum(place + width, self.size), self.size)
        return self._part(jnp.int32(0), place), type(self).masked(part.codes, width), behind

    def _separator(self, sep: Any) -> Any:
        part = self._own(sep)
        fails(ValueError, "empty separator", part.size == 0)
        return part

    def split(self, sep: Any = None, maxsplit: Any = -1) -> GrowingList:
        places = jnp.arange(self.capacity, dtype=jnp.int32)
        inside, row, first = self._words(places, maxsplit) if sep is None else self._separated(places, sep, maxsplit)
        count = row[-1] + 1
        most_parts = self.capacity + 1 if sep is not None else (self.capacity + 1) // 2
        room = min(capacity(kind_of(self), 0, None), most_parts)
        if room < most_parts:
            rows = type(self)(jnp.zeros((room, self.capacity), jnp.int32), jnp.zeros(room, jnp.int32))
            GrowingList(rows, count).check_room(count > room)
        at = jnp.where(inside, row * self.capacity + places - first, room * self.capacity)
        codes = _scattered(jnp.zeros(room * self.capacity, jnp.int32), at, self.codes)
        sizes = jnp.zeros(room, jnp.int32).at[jnp.where(inside, row, room)].add(1, mode="drop")
        texts = type(self)(codes.reshape(room, self.capacity), sizes)
        return GrowingList(texts, jnp.minimum(count, room))

    def _words(self, places: Any, maxsplit: Any) -> tuple[Any, Any, Any]:
        """Of each letter: whether it is in a word, the number of that word, and the place at which this begins."""
        if not (type(maxsplit) is int and maxsplit < 0):
            raise BatchTypeError(
                "`split` at white space, into a limited number of parts", help="name the separator: `split(' ', 1)`."
            )
        inside = self.in_use() & ~self._spaces()
        begins = inside & ~jnp.pad(inside, (1, 0))[:-1]
        row = jnp.cumsum(begins, dtype=jnp.int32) - 1
        return inside, row, lax.cummax(jnp.where(begins, places, 0))

    def _separated(self, places: Any, sep: Any, maxsplit: Any) -> tuple[Any, Any, Any]:
        """Of each letter: whether it is in a field, the number of that field, and the place at which this begins."""
        part = self._separator(sep)
        most = None if type(maxsplit) is int and maxsplit < 0 else jnp.where(maxsplit < 0, self.capacity, maxsplit)
        hits = self._apart(part, self.matches(part), most)[:-1]
        ends = jnp.where(hits, places + part.size, 0)
        behind = lax.cummax(ends)  # the end of the last separator that begins here or before
        inside = self.in_use() & (places >= behind)
        return inside, jnp.cumsum(hits, dtype=jnp.int32), behind

    def join(self, iterable: Any, /) -> Any:
        items = iterable.in_order() if isinstance(iterable, Collection) else GrowingList.of(list(iterable))
        if items.items is None:
            return type(self).of("")
        texts = items.items
        if isinstance(texts, Choice) and all(type(one) is str for one in texts.hb_objects):
            texts = jax.vmap(type(self).of)(texts)
        if not isinstance(texts, type(self)):
            fails(TypeError, "sequence item 0: expected str instance, another found", items.size > 0)
            return type(self).of("")
        codes, sizes = items.arranged(texts.codes), jnp.where(items.in_use(), items.arranged(texts.size), 0)
        count, width = codes.shape
        between = jnp.where((jnp.arange(count) > 0) & items.in_use(), self.size, 0)
        ends = jnp.cumsum(sizes + between, dtype=jnp.int32)
        begins = ends - sizes
        most = count * width + (count - 1) * self.capacity
        room = min(most, max(self.room_beside()[0], width))
        made = self.blank(room, ends[-1], may_be_longer=most > room)
        letters = jnp.arange(width, dtype=jnp.int32)
        at = jnp.where(letters < sizes[:, None], begins[:, None] + letters, room)
        joined = _scattered(made.codes, at, codes)
        own = jnp.arange(self.capacity, dtype=jnp.int32)
        at = jnp.where(own < between[:, None], (begins - between)[:, None] + own, room)
        joined = _scattered(joined, at, jnp.broadcast_to(self.codes, at.shape))
        return type(self)(joined, jnp.minimum(ends[-1], room))


def _scattered(codes: Any, places: Any, values: Any) -> Any:
    """Codes with others put at some places; a place past the end changes nothing."""
    return codes.at[places.ravel()].set(values.ravel(), mode="drop", wrap_negative_indices=False)
