"""Source locations and the errors users see.

An error says what was found, where, and what to do about it. Its text is ``file:line:column: error: …``, the source
line with the whole span underlined, notes with spans of their own, and ``help: …``. Invariant: a message uses the names
in the user's code and the user's files, never hlobatch's.
"""

from __future__ import annotations

import functools
import linecache
import os
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, ParamSpec, Self, TypeVar

from hlobatch import config
from hlobatch.prelude import is_of_prelude

P = ParamSpec("P")
T = TypeVar("T")
E = TypeVar("E", bound=BaseException)
H = TypeVar("H", bound="HloBatchError")
_MOST_LANES_NAMED: Final = 8


@dataclass(frozen=True, slots=True)
class Location:
    """A span of the user's source, in the file's own coordinates.

    Attributes:
        file: Path as Python compiled it.
        line: First line, from 1.
        column: First column, from 1, in characters.
        end_line: Last line, inclusive.
        end_column: Column just past the last character, from 1.
        function: Qualified name of the function the span is in, for the notes.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    function: str = ""

    @classmethod
    def from_offsets(
        cls, file: str, line: int, offset: int, end_line: int, end_offset: int, function: str = ""
    ) -> Location:
        """A span from Python's offsets: columns from 0, in bytes of UTF-8."""
        return cls(file, line, _column(file, line, offset), end_line, _column(file, end_line, end_offset), function)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Pickle ``UNKNOWN`` by name, so that it remains one object per process."""
        fields = (self.file, self.line, self.column, self.end_line, self.end_column, self.function)
        return "UNKNOWN" if self is UNKNOWN else (Location, fields)

    @property
    def source_line(self) -> str:
        """The first line of the span, without its newline; empty if the file cannot be read."""
        if "\0" in self.file:  # no file can have this name, and linecache would raise
            return ""
        return linecache.getline(self.file, self.line).rstrip("\n")

    @property
    def text(self) -> str:
        """The part of the first source line that the span covers."""
        line = self.source_line
        end = self.end_column - 1 if self.end_line == self.line else len(line)
        return line[self.column - 1 : end]

    def underlined(self) -> list[str]:
        """The source line with its number, and a line of carets under the span."""
        line = self.source_line
        if not line:
            return []
        end = self.end_column if self.end_line == self.line else len(line) + 1
        width = max(1, end - self.column)
        number = str(self.line)
        pad = "".join(c if c == "\t" else " " for c in line[: self.column - 1])
        return [f"  {number} | {line}", f"  {' ' * len(number)} | {pad}{'^' * width}"]


def _column(file: str, line: int, offset: int) -> int:
    text = linecache.getline(file, line)
    return (len(text.encode()[:offset].decode(errors="replace")) if text else offset) + 1


UNKNOWN: Final = Location("<unknown>", 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Note:
    """A second place that explains an error: the other side of a disagreement, or the call it came through."""

    message: str
    location: Location = UNKNOWN

    def render(self) -> list[str]:
        if self.location is UNKNOWN:
            return [f"note: {self.message}"]
        return [f"{self.location}: note: {self.message}", *self.location.underlined()]


class HloBatchError(Exception):
    """Base class of the errors that hlobatch raises on purpose.

    Attributes:
        message: What was found, one sentence.
        location: The span in the user's code.
        notes: Further places.
        help: What to do about it.
    """

    label: ClassVar[str] = "error"
    may_grow: tuple[tuple[str, int], ...] = ()
    """If the error would go away if containers grew: the variables that hold them, each with the container's depth."""
    none_or_value: str = ""
    """If a variable is None on one path and a value on another: the variable."""
    of_several: str = ""
    """If the error would go away if a variable could hold values of several kinds: the variable."""
    goes_over: bool = False
    """Whether the only error is that a comprehension goes over a container whose length differs between lanes."""
    orders: frozenset[frozenset[Any]] = frozenset()
    """If dicts with the same keys have them in different orders on two paths: these sets of keys."""
    look_on: Callable[[], Sequence[HloBatchError]] | None = None
    """Finds further errors of the same kind in the program, as if this one were mended; only set while the program is
    being built.
    """
    within: tuple[Location, ...] = ()
    """If an error of library code is reported at the user's call: its places in the library code."""
    overloaded: str = ""
    """If a statement should call a special method of the user's: its name, such as ``__setitem__``."""
    is_of_references: bool = False
    """Whether the error is about objects that refer to each other, or would go away if variables held references."""
    about: Any = None
    """If a container cannot do what was asked of it: its Python class, or the places where the arguments have it."""

    def __init__(
        self,
        message: str,
        location: Location = UNKNOWN,
        *,
        notes: Sequence[Note] = (),
        help: str = "",
    ) -> None:
        self.message = message
        self.location = location
        self.notes = tuple(notes)
        self.help = help
        Exception.__init__(self, self.render())  # not super(): the error may also be of a user's class

    @property
    def is_of_growth(self) -> bool:
        """Whether containers that grow mend the error, or loops that are unrolled."""
        return bool(self.may_grow) and not self.goes_over

    @property
    def is_of_what_variables_hold(self) -> bool:
        """Whether variables that hold more, or loops over containers, may mend the error."""
        return bool(self.none_or_value or self.goes_over or self.may_grow or self.of_several)

    @property
    def places(self) -> list[Location]:
        """All locations in the error: its own, those in library code, and those of its notes."""
        return [self.location, *self.within, *(note.location for note in self.notes)]

    def __str__(self) -> str:
        return Exception.__str__(self)  # KeyError.__str__ would give the repr

    def render(self) -> str:
        """The whole error message."""
        where = "" if self.location is UNKNOWN else f"{self.location}: "
        lines = [f"{where}{self.label}: {self.message}", *self.location.underlined()]
        if self.location.function:
            lines.append(f"  in {self.location.function}")
        for note in self.notes:
            lines += note.render()
        if self.help:
            lines.append(f"help: {self.help}")
        return "\n".join(lines)

    def of_references(self) -> Self:
        """This error, as one that is about objects that refer to each other."""
        self.is_of_references = True
        return self

    def with_note(self, note: Note) -> Self:
        """This error with one more note, as for a call site that it passes through."""
        return self._with(notes=(*self.notes, note))

    def called_from(self, location: Location) -> Self:
        """This error as the caller sees it: with a note for the call, or at the call of a library function."""
        if not is_of_prelude(self.location.file):
            is_seen = not is_of_prelude(location.file)
            return self.with_note(Note("called from here", location)) if is_seen else self
        notes = tuple(note for note in self.notes if not is_of_prelude(note.location.file))
        return self._with(location=location, notes=notes, within=(*self.within, self.location))

    def at(self, location: Location) -> Self:
        """This error with a location, if it has none yet."""
        return self if self.location is not UNKNOWN else self._with(location=location)

    def in_users_code(self, location: Location) -> Self:
        """This error, moved to a location in the user's code if it is in hlobatch's, without its notes there."""
        if self.location is not UNKNOWN and not is_internal(self.location.file):
            return self
        notes = tuple(note for note in self.notes if not is_internal(note.location.file))
        return self._with(location=location, notes=notes)

    def between_turns(self) -> Self:
        """This error with a message about differences between turns or calls in place of differences between lanes."""
        return self._with(message=self.message.replace("between lanes", "between turns or calls"))

    def _with(self, **changes: Any) -> Self:
        return _restored(type(self), self.__dict__ | changes)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by its attributes: its class may take other arguments, or be one that ``as_also`` made."""
        return _unpickled, (_made_of(type(self)), self.__dict__)


def _unpickled(kinds: Sequence[Any], attributes: Mapping[str, Any]) -> HloBatchError:
    kind: type[HloBatchError] = functools.reduce(as_also, kinds)
    return _restored(kind, attributes)


def _made_of(kind: type) -> tuple[type, ...]:
    """The classes from which ``as_also`` made a class; the class itself if it was not made so."""
    made_of: tuple[type, ...] = vars(kind).get(_PARENTS, (kind,))
    return made_of


_PARENTS: Final = "_made_of"


def _restored(kind: type[H], attributes: Mapping[str, Any]) -> H:
    """The error of this class with these attributes."""
    error = kind.__new__(kind)
    error.__dict__.update(attributes)
    error.args = (error.render(),)
    return error


class UnsupportedSyntaxError(HloBatchError):
    """A statement or expression that hlobatch cannot compile to a batched program.

    Fix: write it with the constructs listed in ``docs/language.md``, or move it into an ordinary function whose control
    flow does not differ between lanes.
    """


class UndefinedVariableError(HloBatchError):
    """A variable is read on a path on which it may have no value.

    Fix: give it a value before the branch or the loop.
    """


class BatchTypeError(HloBatchError, TypeError):
    """Types, shapes, batch sizes or argument counts do not fit together.

    Fix: make the two sides that the message names agree, as with ``jnp.asarray(…, dtype)``, or pass a batch.
    """


class LaneError(HloBatchError):
    """An error in some lanes only; the other lanes' results are kept.

    Attributes:
        lanes: Indices into the batch of the inputs with the error.
        outputs: The results of the whole batch; rows of unfinished inputs are not meaningful.
        unfinished: Indices of all inputs without a result: those with the error, and those that had not started or were
            stopped for another reason.
        errors: The user's own exceptions, by lane, for the first thousand lanes that raised one.
    """

    def __init__(
        self,
        message: str,
        location: Location = UNKNOWN,
        *,
        lanes: Collection[int] = (),
        outputs: Any = None,
        unfinished: Collection[int] | None = None,
        notes: Sequence[Note] = (),
        help: str = "",
    ) -> None:
        self.lanes = tuple(int(lane) for lane in lanes)
        self.errors: dict[int, BaseException] = {}
        self.outputs = outputs
        self.unfinished = self.lanes if unfinished is None else tuple(int(lane) for lane in unfinished)
        super().__init__(message, location, notes=notes, help=help)


def as_also(kind: type[E], other: type[BaseException]) -> type[E]:
    """A class that is a subclass of both, so that ``except ValueError`` catches it; ``kind`` if there cannot be one."""
    if issubclass(kind, other):
        return kind
    try:
        text = f"A {kind.__name__} that is a {other.__name__}."
        return type(kind.__name__, (kind, other), {"__doc__": text, _PARENTS: (*_made_of(kind), other)})
    except TypeError:  # the memory layouts of the two conflict
        return kind


class LimitError(RuntimeError):
    """A lane reached a limit that hlobatch has and Python does not. No handler in the program catches it."""


class MissingValueError(LimitError):
    """A lane has None where an array is stored: as its result, or as an item of a list that grows.

    Or a function that is called for all items at once, such as a sort key, reads a key that a ``defaultdict`` lacks.

    Fix: give a number in place of None, `return -1 if found is None else found`, or a flag beside it. In a sort key,
    read `d.get(k, 0)`.
    """


class IntegerOverflowError(LimitError):
    """An integer of a lane needs more bits than its dtype has, in a function of ``hb.batch(checked=True)``.

    Fix: compute with floats or, after ``jax.config.update("jax_enable_x64", True)``, with 64 bits. If the number is
    meant to wrap around, as in a hash, make it unsigned, as in ``jnp.uint32(x)``.
    """


class LetterError(LimitError):
    """A text of a lane has a letter beyond ASCII where the kind, the case or the value of each letter matters.

    Fix: keep to ASCII letters, or do without what asks, such as ``upper`` and ``isalpha``.
    """


class CapacityError(LimitError):
    """A container of a lane, such as a list that is used as a stack, has no room for another item.

    Fix: declare its capacity, as in `stack = hb.capacity([], 1000)`. Outside of ``jax.jit``, containers without a
    declared capacity grow by themselves.

    Attributes:
        may_grow: Whether the container has no declared capacity.
    """

    def __init__(self, message: str, may_grow: bool = False) -> None:
        super().__init__(message)
        self.may_grow = may_grow


class MemoryLimitError(HloBatchError, MemoryError):
    """The lanes of a run need more memory at once than there is.

    Fix: declare the capacity of containers, as in ``hb.capacity([], 1000)``, run fewer threads or lanes at once, or
    give a smaller ``max_stack_depth`` inside of ``jax.jit``.
    """


class StackOverflowError(LaneError):
    """A lane needed more stack frames than it had, and the stacks could not grow.

    Fix: raise ``max_stack_depth``, or call the function outside ``jax.jit``, where stacks grow while running.
    """


class StepLimitError(LaneError):
    """Some lanes had not finished after ``max_steps`` blocks.

    Fix: raise ``max_steps``, or look at the inputs of the lanes that the message names.
    """


class TimeLimitError(LaneError, TimeoutError):
    """Some inputs were not finished when the ``timeout`` of a call was reached; the results so far are kept.

    Fix: raise ``timeout``, or run the batch in parts with ``f.start``, ``f.advance`` and ``f.finish``.
    """


class StateError(HloBatchError):
    """A state does not belong to a run that this function can resume.

    It belongs to another function, to arguments of other types, to an earlier version of the function, or to another
    version of hlobatch or JAX; or its arrays are damaged.

    Fix: begin a new run with ``f.start``.
    """


class Interrupted(KeyboardInterrupt):
    """The user interrupted a run (Ctrl-C); the results so far are kept.

    Attributes:
        outputs: The results of the whole batch; rows of unfinished inputs are not meaningful. None if the run was
            interrupted before there were any.
        unfinished: Indices of all inputs without a result.
        state: The state to resume from, if ``f.advance`` or ``f.finish`` was interrupted; else None.
    """

    def __init__(self, message: str, *, outputs: Any = None, unfinished: Collection[int] = ()) -> None:
        super().__init__(message)
        self.state: Any = None
        self.outputs = outputs
        self.unfinished = tuple(int(lane) for lane in unfinished)


class KernelError(HloBatchError):
    """A function with ``dispatch="kernel"`` cannot be compiled to a kernel. The message says why.

    Fix: leave ``dispatch`` out, or rewrite the code that the message names.
    """


class DerivativeError(HloBatchError):
    """Code that has no derivative was differentiated. The message names the code, and says why.

    Fix: give the code a derivative with ``jax.custom_jvp`` or ``jax.custom_vjp``, or exclude it with
    ``jax.lax.stop_gradient``.
    """


class ArtifactError(HloBatchError):
    """A function cannot be exported, or a file is not an artifact that can be run here.

    Fix: change the code that the message names. Export again if the file is damaged, or was written by or for something
    else.
    """


class ProfileError(HloBatchError):
    """The file that ``HLOBATCH_PROFILE`` names is not a profile of a machine.

    Fix: write one with ``python -m benchmarks.calibrate FILE``, or unset the variable.
    """


class ParseError(HloBatchError):
    """A text or file is not a valid module.

    Fix: the message names the line and the column.
    """


class VerificationError(HloBatchError):
    """A program breaks one of the numbered rules of the IR.

    Attributes:
        rule: Label of the rule, as in ``docs/architecture.md``.
    """

    def __init__(self, rule: str, message: str, location: Location = UNKNOWN, *, notes: Sequence[Note] = ()) -> None:
        self.rule = rule
        super().__init__(f"[{rule}] {message}", location, notes=notes)


def name_lanes(lanes: Collection[int]) -> str:
    """Lanes as an error names them: ``lane 3``, ``lanes 1, 4, 7``, ``lanes 0, 1, … (1000 in all)``."""
    shown = ", ".join(str(int(lane)) for lane in list(lanes)[:_MOST_LANES_NAMED])
    if len(lanes) == 1:
        return f"lane {shown}"
    more = f", … ({len(lanes)} in all)" if len(lanes) > _MOST_LANES_NAMED else ""
    return f"lanes {shown}{more}"


_PACKAGE: Final = Path(__file__).parent
_FOLDERS: Final = (_PACKAGE, _PACKAGE / "dialect", _PACKAGE / "lowering")
_OWN: Final = tuple(f"{folder.resolve()}{os.sep}" for folder in _FOLDERS)
_INTERNAL: Final = (*_OWN, "<frozen ")
_LIBRARIES: Final = ("/jax/_src/", "/jax/experimental/", "/jax/interpreters/", "/jaxlib/", "/numpy/")
_LIBRARY_FILES: Final = ("/contextlib.py", "/functools.py")


def is_internal(file: str) -> bool:
    """Whether a file is hlobatch's own, or of a library that it uses, and not the user's."""
    return file.startswith(_INTERNAL) or file.endswith(_LIBRARY_FILES) or any(part in file for part in _LIBRARIES)


def is_own(file: str) -> bool:
    """Whether a file is hlobatch's own."""
    return file.startswith(_OWN)


def raised_at(error: BaseException) -> types.TracebackType | None:
    """The part of an exception's traceback for the code that raised it; None before it is raised."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    return last


def without_internal_frames(error: E, is_internal: Callable[[str], bool] = is_internal) -> E:
    """The error without traceback frames of internal files, and so for its causes."""
    if error.__cause__ is not None:
        without_internal_frames(error.__cause__, is_internal)
    frames: list[types.TracebackType] = []
    tb = error.__traceback__
    while tb is not None:
        if not is_internal(tb.tb_frame.f_code.co_filename):
            frames.append(tb)
        tb = tb.tb_next
    chain: types.TracebackType | None = None
    for frame in reversed(frames):
        chain = types.TracebackType(chain, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return error.with_traceback(chain)


def shown(error: HloBatchError) -> HloBatchError:
    """An error with the traceback that users see, without internal frames unless ``config`` asks for them."""
    return error if config.internal_frames_shown() else without_internal_frames(error)


def hiding_internal_frames(function: Callable[P, T]) -> Callable[P, T]:
    """A decorator for entry points, whose errors are ``shown``."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except HloBatchError as error:
            raise shown(error)  # noqa: B904  # it is the same error, with the cause it has

    return run
