"""Facts, and the loops to unroll -> one attempt at the typed program: the program, or the error that is in the way.

::

    def total(rule, n): …  rule(n) …          rule is a Python function with branches of its own:
    %$1 = prim "rule(n)" (%rule, %n)     ==>  %$1 = call @trapezoid(%n)

The frontend builds control flow before types are known. What tracing finds out, such as which function ``rule`` is, may
change the control flow: it becomes a fact (``values/facts.py``), and the program is built again with all facts of the
round, until a round finds no more. Code that is the same in the next program is not traced again.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from hlobatch.analysis.aliases import AnotherName
from hlobatch.analysis.overloads import Overloaded
from hlobatch.analysis.type_errors import RESULT
from hlobatch.diagnostics import HloBatchError, UnsupportedSyntaxError
from hlobatch.frontend.asked import Lowered
from hlobatch.frontend.guesses import after
from hlobatch.ir.boxed import Keys
from hlobatch.ir.ops import FunctionCallOp
from hlobatch.ir.program import Program
from hlobatch.ir.types import Type
from hlobatch.transforms.pipeline import specialized_program
from hlobatch.values import number_classes
from hlobatch.values.facts import NONE_KNOWN, WHOLE_PROGRAM, Copy, Facts, Grows, Learned, LoopSite, Site, Turns
from hlobatch.values.held_classes import HeldInColumns, holding
from hlobatch.values.kinds import OfKinds
from hlobatch.values.number_classes import MembersAreNumbers, NumbersApart
from hlobatch.values.own_containers import MakesContents, contents_known

MOST_FACTS: Final = 2_000
"""Facts after which building is given up: a function that makes ever new functions would go on forever."""

Make = Callable[[Facts], tuple[Program, Facts]]
"""Makes the untyped program from facts; returns it and the facts, to which making it may have added."""
Loops = frozenset[LoopSite]
"""Loops that are unrolled, wherever they are copied, in every turn of the loops around them."""


@dataclass(frozen=True)
class Attempt:
    """The result of one attempt.

    Attributes:
        facts: The facts at its end.
        loops: The loops that were unrolled.
        program: The typed program; None if there is an error.
        error: The error; None if there is a program.
        first: The name of the program's first function, if no function of the program calls it.
        in_vain: Further loops that were unrolled, too, when ``error`` was found.
    """

    facts: Facts
    loops: Loops
    program: Program | None = None
    error: HloBatchError | None = None
    first: str | None = None
    in_vain: Loops = frozenset()

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

    def is_as_wrong_as(self, other: Attempt) -> bool:
        """Whether both failed with what is in effect one error."""
        if self.error is None or other.error is None:
            return False
        if other.error.may_grow and (self.grown == other.grown or {*self.error.may_grow} & {*other.error.may_grow}):
            return True  # the same container fails to grow, one turn later
        mine, others = (
            (e.message, e.location, e.within, e.none_or_value, e.of_several) for e in (self.error, other.error)
        )
        return mine == others


@dataclass(frozen=True, eq=False)
class Lessons:
    """What making a program has taught: its next form, with more room for its containers, is made in one round.

    Attributes:
        lowered: Functions as they were lowered.
        facts: The facts of the attempt that had no error.
        loops: The loops that it unrolled.
        are_sorted: The key sets of the dicts that are sorted; None if all dicts are.
    """

    lowered: Lowered = field(default_factory=Lowered)
    facts: Facts = NONE_KNOWN
    loops: Loops = frozenset()
    are_sorted: frozenset[Keys] | None = frozenset()


@dataclass(frozen=True)
class Attempts:
    """Makes attempts at the program of one function.

    Attributes:
        make: Makes the untyped program.
        in_types: Types of the program's inputs.
        turns: The trip counts that tracing finds out; later attempts add to it.
        names: The errors found so far of names that were meant to be places in containers.
        can_be_held: Finds the classes whose objects may be held in columns.
        by_reference: Finds the same, where containers are in such objects, too.
    """

    make: Make
    in_types: Mapping[str, Type]
    turns: Mapping[LoopSite, int]
    names: list[HloBatchError] = field(default_factory=list)
    can_be_held: Callable[[], HeldInColumns | None] = lambda: None
    by_reference: Callable[[HeldInColumns | None], HeldInColumns | None] = lambda _: None

    def attempt(self, facts: Facts, loops: Loops = frozenset(), *, is_trial: bool = False) -> Attempt:
        """Make the program again until no more facts are learned.

        Args:
            facts: The facts to begin with.
            loops: The loops to unroll.
            is_trial: Whether only their first turns are unrolled.

        Raises:
            HloBatchError: The program cannot be made, whatever its containers are.
        """
        for rounds in itertools.count():
            facts = self._with_turns(facts, loops, is_trial)
            try:
                with holding(facts.of(HeldInColumns, WHOLE_PROGRAM)):
                    program, facts = self.make(facts)
            except HloBatchError as wrong:
                if not wrong.may_grow and not wrong.none_or_value:
                    raise
                return Attempt(facts, loops, None, wrong)
            _check_that_it_ends(rounds, facts, program)
            typed, error = None, None
            try:
                with (
                    contents_known(facts.has(MakesContents)),
                    holding(facts.of(HeldInColumns, WHOLE_PROGRAM)),
                    number_classes.keeping(facts.has(NumbersApart), facts.has(MembersAreNumbers)),
                ):
                    typed = specialized_program(program, self.in_types, facts)
                if number_classes.count() and not facts.has(NumbersApart):
                    facts = after(facts, Learned(WHOLE_PROGRAM, NumbersApart()))
                    continue
                if number_classes.members_count() and not facts.has(MembersAreNumbers):
                    facts = after(facts, Learned(WHOLE_PROGRAM, MembersAreNumbers()))
                    continue
            except Learned as learned:
                error = self._error_of_known(facts, learned)
                if error is None:
                    facts = after(facts, learned)
                    continue
            except HloBatchError as wrong:
                error = wrong
            if self._with_turns(facts, loops, is_trial) is facts:
                return Attempt(facts, loops, typed, error, _first(program))
        raise AssertionError

    def _with_turns(self, facts: Facts, loops: Loops, is_trial: bool) -> Facts:
        """The facts, and for each of ``loops`` whose trip count is known, the fact that it is unrolled."""
        for site, count in self.turns.items():
            if site.anywhere in loops and facts.of(Turns, site) is None:
                facts = facts.and_also(Learned(site, Turns(count, is_trial)))
        return facts

    def _error_of_known(self, facts: Facts, learned: Learned) -> HloBatchError | None:
        """The error if all that was learned had been known, and did not help; None if something is new."""
        self.names.extend(fact.error for _, fact in learned.facts if isinstance(fact, AnotherName))
        known = [_known(facts, site, fact) for site, fact in learned.facts]
        errors = [fact.disagreement if isinstance(fact, Copy) else fact.error for fact in known if fact is not None]
        return errors[0] if len(errors) == len(known) else None


def _check_that_it_ends(rounds: int, facts: Facts, program: Program) -> None:
    if rounds > MOST_FACTS or len(facts.known) > MOST_FACTS:
        raise UnsupportedSyntaxError(
            f"this function makes ever more of a program: {MOST_FACTS} calls and loops so far",
            program.location,
            help="a recursion whose depth is known when the program is built is written out: let its depth "
            "differ between lanes, or write a loop.",
        )


def _known(facts: Facts, site: Site, fact: object) -> AnotherName | Copy | Overloaded | OfKinds | None:
    """The fact that had been known of a site, where one that was learned says no more; None if it does."""
    if isinstance(fact, OfKinds):
        kinds = facts.of(OfKinds, site)
        return kinds if kinds is not None and fact.joined(kinds) == kinds else None
    if isinstance(fact, Overloaded):
        return facts.of(Overloaded, site)
    if isinstance(fact, Copy):  # two calls of one place, as of a `finally`, do not fit each other
        return fact if facts.of(Copy, site) == fact else None
    known = facts.of(AnotherName, site) if isinstance(fact, AnotherName) else None
    return known if known is not None and isinstance(fact, AnotherName) and fact.variables <= known.variables else None


def _first(program: Program) -> str | None:
    """The name of the program's first function, if no function of the program calls it."""
    (call,) = (op for block in program.graph for op in block.ops if isinstance(op, FunctionCallOp))
    others = (op for function in program.functions for block in function.graph for op in block.ops)
    is_called = any(isinstance(op, FunctionCallOp) and op.function == call.function for op in others)
    return None if is_called else call.function
