"""Code that is traced -> an error if it changes an object outside of it; such changes are undone.

Code is traced once, however many lanes and turns it runs in, so a change outside of it would be made once. Code may
remember its results, in a dict or in place of None: the addition is noted, and the program is built again. Then the
code must add no more, and make the same program.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import jax
import numpy as np

from hlobatch._jax import ClosedJaxpr, Literal
from hlobatch.analysis.mutation import Part, changed, refuse_generator
from hlobatch.analysis.objects import reaches_value
from hlobatch.analysis.reach import Found, Named, reached
from hlobatch.diagnostics import UnsupportedSyntaxError
from hlobatch.scoped import having

_INSTEAD: Final = "pass what it holds to the batched function, and return what it is to hold."
_Array = np.ndarray[Any, Any]


class ReadOnlyError(Exception):
    """Code tries to write to an array outside of it, or to an array that was made read-only for the trace."""


@dataclass
class Remembered:
    """Additions that code made to objects outside of it while a program was built.

    Attributes:
        added: By id, the snapshots of these objects before; they keep the objects alive.
        name: The user's name for the first of them.
        is_all: Whether further additions are refused.
    """

    added: dict[int, Part] = field(default_factory=dict)
    name: str = ""
    is_all: bool = False

    def note(self, part: Part, name: str) -> None:
        """Keep the state of an object before the first addition to it, so that the addition can be undone."""
        self.name = self.name or name
        self.added.setdefault(id(part.item), part)


_remembered: contextvars.ContextVar[Remembered | None] = contextvars.ContextVar("hlobatch_added", default=None)


@contextlib.contextmanager
def remembering() -> Iterator[Remembered]:
    """A context in which code being traced may add to objects outside of it; an error undoes the additions."""
    with having(_remembered, Remembered()) as notes:
        try:
            yield notes
        except BaseException:
            for part in notes.added.values():
                part.put_back()
            raise


_arrays_are_read_only = contextvars.ContextVar("arrays_are_read_only", default=False)
"""Whether the code runs while arrays outside of it, which it might write to, are read-only."""


def may_be_of_an_array(error: Exception) -> bool:
    """Whether code may have raised an exception since an array is read-only, and has to run again with a copy of it."""
    return isinstance(error, ValueError) and _arrays_are_read_only.get()


@contextlib.contextmanager
def unchanged(values: Sequence[Named], *, arrays_are_copied: bool = False) -> Iterator[Found]:
    """A context for code that may not change the objects that it can reach.

    Args:
        values: The objects from which the code starts, with their names.
        arrays_are_copied: Whether arrays are copied and compared afterwards; else they are read-only in the context.

    Raises:
        ReadOnlyError: The code may have failed since an array is read-only.
        UnsupportedSyntaxError: An object has changed; the change is undone.
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
        if kept and isinstance(error, ValueError):
            raise ReadOnlyError from error
        raise
    if _put_back(copies):
        raise _refusal("")
    _check(found.parts)


def _check(parts: Iterable[Part]) -> None:
    """Refuse changes of objects, and note additions to them."""
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


@dataclass
class Constants:
    """Copies of constants that JAX converted from arrays of 64 bits.

    JAX reuses a converted array as long as anything holds it, even if the original array has changed since. So no
    program may hold one; it holds a copy instead. The functions of a program share copies.

    Attributes:
        copies: The constants and their copies, by id of the constant.
    """

    copies: dict[int, tuple[Any, Any]] = field(default_factory=dict)

    def copied(self, jaxpr: ClosedJaxpr, outside: Iterable[_Array]) -> ClosedJaxpr:
        """A jaxpr with copies of the constants that JAX may have converted from arrays outside of it."""
        converted = [array for array in outside if jax.dtypes.canonicalize_dtype(array.dtype) != array.dtype]
        if not converted:
            return jaxpr
        code: Any = jaxpr.jaxpr
        if any(array.ndim == 0 for array in converted):
            eqns = [one.replace(invars=[self._literal(value) for value in one.invars]) for one in code.eqns]
            code = code.replace(eqns=eqns, outvars=[self._literal(value) for value in code.outvars])
        return ClosedJaxpr(code, [self._copy(value) for value in jaxpr.consts])

    def _literal(self, value: Any) -> Any:
        return Literal(self._copy(value.val), value.aval) if isinstance(value, Literal) else value

    def _copy(self, value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        return self.copies.setdefault(id(value), (value, value.copy()))[1]


def depends_on_what_was_added() -> UnsupportedSyntaxError:
    """The error for code that makes another program once it has added something to an object outside of it."""
    notes = _remembered.get()
    return _refusal(notes.name if notes else "")


def _refusal(name: str) -> UnsupportedSyntaxError:
    what = repr(name) if name else "an array outside of it"
    return UnsupportedSyntaxError(f"this code changes {what} in place, once for all lanes and turns", help=_INSTEAD)


@contextlib.contextmanager
def _read_only(arrays: Sequence[_Array]) -> Iterator[None]:
    """A context in which arrays are read-only."""
    for array in arrays:
        array.flags.writeable = False
    try:
        with having(_arrays_are_read_only, bool(arrays)):
            yield
    finally:
        # A view can be writeable only if its base is.
        for array in sorted(arrays, key=lambda array: array.base is not None):
            array.flags.writeable = True


def _can_be_made_writable(array: _Array) -> bool:
    return array.flags.owndata or (isinstance(array.base, np.ndarray) and array.base.flags.owndata)


def _put_back(copies: Sequence[tuple[_Array, _Array]]) -> bool:
    """Restore arrays that have changed; return whether there were any."""
    wrong = [(array, copy) for array, copy in copies if array.tobytes() != copy.tobytes()]
    for array, copy in wrong:
        array[...] = copy
    return bool(wrong)
