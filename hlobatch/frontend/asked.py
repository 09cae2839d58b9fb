"""The questions that the lowering of a function asked, with the answers -> whether it would come out the same again.

A program is built again with each fact that tracing learns, and most facts concern one function. A function is lowered
again only if one of its questions has another answer: about facts on a place in it, or on the program; about the callee
of a call, and whether that raises or changes its arguments.

    of_call(h, …)        h, which may raise             what ``FunctionLowering`` of f asked, in order
    of(CanFail, line 3)  None

Questions are asked again in the same order, so that the functions that they enter into the program are entered into the
next one, too; so are failures, with their numbers in that program.
"""

from __future__ import annotations

import ast
import collections
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NoReturn, TypeVar

from hlobatch.diagnostics import HloBatchError, Location
from hlobatch.frontend.callees import Called, Callee, Callees
from hlobatch.frontend.failures import Failures, Recorder, Relay
from hlobatch.frontend.following import Calls
from hlobatch.frontend.guesses import has_methods
from hlobatch.frontend.live_items import attributes_assigned
from hlobatch.frontend.nested import Template
from hlobatch.frontend.source import Source
from hlobatch.ir.ops import Op, PrimOp
from hlobatch.ir.program import Function
from hlobatch.values.facts import Copy, Fact, Learned, MayBeNone, MayBeSeveral, Site, tell
from hlobatch.values.kinds import OfKinds

MOST_KEPT: Final = 8
"""Most versions of a function that are kept."""

T = TypeVar("T")
R = TypeVar("R", bound=Recorder | Relay)
Question = Callable[[Callees], Any]
"""A question about the callees of a program, and the facts that are known in it."""


class Questions:
    """The questions asked about the callees of a program, with the answers.

    Attributes:
        answered: The questions, with the parts of the answers that lowering depends on.
    """

    def __init__(self, callees: Callees) -> None:
        self._callees = callees
        self.answered: list[tuple[Question, Any]] = []

    def ask(self, question: Callable[[Callees], T]) -> T:
        """The answer to a question, which is recorded."""
        found = question(self._callees)
        self.answered.append((question, _seen(found)))
        return found


class AskedFacts:
    """The facts of a program; each question about them is recorded."""

    def __init__(self, questions: Questions) -> None:
        self._questions = questions
        self._known: dict[tuple[type, Site | None], Any] = {}

    def _once(self, kind: type, site: Site | None, question: Callable[[Callees], Any]) -> Any:
        """The answer to a question about facts; it is recorded once, since facts do not change during lowering."""
        if (kind, site) not in self._known:
            self._known[kind, site] = self._questions.ask(question)
        return self._known[kind, site]

    def of(self, kind: type[Fact], site: Site) -> Fact | None:
        """The fact of a kind about a site; None if there is none."""
        found: Fact | None = self._once(kind, site, lambda callees: callees.facts.of(kind, site))
        return found

    def has(self, kind: type) -> bool:
        """Whether there is a fact of a kind."""
        return bool(self._once(kind, None, lambda callees: callees.facts.has(kind)))

    def about_code(self, kind: type[Fact]) -> Sequence[tuple[Location, Fact]]:
        """All facts of a kind about straight-line code, each with the location of the code."""
        found: Sequence[tuple[Location, Fact]] = self._questions.ask(lambda callees: callees.facts.about_code(kind))
        return found


