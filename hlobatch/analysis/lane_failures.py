"""What code that is being traced finds to be wrong in some lanes -> which of its failures each lane has, if any.

    x = stack.pop()          fails(IndexError, "pop from empty list", size == 0)

The frontend puts a test of that behind the statement, once tracing has found out that there is something to test
(``CanFail``).
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp

from hlobatch._jax import this_trace
from hlobatch.analysis.facts import Learned, of_code
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


@dataclass(eq=False)
class _Watched:
    """A statement that is being traced.

    Attributes:
        place: Where it stands.
        known: The ways in which it may fail that it is tested for.
        found: Those that it came by, in order, and the lanes concerned.
        conditions: Where it is computed for nothing, since what is asked before does not hold.
        trace: Of what it is a part, as opposed to functions in it that JAX maps or loops over.
    """

    place: Location
    known: tuple[Failing, ...] = ()
    found: list[tuple[int, Any]] = field(default_factory=list)
    conditions: list[Any] = field(default_factory=list)
    trace: Any = None


_watched: contextvars.ContextVar[_Watched | None] = contextvars.ContextVar("hlobatch_watched", default=None)


@contextlib.contextmanager
def within(place: Location) -> Iterator[None]:
    """Within it, a statement is traced."""
    token = _watched.set(_Watched(place))
    try:
        yield
    finally:
        _watched.reset(token)


def watch(known: tuple[Failing, ...]) -> None:
    """At the beginning of a statement: it is tested for some failures at its end."""
    if (watched := _watched.get()) is not None:
        watched.known, watched.found, watched.trace = known, [], this_trace()


def seen() -> Any:
    """At its end: which of the failures that it is tested for there was first, from 1; 0 if none."""
    watched, result = _watched.get(), jnp.int32(0)
    for number, lanes in reversed(watched.found if watched is not None else []):
        result = jnp.where(lanes, number, result)
    return result


@contextlib.contextmanager
def where(condition: Any) -> Iterator[None]:
    """Within it, what is computed is used only in lanes where a condition holds: only those fail."""
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
