"""Operations that fail in some lanes while code is traced -> the number of each lane's first failure, or 0.

::

    x = stack.pop()        fails(IndexError, "pop from empty list", size == 0)       noted while the statement is traced
                           %$status = 1 in lanes where the list is empty             returned beside the results

A lane cannot raise. So the operation notes the lanes that fail, and goes on with some value. Once tracing has learned
the ways in which a statement can fail (the fact ``CanFail``), the frontend puts a test of the status behind it
(``failing_statements.py``).
"""

from __future__ import annotations

import contextlib
import contextvars
import dis
import functools
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Final, final

import jax
import jax.numpy as jnp

from hlobatch import prelude
from hlobatch._jax import this_trace
from hlobatch.diagnostics import (
    BatchTypeError,
    HloBatchError,
    IntegerOverflowError,
    Location,
    is_internal,
    is_own,
    raised_at,
)
from hlobatch.ir.walk import PLAIN
from hlobatch.prelude import is_of_prelude
from hlobatch.scoped import having
from hlobatch.values.carriers import in_words
from hlobatch.values.facts import WHOLE_PROGRAM, Learned, NotYet, Site, of_code
from hlobatch.values.held_classes import is_held
from hlobatch.values.held_classes import is_there as is_referred_to
from hlobatch.values.optional import in_any_case, is_any_optional, optional

OF_LANES: Final = (ZeroDivisionError, IndexError, KeyError, ValueError, OverflowError, StopIteration)
"""Exceptions that operations raise by themselves for the values of a lane."""
WHERE_CHECKED: Final = (*OF_LANES, IntegerOverflowError)
"""Exceptions that operations raise in a program whose operations are all tested (``hb.batch(checked=True)``)."""
Failing = tuple[type[Exception], tuple[Any, ...]]
"""The class of an exception, and the arguments to make it with."""


@dataclass(frozen=True, slots=True)
class CanFail:
    """The fact that a statement fails in some lanes.

    Attributes:
        failures: The ways in which it can fail.
        surely: Whether, given the values known when the program is built, each lane that reaches it fails.
    """

    failures: tuple[Failing, ...]
    surely: bool = False

    def joined(self, known: CanFail) -> CanFail:
        """This fact joined with the one known before."""
        more = (failing for failing in self.failures if failing not in known.failures)
        return CanFail((*known.failures, *more), self.surely or known.surely)


@dataclass(frozen=True, slots=True)
class Caught:
    """The fact that operations of a program raise exceptions where JAX would give a value.

    Attributes:
        kinds: The classes of these exceptions.
        has_try: Whether the program catches them, so that its code may read variables after an exception.
    """

    kinds: tuple[type[BaseException], ...]
    has_try: bool = True


@dataclass(frozen=True, slots=True)
class Careful:
    """The fact that code computes with values that are None in some lanes: all operations test operands for None."""


@final
class NoValue:
    """A result of a statement that raises in every lane, of a variable that has no value then."""


NO_VALUE: Final = NoValue()


class SurelyFails(Exception):  # noqa: N818  # of the lane, not of the build
    """Raised while code is traced: each lane that reaches this code fails.

    Attributes:
        failing: The class of the exception, and the arguments to make it with.
    """

    def __init__(self, kind: type[Exception], *made_of: Any) -> None:
        super().__init__(kind, made_of)
        self.failing: Failing = (kind, made_of)


class _SurelyOutOfRange(SurelyFails, IndexError):  # noqa: N818  # of the lane, not of the build
    """Of an index out of range, which also ends Python's iteration over an object that has ``__getitem__`` alone."""


@dataclass(eq=False)
class _Watched:
    """A statement that is being traced.

    Attributes:
        place: Its place in the source.
        known: The ways to fail that its status distinguishes.
        untested: Further ways to fail that tracing met, in order.
        is_surely: Whether it is known that it may surely fail.
        found: The failures that tracing met, in order: the status, and the lanes concerned.
        conditions: Conditions under which the result of the code being traced is used.
        trace: The trace of the statement itself, as opposed to those of functions in it that JAX maps or loops over.
        wanted: The exceptions that count although JAX gives a value in place of them.
        is_careful: Whether operations test their operands for None.
        is_looked_after: Whether any code of the program reads variables after an exception.
        leaves_out_texts: Whether a text that is made of a lane's values has a mark in place of them.
    """

    place: Location
    known: tuple[Failing, ...] = ()
    untested: list[Failing] = field(default_factory=list)
    is_surely: bool = False
    found: list[tuple[int, Any]] = field(default_factory=list)
    conditions: list[Any] = field(default_factory=list)
    trace: Any = field(default_factory=this_trace)
    wanted: tuple[type[BaseException], ...] = ()
    is_careful: bool = False
    is_looked_after: bool = False
    leaves_out_texts: bool = False

    def failed(self, failing: Failing, results: Sequence[Any]) -> tuple[Any, ...]:
        """The results of the statement if it surely fails, and the status of the failure in place of the last.

        Args:
            failing: The failure.
            results: The results without it.

        Raises:
            Learned: Its status does not distinguish this failure yet.
        """
        if failing not in self.known or not self.is_surely:
            known = self.known if failing in self.known else (*self.known, failing)
            raise Learned(of_code(self.place), CanFail(known, surely=True))
        status: Any = self.known.index(failing) + 1
        for number, lanes in reversed(self.found):  # what failed before, in the lanes where it did
            status = jnp.where(lanes, number, status)
        return (*results[:-1], status)


