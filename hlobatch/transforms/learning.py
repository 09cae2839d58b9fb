"""A function and the types of its inputs -> a typed program, built again with the facts that tracing finds out.

::

    def total(rule, n): …  rule(n) …          rule is a Python function with branches of its own:
    %$1 = prim "rule(n)" (%rule, %n)     ==>  %$1 = call @trapezoid(%n)

The frontend builds control flow before types are known. What tracing finds out, such as which function ``rule`` is, may
change the control flow: it becomes a fact (``values/facts.py``), and the program is built again with all facts of the
round. The first program is built with no facts, and most functions need no more. Code that is the same in the next
program is not traced again.

In a loop, variables have to keep their types from turn to turn. If that fails in a loop that turns a known number of
times, the loop is unrolled, and each turn has its number as a constant; layers of several shapes, or a list that grows,
are fine then. If unrolling does not help either, the user is told the error of the loop.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from hlobatch.analysis.aliases import AnotherName
from hlobatch.analysis.overloads import Overloaded
from hlobatch.analysis.own_code import meant_by
from hlobatch.analysis.type_errors import RESULT
from hlobatch.diagnostics import HloBatchError, UnsupportedSyntaxError
from hlobatch.frontend.failures import WHOLE_PROGRAM
from hlobatch.frontend.function_code import code_of
from hlobatch.frontend.guesses import after
from hlobatch.ir.boxed import Keys, dicts
from hlobatch.ir.ops import FunctionCallOp
from hlobatch.ir.program import Program
from hlobatch.ir.types import Type
from hlobatch.transforms.made_again import made_again
from hlobatch.transforms.pipeline import specialized_program
from hlobatch.values.containers import with_room
from hlobatch.values.facts import (
    MOST_STATEMENTS_WRITTEN_OUT,
    NONE_KNOWN,
    Facts,
    GoesOver,
    Grows,
    HasToReturn,
    Learned,
    LoopSite,
    MayBeNone,
    Site,
    Turns,
    counted,
    is_kept_as_loop,
)

MOST_FACTS: Final = 2_000
"""Facts after which building is given up: a function that makes ever new functions would go on forever."""


Make = Callable[[Facts], tuple[Program, Facts]]
"""Makes the untyped program from facts; returns it and the facts, to which making it may have added."""


def learned_program(make: Make, in_types: Mapping[str, Type], *, writes_out: bool = True, room: int = 1) -> Program:
    """The typed program of a function.

    Dicts keep their own order if a program can be typed that way. It may not: a dict that JAX has sorted, such as an
    argument, and one that the code makes may be values of the same variable. Then dicts with these keys are sorted.

    Args:
        make: Makes the untyped program.
        in_types: Types of the program's inputs.
        writes_out: Whether short loops over known values are unrolled even if they need not be.
        room: Factor on the initial capacity of containers, where the user gives none.

    Raises:
        HloBatchError: Any error in the program.
    """
    learned = partial(_learned_program, make, in_types, writes_out, room)
    are_sorted: frozenset[Keys] | None = frozenset()
    first: HloBatchError | None = None
    while True:
        with dicts(are_sorted) as kept, meant_by(code_of):
            try:
                return made_again(learned)
            except HloBatchError as error:
                first, wrong = first or error, error
        if are_sorted is None or not kept.differ:
            raise first
        if wrong.orders and wrong.orders <= are_sorted:  # code goes over a dict that is sorted
            raise wrong
        are_sorted = are_sorted | wrong.orders if wrong.orders - are_sorted else None


def _learned_program(make: Make, in_types: Mapping[str, Type], writes_out: bool, room: int) -> Program:
    names = list[HloBatchError]()
    with with_room(room), counted(writes_out) as turns:
        try:
            return _found(partial(_attempt, make, in_types, turns=turns, names=names), turns)
        except HloBatchError as wrong:  # where a name became a place in vain, what is wrong with the name is said
            said = next((error for error in names if _is_there(wrong, error)), wrong)
            raise said from said.__cause__


def _found(make_it: Callable[..., _Attempt], turns: Mapping[LoopSite, int]) -> Program:
    """The program of the first attempt that gives one."""
    attempt = make_it(NONE_KNOWN, frozenset())
    while attempt.error is not None:
        others = list[_Attempt]()
        for other in _others(attempt, make_it, turns):
            others.append(other)
            if not other.is_as_wrong_as(attempt) and not other.gives_none:
                break
        else:
            others.append(_with_a_result([*others, attempt], make_it))
        attempt = others[-1]
    assert attempt.program is not None
    return attempt.program


@dataclasses.dataclass(frozen=True)
class _Attempt:
    """The result of making the program once.

    Attributes:
        facts: The facts at the end.
        loops: The loops that are unrolled, wherever they are copied, in every turn of the loops around them.
        program: The typed program; None if there is an error.
        error: The error; None if there is a program.
        first: The name of the program's first function, if no function of the program calls it.
        in_vain: Further loops that were unrolled, too, when ``error`` was found.
    """

    facts: Facts
    loops: frozenset[LoopSite]
    program: Program | None = None
    error: HloBatchError | None = None
    first: str | None = None
    in_vain: frozenset[LoopSite] = frozenset()

    @functools.cached_property
    def further(self) -> Sequence[HloBatchError]:
        """The errors behind the error, found as if each were mended."""
        return self.error.look_on() if self.error is not None and self.error.look_on is not None else ()

    @property
    def errors(self) -> Sequence[HloBatchError]:
        """The error and those behind it."""
        return () if self.error is None else (self.error, *self.further)

    @property
    def grown(self) -> set[tuple[str, int]]:
        """The variables that hold growing containers, each with the container's depth."""
        return {(fact.variable, fact.depth) for fact in self.facts.all_of(Grows)}

    @property
    def gives_none(self) -> bool:
        """Whether the error is that the result is None in some lanes."""
        return self.error is not None and self.error.none_or_value == RESULT

    def is_as_wrong_as(self, other: _Attempt) -> bool:
        if self.error is None or other.error is None:
            return False
        if other.error.may_grow and (self.grown == other.grown or {*self.error.may_grow} & {*other.error.may_grow}):
            return True  # the same container fails to grow, one turn later
        mine, others = ((e.message, e.location, e.within, e.none_or_value) for e in (self.error, other.error))
        return mine == others


