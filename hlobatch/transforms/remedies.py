"""A failed attempt at a program -> attempts with a remedy each, until one gives the program.

These are the remedies, in the order in which they are tried:

1. A variable that is None on one path, and has a value on another, may be None (``MayBeNone``).
2. Loops around the error that turn a known number of times are unrolled. In a loop, variables have to keep their types
   from turn to turn. Unrolled, each turn has its number as a constant; layers of several shapes, or a list that grows,
   are fine then.
3. Loops over containers are loops of the program (``GoesOver``).
4. A list that has several lengths is an array with room for more items, and a length (``Grows``).
5. A variable whose values are of several kinds, such as a flag and a number, holds them side by side
   (``MayBeSeveral``).
6. A lane whose result is None fails, if the other lanes have a value (``HasToReturn``).

A remedy that leads to another error has helped: that error is mended in its turn. If none helps, the user is told the
first error.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from hlobatch.analysis.type_errors import RESULT
from hlobatch.diagnostics import BatchTypeError, HloBatchError, UnsupportedSyntaxError
from hlobatch.frontend.following import Calls
from hlobatch.frontend.in_turn.reductions import Looped
from hlobatch.transforms.attempts import Attempt, Attempts, Lessons
from hlobatch.values.facts import (
    MOST_STATEMENTS_WRITTEN_OUT,
    NONE_KNOWN,
    WHOLE_PROGRAM,
    Changes,
    Copy,
    Facts,
    GoesOver,
    Grows,
    HasToReturn,
    Learned,
    LoopSite,
    MayBeNone,
    MayBeSeveral,
    is_kept_as_loop,
)
from hlobatch.values.held_classes import BelongsTo, HeldInColumns
from hlobatch.values.number_classes import NumbersApart
from hlobatch.values.own_containers import MakesContents

_KEPT: Final = (MayBeNone, MayBeSeveral, Grows, GoesOver, Looped, MakesContents, NumbersApart, HeldInColumns, BelongsTo)
"""The kinds of facts that are kept where variables hold more."""
_OF_ANY_LIST: Final = (Calls, Changes)
"""The kinds of facts that most probably hold, too, where lists grow, and take the most rounds to learn anew."""
Widening = MayBeNone | MayBeSeveral | Grows
"""A fact that lets a variable hold more."""


def successful(attempts: Attempts, lessons: Lessons) -> Attempt:
    """The attempt that gives a program: with what is known of it, with nothing known, or with remedies.

    Raises:
        HloBatchError: The error that no remedy mends.
    """
    if lessons.facts:
        with contextlib.suppress(HloBatchError):
            attempt = attempts.attempt(lessons.facts, lessons.loops)
            if attempt.error is None:
                return attempt
    try:
        return _mended(NONE_KNOWN, attempts)
    except HloBatchError as error:
        held = attempts.can_be_held()
        last, names = _with_objects_in_columns(error, held, attempts)
        if isinstance(last, Attempt):
            return last
        found = _with_containers_by_reference(error, held, attempts)
        if found is not None:
            return found
        attempts.names[:] = names
        if last is not error:
            raise last from None
        raise


def _with_objects_in_columns(
    error: HloBatchError, held: HeldInColumns | None, attempts: Attempts
) -> tuple[Attempt | HloBatchError, list[HloBatchError]]:
    """The attempt with objects in columns; else the error that the user is told, and the errors of names beside it."""
    names = [*attempts.names]
    if held is None:
        return error, names
    attempts.names.clear()
    try:
        return _mended(NONE_KNOWN.and_also(Learned(WHOLE_PROGRAM, held)), attempts), []
    except HloBatchError as other:
        return (other, [*attempts.names]) if error.is_of_references else (error, names)


def _with_containers_by_reference(
    error: HloBatchError, others: HeldInColumns | None, attempts: Attempts
) -> Attempt | None:
    """The attempt with containers by reference; None if none is successful, or containers are not what is refused."""
    if not isinstance(error, (UnsupportedSyntaxError, BatchTypeError)):
        return None
    for held in dict.fromkeys((others, None)):
        if (by_reference := attempts.by_reference(held)) is not None:
            with contextlib.suppress(HloBatchError):
                return _mended(NONE_KNOWN.and_also(Learned(WHOLE_PROGRAM, by_reference)), attempts)
    return None


def _mended(facts: Facts, attempts: Attempts) -> Attempt:
    """The attempt that gives a program, with remedies as they are needed; the first is made with some facts.

    Raises:
        HloBatchError: The error that no remedy mends.
    """
    attempt = attempts.attempt(facts)
    while attempt.error is not None:
        attempt = _next(attempt, attempts)
    return attempt


def _next(wrong: Attempt, attempts: Attempts) -> Attempt:
    """The first attempt that has no error, or another one than the attempt that failed."""
    tried = list[Attempt]()
    for other in _with_remedies(wrong, attempts):
        if not other.is_as_wrong_as(wrong) and not other.gives_none:
            return other
        tried.append(other)
    return _with_a_result([*tried, wrong], attempts)


def _with_remedies(wrong: Attempt, attempts: Attempts) -> Iterator[Attempt]:
    """Attempts with one of the first five remedies each."""
    error = wrong.error
    assert error is not None
    if error.none_or_value and not wrong.gives_none:
        yield _widened(wrong, [MayBeNone(error.none_or_value)], wrong, attempts)
    unrolled = wrong
    for unrolled in _with_loops_unrolled(wrong, attempts):
        yield unrolled
    if error.goes_over and not wrong.facts.all_of(GoesOver):
        yield attempts.attempt(wrong.facts.and_also(Learned(WHOLE_PROGRAM, GoesOver())), wrong.loops)
    if any(name not in wrong.grown for name in error.may_grow):
        grown = [Grows(*name) for name in dict.fromkeys(error.may_grow) if name not in wrong.grown]
        yield _widened(wrong, grown, unrolled, attempts)
    if error.of_several and not wrong.gives_none:
        yield _widened(wrong, [MayBeSeveral(error.of_several)], wrong, attempts)


def _widened(wrong: Attempt, widened: Sequence[Widening], unrolled: Attempt, attempts: Attempts) -> Attempt:
    """An attempt in which variables hold more: those of the error, and at once those of the errors behind it."""
    widened = [*widened, *_widened_besides(wrong, unrolled, attempts)]
    new = {(type(fact), fact.site): fact for fact in widened}
    if not any(isinstance(fact, Grows) for fact in widened):
        known = wrong.facts.without(Copy)  # a text that gets longer needs one function where it may be any text
        return attempts.attempt(Facts({**known.known, **new}), wrong.loops)
    probable = wrong.facts.only(*_KEPT, *_OF_ANY_LIST)
    with contextlib.suppress(HloBatchError):
        found = attempts.attempt(Facts({**probable.known, **new}), wrong.loops)
        if found.error is None or (found.error.is_of_what_variables_hold and not found.is_as_wrong_as(wrong)):
            return found
    return attempts.attempt(Facts({**wrong.facts.only(*_KEPT).known, **new}), wrong.loops)


def _widened_besides(wrong: Attempt, unrolled: Attempt, attempts: Attempts) -> Iterator[Widening]:
    """The other variables that would be widened in later attempts, as far as the errors behind the error tell.

    Args:
        wrong: The attempt that failed.
        unrolled: The last attempt with loops unrolled in vain.
        attempts: Makes attempts.
    """
    in_vain, still = unrolled.loops | unrolled.in_vain, {error.location for error in unrolled.errors}
    for error in wrong.further:
        around = _loops_around(wrong, error, attempts)
        if error.none_or_value and error.none_or_value != RESULT:
            yield MayBeNone(error.none_or_value)
        elif error.of_several:
            yield MayBeSeveral(error.of_several)
        elif error.is_of_growth and (not around or (in_vain.issuperset(around) and error.location in still)):
            yield from (Grows(*name) for name in error.may_grow)
        else:
            return


def _with_loops_unrolled(wrong: Attempt, attempts: Attempts) -> Iterator[Attempt]:
    """Attempts with the loops around an error unrolled: each alone, from the innermost, and then all of them.

    The number of turns of a loop may be known only once a loop around it is unrolled. The loops around further errors
    are unrolled together with it.
    """
    around = _loops_around(wrong, wrong.error, attempts)
    inner = [site for e in wrong.further if e.is_of_growth for site in _loops_around(wrong, e, attempts)[:1]]
    besides = frozenset(site for site in inner if not any(site.is_nested_with(other) for other in around))

    def unroll(before: Attempt, loops: Iterable[LoopSite]) -> Attempt:
        """An attempt with further loops unrolled; only their first turns, if these fail as ``wrong`` did."""
        unrolled = before.loops.union(loops)
        trial = attempts.attempt(before.facts, unrolled | besides, is_trial=True)
        if trial.is_as_wrong_as(wrong):
            return dataclasses.replace(before, loops=unrolled, error=trial.error, in_vain=besides)
        return attempts.attempt(before.facts, unrolled if trial.error else unrolled | besides)

    unrolled = wrong
    for site in around:
        unrolled = unroll(wrong, [site])
        yield unrolled
    if len(around) != 1:
        unrolled = wrong
    while loops := _loops_around(unrolled, unrolled.error, attempts):
        unrolled = unroll(unrolled, loops)
        yield unrolled


def _loops_around(attempt: Attempt, error: HloBatchError | None, attempts: Attempts) -> list[LoopSite]:
    """The loops that an error may be due to, and that an attempt has not unrolled, from the innermost.

    These are the loops around the error's places, and loops over strings anywhere, up to a limit of statements. A loop
    without turns goes over a container that was still empty: the error was found as if that grew.
    """
    assert error is not None
    counts: dict[LoopSite, int] = {}
    for site, count in attempts.turns.items():
        if (
            count
            and site.anywhere not in attempt.loops
            and (is_kept_as_loop(site) or any(map(site.holds, error.places)))
        ):
            counts[site.anywhere] = max(counts.get(site.anywhere, 0), count)
    around = list[LoopSite]()
    times = 1
    for site in sorted(counts, key=lambda site: site.size):
        times *= counts[site]
        if times * site.size <= MOST_STATEMENTS_WRITTEN_OUT:
            around.append(site)
    return [site for site in around if site not in attempt.in_vain]


def _with_a_result(tried: Sequence[Attempt], attempts: Attempts) -> Attempt:
    """An attempt with the last remedy, if an attempt has failed because the result is None in some lanes.

    Raises:
        HloBatchError: The result is still None in some lanes, or the error is another one.
    """
    wrong = next((one for one in tried if one.gives_none), tried[-1])
    assert wrong.error is not None
    if wrong.gives_none and wrong.first is not None and not wrong.facts.all_of(HasToReturn):
        has_to_return = Learned(WHOLE_PROGRAM, HasToReturn(wrong.first))
        found = attempts.attempt(wrong.facts.and_also(has_to_return), wrong.loops)
        if not found.gives_none:
            return found
    wrong.error.look_on = None
    raise wrong.error
