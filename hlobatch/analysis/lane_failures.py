"""Operations that fail in some lanes while code is traced -> the number of each lane's first failure, or 0.

::

    x = stack.pop()        fails(IndexError, "pop from empty list", size == 0)       noted while the statement is traced
                           %$status = 1 in lanes where the list is empty             given back beside the results

A lane cannot raise. So the operation notes the lanes that fail, and goes on with some value. Once tracing has found out
in which ways a statement can fail (the fact ``CanFail``), the frontend puts a test of the status behind it
(``failing_statements.py``).
"""

from __future__ import annotations

import contextlib
import contextvars
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, final

import jax
import jax.numpy as jnp

from hlobatch._jax import this_trace
from hlobatch.analysis.facts import Learned, NotYet, Site, of_code, of_function
from hlobatch.analysis.optional import in_any_case, is_any_optional, optional
from hlobatch.diagnostics import BatchTypeError, HloBatchError, Location, is_internal
from hlobatch.prelude import is_of_prelude

OF_LANES: Final = (ZeroDivisionError, IndexError, KeyError, ValueError, OverflowError)
"""Exceptions that operations raise by themselves for the values of a lane."""
Failing = tuple[type[Exception], tuple[Any, ...]]
"""The class of an exception, and what it is made of."""


@dataclass(frozen=True, slots=True)
class CanFail:
    """The fact that a statement fails in some lanes.

    Attributes:
        failures: In which ways.
        surely: Whether, for what is known when the program is built, each lane that comes there fails.
    """

    failures: tuple[Failing, ...]
    surely: bool = False

    def joined(self, known: CanFail) -> CanFail:
        """It, and what was known."""
        more = (failing for failing in self.failures if failing not in known.failures)
        return CanFail((*known.failures, *more), self.surely or known.surely)


@dataclass(frozen=True, slots=True)
class Caught:
    """The fact that a program has a ``try``, so that variables may be looked at after an exception.

    Attributes:
        kinds: What it catches of what operations raise that JAX gives a value for.
    """

    kinds: tuple[type[BaseException], ...]


@dataclass(frozen=True, slots=True)
class Careful:
    """The fact that code computes with what is None in some lanes: all operations ask whether their operands are."""


PROGRAM: Final = of_function(None)
"""The site of facts about all of a program."""


@final
class NoValue:
    """What a statement gives that raises, whatever the lane."""


NO_VALUE: Final = NoValue()


class SurelyFails(Exception):  # noqa: N818  # of the lane, not of the build
    """Raised in code that is being traced: each lane that comes here fails.

    Attributes:
        failing: The class of the exception, and what it is made of.
    """

    def __init__(self, kind: type[Exception], *made_of: Any) -> None:
        super().__init__(kind, made_of)
        self.failing: Failing = (kind, made_of)


