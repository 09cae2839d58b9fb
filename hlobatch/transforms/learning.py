"""A function and the types of its inputs -> a typed program, built again with the facts that tracing finds out.

::

    def total(rule, n): …  rule(n) …          rule is a Python function with branches of its own:
    %$1 = prim "rule(n)" (%rule, %n)     ==>  %$1 = call @trapezoid(%n)

The frontend builds control flow before types are known. What tracing finds out then, such as which function ``rule``
is, may change the control flow: that is a fact (``analysis/facts.py``), and the program is built again with all facts
that a round came by. The first program is built with no facts, which is all that most functions need. Code that is the
same in the next program is not traced again.

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

from hlobatch.analysis.containers import with_room
from hlobatch.analysis.facts import (
    MOST_STATEMENTS_WRITTEN_OUT,
    NONE_KNOWN,
    Facts,
    GoesOver,
    Grows,
    HasToReturn,
    Learned,
    LoopSite,
    MayBeNone,
    Turns,
    counted,
    is_kept_as_loop,
)
from hlobatch.analysis.overloads import Overloaded
from hlobatch.analysis.own_code import meant_by
from hlobatch.analysis.type_errors import RESULT
from hlobatch.diagnostics import HloBatchError, UnsupportedSyntaxError
from hlobatch.frontend.failures import WHOLE_PROGRAM
from hlobatch.frontend.guesses import after
from hlobatch.frontend.traced_functions import code_of
from hlobatch.ir.boxed import Keys, dicts
from hlobatch.ir.ops import FunctionCallOp
from hlobatch.ir.program import Program
from hlobatch.ir.types import Type
from hlobatch.transforms.made_again import made_again
from hlobatch.transforms.pipeline import specialized_program

MOST_FACTS: Final = 2_000
"""Facts after which a program is given up: functions that make ever new functions would go on for ever."""


Make = Callable[[Facts], tuple[Program, Facts]]
"""From facts to the untyped program, which may differ with more facts, and to all facts that it is made with."""


def learned_program(make: Make, in_types: Mapping[str, Type], *, writes_out: bool = True, room: int = 1) -> Program:
    """The typed program.

    Dicts are in the order in which their keys came, unless the program is none then: a dict that JAX sorted, as it does
    those of arguments, and one that the code makes may be values of one variable. Those of the same keys are sorted.

    Args:
        make: Makes the untyped program.
        in_types: Types of the program's inputs.
        writes_out: Whether the turns of short loops over what is known are written out, though they need not be.
        room: How many times as much containers have room for as they have at first, unless the user says.

    Raises:
        HloBatchError: Whatever is wrong with the program.
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
        are_sorted = are_sorted | wrong.orders if wrong.orders - are_sorted else None


def _learned_program(make: Make, in_types: Mapping[str, Type], writes_out: bool, room: int) -> Program:
    with with_room(room), counted(writes_out) as turns:
        make_it = partial(_attempt, make, in_types, turns=turns)
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
    """What came of making the program.

    Attributes:
        facts: What was known in the end.
        loops: Places of the loops whose turns are written out, in every copy and every turn of loops around them.
        program: The typed program, if there is one.
        error: What is wrong, if there is none.
        first: The name of the program's first function, if the program does not call it again.
    """

    facts: Facts
    loops: frozenset[LoopSite]
    program: Program | None = None
    error: HloBatchError | None = None
    first: str | None = None

    @property
    def grown(self) -> set[tuple[str, int]]:
        """The variables whose containers grow, and at which depth."""
        return {(fact.variable, fact.depth) for fact in self.facts.all_of(Grows)}

    @property
    def gives_none(self) -> bool:
        """Whether what is wrong is that the result is None in some lanes."""
        return self.error is not None and self.error.none_or_value == RESULT

    def is_as_wrong_as(self, other: _Attempt) -> bool:
        if self.error is None or other.error is None:
            return False
        if other.error.may_grow and (self.grown == other.grown or {*self.error.may_grow} & {*other.error.may_grow}):
            return True  # turn by turn
        mine, others = ((e.message, e.location, e.within, e.none_or_value) for e in (self.error, other.error))
        return mine == others


def _attempt(
    make: Make,
    in_types: Mapping[str, Type],
    facts: Facts,
    loops: frozenset[LoopSite],
    turns: Mapping[LoopSite, int],
    is_trial: bool = False,
) -> _Attempt:
    """Make the program, as often as more is learned; of some loops the turns are written out, or the first of them."""
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
            known = [facts.of(Overloaded, site) for site, fact in learned.facts if isinstance(fact, Overloaded)]
            errors = [fact.error for fact in known if fact is not None]
            if len(errors) < len(learned.facts):
                facts = after(facts, learned)
                continue
            error = errors[0]  # to know of the method does not help
        except HloBatchError as wrong:
            error = wrong
        if _with_turns(facts, loops, turns, is_trial) is facts:
            return _Attempt(facts, loops, found, error, _first(program))
    raise AssertionError


