"""Statements whose operations raise by themselves in some lanes -> the statements, and tests where their block ends.

::

    x = items.pop()              %x, %items, %$status = prim "items.pop()" (%items)
    y = x + 1             ==>    %y = prim "x + 1" (%x)
                                 %$if = prim "has failed" (%$status)
                                 branch %$if, wrong, right
                               wrong:
                                 %$failure, %$details = prim "x = items.pop()" ()    which records the IndexError
                                 jump failed
                               right:
                                 …

Tracing learns that a statement can fail, and how (``values/lane_failures.py``); the statement then returns a
``$status`` beside its results: the number of the way in which it failed, or 0. The statements of a block are tested
together at its end: values computed after a failure are not used, since only the block sees them. In a ``try``, and in
a function that has a caller with a ``try`` and that changes objects of the caller, each statement is tested at once.
There, a statement that also changes an object in place is lowered step by step (``steps.py``).
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hlobatch.analysis.aliases import HELD_BACK
from hlobatch.diagnostics import LimitError, UnsupportedSyntaxError
from hlobatch.frontend.asked import Asking
from hlobatch.frontend.callees import Callee
from hlobatch.frontend.guesses import Expected
from hlobatch.frontend.in_turn import filled
from hlobatch.frontend.in_turn.filled import FilledInTurn
from hlobatch.frontend.nodes import located
from hlobatch.frontend.raising import RaisingLowering
from hlobatch.frontend.steps import StepByStep, is_one_step
from hlobatch.frontend.syntax import helper, literal, load, placed
from hlobatch.values.facts import WHOLE_PROGRAM, Learned, of_code
from hlobatch.values.lane_failures import OF_LANES, CanFail, Careful, Caught

_OF_ARGUMENTS: Final = (ZeroDivisionError, OverflowError, KeyError, TypeError)
"""Exceptions that no method of lists raises, so that they come from an argument, which Python evaluates first."""


@dataclass(frozen=True)
class Untested:
    """A statement that fails in some lanes, and has not been tested yet.

    Attributes:
        status: The variable with the number of the way in which it failed.
        failing: The ways in which it can fail.
        node: The statement.
    """

    status: str
    failing: CanFail
    node: ast.AST


class FailingLowering(RaisingLowering):
    """Lowers statements that fail in some lanes, and the code that raises there.

    Attributes:
        untested: The statements of the open block that have to be tested before control leaves it.
        here: The statement that is being lowered.
        filling: The statement that is being lowered, or the one that it is a part of, if that fills a container with
            items, and variables may be read after one has raised.
    """

    def __init__(self, callee: Callee, callees: Asking) -> None:
        super().__init__(callee, callees)
        self.untested: list[Untested] = []
        self.here: ast.stmt = callee.source.node
        self.filling: ast.stmt | None = None
        self.blocks.before_end = self.test_statements

    def primitive(self, body: Sequence[ast.stmt], outputs: Sequence[str], node: ast.AST, text: str, **how: Any) -> None:
        """Emit a ``PrimOp``, with a call that says which failures count, if the program catches any."""
        is_plain = how.get("tests") and not self._is_careful
        super().primitive(body if is_plain else self._wanting(body, node), outputs, node, text, **how)

    @property
    def _is_careful(self) -> bool:
        """Whether operations test their operands for None."""
        return self.callees.facts.of(Careful, WHOLE_PROGRAM) is not None

    def _wanting(self, body: Sequence[ast.stmt], node: ast.AST) -> Sequence[ast.stmt]:
        """Code preceded by a call that says which failures of its operations count."""
        caught, careful = self.caught, self._is_careful
        if self.leaves_out_texts:
            body = [located(ast.Expr(helper("__hb_leave_out_texts", [], node)), node), *body]
        if not caught and not careful:
            return body
        raised, has_try = (caught.kinds, caught.has_try) if caught else ((), False)
        wants = [placed(self.constant(value), node) for value in (raised, has_try, careful)]
        return [placed(ast.Expr(helper("__hb_wants", wants, node)), node), *body]

    def expect(self, expected: Expected, call: ast.Call, node: ast.Call) -> None:
        """Emit code that tries to trace a call of which the guess is that it cannot be traced; it has no result.

        Args:
            expected: The guess.
            call: The call to try.
            node: The call as it stands in the source.
        """
        function = self.simple(call.func) if isinstance(call.func, ast.Name) else call.func
        parts = [placed(self.constant(expected), node), function, *call.args]
        attempt = located(ast.Call(load("__hb_expect", node), parts, call.keywords), node)
        code = self.meanings.of(self._wanting([located(ast.Expr(attempt), node)], node))
        self._emit(code, self._inputs(code), [], node, self.source.text(node))

    def held_back(self, outputs: Sequence[str], changed: Sequence[str]) -> dict[str, str]:
        """Temporaries for variables that a statement assigns, and that may be read as they were after it has failed.

        Variables that the statement changes in place are left out: a method that fails changes nothing.
        """
        return {n: self.temporary(HELD_BACK) for n in outputs if n not in changed and self.outlives_failure(n)}

    def check_steps(self, body: Sequence[ast.stmt], names: frozenset[str], failing: CanFail, node: ast.AST) -> None:
        """Learn that a statement that may fail and changes variables read after that is lowered step by step.

        Raises:
            UnsupportedSyntaxError: It is lowered so already, and a step still does both.
        """
        seen = frozenset(name for name in names if self.outlives_failure(name))
        if not seen or is_one_step(body, seen):
            return
        site = of_code(self.location(self.here))
        known = self.callees.facts.of(StepByStep, site)
        steps = known.names if known is not None else frozenset()
        if not seen <= steps:
            self.callees.learn(site, StepByStep(seen | steps))
        elif any(issubclass(kind, _OF_ARGUMENTS) for kind, _ in failing.failures):
            raise UnsupportedSyntaxError(
                f"this changes {min(seen)!r} in place, and computes what may raise, where an exception is caught",
                self.location(node),
                help="compute it in a statement before, as in `x = 10 // n`, then `items.append(x)`.",
            )

    @contextlib.contextmanager
    def by_steps(self, node: ast.stmt) -> Iterator[None]:
        """A context for lowering a statement, step by step if it has to be."""
        before = self.here, self.steps, self.filling
        known = self.callees.facts.of(StepByStep, of_code(self.location(node)))
        self.here, self.steps = node, known.names if known is not None else frozenset()
        if self.shows_failures and filled.filling_of(node, self) is not None:
            self.filling = node
        try:
            yield
        finally:
            self.here, self.steps, self.filling = before

    def after_call(self, node: ast.Call, callee: Callee) -> None:
        self._learn_filled()
        super().after_call(node, callee)

    def _learn_filled(self) -> None:
        """Learn that an item of the statement that is being lowered may raise, if it fills a container with them."""
        if self.filling is not None:
            self.callees.learn(of_code(self.location(self.filling)), FilledInTurn())

    def test_after(self, status: str, failing: CanFail, node: ast.AST) -> None:
        """Note that a statement fails in some lanes and has to be tested; test it at once if its effects are seen."""
        self.untested.append(Untested(status, failing, node))
        if not all(issubclass(kind, LimitError) for kind, _ in failing.failures):
            self._learn_filled()
        if self.shows_failures or failing.surely:  # the code behind the statement must not run
            self.test_statements()

    @property
    def shows_failures(self) -> bool:
        """Whether variables may be read after a statement of the code that is being lowered has raised."""
        return bool(self.tries) or (bool(self.callee.given_back) and self.has_try)

    def test_statements(self) -> None:
        """Emit tests of the statements of the open block, with a block that raises for each way to fail."""
        untested, self.untested = self.untested, []
        if not untested:
            return
        node = untested[0].node
        wrong, right = self.blocks.name("wrong"), self.blocks.name("right")
        self._test_status([one.status for one in untested], None, (wrong, right), node)
        self.blocks.start(wrong, self.location(node))
        ways = [(one, way) for one in untested for way in range(len(one.failing.failures))]
        for one, way in ways[:-1]:
            this, other = self.blocks.name("this"), self.blocks.name("other")
            self._test_status([one.status], way + 1, (this, other), one.node)
            self.blocks.start(this, self.location(one.node))
            self._record_by_itself(one, way)
            self.blocks.start(other, self.location(one.node))
        self._record_by_itself(*ways[-1])  # a lane that failed in no other way failed in the last
        self.blocks.start(right, self.location(node))

    def _test_status(self, statuses: Sequence[str], way: int | None, sides: tuple[str, str], node: ast.AST) -> None:
        """Emit a branch on whether a statement failed: in the way of this number, from 1; if None, in any."""
        test = helper("__hb_has_failed_by_itself", [literal(way, node), *(load(s, node) for s in statuses)], node)
        text = "has failed" if way is None else f"has failed, {way}"
        self.branch_on(test, *sides, node, text, tests=True)

    def _record_by_itself(self, one: Untested, way: int) -> None:
        """Emit code that raises the exception of one way in which a statement failed."""
        kind, arguments = one.failing.failures[way]
        around = self.tries
        if issubclass(kind, LimitError):  # a limit is no exception in Python, so no handler catches it
            self.tries = ()
        self.record(self._raised(kind, arguments, one.node), kind, one.node)
        self.tries = around

    def _raised(self, kind: type[Exception], arguments: Sequence[Any], node: ast.AST) -> ast.expr:
        """An expression that makes an exception."""
        made = located(self.constant(kind), node)
        return located(ast.Call(made, [placed(self.constant(value), node) for value in arguments], []), node)

    def learn_caught(self, kinds: Sequence[type[BaseException]]) -> None:
        """Learn that the program catches exceptions that operations raise.

        Args:
            kinds: The classes that a ``try`` catches.

        Raises:
            Learned: A class is new: from now on all operations of the program raise it. Or it is new that the program
                reads variables after an exception.
        """
        known = self.caught.kinds if self.caught else ()
        new = tuple(kind for kind in OF_LANES if kind not in known and any(issubclass(kind, other) for other in kinds))
        if new or not self.has_try:
            raise Learned(WHOLE_PROGRAM, Caught((*known, *new)))