class Asking:
    """The callees of a program, as the lowering of one function sees them: each question is recorded.

    Attributes:
        recorders: The failures of the function.
        learned: Facts with which the program has to be built again, each with its site.
        looks_at_failures: Whether code of the function reads all failures of the program.
        follows: Whether functions without a decorator may become parts of the program.
        facts: The facts learned so far.
    """

    def __init__(self, callees: Callees) -> None:
        self._callees = callees
        self._questions = Questions(callees)
        self._ask = self._questions.ask  # of another object, so that this one is freed with its last reference
        self.recorders: list[Recorder | Relay] = []
        self.learned: list[tuple[Site, Any]] = []
        self.looks_at_failures = False
        self.follows = callees.follows
        self.facts = AskedFacts(self._questions)

    @property
    def questions(self) -> Sequence[tuple[Question, Any]]:
        """The questions, with the answers."""
        return self._questions.answered

    @property
    def failures(self) -> Failures:
        """The failures of the whole program."""
        self.looks_at_failures = True
        return self._callees.failures

    def learn(self, site: Site, fact: Any) -> None:
        """Note a fact with which the program has to be built again; lowering goes on, since there may be more."""
        self.learned.append((site, fact))

    def begin_anew(self, site: Site, fact: Any) -> NoReturn:
        """Abandon lowering the function, since its remaining code has to be lowered with a new fact.

        Raises:
            Learned: Always.
        """
        raise Learned(site, fact, *self.learned)

    def fails(self, recorder: Callable[[int], R]) -> R:
        """Enter a failure into the program; ``recorder`` makes it from its number."""
        made = recorder(len(self._callees.failures.all) + 1)
        self._callees.failures.all.append(made)
        self.recorders.append(made)
        return made

    def is_called(self, callee: Callee, location: Location) -> None:
        """Note a call of a function."""
        self._ask(lambda callees: callees.note_call(callee.key, location))

    def of_call(self, node: ast.expr, source: Source, local: frozenset[str]) -> Called | None:
        """The callee of a call expression, if its name says that it is a function of the program; else None."""
        return self._ask(lambda callees: callees.of_call(node, source, local))

    def of_template(self, template: Template) -> Callee:
        """The callee for a function that is defined inside another."""
        return self._ask(lambda callees: callees.of_template(template))

    def of_fact(self, calls: Calls) -> Called:
        """The callee of a call that tracing has resolved, as the fact ``calls``."""
        return self._ask(lambda callees: callees.of_fact(calls))

    def assigns(self, attribute: str) -> bool:
        """Whether a function without a decorator that is a part of the program assigns to an attribute."""
        return self._ask(lambda callees: attribute in attributes_assigned(callees.followed | callees.guessed))

    def makes(self, kind: type) -> None:
        """Note that the program makes objects of a class."""
        self._ask(lambda callees: callees.makes(kind))

    def has_methods(self, names: Sequence[str]) -> bool:
        """Whether a class of the user's whose objects the program makes has one of these methods or properties."""
        return self._ask(lambda callees: bool(callees.classes) and has_methods(callees.classes, names))

    @property
    def has_kinds(self) -> bool:
        """Whether a variable may hold objects of several classes."""
        return (
            self.facts.has(MayBeNone)
            or self.facts.has(MayBeSeveral)
            or self.facts.has(OfKinds)
            or self._ask(lambda callees: len(callees.classes) > 1)
        )

    def method(self, name: str) -> Calls | None:
        """The function that a method call means, as far as its name alone tells; else None."""
        return self._ask(lambda callees: callees.method(name))

    def guess(self, calls: Calls, site: Site) -> Called | None:
        """The callee of a call, on the guess that the program has to carry it out; None if that is unlikely."""
        return self._ask(lambda callees: callees.guess(calls, site))

    def copy(self, callee: Callee, fact: Copy) -> Callee:
        """The copy of a callee for arguments of some types."""
        return self._ask(lambda callees: callees.copy(callees.by_key[callee.key], fact))


def _seen(answer: Any) -> Any:
    """The part of an answer that lowering depends on."""
    if isinstance(answer, Called):
        return answer.callee.seen, answer.receiver, answer.expected, answer.contents
    return answer.seen if isinstance(answer, Callee) else answer


@dataclass(frozen=True)
class _Known:
    """A version of a function as it was lowered.

    Attributes:
        callee: The part of the callee that lowering depends on.
        questions: The questions that lowering asked, with the answers.
        recorders: Its failures.
        function: The lowered function; None if lowering was abandoned because of the learned facts.
        learned: Facts with which the program has to be built again; if there are any, the function is not used.
    """

    callee: Hashable
    questions: Sequence[tuple[Question, Any]]
    recorders: Sequence[Recorder | Relay]
    function: Function | None
    learned: Sequence[tuple[Site, Any]]

    def is_answered_alike(self, callees: Callees) -> bool:
        """Whether all questions have the same answers for the callees of another program."""
        return all(_seen(question(callees)) == answer for question, answer in self.questions)

    def entered(self, failures: list[Recorder | Relay]) -> Function:
        """The function, with its failures renumbered and entered into another program."""
        assert self.function is not None
        numbers = enumerate(self.recorders, len(failures) + 1)
        numbered = {id(old): old if old.number == i else replace(old, number=i) for i, old in numbers}
        failures += numbered.values()

        def with_number(op: Op) -> Op:
            new = numbered.get(id(op.function)) if isinstance(op, PrimOp) else None
            return op if new is None else op.replace(function=new)

        return self.function.map_blocks(lambda block: block.map_instructions(with_number))


@dataclass
class Lowered:
    """Versions of functions as they were lowered, newest last, by the keys of their callees."""

    known: dict[Hashable, collections.deque[_Known]] = field(default_factory=dict)

    def function(self, callee: Callee, callees: Callees, lower: Callable[[Callee, Asking], Function]) -> Function:
        """A function of a program, lowered if no kept version serves.

        Raises:
            Learned: Lowering learned facts, with which the program has to be built again.
            HloBatchError: It cannot be lowered.
        """
        kept = self.known.setdefault(callee.key, collections.deque(maxlen=MOST_KEPT))
        for known in kept:
            if known.callee == callee.seen and known.is_answered_alike(callees):
                tell(known.learned)
                return known.entered(callees.failures.all)
        asking = Asking(callees)
        try:
            function = lower(callee, asking)
        except Learned as learned:
            if not asking.looks_at_failures:
                kept.append(_Known(callee.seen, asking.questions, asking.recorders, None, learned.facts))
            raise
        except HloBatchError:
            tell(asking.learned)
            raise
        if not asking.looks_at_failures:
            kept.append(_Known(callee.seen, asking.questions, asking.recorders, function, asking.learned))
        tell(asking.learned)
        return function