_watched: contextvars.ContextVar[_Watched | None] = contextvars.ContextVar("hlobatch_watched", default=None)
_for_all_items: contextvars.ContextVar[bool] = contextvars.ContextVar("hlobatch_for_all_items", default=False)


def within(place: Location) -> AbstractContextManager[_Watched]:
    """A context in which a statement is traced."""
    return having(_watched, _Watched(place))


def watched_alone(
    function: Callable[..., Any],
    place: Location,
    results: Sequence[int | None],
    learned: list[tuple[Site, Any]],
    *,
    is_known: bool,
    is_of_one_kind: bool,
) -> Callable[..., Any]:
    """A function that runs a statement, to be traced, and notes its failures.

    Args:
        function: The statement.
        place: Its place in the source.
        results: For each of its results, the number of the operand whose value the variable has if the statement fails;
            None if it has no value then. If the statement is tested for failures, the last result is its status.
        learned: A list to which the fact is added that it can fail in a way that it is not tested for yet.
        is_known: Whether all its operands are known, so that an exception of Python's is that of each lane.
        is_of_one_kind: Whether it is a copy for one kind of object, so that a lane has that kind if it gets there.
    """
    is_compiled = "__hb_" in getattr(function, "__qualname__", "")

    def without(values: Sequence[Any]) -> list[Any]:
        return [NO_VALUE if number is None else values[number] for number in results]

    def attempt(watched: _Watched, values: Sequence[Any]) -> Any:
        try:
            return function(*values)
        except SurelyFails as error:
            return watched.failed(error.failing, without(values))
        except OF_LANES as error:
            if not is_known or isinstance(error, HloBatchError) or not isinstance(error, watched.wanted):
                raise
            return watched.failed((type(error), tuple(map(steady, error.args))), without(values))
        except (AttributeError, TypeError) as error:
            if not is_of_one_kind or not is_pythons(error) or _is_of_jax(error):
                raise
            text = in_words(str(error))
            return watched.failed((type(error), (text,)), without(values))

    def run(*values: Any) -> Any:
        with within(place) as watched:
            try:
                given = attempt(watched, values)
            finally:
                if watched.untested:
                    can_fail = CanFail((*watched.known, *watched.untested), watched.is_surely)
                    learned.append((of_code(place), can_fail))
        if is_compiled and not watched.is_careful and is_any_optional():
            raise Learned(WHOLE_PROGRAM, Careful())
        return given

    return run


def _is_of_jax(error: BaseException) -> bool:
    """Whether JAX or NumPy raised an exception."""
    last = raised_at(error)
    file = last.tb_frame.f_code.co_filename if last is not None else ""
    return is_internal(file) and not is_own(file)


def wants(kinds: tuple[type[BaseException], ...], has_try: bool, is_careful: bool) -> None:
    """Set, at the beginning of a statement, which of its failures count.

    Args:
        kinds: The exceptions that its operations raise and that JAX gives a value for.
        has_try: Whether any code of the program reads variables after an exception.
        is_careful: Whether operations of the statement test their operands for None.
    """
    if (watched := _watched.get()) is not None:
        watched.wanted, watched.is_careful, watched.is_looked_after = kinds, is_careful, has_try


def leave_out_texts() -> None:
    """Set, at the beginning of a statement, that a text made of a lane's values has a mark in place of them."""
    if (watched := _watched.get()) is not None:
        watched.leaves_out_texts = True


def leaves_out_texts() -> bool:
    """Whether texts that are made of a lane's values have a mark in place of them."""
    watched = _watched.get()
    return watched is not None and watched.leaves_out_texts


@final
class LeftOut:
    """Stands for a lane's value in a text that is made by the host alone."""

    def __str__(self) -> str:
        return "\ue000"

    def __format__(self, form: str) -> str:
        return str(self)

    __repr__ = __str__