def _attempt(
    make: Make,
    in_types: Mapping[str, Type],
    facts: Facts,
    loops: frozenset[LoopSite],
    turns: Mapping[LoopSite, int],
    is_trial: bool = False,
    *,
    names: list[HloBatchError],
) -> _Attempt:
    """Make the program until no more facts are learned, with ``loops`` unrolled (in a trial, their first turns).

    The errors of names that may become places are added to ``names``.
    """
    for rounds in itertools.count():
        facts = _with_turns(facts, loops, turns, is_trial)
        try:
            program, facts = make(facts)
        except HloBatchError as wrong:
            if not wrong.may_grow:
                raise
            return _Attempt(facts, loops, None, wrong)
        if rounds > MOST_FACTS or len(facts.known) > MOST_FACTS:
            raise UnsupportedSyntaxError(
                f"this function makes ever more of a program: {MOST_FACTS} calls and loops so far",
                program.location,
                help="a recursion whose depth is known when the program is built is written out: let its depth "
                "differ between lanes, or write a loop.",
            )
        found, error = None, None
        try:
            found = specialized_program(program, in_types, facts)
        except Learned as learned:
            errors = [fact.error for site, one in learned.facts if (fact := _known(facts, site, one)) is not None]
            names += [one.error for _, one in learned.facts if isinstance(one, AnotherName)]
            if len(errors) < len(learned.facts):
                facts = after(facts, learned)
                continue
            error = errors[0]  # the facts are known already, and did not help
        except HloBatchError as wrong:
            error = wrong
        if _with_turns(facts, loops, turns, is_trial) is facts:
            return _Attempt(facts, loops, found, error, _first(program))
    raise AssertionError


def _known(facts: Facts, site: Site, fact: object) -> AnotherName | Overloaded | None:
    """What is known already of a fact that is told again, and has not helped."""
    if isinstance(fact, Overloaded):
        return facts.of(Overloaded, site)
    known = facts.of(AnotherName, site) if isinstance(fact, AnotherName) else None
    return known if known is not None and isinstance(fact, AnotherName) and fact.variables <= known.variables else None


def _is_there(error: HloBatchError, other: HloBatchError) -> bool:
    """Whether an error is in the line of another one."""
    places = [(one.location.file, one.location.line) for one in (error, other)]
    return places[0] == places[1]


def _first(program: Program) -> str | None:
    """The name of the program's first function, if no function of the program calls it."""
    (call,) = (op for block in program.graph for op in block.ops if isinstance(op, FunctionCallOp))
    others = (op for function in program.functions for block in function.graph for op in block.ops)
    is_called = any(isinstance(op, FunctionCallOp) and op.function == call.function for op in others)
    return None if is_called else call.function


def _with_turns(facts: Facts, loops: frozenset[LoopSite], turns: Mapping[LoopSite, int], is_trial: bool) -> Facts:
    """The facts, and a fact for each of ``loops`` that it is to be unrolled, if its number of turns is known."""
    for site, count in turns.items():
        if site.anywhere in loops and facts.of(Turns, site) is None:
            facts = facts.and_also(Learned(site, Turns(count, is_trial)))
    return facts


def _others(wrong: _Attempt, attempt: Callable[..., _Attempt], turns: Mapping[LoopSite, int]) -> Iterator[_Attempt]:
    """Other attempts to try where one has failed, the most likely first."""
    if wrong.error is not None and wrong.error.none_or_value and not wrong.gives_none:
        fact = MayBeNone(wrong.error.none_or_value)
        yield attempt(_with_widened(wrong.facts, [fact, *_widened_besides(wrong, wrong, turns)]), wrong.loops)
    unsolved = wrong
    for unsolved in _with_loops_written_out(wrong, attempt, turns):
        yield unsolved
    if wrong.error is not None and wrong.error.goes_over and not wrong.facts.all_of(GoesOver):
        yield attempt(wrong.facts.and_also(Learned(WHOLE_PROGRAM, GoesOver())), wrong.loops)
    if wrong.error is not None and (names := [name for name in wrong.error.may_grow if name not in wrong.grown]):
        grown = [Grows(name, depth) for name, depth in dict.fromkeys(names)]
        yield attempt(_with_widened(wrong.facts, [*grown, *_widened_besides(wrong, unsolved, turns)]), wrong.loops)


