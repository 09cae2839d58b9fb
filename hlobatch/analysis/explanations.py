"""An exception of Python's or JAX's while user code is traced -> an hlobatch error at the user's line, with help."""

from __future__ import annotations

import dis
import inspect
import itertools
import re
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import jax

from hlobatch.analysis.definedness import user_name
from hlobatch.analysis.may_grow import may_grow
from hlobatch.diagnostics import (
    UNKNOWN,
    BatchTypeError,
    HloBatchError,
    Location,
    Note,
    UnsupportedSyntaxError,
    as_also,
    is_internal,
    is_own,
    raised_at,
)
from hlobatch.ir.names import as_written
from hlobatch.ir.ops import PrimOp
from hlobatch.ir.types import Type
from hlobatch.prelude import is_of_prelude
from hlobatch.values.carriers import carriers_in, in_words
from hlobatch.values.identity import Spot


def at_its_place(error: HloBatchError, op: PrimOp, in_types: Sequence[Type]) -> HloBatchError:
    """An error of hlobatch's own, located at the user's code, with a note on the call that led to it."""
    error.may_grow = error.may_grow or may_grow(error, op, in_types)
    if error.location is UNKNOWN:
        return error.at(place_of(error, op))
    if (error.location.file, error.location.function) == (op.location.file, op.location.function):
        return error  # the error is in the operation's own function, so no call led to it
    return error.with_note(Note("called from here", op.location))


def explained(error: Exception, op: PrimOp, in_types: Sequence[Type]) -> HloBatchError:
    """The hlobatch error for an exception from the user's code, at the user's line."""
    found = _as_ours(error, op, in_types)
    found.may_grow = may_grow(error, op, in_types)
    # What is None so far may be an object, once objects refer to each other.
    found.is_of_references = isinstance(error, AttributeError) and error.obj is None
    return found


@dataclass(frozen=True)
class _Explanation:
    """The contents of an hlobatch error.

    Attributes:
        kind: Its class.
        what: The message.
        help: The help text.
    """

    kind: type[HloBatchError]
    what: str
    help: str


def _as_ours(error: Exception, op: PrimOp, in_types: Sequence[Type]) -> HloBatchError:
    place, deeper = place_of(error, op), _innermost(error, op)
    found = _of_jax(error, is_in_own_code=bool(deeper)) or _of_type_error(error, place)
    found = found or _of_carrier(error) or _of_own_code(error) or _of_any(error, op, in_types)
    return found.kind(found.what, place, notes=deeper, help=found.help)


def _of_jax(error: Exception, *, is_in_own_code: bool) -> _Explanation | None:
    """The explanation of an error that JAX raises where code needs to know a value; None for any other error.

    Args:
        error: The error.
        is_in_own_code: Whether it comes from a function of the user's that the statement calls.
    """
    if isinstance(error, jax.errors.TracerBoolConversionError):
        return _Explanation(
            UnsupportedSyntaxError,
            "a Python `if`, `while`, `and` or `or` inside this code depends on a value that differs between lanes",
            _instead_of_the_branch(error) if is_in_own_code else _NO_BUILTIN,
        )
    if isinstance(error, jax.errors.TracerArrayConversionError) or _NO_ARRAY in str(error):
        what = "this code makes a NumPy array of a value that differs between lanes"
        return _Explanation(BatchTypeError, what, "use jax.numpy instead of numpy.")
    if isinstance(error, _NEEDS_VALUE) or any(words in str(error) for words in _WANTS_VALUE):
        what = "this code needs a number that is known when the program is built, but it differs between lanes"
        return _Explanation(BatchTypeError, what, _NO_NUMBER)
    if isinstance(error, OverflowError):
        what = "this code has a Python number that is too large for JAX's integers"
        return _Explanation(BatchTypeError, what, LARGE_NUMBERS)
    return None