@dataclass(eq=False)
class _Watched:
    """A statement that is being traced.

    Attributes:
        place: Where it stands.
        known: The ways in which it may fail that it is tested for.
        untested: Those that it came by and is not tested for, in order.
        is_surely: Whether it is known that it may surely fail.
        found: Those that it came by, in order, and the lanes concerned.
        conditions: Where it is computed for nothing, since what is asked before does not hold.
        trace: Of what it is a part, as opposed to functions in it that JAX maps or loops over.
        wanted: Which exceptions count that JAX gives a value for.
        is_careful: Whether operations ask for None.
        is_looked_after: Whether anything in the program looks at variables after an exception.
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

    def failed(self, failing: Failing, results: int) -> tuple[Any, ...]:
        """What the statement gives if it surely fails: nothing, and in which way it did.

        Raises:
            Learned: It is not tested for that yet.
        """
        if failing not in self.known or not self.is_surely:
            known = self.known if failing in self.known else (*self.known, failing)
            raise Learned(of_code(self.place), CanFail(known, surely=True))
        return (*[NO_VALUE] * (results - 1), self.known.index(failing) + 1)


_watched: contextvars.ContextVar[_Watched | None] = contextvars.ContextVar("hlobatch_watched", default=None)


@contextlib.contextmanager
def within(place: Location) -> Iterator[_Watched]:
    """A context in which a statement is traced."""
    watched = _Watched(place)
    token = _watched.set(watched)
    try:
        yield watched
    finally:
        _watched.reset(token)


def watched_alone(
    function: Callable[..., Any], place: Location, results: int, learned: list[tuple[Site, Any]], *, is_known: bool
) -> Callable[..., Any]:
    """A statement as a function to be traced that notes its failures.

    Args:
        function: The statement.
        place: Where it stands in the source.
        results: How many values it gives; if it is tested for failures, the last one is its status.
        learned: Is given the fact that it can fail, if it is not tested for that yet.
        is_known: Whether all that it is given is known, so that what it raises is what Python raises in each lane.
    """
    is_compiled = "__hb_" in getattr(function, "__qualname__", "")

    def attempt(watched: _Watched, values: Sequence[Any]) -> Any:
        try:
            return function(*values)
        except SurelyFails as error:
            return watched.failed(error.failing, results)
        except OF_LANES as error:
            if not is_known or isinstance(error, HloBatchError) or not isinstance(error, watched.wanted):
                raise
            return watched.failed((type(error), error.args), results)

    def run(*values: Any) -> Any:
        with within(place) as watched:
            try:
                given = attempt(watched, values)
            finally:
                if watched.untested:
                    can_fail = CanFail((*watched.known, *watched.untested), watched.is_surely)
                    learned.append((of_code(place), can_fail))
        if is_compiled and not watched.is_careful and is_any_optional():
            raise Learned(PROGRAM, Careful())
        return given

    return run


def wants(kinds: tuple[type[BaseException], ...] | None, is_careful: bool) -> None:
    """At the beginning of a statement: how it is to be traced.

    Args:
        kinds: What is caught of what JAX gives a value for; None if nothing looks at variables after an exception.
        is_careful: Whether its operations ask for None.
    """
    if (watched := _watched.get()) is not None:
        watched.wanted, watched.is_careful, watched.is_looked_after = kinds or (), is_careful, kinds is not None


def count_of_failures() -> int:
    """How many operations of the statement may have failed so far, if anything looks at variables after that."""
    watched = _watched.get()
    return len(watched.found) if watched is not None and watched.is_looked_after else 0


@contextlib.contextmanager
def in_trial() -> Iterator[None]:
    """A context for code that is traced to see whether it can be: if not, it does not count that it may fail."""
    watched = _watched.get()
    before = (len(watched.untested), len(watched.found)) if watched is not None else (0, 0)
    try:
        yield
    except Learned:
        if watched is not None:
            del watched.untested[before[0] :], watched.found[before[1] :]
        raise


def is_wanted(kind: type[Exception]) -> bool:
    """Whether it counts that an operation raises what JAX gives a value for."""
    watched = _watched.get()
    return watched is not None and kind in watched.wanted and watched.trace is this_trace()


def fails_as_in_python(kind: type[Exception], text: str, lanes: Any) -> None:
    """Say that some lanes fail here in Python, for which JAX gives a value: it counts if the program catches that.

    Args:
        kind: Class of the exception.
        text: Its text.
        lanes: Whether this lane does; a Python bool where that is known.
    """
    if lanes is True:
        surely_fails(kind, text)
    elif lanes is not False and is_wanted(kind):
        fails(kind, text, lanes)


def surely_fails(kind: type[Exception], *made_of: Any) -> None:
    """Say that each lane fails that comes here, as far as the program catches that.

    Args:
        kind: Class of the exception.
        *made_of: What it is made of.

    Raises:
        SurelyFails: Each lane comes here that comes to the statement.
    """
    watched = _watched.get()
    if watched is None or not is_wanted(kind):
        return
    if not watched.conditions:
        raise SurelyFails(kind, *made_of)
    fails(kind, str(made_of[0]) if made_of else "", True, *made_of[1:])


@contextlib.contextmanager
def by_python() -> Iterator[None]:
    """A context in which Python itself computes with what is known, so that each lane raises what it raises.

    Raises:
        SurelyFails: It raises what the program catches.
    """
    try:
        yield
    except OF_LANES as error:
        if type(error) in OF_LANES:
            surely_fails(type(error), *error.args)
        raise


def is_trusted() -> bool:
    """Whether the code that runs is the prelude's, whose indices are those of items that are there, from the first.

    What a function of the user's does that it calls, such as a key, is none of it.
    """
    watched = _watched.get()
    if watched is None or not is_of_prelude(watched.place.file):
        return False
    files = (frame.f_code.co_filename for frame, _ in traceback.walk_stack(None))
    return is_of_prelude(next(file for file in files if is_of_prelude(file) or not is_internal(file)))


def is_there(value: Any, what: str) -> None:
    """Say that lanes fail in which a value is None that is computed with.

    Args:
        value: Anything.
        what: What is done with it.
    """
    if (known := optional(value)) is not None:
        fails(TypeError, f"{what} None", jnp.logical_not(known.is_there))


def given(value: Any, kind: type[Exception], text: str) -> Any:
    """A value as one that is None in no lane that goes on: the others fail.

    Args:
        value: Anything.
        kind: Class of their exception.
        text: Its text.
    """
    if (known := optional(value)) is not None:
        fails(kind, text, jnp.logical_not(known.is_there))
    return in_any_case(value)


def watch(can_fail: CanFail) -> None:
    """At the beginning of a statement: it is tested for some failures at its end."""
    if (watched := _watched.get()) is not None:
        watched.known, watched.is_surely = can_fail.failures, can_fail.surely
        watched.found, watched.trace = [], this_trace()


def seen() -> Any:
    """At the end of a statement: the number of the first failure that it is tested for, from 1; 0 if there was none."""
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


def is_of_tracing(error: BaseException) -> bool:
    """Whether code failed because it met a value that differs between lanes, or a batched function."""
    found = isinstance(error, _OF_TRACING) or any(word in str(error) for word in ("Tracer", "immutable"))
    return found or isinstance(error.__cause__, _OF_TRACING)


def is_pythons(error: Exception) -> bool:
    """Whether an exception is what Python raises for such values, and can be made again for a lane."""
    is_ours = is_of_tracing(error) or isinstance(error, SurelyFails)
    return not is_ours and not any(isinstance(part, jax.Array) for part in jax.tree.leaves(error.args))


_OF_TRACING: Final = (HloBatchError, Learned, NotYet, jax.errors.JAXTypeError, jax.errors.JAXIndexError, RecursionError)


def fails(kind: type[Exception], text: str, lanes: Any, *more: Any) -> None:
    """Say that some lanes fail here.

    Args:
        kind: Class of the exception.
        text: Its text.
        lanes: Whether this lane does.
        *more: What else the exception is made of.
    """
    watched, failing = _watched.get(), (kind, (text, *more))
    if watched is None or lanes is False or (issubclass(kind, IndexError) and is_trusted()):
        return
    if failing not in watched.known:  # the statement is made anew, with a test
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
