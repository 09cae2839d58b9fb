"""``raise``, ``assert`` and ``try`` -> control flow on which failure there was, if any.

::

    try:                                 %$failure = 3; %$details = prim "raise ValueError(x)" (%x); jump caught
        if x < 0:
            raise ValueError(x)          %y, %$failure, %$details = call @root(%x)
        y = root(x)                 ==>  branch "$failure != 0" (%$failure), caught, after
    except ValueError:                   caught:
        y = 0                              branch "except ValueError" (%$failure), except, failed

A function that may raise gives back ``$failure``, 0 if it did not, and ``$details``, what the exception's message is
made of. Whoever calls it goes on to the handler, or gives both back in turn. Each lane does so by itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from hlobatch.analysis.aliases import HELD_BACK
from hlobatch.analysis.facts import Learned, of_function
from hlobatch.analysis.lane_failures import PROGRAM, CanFail, Careful, Caught
from hlobatch.diagnostics import CapacityError, UnsupportedSyntaxError
from hlobatch.frontend.callees import Callee, Callees, static_value
from hlobatch.frontend.expressions import ExpressionLowering
from hlobatch.frontend.failures import WHOLE_PROGRAM, Raises, Recorder, Words
from hlobatch.frontend.handlers import OF_LANES, caught_kinds
from hlobatch.frontend.primitives import compile_primitive, helper
from hlobatch.frontend.scopes import read_names
from hlobatch.frontend.straight_line import TEMPORARY, placed
from hlobatch.ir.code import UNDEFINED
from hlobatch.ir.ops import HALT, NO_RESULT, BranchOp, GotoOp, PrimOp

FAILURE: Final = "_hb_failure"
DETAILS: Final = "_hb_details"
RESULT: Final = "_hb_result"
_OF_ARGUMENTS: Final = (ZeroDivisionError, OverflowError, KeyError, TypeError)
"""What no method raises that changes a list, but what is computed for it."""
_EXCEPTION: Final = "_hb_exception"


@dataclass(frozen=True)
class Try:
    """A ``try`` around the code that is being lowered.

    Attributes:
        caught: Block that failures go to.
        loops: How many loops are around it.
        last: What its ``finally`` does.
    """

    caught: str
    loops: int
    last: tuple[ast.stmt, ...] = ()


@dataclass(frozen=True)
class Handled:
    """An ``except`` around the code that is being lowered: variables in which its failure is kept."""

    name: str | None
    failure: str
    details: str


@dataclass(frozen=True)
class Untested:
    """A statement that fails in some lanes.

    Attributes:
        status: The variable that says in which way it did.
        failing: The ways.
        node: The statement.
    """

    status: str
    failing: CanFail
    node: ast.AST


class ExceptionLowering(ExpressionLowering):
    """Lowers what raises and what catches."""

    loops: list[Any]
    in_tail = False

    tries: tuple[Try, ...] = ()
    handled: tuple[Handled, ...] = ()
    _failed: str | None = None

    def __init__(self, callee: Callee, callees: Callees) -> None:
        super().__init__(callee, callees)
        self.untested: list[Untested] = []
        self.blocks.before_end = self.test_statements

    def statements(self, body: list[ast.stmt]) -> None:
        """Lower statements up to the first that control cannot pass."""
        raise NotImplementedError

    def begin_failures(self, node: ast.AST) -> None:
        """At the entry of a function that may raise: it has not yet."""
        if self.callee.raises:
            self.assign(FAILURE, ast.copy_location(ast.Constant(0), node), node)
            size = ast.copy_location(ast.Constant(self._words), node)
            self.assign(DETAILS, helper("__hb_no_details", [size], node), node)

    def end_failures(self, node: ast.AST) -> None:
        """At the end of a function: where lanes that failed leave it, and there is no result."""
        if self._failed is not None:
            self.blocks.start(self._failed, self.location(node))
            self.blocks.add(PrimOp((), (self.variable(RESULT),), UNDEFINED, NO_RESULT, location=self.location(node)))
            self.blocks.end(GotoOp(HALT, location=self.location(node)))

    @property
    def given_back(self) -> tuple[str, ...]:
        """Variables that the function gives back beside its result."""
        return (*self.callee.given_back, *((FAILURE, DETAILS) if self.callee.raises else ()))

    def told(self, callee: Callee) -> tuple[str, ...]:
        """Variables that a call's failure goes to."""
        return (FAILURE, DETAILS) if callee.raises else ()

    @property
    def _words(self) -> int:
        known = self.callees.facts.of(Words, WHOLE_PROGRAM)
        return 1 if known is None else known.size

    def _goes_to(self, block: str) -> bool:
        """Whether some block so far goes to ``block``."""
        return any(block in b.terminator.successors for b in self.blocks.blocks)

    def _where_failures_go(self) -> str:
        """The handler around, or the end of the function, which may raise then."""
        if not self.callee.raises:
            raise Learned(of_function(self.callee.key), Raises())
        if self.tries:
            return self.tries[-1].caught
        if self._failed is None:
            self._failed = self.blocks.name("failed")
        return self._failed

    # raise, assert

    def fail(self, node: ast.Raise) -> None:
        """``raise``."""
        if node.exc is None or self._is_handled(node.exc):
            self._fail_again(node)
            return
        exception, kind = self._exception(node.exc)
        self._record(exception, kind, node)

    def fail_unless(self, node: ast.Assert) -> None:
        """``assert``."""
        wrong, right = self.blocks.name("wrong"), self.blocks.name("right")
        self.branch(node.test, right, wrong)
        self.blocks.start(wrong, self.location(node))
        name = ast.copy_location(ast.Name("__hb_AssertionError", ast.Load()), node)
        arguments = [] if node.msg is None else [self.simple(node.msg)]
        self._record(ast.copy_location(ast.Call(name, arguments, []), node), AssertionError, node)
        self.blocks.start(right, self.location(node))

    def _exception(self, node: ast.expr) -> tuple[ast.expr, type[BaseException]]:
        """An exception as straight-line code, and its class."""
        made = node.func if isinstance(node, ast.Call) else node
        kind = static_value(made, self.source, self.local)
        if not (isinstance(kind, type) and issubclass(kind, BaseException)):
            raise UnsupportedSyntaxError(
                "the class of what is raised is not known",
                self.location(node),
                help="write it out, as in `raise ValueError(…)`.",
            )
        if isinstance(node, ast.Call):
            node = ast.copy_location(
                ast.Call(
                    node.func,
                    [self.simple(argument) for argument in node.args],
                    [ast.copy_location(ast.keyword(k.arg, self.simple(k.value)), k) for k in node.keywords],
                ),
                node,
            )
        return node, kind

    def _record(self, exception: ast.expr, kind: type[BaseException], node: ast.AST) -> None:
        where = self._where_failures_go()
        reads = read_names(exception)
        inputs = [name for name in reads if name in self.local or name.startswith("_hb_")]
        target = ast.copy_location(ast.Name(_EXCEPTION, ast.Store()), node)
        statement = ast.copy_location(ast.Assign([target], exception), node)
        constants = {name: value for name, value in self.constants.items() if name in reads}
        make = compile_primitive(self.source, [statement], inputs, [_EXCEPTION], constants)
        failures = self.callees.failures
        recorder = Recorder(len(failures.all) + 1, kind, self.source.text(node), make, self.location(node), self._words)
        failures.all.append(recorder)
        outputs = tuple(map(self.variable, (FAILURE, DETAILS)))
        places = tuple(self.location(reads[name]) for name in inputs)
        operands = tuple(map(self.variable, inputs))
        self.blocks.add(
            PrimOp(operands, outputs, recorder, recorder.text, location=self.location(node), read_at=places)
        )
        self.blocks.end(GotoOp(where, location=self.location(node)))

    def test_after(self, status: str, failing: CanFail, node: ast.AST) -> None:
        """Behind straight-line code that fails in some lanes: keep in mind to test for that."""
        self.untested.append(Untested(status, failing, node))
        if self.tries:  # what comes next must not be done
            self.test_statements()

    def test_statements(self) -> None:
        """Before control leaves a block: if something in it failed, go to where failures go.

        What is computed between is computed in vain: nothing but the block itself sees it.
        """
        untested, self.untested = self.untested, []
        if not untested:
            return
        node = untested[0].node
        wrong, right = self.blocks.name("wrong"), self.blocks.name("right")
        self._test_status([one.status for one in untested], None, (wrong, right), node)
        self.blocks.start(wrong, self.location(node))
        ways = [(one, number, *way) for one in untested for number, way in enumerate(one.failing.failures, 1)]
        for one, number, kind, given in ways:
            other = None
            if (one, number) != ways[-1][:2]:
                this, other = self.blocks.name("this"), self.blocks.name("other")
                self._test_status([one.status], number, (this, other), one.node)
                self.blocks.start(this, self.location(one.node))
            self._record_by_itself(kind, given, one.node)
            if other is not None:
                self.blocks.start(other, self.location(one.node))
        self.blocks.start(right, self.location(node))

    def _record_by_itself(self, kind: type[Exception], given: Sequence[Any], node: ast.AST) -> None:
        """Raise what an operation raises by itself."""
        name = ast.copy_location(self.constant(kind), node)
        arguments: list[ast.expr] = [ast.copy_location(ast.Constant(value), node) for value in given]
        around = self.tries
        if issubclass(kind, CapacityError):  # which is none of Python's
            self.tries = ()
        self._record(ast.copy_location(ast.Call(name, arguments, []), node), kind, node)
        self.tries = around

    def _test_status(self, statuses: Sequence[str], number: int | None, sides: tuple[str, str], node: ast.AST) -> None:
        """Branch on whether one of some statements failed, or one in one of its ways."""
        name = self.temporary("if")
        which = ast.copy_location(ast.Constant(number), node)
        loads = [ast.copy_location(ast.Name(status, ast.Load()), node) for status in statuses]
        target = ast.copy_location(ast.Name(name, ast.Store()), node)
        test = helper("__hb_has_failed_by_itself", [which, *loads], node)
        statement = ast.copy_location(ast.Assign([target], test), node)
        text = "has failed" if number is None else f"has failed, {number}"
        self.primitive([statement], [name], node, text, tests=True)
        self.blocks.end(BranchOp(self.variable(name), *sides, location=self.location(node)))

    def _is_handled(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and bool(self.handled) and self.handled[-1].name == node.id

    def _fail_again(self, node: ast.Raise) -> None:
        if not self.handled:
            raise UnsupportedSyntaxError(
                "`raise` stands outside of an `except`", self.location(node), help="say what is raised."
            )
        where = self._where_failures_go()
        self._move(self.handled[-1].failure, FAILURE, node)
        self._move(self.handled[-1].details, DETAILS, node)
        self.blocks.end(GotoOp(where, location=self.location(node)))

    def _move(self, source: str, target: str, node: ast.AST) -> None:
        self.assign(target, ast.copy_location(ast.Name(source, ast.Load()), node), node)

    def after_call(self, node: ast.Call) -> None:
        """Behind a call of a function that may raise: on, or to where failures go."""
        where = self._where_failures_go()
        if self.in_tail:
            return  # both leave the function
        on = self.blocks.name("went_well")
        name = self.temporary("if")
        target = ast.copy_location(ast.Name(name, ast.Store()), node)
        test = helper("__hb_has_failed", [ast.copy_location(ast.Name(FAILURE, ast.Load()), node)], node)
        statement = ast.copy_location(ast.Assign([target], test), node)
        self.primitive([statement], [name], node, "$failure != 0")
        self.blocks.end(BranchOp(self.variable(name), where, on, location=self.location(node)))
        self.blocks.start(on, self.location(node))

    # try

    def attempt(self, node: ast.Try) -> None:
        """``try``."""
        if node.finalbody:
            self._attempt_finally(node)
        else:
            self._attempt(node)

    def _attempt_finally(self, node: ast.Try) -> None:
        """``try: … finally: …``; what is last is done on each way out."""
        caught, after = self.blocks.name("caught"), self.blocks.name("after_try")
        inner = ast.copy_location(ast.Try(node.body, node.handlers, node.orelse, []), node)
        with self._within(Try(caught, len(self.loops), tuple(node.finalbody))):
            self.statements([inner] if node.handlers else node.body)
        if self.blocks.is_open:
            self.statements(node.finalbody)
        self.blocks.end(GotoOp(after, location=self.location(node)))
        if self._goes_to(caught):
            self.blocks.start(caught, self.location(node))
            kept = self._keep(None, node)
            self.statements(node.finalbody)
            if self.blocks.is_open:
                where = self._where_failures_go()
                self._move(kept.failure, FAILURE, node)
                self._move(kept.details, DETAILS, node)
                self.blocks.end(GotoOp(where, location=self.location(node)))
        if self._goes_to(after):
            self.blocks.start(after, self.location(node))

    def _attempt(self, node: ast.Try) -> None:
        caught, after = self.blocks.name("caught"), self.blocks.name("after_try")
        kinds = tuple(kind for handler in node.handlers for kind in caught_kinds(handler, self.source, self.local))
        self._learn_caught(kinds)
        with self._within(Try(caught, len(self.loops))):
            self.statements(node.body)
        if self.blocks.is_open:
            self.statements(node.orelse)
        if not self._goes_to(caught) and self.blocks.is_open:
            self._check_handlers(node)
        self.blocks.end(GotoOp(after, location=self.location(node)))
        if self._goes_to(caught):
            self.blocks.start(caught, self.location(node.handlers[0]))
            for handler in node.handlers:
                self._handler(handler, after)
            if self.blocks.is_open:
                self.blocks.end(GotoOp(self._where_failures_go(), location=self.location(node)))
        if self._goes_to(after):
            self.blocks.start(after, self.location(node))

    def _handler(self, node: ast.ExceptHandler, after: str) -> None:
        handle, otherwise = self.blocks.name("except"), self.blocks.name("not_caught")
        if node.type is None:
            self.blocks.end(GotoOp(handle, location=self.location(node)))
        else:
            failure = ast.copy_location(ast.Name(FAILURE, ast.Load()), node.type)
            failures = ast.copy_location(self.constant(self.callees.failures), node.type)
            test = helper("__hb_caught", [failures, failure, node.type], node.type)
            name = self.temporary("if")
            target = ast.copy_location(ast.Name(name, ast.Store()), node.type)
            statement = ast.copy_location(ast.Assign([target], test), node.type)
            self.primitive([statement], [name], node.type, f"except {self.source.text(node.type)}")
            self.blocks.end(BranchOp(self.variable(name), handle, otherwise, location=self.location(node.type)))
        self.blocks.start(handle, self.location(node))
        kept = self._keep(node.name, node)
        self._check_name(node)
        before, self.handled = self.handled, (*self.handled, kept)
        self.assign(FAILURE, ast.copy_location(ast.Constant(0), node), node)
        self.statements(node.body)
        self.handled = before
        self.blocks.end(GotoOp(after, location=self.location(node)))
        if node.type is not None:
            self.blocks.start(otherwise, self.location(node))

    def _keep(self, name: str | None, node: ast.AST) -> Handled:
        kept = Handled(name, self.temporary("failure"), self.temporary("details"))
        self._move(FAILURE, kept.failure, node)
        self._move(DETAILS, kept.details, node)
        return kept

    def _check_name(self, node: ast.ExceptHandler) -> None:
        """Refuse to look at an exception: what it is made of is known on the host alone."""
        again = [part.exc for part in ast.walk(node) if isinstance(part, ast.Raise)]
        again += [part.cause for part in ast.walk(node) if isinstance(part, ast.Raise)]
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and part.id == node.name and not any(part is other for other in again):
                raise UnsupportedSyntaxError(
                    f"the exception {node.name!r} is looked at, which differs between lanes",
                    self.location(part),
                    help="keep what is needed of it in a variable before it is raised.",
                )

    def _check_handlers(self, node: ast.Try) -> None:
        """Refuse handlers that nothing goes to once all is known: what Python would raise there, JAX does not."""
        handler = node.handlers[0]
        error = UnsupportedSyntaxError(
            "nothing in this `try` raises for a lane by itself",
            self.location(handler.type or handler),
            help="test for it with `if`, or `raise` where it happens.",
        )
        refused = helper("__hb_doubt", [ast.copy_location(self.constant(error), handler)], handler)
        self.assign(self.temporary(), refused, handler)

    @contextmanager
    def _within(self, one: Try) -> Iterator[None]:
        self.test_statements()
        before, self.tries = self.tries, (*self.tries, one)
        try:
            yield
            self.test_statements()
        finally:
            self.tries = before

    def leave(self, loops: int = -1) -> None:
        """Before control leaves: what is last in each ``try`` that it leaves.

        Args:
            loops: How many loops are around the code that it goes to; -1 if that is the end of the function.
        """
        before = self.tries
        while self.blocks.is_open and self.tries and self.tries[-1].loops > loops:
            last = self.tries[-1].last
            self.tries = self.tries[:-1]
            self.statements(list(last))
        self.tries = before

    def primitive(
        self, body: Sequence[ast.stmt], outputs: Sequence[str], node: ast.AST, text: str, *, tests: bool = False
    ) -> None:
        """The same, where operations say what they raise if the program catches it."""
        facts = self.callees.facts
        caught, careful = facts.of(Caught, PROGRAM), facts.of(Careful, PROGRAM) is not None
        if (caught or careful) and not tests:
            wants = [placed(self.constant(value), node) for value in (caught.kinds if caught else (), careful)]
            body = [placed(ast.Expr(helper("__hb_wants", wants, node)), node), *body]
        super().primitive(body, outputs, node, text, tests=tests)

    def held_back(
        self, outputs: Sequence[str], changed: Sequence[str], failing: CanFail, node: ast.AST
    ) -> dict[str, str]:
        """In a ``try``, what a handler may read.

        Raises:
            UnsupportedSyntaxError: It would see what a method has changed, though its argument failed.
        """
        if not self.tries:
            return {}
        if changed and any(issubclass(kind, _OF_ARGUMENTS) for kind, _ in failing.failures):
            raise UnsupportedSyntaxError(
                f"in a `try`, this changes {changed[0]!r} in place, and computes what may raise",
                self.location(node),
                help="compute it in a statement before, as in `x = 10 // n`, then `items.append(x)`.",
            )
        return {n: self.temporary(HELD_BACK) for n in outputs if n not in changed and not n.startswith(TEMPORARY)}

    def _learn_caught(self, kinds: Sequence[type[BaseException]]) -> None:
        """Learn that the program catches what operations raise by themselves: all of its operations do, then."""
        caught = self.callees.facts.of(Caught, PROGRAM)
        known = caught.kinds if caught else ()
        new = tuple(kind for kind in OF_LANES if kind not in known and any(issubclass(kind, other) for other in kinds))
        if new:
            raise Learned(PROGRAM, Caught((*known, *new)))
