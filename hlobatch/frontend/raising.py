"""``raise``, ``assert`` and calls of functions that may raise -> jumps to the handler of failures.

::

    if x < 0:                            %$failure, %$details = prim "raise ValueError(x)" (%x)
        raise ValueError(x)       ==>    jump failed
    y = root(x)                          …
                                         %y, %$failure, %$details = call @root(%x)
                                         branch "$failure != 0" (%$failure), failed, went_well

A function that may raise returns ``$failure`` beside its result: the number of the ``raise`` that was reached, or 0;
and ``$details``, the values that the exception's message is made of, encoded in words. The caller then goes to the
handler around the call (``try_statements.py``), or returns both itself. Each lane does so on its own; the host makes
the user's exceptions from the failures that the whole program returns (``ir/failures.py``).

Whether a function may raise is a fact (``Raises``), learned at the first ``raise`` in it: a program in which nothing
raises has no such variables.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from hlobatch.diagnostics import UnsupportedSyntaxError
from hlobatch.frontend.callees import Callee
from hlobatch.frontend.expressions import ExpressionLowering, parameter_names
from hlobatch.frontend.failures import AlwaysRaises, LooksAt, Raises, Recorder, Relay, Words
from hlobatch.frontend.harm_of_code import harm_of
from hlobatch.frontend.nodes import Comprehension, all_arguments, located
from hlobatch.frontend.operands import operands_of, with_operands
from hlobatch.frontend.primitives import compile_primitive
from hlobatch.frontend.rewriting.references import columns
from hlobatch.frontend.scopes import TEMPORARY, read_names
from hlobatch.frontend.syntax import assigned, helper, literal, load
from hlobatch.ir.code import UNDEFINED
from hlobatch.ir.failures import CAUGHT, RAISED
from hlobatch.ir.ops import HALT, NO_RESULT, PrimOp
from hlobatch.values.facts import WHOLE_PROGRAM, Learned, of_function

FAILURE: Final = f"{TEMPORARY}failure"
"""The variable with the number of a failure; 0 if there is none."""
DETAILS: Final = f"{TEMPORARY}details"
"""The variable with the words of a failure."""
RESULT: Final = f"{TEMPORARY}result"
"""The variable with the result of a function."""
_EXCEPTION: Final = f"{TEMPORARY}exception"


def _is_name(targets: Sequence[ast.expr], name: str) -> bool:
    return len(targets) == 1 and isinstance(targets[0], ast.Name) and targets[0].id == name


@dataclass(frozen=True)
class Try:
    """A ``try`` around the code that is being lowered.

    Attributes:
        caught: The block of its handlers.
        loops: The number of loops around it.
        last: The statements of its ``finally``.
    """

    caught: str
    loops: int
    last: tuple[ast.stmt, ...] = ()


@dataclass(frozen=True)
class Handled:
    """An ``except`` around the code that is being lowered.

    Attributes:
        name: The user's name for the exception, or None.
        failure: The variable that keeps the number of the failure that is handled.
        details: The variable that keeps its words.
        caught: The variables that keep exceptions themselves, one for each class in ``LooksAt.raised``.
    """

    name: str | None
    failure: str
    details: str
    caught: tuple[str, ...] = ()


class RaisingLowering(ExpressionLowering):
    """Lowers ``raise``, ``assert``, and the tests behind calls of functions that may raise.

    Attributes:
        loops: The loops around the code that is being lowered, the innermost last.
        tries: Each ``try`` around that code, the innermost last.
        handled: Each ``except`` around that code, the innermost last.
        tail: The call in tail position, while it is being lowered.
        leaves_out_texts: Whether the code that is being lowered makes an exception, whose text the host makes.
    """

    loops: list[Any]
    tries: tuple[Try, ...] = ()
    handled: tuple[Handled, ...] = ()
    tail: ast.expr | None = None
    leaves_out_texts: bool = False
    _failed: str | None = None

    # A function that may raise

    def begin_failures(self, node: ast.AST) -> None:
        """Emit, at the entry of a function that may raise, that there is no failure yet."""
        if self.callee.raises:
            self.assign(FAILURE, literal(0, node), node)
            self.assign(DETAILS, helper("__hb_no_details", [literal(self._words, node)], node), node)
            self._no_exception(node)

    def _no_exception(self, node: ast.AST) -> None:
        """Emit that there is no exception whose parts may be read."""
        for name in self.caught_in:
            self._undefined(name, node)

    def _undefined(self, name: str, node: ast.AST) -> None:
        """Emit that a variable has no value."""
        self.blocks.add(PrimOp((), (self.variable(name),), UNDEFINED, NO_RESULT, location=self.location(node)))

    @property
    def looks_at(self) -> LooksAt:
        """What the program reads parts of, if anything."""
        return self.callees.facts.of(LooksAt, WHOLE_PROGRAM) or LooksAt()

    @property
    def caught_in(self) -> tuple[str, ...]:
        """The variables with exceptions themselves."""
        return tuple(f"{TEMPORARY}{CAUGHT[1:]}{number}" for number in range(len(self.looks_at.raised)))

    @property
    def failing(self) -> tuple[str, ...]:
        """The variables of a failure."""
        return (FAILURE, DETAILS, *self.caught_in)

    def _kept_in(self, kind: type[BaseException]) -> str | None:
        """The variable for exceptions of a class that a handler may read parts of; None if there is no such handler.

        Raises:
            Learned: The class is new.
        """
        looks_at = self.looks_at
        if not issubclass(kind, looks_at.caught):
            return None
        if kind not in looks_at.raised:
            raise Learned(WHOLE_PROGRAM, LooksAt(raised=(kind,)))
        return self.caught_in[looks_at.raised.index(kind)]

    def end_failures(self, node: ast.AST) -> None:
        """Emit the block through which failed lanes leave the function, without a result."""
        if self._failed is not None:
            self.blocks.start(self._failed, self.location(node))
            for name in (RESULT, *self._lost):
                self._undefined(name, node)
            self.go(HALT, node)
        self._learn_whether_it_returns()

    def _learn_whether_it_returns(self) -> None:
        """Learn that every path through the function raises; or that one does not, though none did as far as known."""
        site = of_function(self.callee.key)
        if self.blocks.returns(but=self._failed):
            if self.callee.always_raises:
                self.callees.learn(site, AlwaysRaises(is_so=False))
        elif self._failed is not None and self.callees.facts.of(AlwaysRaises, site) is None:
            self.callees.learn(site, AlwaysRaises())

    @property
    def _lost(self) -> tuple[str, ...]:
        """What a function gives back that nobody reads if it fails: without handlers all, else the object it makes."""
        if not self.has_try:
            return self.callee.given_back
        if self.source.function.__name__ not in ("__init__", "__post_init__"):
            return ()
        return tuple(name for name in parameter_names(self.source)[:1] if name in self.given_back)

    @property
    def given_back(self) -> tuple[str, ...]:
        """The variables that the function returns beside its result."""
        return (*self.callee.given_back, *(self.failing if self.callee.raises else ()))

    @property
    def _words(self) -> int:
        """The number of words for the details of a failure in this program."""
        known = self.callees.facts.of(Words, WHOLE_PROGRAM)
        return 1 if known is None else known.size

    def where_failures_go(self) -> str:
        """The block of the innermost handler, or the block through which failed lanes leave the function."""
        if not self.callee.raises:
            self.callees.begin_anew(of_function(self.callee.key), Raises())
        if self.tries:
            return self.tries[-1].caught
        if self._failed is None:
            self._failed = self.blocks.name("failed")
        return self._failed

    def outlives_failure(self, name: str) -> bool:
        """Whether a handler or the caller may read a variable after a statement that assigns it has raised."""
        is_temporary = name.startswith(TEMPORARY) and name not in columns()
        return not is_temporary and (bool(self.tries) or name in self.callee.given_back)

    # Calls

    def told(self, callee: Callee) -> tuple[str, ...]:
        """The variables that receive the failure code and details of a call."""
        if not callee.raises:
            return ()
        if not self._is_told_apart(callee):
            return self.failing
        return tuple(f"{TEMPORARY}{RAISED[1:]}_{name.removeprefix(TEMPORARY)}" for name in self.failing)

    def _is_told_apart(self, callee: Callee) -> bool:
        """Whether the failure of a call has variables of its own until it is known that there is one.

        In a ``try``, other statements also fail, with other numbers, and go to the same handler. A number that is known
        decides the test behind its call only if the variable holds no other.
        """
        return callee.always_raises or bool(self.tries)

    def after_call(self, node: ast.Call, callee: Callee) -> None:
        """Emit, behind a call of a function that may raise, a branch to the handler."""
        where, is_of_library = self.where_failures_go(), callee.source.is_of_prelude and not self.source.is_of_prelude
        is_apart = self._is_told_apart(callee)
        if node is self.tail and not is_of_library and not is_apart:
            return  # the function returns the failure of the call with its result
        went_well = self.blocks.name("went_well")
        if not callee.always_raises:
            failed = self.blocks.name("wrong") if is_of_library or is_apart else where
            test = helper("__hb_has_failed", [load(self.told(callee)[0], node)], node)
            self.branch_on(test, failed, went_well, node, "$failure != 0", tests=True)
            if failed == where:
                self.blocks.start(went_well, self.location(node))
                return
            self.blocks.start(failed, self.location(node))
        if is_apart:
            for name, raised in zip(self.failing, self.told(callee), strict=True):
                self.move(raised, name, node)
        self._relay(where, node) if is_of_library else self.go(where, node)
        if not callee.always_raises:
            self.blocks.start(went_well, self.location(node))
            if is_apart:  # both are results of this function, and must not live across a call of itself
                self.assign(FAILURE, literal(0, node), node)
                self.move(self.told(callee)[1], DETAILS, node)
                self._no_exception(node)

    def _relay(self, where: str, node: ast.Call) -> None:
        """Emit a failure of a call of a library function."""
        text, place, failure = self.source.text(node), self.location(node), self.variable(FAILURE)
        known = self.callees.failures
        relay = self.callees.fails(lambda number: Relay(number, text, place, known))
        self.blocks.add(PrimOp((failure,), (failure,), relay, text, location=place, read_at=(place,)))
        self.go(where, node)

    # raise, assert

    def fail(self, node: ast.Raise) -> None:
        """Lower ``raise``."""
        if node.exc is None or self._is_handled(node.exc):
            self._fail_again(node)
            return
        exception, kind = self._exception(node.exc)
        kept = None if self.source.is_of_prelude else self._kept_in(kind)
        if kept is None:
            self.record(exception, kind, node)
            return
        is_made = isinstance(exception, ast.Call) or isinstance(self.static_value(exception), type)
        made = (
            located(ast.Call(exception, [], []), node) if is_made and not isinstance(exception, ast.Call) else exception
        )
        self.leaves_out_texts = True
        self.store(kept, made, node)
        self.leaves_out_texts = False
        self.record(exception, kind, node, is_kept=True)

    def fail_unless(self, node: ast.Assert) -> None:
        """Lower ``assert``."""
        wrong, right = self.blocks.name("wrong"), self.blocks.name("right")
        self.conditions.branch(node.test, right, wrong)
        self.blocks.start(wrong, self.location(node))
        arguments = self._computed([] if node.msg is None else [node.msg])
        self.record(helper("__hb_AssertionError", arguments, node), AssertionError, node)
        self.blocks.start(right, self.location(node))

    def _exception(self, node: ast.expr) -> tuple[ast.expr, type[BaseException]]:
        """The exception that is raised, as straight-line code, and its class."""
        made = node.func if isinstance(node, ast.Call) else node
        kind = self.static_value(made)
        if isinstance(node, ast.Name) and node.id in self.local:
            kind = self._made_before(node.id)
        if not (isinstance(kind, type) and issubclass(kind, BaseException)):
            raise UnsupportedSyntaxError(
                "the class of what is raised is not known",
                self.location(node),
                help="write it out, as in `raise ValueError(…)`.",
            )
        if isinstance(node, ast.Call):
            computed = iter(self._computed(all_arguments(node)))
            arguments = [next(computed) for _ in node.args]
            keywords = [located(ast.keyword(k.arg, next(computed)), k) for k in node.keywords]
            node = located(ast.Call(node.func, arguments, keywords), node)
        return node, kind

    def _computed(self, arguments: Sequence[ast.expr]) -> list[ast.expr]:
        """The arguments of an exception, in which the lane has computed what may raise by itself or has an effect.

        The host, which makes the exception, makes the texts of the values.
        """
        before = self.steps
        self.steps = before.union(*map(self.changed_by, arguments))
        computed = self.evaluated_in_order(arguments)
        self.steps = before
        return [self._with_parts_that_may_raise(argument) for argument in computed]

    def _with_parts_that_may_raise(self, node: ast.expr) -> ast.expr:
        """Straight-line code in which variables stand for the parts that may raise, or change an object."""
        if isinstance(node, (ast.Lambda, ast.GeneratorExp)) or self._is_made_by_host(node):
            return node
        harm = harm_of(node, self)
        if harm.raises or harm.changes:
            return load(self.as_variable(node, node), node)
        if isinstance(node, Comprehension):  # its parts are not evaluated once
            return node
        parts = operands_of(node)
        return with_operands(node, {id(part): self._with_parts_that_may_raise(part) for part in parts})

    def _is_made_by_host(self, node: ast.expr) -> bool:
        """Whether an expression makes bytes, which lanes cannot have."""
        return isinstance(node, ast.Call) and self.static_value(node.func) in (bytes, bytearray)

    def _made_before(self, name: str) -> Any:
        """The class of the exceptions that are assigned to a variable; None if there are other values or classes."""
        around = (part for part in ast.walk(self.source.node) if isinstance(part, ast.stmt))
        values = [part.value for part in around if isinstance(part, ast.Assign) and _is_name(part.targets, name)]
        stores = [part for part in ast.walk(self.source.node) if isinstance(part, ast.Name) and part.id == name]
        is_all = sum(isinstance(part.ctx, ast.Store) for part in stores) == len(values)
        kinds = {self.static_value(value.func) if isinstance(value, ast.Call) else None for value in values}
        return kinds.pop() if is_all and len(kinds) == 1 and name not in self.source.signature.parameters else None

    def record(self, exception: ast.expr, kind: type[BaseException], node: ast.AST, *, is_kept: bool = False) -> None:
        """Emit that lanes which reach this code fail, and go to the handler.

        Args:
            exception: The exception, as straight-line code to be run on the host.
            kind: Its class.
            node: The statement that raises it.
            is_kept: Whether the exception is in its variable already, so that its parts can be read.
        """
        where = self.where_failures_go()
        if not is_kept and (kept := self._kept_in(kind)) is not None:
            self.primitive([assigned(kept, literal(None, node), node)], [kept], node, "None", tests=True)
        reads = read_names(exception)
        inputs = [name for name in reads if name in self.local or name.startswith(TEMPORARY)]
        constants = {name: value for name, value in self.constants.items() if name in reads}
        body = [assigned(_EXCEPTION, exception, node)]
        make = compile_primitive(self.source, body, inputs, [_EXCEPTION], constants)
        text, place, words = self.source.text(node), self.location(node), self._words
        recorder = self.callees.fails(lambda number: Recorder(number, kind, text, make, place, words))
        self.blocks.add(
            PrimOp(
                tuple(map(self.variable, inputs)),
                (self.variable(FAILURE), self.variable(DETAILS)),
                recorder,
                recorder.text,
                location=self.location(node),
                read_at=tuple(self.location(reads[name]) for name in inputs),
            )
        )
        self.go(where, node)

    def _is_handled(self, node: ast.expr) -> bool:
        """Whether an expression is the name of the exception that is being handled."""
        return isinstance(node, ast.Name) and bool(self.handled) and self.handled[-1].name == node.id

    def _fail_again(self, node: ast.Raise) -> None:
        """Lower a ``raise`` of the exception that is being handled."""
        if not self.handled:
            raise UnsupportedSyntaxError(
                "`raise` stands outside of an `except`", self.location(node), help="say what is raised."
            )
        self.fail_as(self.handled[-1], node)

    def fail_as(self, kept: Handled, node: ast.AST) -> None:
        """Emit that lanes fail with a failure that an ``except`` has kept."""
        where = self.where_failures_go()
        self.move(kept.failure, FAILURE, node)
        self.move(kept.details, DETAILS, node)
        for own, name in zip(kept.caught, self.caught_in, strict=True):
            self.move(own, name, node)
        self.go(where, node)

    def move(self, source: str, target: str, node: ast.AST) -> None:
        """Emit ``target = source``."""
        self.assign(target, load(source, node), node)

    def leave(self, loops: int = -1) -> None:
        """Emit, before control leaves, the ``finally`` of each ``try`` that it leaves.

        Args:
            loops: The number of loops around the target of the jump; -1 if that is the end of the function.
        """
        before = self.tries
        while self.blocks.is_open and self.tries and self.tries[-1].loops > loops:
            last = self.tries[-1].last
            self.tries = self.tries[:-1]
            self.statements(list(last))
        self.tries = before