def _of_type_error(error: Exception, place: Location) -> _Explanation | None:
    """The explanation of a ``TypeError`` about a key that cannot be hashed; None for any other error."""
    if not isinstance(error, TypeError):
        return None
    if _UNHASHABLE.search(str(error)):
        if cache := _cached_function(error, place):
            what = f"{cache!r} keeps its results in a cache, which looks up a value that differs between lanes"
            return _Explanation(BatchTypeError, what, _NO_CACHE)
        return _Explanation(BatchTypeError, LOOKS_UP, NO_KEY)
    return None


def _of_carrier(error: Exception) -> _Explanation | None:
    """The explanation of a Python error that names a class of hlobatch's in place of Python's; None for any other."""
    if not isinstance(error, (TypeError, AttributeError)) or not (carriers := carriers_in(str(error))):
        return None
    return _Explanation(
        UnsupportedSyntaxError,
        f"this is not known of a {' or a '.join(carriers)} that differs between lanes: {_detail(error)}",
        "docs/language.md lists what is: write it with that, as with a loop over the items.",
    )


def _of_own_code(error: Exception) -> _Explanation | None:
    """The explanation of an error that shows a fault of hlobatch's own code; None for any other error."""
    last = raised_at(error)
    file = "" if last is None else last.tb_frame.f_code.co_filename
    if not isinstance(error, (NameError, AttributeError, AssertionError)) or not is_own(file) or is_of_prelude(file):
        return None
    assert last is not None
    operation = dis.opname[last.tb_frame.f_code.co_code[last.tb_lasti]]
    if isinstance(error, AttributeError) and operation not in ("LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR"):
        return None  # of an attribute that the user's code asks for, by `getattr`
    what = f"a fault of hlobatch, and not of this code: {type(error).__name__}: {_detail(error)}"
    where = f"{Path(file).name}, line {last.tb_lineno}"
    return _Explanation(HloBatchError, what, f"please report it with the program and this message ({where}).")


def _of_any(error: Exception, op: PrimOp, in_types: Sequence[Type]) -> _Explanation:
    """The explanation of any other error: its own words, and the types of the user's variables in the statement."""
    seen = [f"{as_written(user_name(v))} is {t}" for v, t in zip(op.vars_in, in_types, strict=True) if not t.is_static]
    named = ", ".join(text for text in seen if not text.startswith("$"))
    kind = as_also(BatchTypeError, type(error)) if _is_the_users(error) else BatchTypeError
    help_ = f"the code runs on one example, where {named}." if named else ""
    return _Explanation(kind, f"{type(error).__name__}: {_detail(error)}", help_)


_UNHASHABLE: Final = re.compile(r"unhashable type: '\w*Tracer'")
"""Python's message where a value that differs between lanes is used as a key."""
_NO_ARRAY: Final = "object __array__ method not producing an array"
"""NumPy's message where an object's ``__array__`` method returns an array of JAX's."""
LARGE_NUMBERS: Final = (
    "write a float, as in 3e9, or jnp.inf for what is larger than all others, or jnp.uint32(n) for all 32 bits; "
    "jax.config.update('jax_enable_x64', True) allows numbers of 64 bits."
)
"""Help for a Python number with more bits than JAX's numbers have by default."""
_NEEDS_VALUE: Final = (jax.errors.ConcretizationTypeError, jax.errors.TracerIntegerConversionError)
_WANTS_VALUE: Final = ("concrete values", "must be None or an integer")
_NO_BRANCH: Final = "decorate the function that contains it with @hb.batch, or use jnp.where."
_NO_GENERATOR: Final = "write the loop of the generator where its items are used, or a list of known length."
_NO_BUILTIN: Final = (
    "a function of a library that branches needs numbers: use one of jax.numpy or jax.lax, or jnp.where for a choice; "
    "write the `if` in a function of yours."
)
_NO_NUMBER: Final = (
    "shapes and lengths are the same in all lanes: pass them through static_argnames, or take them from the closure. "
    "For what has another length in each lane, keep the greatest, and mask: `jnp.where(jnp.arange(100) < n, x, 0)`."
)
LOOKS_UP: Final = "this code looks up, in a dict, a set or a cache, a value that differs between lanes"
"""Message where Python would look for a key."""
NO_KEY: Final = "keep what differs in an array, as in `counts = counts.at[n].add(1)`, or compare, as in `if n == 1`."
_NO_CACHE: Final = (
    "leave the decorator out, and each call is computed anew; where that takes too long, write what is asked for again "
    "and again to an array, in a loop."
)
_JAX_ADVICE: Final = (
    "If using `jit`",
    "The error occurred while tracing",
    "This concrete value",
    "See https://",
    "----",
)