LEFT_OUT: Final = LeftOut()


def count_of_failures() -> int:
    """The number of operations so far that may have failed, or 0 if no code reads variables after an exception."""
    watched = _watched.get()
    return len(watched.found) if watched is not None and watched.is_looked_after else 0


@contextlib.contextmanager
def in_trial() -> Iterator[None]:
    """A context for code that may turn out not to be traceable; if so, the failures noted in it are dropped."""
    watched = _watched.get()
    before = (len(watched.untested), len(watched.found)) if watched is not None else (0, 0)
    try:
        yield
    except Learned:
        if watched is not None:
            del watched.untested[before[0] :], watched.found[before[1] :]
        raise


def is_wanted(kind: type[Exception]) -> bool:
    """Whether an exception that operations raise in Python, and for which JAX gives a value, counts here."""
    watched = _watched.get()
    return watched is not None and kind in watched.wanted and watched.trace is this_trace()


def fails_as_in_python(kind: type[Exception], text: str, lanes: Any) -> None:
    """Note that lanes would raise ``kind(text)`` in Python where JAX gives a value, if the program catches that.

    The mask of these lanes is a Python bool where it is known.
    """
    if lanes is True:
        surely_fails(kind, text)
    elif lanes is not False and is_wanted(kind):
        fails(kind, text, lanes)


def surely_fails(kind: type[Exception], *made_of: Any) -> None:
    """Note that each lane that reaches this code raises ``kind(*made_of)``, if the program catches that.

    Raises:
        SurelyFails: Each lane that reaches the statement reaches this code.
    """
    watched, made_of = _watched.get(), tuple(map(steady, made_of))
    if watched is None or not is_wanted(kind):
        return
    if not watched.conditions:
        raise (_SurelyOutOfRange if issubclass(kind, IndexError) else SurelyFails)(kind, *made_of)
    fails(kind, str(made_of[0]) if made_of else "", True, *made_of[1:])


def steady(value: Any) -> Any:
    """An argument of an exception; a text in place of an object that is another one whenever the code is traced."""
    is_known = isinstance(value, (*PLAIN, tuple))
    return value if is_known else f"<{type(value).__name__} object>"


def read_of_nothing(kind: type[Exception], text: str) -> tuple[Site, CanFail] | None:
    """The fact that a statement surely raises ``kind(text)`` if nothing is put into the container that it reads.

    It is None if the program does not catch the exception.

    Raises:
        SurelyFails: The fact is known.
    """
    watched, failing = _watched.get(), (kind, (text,))
    if watched is None or not is_wanted(kind) or watched.conditions or is_trusted():
        return None
    if watched.is_surely and failing in watched.known:
        raise SurelyFails(kind, text)
    return of_code(watched.place), CanFail((failing,), surely=True)


@contextlib.contextmanager
def by_python() -> Iterator[None]:
    """A context in which Python computes with known values, so that an exception of Python's is that of each lane.

    Raises:
        SurelyFails: Python has raised an exception that the program catches.
    """
    try:
        yield
    except OF_LANES as error:
        if type(error) in OF_LANES:
            surely_fails(type(error), *error.args)
        raise


def is_trusted() -> bool:
    """Whether the running code is the prelude's, whose indices are in range and counted from the beginning.

    A function of the user's that the prelude calls, such as a sort key, is not.
    """
    watched = _watched.get()
    if watched is None or not prelude.is_trusted(watched.place.file):
        return False
    files = (frame.f_code.co_filename for frame, _ in traceback.walk_stack(None))
    return prelude.is_trusted(next(file for file in files if is_of_prelude(file) or not is_internal(file)))


def is_there(value: Any, what: str) -> None:
    """Note that lanes fail in which an operand is None; ``what`` is the operation, as it begins Python's message."""
    needed(value, TypeError, f"{what} None")


def needed(value: Any, kind: type[Exception], text: str) -> None:
    """Note that lanes raise ``kind(text)`` in which a value is None."""
    if (known := optional(value)) is not None:
        fails(kind, text, jnp.logical_not(known.is_there))
    elif is_held(value):
        fails(kind, text, jnp.logical_not(is_referred_to(value)))


def given(value: Any, kind: type[Exception], text: str) -> Any:
    """A value for the lanes in which it is not None; the other lanes raise ``kind(text)``."""
    needed(value, kind, text)
    return in_any_case(value)


def watch(can_fail: CanFail) -> None:
    """Set, at the beginning of a statement, the failures that its status distinguishes."""
    if (watched := _watched.get()) is not None:
        watched.known, watched.is_surely = can_fail.failures, can_fail.surely
        watched.found, watched.trace = [], this_trace()


