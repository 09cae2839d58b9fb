"""Code that is traced -> an error if it changes an object outside of it, which is as it was then.

Code is traced once, however many lanes and turns it runs in, so that what it changes outside would be changed once. It
may remember what it has computed, in a dict or where there was None: what it adds is noted, and the program is made
again, which must not add any more, and be the same.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from hlobatch.analysis.mutation import Part, changed, refuse_generator
from hlobatch.analysis.objects import reaches_value
from hlobatch.analysis.reach import Found, Named, reached
from hlobatch.diagnostics import UnsupportedSyntaxError

_INSTEAD: Final = "pass what it holds to the batched function, and return what it is to hold."
_Array = np.ndarray[Any, Any]


class ReadOnlyError(Exception):
    """Some code wants to write to an array outside of it, or to one that could be written to."""


@dataclass
class Remembered:
    """What code has added to objects outside of it, while a program was made.

    Attributes:
        added: By the ids of objects, what they consisted of before; the objects are kept.
        name: What the first of them is called.
        is_all: Whether no more may be added.
    """

    added: dict[int, Part] = field(default_factory=dict)
    name: str = ""
    is_all: bool = False

    def note(self, part: Part, name: str) -> None:
        """Note what a part was before it was added to."""
        self.name = self.name or name
        self.added.setdefault(id(part.item), part)


_remembered: contextvars.ContextVar[Remembered | None] = contextvars.ContextVar("hlobatch_added", default=None)


@contextlib.contextmanager
def remembering() -> Iterator[Remembered]:
    """A context in which code that is traced may add to objects outside of it, which is undone if there is an error."""
    notes = Remembered()
    token = _remembered.set(notes)
    try:
        yield notes
    except BaseException:
        for part in notes.added.values():
            part.put_back()
        raise
    finally:
        _remembered.reset(token)


@contextlib.contextmanager
def unchanged(values: Sequence[Named], *, arrays_are_copied: bool = False) -> Iterator[Found]:
    """A context in which code runs that may not change what it reaches by some objects.

    Args:
        values: The objects, and what each is called.
        arrays_are_copied: Whether arrays may be written to, and are compared; else they may not.

    Raises:
        ReadOnlyError: An array cannot be written to that could.
        UnsupportedSyntaxError: Something has changed; it is put back.
    """
    found = reached(values)
    writable = [array for array in found.arrays if array.flags.writeable]
    copies = [(array, array.copy()) for array in writable if arrays_are_copied]
    kept = [array for array in writable if not arrays_are_copied and _can_be_made_writable(array)]
    try:
        with _read_only(kept):
            yield found
    except BaseException as error:
        for part in filter(Part.differs, found.parts):
            part.put_back()
        _put_back(copies)
        if kept and isinstance(error, ValueError):  # perhaps since one cannot be written to now
            raise ReadOnlyError from error
        raise
    if _put_back(copies):
        raise _refusal("")
    _check(found.parts)


def _check(parts: Iterable[Part]) -> None:
    """Refuse what has changed, and note what was added."""
    notes = _remembered.get()
    differing = [(part, part.what) for part in parts if part.differs()]
    if wrong := changed(part for part, _ in differing):
        for part in wrong:
            refuse_generator(part.item)
        raise _refusal(next(name for part, name in differing if part is wrong[0]))
    for part, name in differing:
        if (notes and notes.is_all) or any(map(reaches_value, part.added())):
            part.put_back()
            raise _refusal(name)
        if notes:
            notes.note(part, name)


def depends_on_what_was_added() -> UnsupportedSyntaxError:
    """The error for code that is another once something was added to an object outside of it."""
    notes = _remembered.get()
    return _refusal(notes.name if notes else "")


def _refusal(name: str) -> UnsupportedSyntaxError:
    what = repr(name) if name else "an array outside of it"
    return UnsupportedSyntaxError(f"this code changes {what} in place, once for all lanes and turns", help=_INSTEAD)


@contextlib.contextmanager
def _read_only(arrays: Sequence[_Array]) -> Iterator[None]:
    """A context in which arrays cannot be written to."""
    for array in arrays:
        array.flags.writeable = False
    try:
        yield
    finally:
        for array in sorted(arrays, key=lambda array: array.base is not None):  # a view after what it is of
            array.flags.writeable = True


def _can_be_made_writable(array: _Array) -> bool:
    return array.flags.owndata or (isinstance(array.base, np.ndarray) and array.base.flags.owndata)


def _put_back(copies: Sequence[tuple[_Array, _Array]]) -> bool:
    """Give arrays that have changed what they held; whether there are any."""
    wrong = [(array, copy) for array, copy in copies if array.tobytes() != copy.tobytes()]
    for array, copy in wrong:
        array[...] = copy
    return bool(wrong)