def _cached_function(error: Exception, place: Location) -> str:
    """The name of the function with ``functools.lru_cache`` that the code at a place calls; empty if there is none."""
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    word = re.match(r"\w+", place.text)
    called = frame.f_globals.get(word[0], frame.f_locals.get(word[0])) if word else None
    return word[0] if word and hasattr(called, "cache_parameters") else ""


def _is_the_users(error: Exception) -> bool:
    """Whether an error was raised by a statement of the user's."""
    last = traceback.extract_tb(error.__traceback__)[-1:]
    return any(frame in _user_frames(error) for frame in last)


def _detail(error: Exception) -> str:
    """JAX's message without its advice, which is about code that the user did not write."""
    lines = itertools.takewhile(lambda line: not line.startswith(_JAX_ADVICE), str(error).strip().splitlines())
    return in_words("\n".join(lines)) or "no message"


def _user_frames(error: BaseException) -> list[traceback.FrameSummary]:
    return [f for f in traceback.extract_tb(error.__traceback__) if not is_internal(f.filename)]


def place_of(error: BaseException, op: PrimOp) -> Location:
    """The place of an error within an operation, lambdas in it included; else the place of the operation."""
    first, last = op.location.line, op.location.end_line
    for frame in reversed(_user_frames(error)):
        if frame.filename == op.location.file and first <= (frame.lineno or 0) <= last:
            return _location(frame, op.location)
    return op.location


def changes_what_is_read(spot: Spot, op: PrimOp) -> UnsupportedSyntaxError:
    """The error for code of a function that changes an array in place which is read as it was later.

    Args:
        spot: The place of the change.
        op: The operation that calls the function.
    """
    code, instruction = spot
    line, end_line, offset, end_offset = next(itertools.islice(code.co_positions(), instruction // 2, None))
    place = op.location
    if line is not None and end_line is not None and offset is not None and end_offset is not None:
        place = Location.from_offsets(code.co_filename, line, offset, end_line, end_offset, place.function)
    return UnsupportedSyntaxError(
        "an array changes in place, which is still read as it was",
        op.location,
        notes=[Note(f"it changes here, in {code.co_name}", place)],
        help="write `x = x + y` for another array; or let one name stand for the array, and read it only behind the "
        "change.",
    )


def _innermost(error: Exception, op: PrimOp) -> list[Note]:
    """The user's own frame deepest in the traceback, if it is not in the operation itself."""
    frames = _user_frames(error)
    if not frames or _location(frames[-1], op.location) == place_of(error, op):
        return []
    return [Note(f"here, in {frames[-1].name}", _location(frames[-1], op.location))]


def _instead_of_the_branch(error: Exception) -> str:
    """Help for a branch in the innermost function of the user's in the traceback."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__) if not is_internal(frame.f_code.co_filename)]
    code, local = frames[-1].f_code, frames[-1].f_locals
    if code.co_flags & inspect.CO_GENERATOR and code.co_name != "<genexpr>":
        return _NO_GENERATOR
    owner = type(local.get(code.co_varnames[0])) if code.co_argcount else None
    is_property = isinstance(inspect.getattr_static(owner, code.co_name, None), property)
    if is_property or (code.co_name.startswith("__") and code.co_name.endswith("__")):
        return f"Python calls {code.co_name!r} by itself: write a method of another name, and call it by that."
    return _NO_BRANCH


def _location(frame: traceback.FrameSummary, default: Location) -> Location:
    line, end_line, offset, end_offset = frame.lineno, frame.end_lineno, frame.colno, frame.end_colno
    if line is None or end_line is None or offset is None or end_offset is None:
        return default
    return Location.from_offsets(frame.filename, line, offset, end_line, end_offset, default.function)