def _first(program: Program) -> str | None:
    """The name of the program's first function, if no function of the program calls it."""
    (call,) = (op for block in program.graph for op in block.ops if isinstance(op, FunctionCallOp))
    others = (op for function in program.functions for block in function.graph for op in block.ops)
    is_called = any(isinstance(op, FunctionCallOp) and op.function == call.function for op in others)
    return None if is_called else call.function


def _with_turns(facts: Facts, loops: frozenset[LoopSite], turns: Mapping[LoopSite, int], is_trial: bool) -> Facts:
    """The facts, and that turns of some loops are to be written out, as far as it is known how many they are."""
    for site, count in turns.items():
        if site.anywhere in loops and facts.of(Turns, site) is None:
            facts = facts.and_also(Learned(site, Turns(count, is_trial)))
    return facts


def _others(wrong: _Attempt, attempt: Callable[..., _Attempt], turns: Mapping[LoopSite, int]) -> Iterator[_Attempt]:
    """What else can be tried where something is wrong."""
    besides = functools.cache(lambda: [*_widened_besides(wrong, turns)])
    if wrong.error is not None and wrong.error.none_or_value and not wrong.gives_none:
        fact = MayBeNone(wrong.error.none_or_value)
        yield attempt(_with_widened(wrong.facts, [fact, *besides()]), wrong.loops)
    yield from _with_loops_written_out(wrong, attempt, turns)
    if wrong.error is not None and wrong.error.goes_over and not wrong.facts.all_of(GoesOver):
        yield attempt(wrong.facts.and_also(Learned(WHOLE_PROGRAM, GoesOver())), wrong.loops)
    if wrong.error is not None and (names := [name for name in wrong.error.may_grow if name not in wrong.grown]):
        grown = [Grows(name, depth) for name, depth in dict.fromkeys(names)]
        yield attempt(_with_widened(wrong.facts, [*grown, *besides()]), wrong.loops)


def _with_widened(facts: Facts, widened: Sequence[MayBeNone | Grows]) -> Facts:
    """The facts, and that some variables may be None or grow; where one grows, all else is found out anew."""
    if any(isinstance(fact, Grows) for fact in widened):
        facts = Facts({of: fact for of, fact in facts.known.items() if of[0] in (MayBeNone, Grows, GoesOver)})
    return Facts({**facts.known, **{(type(fact), fact.site): fact for fact in widened}})


def _widened_besides(wrong: _Attempt, turns: Mapping[LoopSite, int]) -> Iterator[MayBeNone | Grows]:
    """What else may be None or grow, as far as that is the first that would be tried, one after the other."""
    assert wrong.error is not None
    for error in wrong.error.look_on() if wrong.error.look_on else ():
        if error.none_or_value and error.none_or_value != RESULT:
            yield MayBeNone(error.none_or_value)
        elif (
            error.may_grow and not error.goes_over and not _loops_around(dataclasses.replace(wrong, error=error), turns)
        ):
            yield from (Grows(name, depth) for name, depth in error.may_grow)
        else:
            return


def _with_a_result(attempts: Iterable[_Attempt], attempt: Callable[..., _Attempt]) -> _Attempt:
    """The program whose result may be None as far as its types say, and whose lanes fail where it is.

    Raises:
        HloBatchError: The result is None in some lanes, whatever comes; or what is wrong is another thing.
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
    """Attempts with loops that an error is in written out: each one, from the innermost, and then all of them.

    How often a loop turns may be known only where one around it is written out. What is as wrong in the first turns is
    not written out to the end.
    """

    def written(before: _Attempt, loops: Iterable[LoopSite]) -> _Attempt:
        trial = attempt(before.facts, before.loops.union(loops), is_trial=True)
        if trial.is_as_wrong_as(wrong):
            return dataclasses.replace(before, loops=trial.loops, error=trial.error)
        return attempt(before.facts, before.loops.union(loops))

    around = _loops_around(wrong, turns)
    written_out = wrong
    for site in around:
        written_out = written(wrong, [site])
        yield written_out
    if len(around) != 1:
        written_out = wrong
    while around := _loops_around(written_out, turns):
        written_out = written(written_out, around)
        yield written_out


def _loops_around(attempt: _Attempt, turns: Mapping[LoopSite, int]) -> list[LoopSite]:
    """The loops that an error may be due to and that are not written out yet, from the innermost.

    These are those around it, and those over texts, wherever it is; as far as that is not too much.
    """
    error = attempt.error
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