def _with_widened(facts: Facts, widened: Sequence[MayBeNone | Grows]) -> Facts:
    """The facts, and that some variables may be None or grow; if one grows, most other facts are learned anew."""
    if any(isinstance(fact, Grows) for fact in widened):
        facts = Facts({of: fact for of, fact in facts.known.items() if of[0] in (MayBeNone, Grows, GoesOver)})
    return Facts({**facts.known, **{(type(fact), fact.site): fact for fact in widened}})


def _widened_besides(wrong: _Attempt, unsolved: _Attempt, turns: Mapping[LoopSite, int]) -> Iterator[MayBeNone | Grows]:
    """The other variables that would be widened in the attempts after this one, so that all are widened at once.

    Args:
        wrong: The attempt that failed.
        unsolved: That attempt with loops unrolled in vain.
        turns: The trip counts of loops.
    """
    unrolled, still = unsolved.loops | unsolved.in_vain, {error.location for error in unsolved.errors}
    for error in wrong.further:
        around = _loops_around(wrong, turns, error)
        if error.none_or_value and error.none_or_value != RESULT:
            yield MayBeNone(error.none_or_value)
        elif _may_grow(error) and (not around or (unrolled.issuperset(around) and error.location in still)):
            yield from (Grows(name, depth) for name, depth in error.may_grow)
        else:
            return


def _may_grow(error: HloBatchError) -> bool:
    """Whether an error is mended by containers that grow, or by unrolling."""
    return bool(error.may_grow) and not error.goes_over


def _with_a_result(attempts: Iterable[_Attempt], attempt: Callable[..., _Attempt]) -> _Attempt:
    """An attempt in which lanes fail where the result is None, if the result's type says only that it may be.

    Raises:
        HloBatchError: The result is still None in some lanes, or the error is another one.
    """
    *_, last = attempts = list(attempts)
    wrong = next((one for one in attempts if one.gives_none), last)
    assert wrong.error is not None
    if wrong.gives_none and wrong.first is not None and not wrong.facts.all_of(HasToReturn):
        has_to_return = Learned(WHOLE_PROGRAM, HasToReturn(wrong.first))
        found = attempt(wrong.facts.and_also(has_to_return), wrong.loops)
        if not found.gives_none:
            return found
    wrong.error.look_on = None
    raise wrong.error


def _with_loops_written_out(
    wrong: _Attempt, attempt: Callable[..., _Attempt], turns: Mapping[LoopSite, int]
) -> Iterator[_Attempt]:
    """Attempts with the loops around an error unrolled: each alone, from the innermost, and then all of them.

    The number of turns of a loop may be known only once a loop around it is unrolled. If the first turns fail in the
    same way, the rest is not unrolled. The loops around further errors are tried together with it.
    """
    around = _loops_around(wrong, turns)
    inner = [site for error in wrong.further if _may_grow(error) for site in _loops_around(wrong, turns, error)[:1]]
    besides = frozenset(site for site in inner if not any(site.is_nested_with(other) for other in around))

    def written(before: _Attempt, loops: Iterable[LoopSite]) -> _Attempt:
        written_out = before.loops.union(loops)
        trial = attempt(before.facts, written_out | besides, is_trial=True)
        if trial.is_as_wrong_as(wrong):
            return dataclasses.replace(before, loops=written_out, error=trial.error, in_vain=besides)
        return attempt(before.facts, written_out if trial.error else written_out | besides)

    written_out = wrong
    for site in around:
        written_out = written(wrong, [site])
        yield written_out
    if len(around) != 1:
        written_out = wrong
    while around := [site for site in _loops_around(written_out, turns) if site not in written_out.in_vain]:
        written_out = written(written_out, around)
        yield written_out


def _loops_around(
    attempt: _Attempt, turns: Mapping[LoopSite, int], error: HloBatchError | None = None
) -> list[LoopSite]:
    """The loops that an error may be due to and that are not unrolled yet, from the innermost.

    These are the loops around the error's places, and loops over strings anywhere, up to a limit of statements.

    Args:
        attempt: The attempt.
        turns: The trip counts of loops.
        error: The error; that of the attempt if None.
    """
    error = error or attempt.error
    assert error is not None
    counts: dict[LoopSite, int] = {}
    for site, count in turns.items():
        if site.anywhere not in attempt.loops and (is_kept_as_loop(site) or any(map(site.holds, error.places))):
            counts[site.anywhere] = max(counts.get(site.anywhere, 0), count)
    around = list[LoopSite]()
    times = 1
    for site in sorted(counts, key=lambda site: site.size):
        times *= max(counts[site], 1)
        if times * site.size <= MOST_STATEMENTS_WRITTEN_OUT:
            around.append(site)
    return around
