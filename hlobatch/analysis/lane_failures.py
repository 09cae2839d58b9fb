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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import jax.numpy as jnp

from hlobatch._jax import this_trace
from hlobatch.analysis.facts import Learned, of_code, of_function
from hlobatch.analysis.optional import is_any_optional, optional
from hlobatch.diagnostics import BatchTypeError, Location

Failing = tuple[type[Exception], tuple[Any, ...]]
"""The class of an exception, and what it is made of."""


@dataclass(frozen=True, slots=True)
class CanFail:
    """The fact that a statement fails in some lanes.

    Attributes:
        failures: In which ways.
    """

    failures: tuple[Failing, ...]


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


@dataclass(eq=False)
class _Watched:
    """A statement that is being traced.

    Attributes:
        place: Where it stands.
        known: The ways in which it may fail that it is tested for.
        found: Those that it came by, in order, and the lanes concerned.
        conditions: Where it is computed for nothing, since what is asked before does not hold.
        trace: Of what it is a part, as opposed to functions in it that JAX maps or loops over.
        wanted: Which exceptions count that JAX gives a value for.
        is_careful: Whether operations ask for None.
        is_looked_after: Whether anything in the program looks at variables after an exception.
    """

    place: Location
    known: tuple[Failing, ...] = ()
    found: list[tuple[int, Any]] = field(default_factory=list)
    conditions: list[Any] = field(default_factory=list)
    trace: Any = field(default_factory=this_trace)
    wanted: tuple[type[BaseException], ...] = ()
    is_careful: bool = False
    is_looked_after: bool = False


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


def watched_alone(function: Callable[..., Any], place: Location) -> Callable[..., Any]:
    """A statement at a place in the source, as a function to be traced that notes its failures."""
    is_compiled = "__hb_" in getattr(function, "__qualname__", "")

    def run(*values: Any) -> Any:
        with within(place) as watched:
            results = function(*values)
        if is_compiled and not watched.is_careful and is_any_optional():
            raise Learned(PROGRAM, Careful())
        return results

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


def is_wanted(kind: type[Exception]) -> bool:
    """Whether it counts that an operation raises what JAX gives a value for."""
    watched = _watched.get()
    return watched is not None and kind in watched.wanted and watched.trace is this_trace()


def is_there(value: Any, what: str) -> None:
    """Say that lanes fail in which a value is None that is computed with.

    Args:
        value: Anything.
        what: What is done with it.
    """
    if (known := optional(value)) is not None:
        fails(TypeError, f"{what} None", jnp.logical_not(known.is_there))


def watch(known: tuple[Failing, ...]) -> None:
    """At the beginning of a statement: it is tested for some failures at its end."""
    if (watched := _watched.get()) is not None:
        watched.known, watched.found, watched.trace = known, [], this_trace()


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


def fails(kind: type[Exception], text: str, lanes: Any, *more: Any) -> None:
    """Say that some lanes fail here.

    Args:
        kind: Class of the exception.
        text: Its text.
        lanes: Whether this lane does.
        *more: What else the exception is made of.

    Raises:
        Learned: The statement is not tested for that yet.
    """
    watched, failing = _watched.get(), (kind, (text, *more))
    if watched is None or lanes is False:
        return
    if failing not in watched.known:
        raise Learned(of_code(watched.place), CanFail((*watched.known, failing)))
    if this_trace() is not watched.trace:
        raise BatchTypeError(
            f"what is computed of each item may fail ({kind.__name__}: {text})",
            help="compute it in a `for`, one item after the other, and keep it beside the items.",
        )
    for condition in watched.conditions:
        lanes = jnp.logical_and(lanes, condition)
    watched.found.append((watched.known.index(failing) + 1, jnp.asarray(lanes)))
