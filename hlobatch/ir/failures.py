"""The statements by which a program may raise, and how the values in their messages reach the host.

A function that may raise returns, beside its result, the number of the program's failure that it came to (0 if none)
and the values that the exception is made of, as 32-bit words. The host decodes them for each lane that failed and makes
the user's own exception.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import jax
import numpy as np

from hlobatch.diagnostics import UNKNOWN, LaneError, LimitError, Location, Note, as_also, name_lanes
from hlobatch.ir.boxed import in_python, with_boxes
from hlobatch.ir.fate import NUMBER, Fate, Stop, stop_of
from hlobatch.ir.growing import is_growing
from hlobatch.ir.types import Type, rebuilt
from hlobatch.ir.words import Unkept, decoded, python_number, shortened

FAILURE: Final = "$failure"
"""The variable of a function that holds the number of its failure, without the function's name in front."""
DETAILS: Final = "$details"
"""The variable that holds the encoded values of its exception."""

CAUGHT: Final = "$caught"
"""The beginning of the names of variables that hold exceptions themselves, where a program reads parts of them."""
RAISED: Final = "$raised"
"""The beginning of the names of variables that receive the failure of a call until it is known that it failed."""


def holds_exception(name: str) -> bool:
    """Whether a variable holds an exception itself, or nothing; ``name`` is without that of its function."""
    return name.startswith((CAUGHT, f"{RAISED}_caught"))


MOST_EXCEPTIONS: Final = 1_000
"""Exceptions that are made at most, for the first lanes that raised."""


@dataclass(frozen=True)
class Failure:
    """A ``raise`` or an ``assert`` of a program.

    Attributes:
        number: The number that functions return where lanes come here; counted from 1.
        text: The statement as the user wrote it.
        make: Makes the exception from the values of the variables that the statement reads.
        in_types: Types of those variables.
        location: The statement's place in the user's code.
        kind: The class of the exception where ``make`` fails.
    """

    number: int
    text: str
    make: Callable[..., BaseException] = field(compare=False)
    in_types: tuple[Type, ...] = ()
    location: Location = field(default=UNKNOWN, compare=False)
    kind: type[BaseException] = field(default=RuntimeError, compare=False)

    @property
    def short_text(self) -> str:
        """The line of the user's file in which it begins, shortened, and the number of that line.

        If it is no ``raise`` or ``assert``, the class of the exception comes first. For a limit of hlobatch, the
        message comes last, which says what to write.
        """
        line = self.location.source_line.strip() or self.text
        text = "".join(c if c.isprintable() else " " for c in line)
        where = f"{text[:400]} (line {self.location.line})"
        if self.text.startswith(("raise", "assert")):
            return where
        advice = f": {self.make()}" if issubclass(self.kind, LimitError) and not self.in_types else ""
        return f"{self.kind.__name__} at {where}{advice}"

    def exception(self, words: np.ndarray) -> BaseException:
        """The exception that a lane raises.

        Args:
            words: The encoded values of its exception, ``i32[words]``.
        """
        types = [Type(tensors) for tensors in shortened([type_.tensors for type_ in self.in_types])]
        values = [_as_python_has_it(value) for value in rebuilt(decoded(words, types), types)]
        try:
            try:
                return self.make(*in_python(with_boxes(values), python_number))
            except AttributeError:  # the code asks a number for what NumPy's have, such as `astype`
                return self.make(*values)
        except Exception as error:  # noqa: BLE001  # the user's own code, on values of which some may be missing
            return self.kind.__new__(self.kind, f"{self.text} ({type(error).__name__}: {error})")


def _as_python_has_it(value: Any) -> Any:
    """A value with Python's containers in place of growing ones; of one that was left out, the length is known."""

    def container(part: Any) -> Any:
        if any(isinstance(leaf, Unkept) for leaf in jax.tree.leaves(part)):
            return Unkept(part.size)
        return in_python(part, python_number)

    return jax.tree.map(lambda part: container(part) if is_growing(part) else part, value, is_leaf=is_growing)


def failed(
    name: str | None, failures: Sequence[Failure], stop: Stop, words: np.ndarray[Any, Any], *, outputs: Any = None
) -> LaneError:
    """The error for a run in which some inputs raised.

    Args:
        name: The user's name for the function.
        failures: The program's failures.
        stop: Which inputs raised, and which failures.
        words: The encoded values of the exceptions, ``i32[inputs, words]``.
        outputs: The results of the whole batch.

    Returns:
        A ``LaneError`` that is also an instance of the class of the first lane's exception.
    """
    by_number = {failure.number: failure for failure in failures}
    pairs = list(zip(stop.lanes, stop.failures, strict=True))[:MOST_EXCEPTIONS]
    errors = {lane: by_number[number].exception(words[lane]) for lane, number in pairs}
    first, error = next(iter(errors.items()))
    where = by_number[stop.failures[0]].location
    elsewhere = ((others, by_number[number].location) for number, others in _others(stop))
    notes = [Note(f"{name_lanes(others)} raised here", place) for others, place in elsewhere if place != where]
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    more = f" (of {len(stop.lanes)} lanes that raised)" if len(stop.lanes) > 1 else ""
    kind = as_also(LaneError, type(error))
    made = kind(
        f"{name_lanes([first])}{f' of {name!r}' if name else ''} raised {what}{more}",
        where,
        lanes=stop.lanes,
        outputs=outputs,
        unfinished=stop.unfinished,
        notes=notes,
        help=""
        if outputs is None
        else "what each raised is in `error.errors`, the others' results in `error.outputs`.",
    )
    assert isinstance(made, LaneError)
    made.errors = errors
    return made


def checked(program: Any, results: Sequence[Any]) -> list[Any]:
    """An interpreter's values for ``program.vars_out``, without the failure number and the exception's values.

    Raises:
        LaneError: Some lanes raised.
    """
    if not program.failures:
        return list(results)
    *kept, numbers, details = results
    status = np.where(np.asarray(numbers) != 0, Fate.FAILED + (np.asarray(numbers, np.int32) << NUMBER), 0)
    if status.any():
        outputs = kept[0] if len(kept) == 1 else kept
        raise failed(None, program.failures, stop_of(status), np.asarray(details), outputs=outputs)
    return kept


def _others(stop: Stop) -> list[tuple[int, list[int]]]:
    """For each failure other than the first lane's, its number and the lanes that came to it."""
    found: dict[int, list[int]] = {}
    for lane, number in zip(stop.lanes, stop.failures, strict=True):
        found.setdefault(number, []).append(lane)
    found.pop(stop.failures[0])
    return list(found.items())