def seen() -> Any:
    """The status at the end of a statement: the number of the first known failure, from 1; 0 if there was none."""
    watched, result = _watched.get(), jnp.int32(0)
    for number, lanes in reversed(watched.found if watched is not None else []):
        result = jnp.where(lanes, number, result)
    return result


@contextlib.contextmanager
def where(condition: Any) -> Iterator[None]:
    """A context for code whose results are used only in lanes where a condition holds, so that no other lane fails."""
    watched = _watched.get()
    if watched is None or condition is True:
        yield
        return
    watched.conditions.append(condition)
    try:
        yield
    finally:
        watched.conditions.pop()


def is_for_all_items() -> bool:
    """Whether the code being traced is a function called for all items of a container at once, such as a sort key."""
    return _for_all_items.get()


def of_each_item(function: Callable[[Any], Any], items: Any, in_turn: Callable[[Any], Any]) -> Any:
    """The results of a function for each of some items; a lane fails as the first item does that fails.

    Args:
        function: A function of one item.
        items: A pytree of arrays ``[room, …]``.
        in_turn: Puts flags ``bool[room]`` in the order of the items. Those where there is no item are False then.
    """
    watched = _watched.get()
    if watched is None:
        with having(_for_all_items, True):
            return jax.vmap(function)(items)
    numbers = list[int]()

    def of_one(item: Any) -> tuple[Any, list[Any]]:
        around, watched.found, watched.trace = (watched.found, watched.trace), [], this_trace()
        try:
            result, found = function(item), watched.found
        finally:
            watched.found, watched.trace = around
        numbers.extend(number for number, _ in found)
        return result, [jnp.asarray(fails_there) for _, fails_there in found]

    with having(_for_all_items, True):
        results, found = jax.vmap(of_one)(items)
    flags = list(map(in_turn, found))
    first = [jnp.where(jnp.any(one), jnp.argmax(one), one.size) for one in flags]
    for number, one, place in zip(numbers, flags, first, strict=True):
        is_first = [place <= other for other in first]
        watched.found.append((number, functools.reduce(jnp.logical_and, is_first, jnp.any(one))))
    return results


def is_of_tracing(error: BaseException) -> bool:
    """Whether code failed because it met a value that differs between lanes, or a batched function."""
    found = isinstance(error, _OF_TRACING) or any(word in str(error) for word in ("Tracer", "immutable"))
    return found or isinstance(error.__cause__, _OF_TRACING)


def is_of_raise(error: BaseException) -> bool:
    """Whether a ``raise`` or ``assert`` of the user's raised an exception, which lanes that reach it raise."""
    last = raised_at(error)
    if last is None or isinstance(error, HloBatchError):
        return False
    code = last.tb_frame.f_code
    return not is_internal(code.co_filename) and code.co_code[last.tb_lasti] == dis.opmap["RAISE_VARARGS"]


def is_pythons(error: Exception) -> bool:
    """Whether an exception is Python's own and no array is among its arguments, so that a lane can raise it."""
    is_ours = is_of_tracing(error) or isinstance(error, SurelyFails) or _is_of_own_attribute(error)
    return not is_ours and not any(isinstance(part, jax.Array) for part in jax.tree.leaves(error.args))


def _is_of_own_attribute(error: Exception) -> bool:
    """Whether a fault of this package, which asks a value for an attribute of its own, raised an exception."""
    return isinstance(error, AttributeError) and str(error.name).startswith("hb_")


_OF_TRACING: Final = (HloBatchError, Learned, NotYet, jax.errors.JAXTypeError, jax.errors.JAXIndexError, RecursionError)


def fails(kind: type[Exception], text: str, lanes: Any, *more: Any) -> None:
    """Note that the lanes of a mask raise ``kind(text, *more)`` here."""
    watched, failing = _watched.get(), (kind, (text, *more))
    if watched is None or lanes is False or (issubclass(kind, IndexError) and is_trusted()):
        return
    if failing not in watched.known:  # the fact is new: the statement is traced again, with a test
        watched.untested += [] if failing in watched.untested else [failing]
        watched.found.append((len(watched.known) + 1, False))
        return
    if this_trace() is not watched.trace:
        raise BatchTypeError(
            f"what is computed of each item may fail ({kind.__name__}: {text})",
            help="compute it in a `for`, one item after the other, and keep it beside the items.",
        )
    for condition in watched.conditions:
        lanes = jnp.logical_and(lanes, condition)
    watched.found.append((watched.known.index(failing) + 1, jnp.asarray(lanes)))
