"""A function and the types of its inputs -> a typed program, by as many attempts as it takes.

An attempt builds the program with the facts that are known, and types it (``attempts.py``). The first is made with no
facts, and most functions need no more. Where an attempt fails, others are made with remedies, such as that a list grows
(``remedies.py``). Around both, this module decides in which order the items of dicts are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from hlobatch.analysis.own_code import meant_by
from hlobatch.diagnostics import HloBatchError
from hlobatch.frontend.function_code import code_of
from hlobatch.ir.boxed import dicts
from hlobatch.ir.program import Program
from hlobatch.ir.types import Type
from hlobatch.transforms.attempts import Attempt, Attempts, Lessons, Make
from hlobatch.transforms.made_again import made_again
from hlobatch.transforms.remedies import successful
from hlobatch.values.containers import with_room
from hlobatch.values.facts import counted
from hlobatch.values.held_classes import HeldInColumns


def learned_program(
    make: Make,
    in_types: Mapping[str, Type],
    lessons: Lessons,
    *,
    writes_out: bool = True,
    room: int = 1,
    can_be_held: Callable[[], HeldInColumns | None] = lambda: None,
    by_reference: Callable[[HeldInColumns | None], HeldInColumns | None] = lambda _: None,
) -> tuple[Program, Lessons]:
    """The typed program of a function, and what making it has taught.

    Dicts keep their own order if a program can be typed that way. It may not: a dict that JAX has sorted, such as an
    argument, and one that the code makes may be values of the same variable. Then dicts with these keys are sorted.

    Args:
        make: Makes the untyped program.
        in_types: Types of the program's inputs.
        lessons: What making the program with other room has taught.
        writes_out: Whether short loops over known values are unrolled even if they need not be.
        room: Factor on the initial capacity of containers, where the user gives none.
        can_be_held: Finds the classes whose objects may be held in columns.
        by_reference: Finds what is held in columns where containers are held by reference, beside other objects.

    Raises:
        HloBatchError: Any error in the program.
    """
    learned = partial(_with_orders_as_set, make, in_types, lessons, writes_out, room, can_be_held, by_reference)
    are_sorted = lessons.are_sorted
    first: HloBatchError | None = None
    while True:
        with dicts(are_sorted) as kept, meant_by(code_of):
            try:
                attempt = made_again(learned)
            except HloBatchError as error:
                first, wrong = first or error, error
            else:
                assert attempt.program is not None
                taught = replace(lessons, facts=attempt.facts, loops=attempt.loops, are_sorted=are_sorted)
                return attempt.program, taught
        if are_sorted is None or not kept.differ:
            raise first
        if wrong.orders and wrong.orders <= are_sorted:  # code goes over a dict that is sorted
            raise wrong
        are_sorted = are_sorted | wrong.orders if wrong.orders - are_sorted else None


def _with_orders_as_set(
    make: Make,
    in_types: Mapping[str, Type],
    lessons: Lessons,
    writes_out: bool,
    room: int,
    can_be_held: Callable[[], HeldInColumns | None],
    by_reference: Callable[[HeldInColumns | None], HeldInColumns | None],
) -> Attempt:
    """The attempt that gives a program, with dicts in the orders that are set.

    Raises:
        HloBatchError: The error that no remedy mends. Where a name was meant to be a place in a container, and the
            program fails in its line, that is the error of the name.
    """
    with with_room(room), counted(writes_out) as turns:
        attempts = Attempts(make, in_types, turns, can_be_held=can_be_held, by_reference=by_reference)
        try:
            return successful(attempts, lessons)
        except HloBatchError as wrong:
            said = next((error for error in attempts.names if _are_in_one_line(wrong, error)), wrong)
            raise said from said.__cause__


def _are_in_one_line(error: HloBatchError, other: HloBatchError) -> bool:
    """Whether two errors are in one line of the user's code."""
    places = [(one.location.file, one.location.line) for one in (error, other)]
    return places[0] == places[1]
