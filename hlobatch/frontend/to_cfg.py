"""Statements of a function -> its control flow graph, as a function of a program.

::

    while n > 0:              entry:   jump while
        n = step(n)    ==>    while:   %$if1 = prim "n > 0" (%n); branch %$if1, body, after_while
    return n                  body:    %n = call @step(%n); jump after_step
                              after_step: jump while
                              after_while: %$result = prim "n" (%n); halt

The graph leaves by ``HALT``, with the result in the variable ``$result``. A call in tail position writes ``$result``
directly and its block goes to ``HALT``, by which later passes recognize it.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from functools import singledispatchmethod
from typing import Any, Final, TypeVar

from hlobatch.analysis.aliases import AnotherName
from hlobatch.analysis.mutation import refuse_generator
from hlobatch.analysis.reach import may_change
from hlobatch.diagnostics import HloBatchError, UnsupportedSyntaxError
from hlobatch.frontend import by_place, in_place_calls
from hlobatch.frontend.asked import Asking
from hlobatch.frontend.assignments import AssignmentLowering, outside
from hlobatch.frontend.by_kind import for_each_kind
from hlobatch.frontend.callees import BATCH_MARK, Callee, is_sync
from hlobatch.frontend.changes import objects_changed
from hlobatch.frontend.conditions import called_on_each
from hlobatch.frontend.effects import has_host_do, speaks
from hlobatch.frontend.expressions import parameter_names
from hlobatch.frontend.failing_statements import FailingLowering
from hlobatch.frontend.following import Calls
from hlobatch.frontend.in_place_calls import ChangesArray
from hlobatch.frontend.in_turn import kept_iterators, used_up
from hlobatch.frontend.in_turn.counts import as_while
from hlobatch.frontend.in_turn.drawn import Iterates
from hlobatch.frontend.in_turn.filled import FilledInTurn, filling_of, reads_container, statements
from hlobatch.frontend.in_turn.generator_loops import GeneratorLoop
from hlobatch.frontend.in_turn.kept_iterators import GivesInTurn
from hlobatch.frontend.in_turn.loops_in_turn import loop_in_turn
from hlobatch.frontend.in_turn.with_body import Leave, Once
from hlobatch.frontend.loops import ForLowering
from hlobatch.frontend.nodes import located, walk, with_fields
from hlobatch.frontend.own_methods import NEXT
from hlobatch.frontend.patterns import MatchLowering
from hlobatch.frontend.printing import as_statement
from hlobatch.frontend.raising import RESULT
from hlobatch.frontend.scopes import MISSING, root_of, stored_names, with_parts
from hlobatch.frontend.support import INSTEAD_OF_LOGGING, instead_of_effect, refusal
from hlobatch.frontend.syntax import helper, literal, load
from hlobatch.frontend.try_statements import TryLowering
from hlobatch.frontend.whole_function import Loop
from hlobatch.ir.ops import HALT
from hlobatch.ir.program import Function
from hlobatch.values.facts import WHOLE_PROGRAM, HasToReturn, of_code

T = TypeVar("T")

DROPPED: Final = "dropped"
"""Prefix of temporaries for the value of an expression that is a statement."""


class FunctionLowering(FailingLowering):
    """Lowers the statements of one function."""

    def __init__(self, callee: Callee, callees: Asking) -> None:
        super().__init__(callee, callees)
        self.loops: list[Loop] = []

    @classmethod
    def lowered(cls, callee: Callee, callees: Asking) -> Function:
        """The function of a program for a callee."""
        lowering = cls(callee, callees)
        try:
            return lowering.function()
        finally:
            lowering.blocks.before_end = None  # breaks a circle of references, so that the lowering is freed at once

    def function(self) -> Function:
        """Lower the whole function."""
        node = self.source.node
        self.blocks.start(self.blocks.name("entry"), self.location(node))
        self.begin_failures(node)
        for name in objects_changed(node):
            self.assign(name, helper("__hb_own", [load(name, node.body[0])], node.body[0]), node.body[0])
        self.statements(node.body)
        if self.blocks.is_open:
            self.give_back(literal(None, node.body[-1]), node.body[-1])
        self.end_failures(node)
        return Function(
            self.callee.name,
            self.blocks.graph(),
            tuple(map(self.variable, (*self.callee.captured, *parameter_names(self.source)))),
            tuple(map(self.variable, (RESULT, *self.given_back))),
            self.callee.type_inference,
            self.source.definition,
        )

    def statements(self, body: list[ast.stmt]) -> None:
        """Lower statements up to the first that control cannot pass."""
        while body and self.blocks.is_open:
            statement, *body = body
            named = by_place.of_name(self, statement, body) if self.callees.facts.has(AnotherName) else None
            given, body = named or ([statement], body)
            for one in given:
                self._whole_statement(one)

    def _whole_statement(self, node: ast.stmt) -> None:
        """Lower one statement, in one of the ways in which statements of all kinds are lowered."""
        if for_each_kind(self, node):
            return
        with self.by_steps(node):
            if not self._filled_in_turn(node):
                self.statement(node)

    def _filled_in_turn(self, node: ast.stmt) -> bool:
        """Lower a statement that fills a container, if it shows that Python does so item by item."""
        if not isinstance(node, (ast.Expr, ast.AugAssign)) or (filling := filling_of(node, self)) is None:
            return False
        reads = reads_container(filling, self)
        if not reads and self.callees.facts.of(FilledInTurn, of_code(self.location(node))) is None:
            return False
        self.filling = None
        self.statements(statements(filling, self.temporary_at(filling.items), self.temporary, reads=reads))
        return True

    @singledispatchmethod
    def statement(self, node: ast.stmt) -> None:
        """Lower one statement.

        Raises:
            UnsupportedSyntaxError: No method below handles it.
        """
        raise self.unsupported(node)

    @statement.register
    def _pass(self, node: ast.Pass) -> None:
        pass

    @statement.register
    def _function(self, node: ast.FunctionDef) -> None:
        self._check_decorators(node)
        AssignmentLowering(self).define(node.name, node)

    def _check_decorators(self, node: ast.FunctionDef) -> None:
        for decorator in node.decorator_list:
            function = decorator.func if isinstance(decorator, ast.Call) else decorator
            if not hasattr(self.static_value(function), BATCH_MARK):
                raise UnsupportedSyntaxError(
                    "a function defined inside has a decorator",
                    self.location(decorator),
                    help="leave the decorator out, as can be done with a cache; or define the function outside.",
                )

    @statement.register
    def _raise(self, node: ast.Raise) -> None:
        self.fail(node)

    @statement.register
    def _assert(self, node: ast.Assert) -> None:
        self.fail_unless(node)

    @statement.register
    def _try(self, node: ast.Try) -> None:
        TryLowering(self).attempt(node)

    @statement.register
    def _nonlocal(self, node: ast.Nonlocal) -> None:
        """Refuse ``nonlocal`` names of functions around the batched function, which are outside of the program."""
        around = self.local.intersection(node.names).difference(self.callee.changed)
        if around:
            raise UnsupportedSyntaxError(
                outside(min(around)), self.location(node), help="pass the value in and return it."
            )

    @statement.register(ast.Import)
    @statement.register(ast.ImportFrom)
    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        names = [(alias.asname or alias.name).split(".")[0] for alias in node.names]
        self.primitive([node], names, node, self.source.text(node))

    @statement.register
    def _expression(self, node: ast.Expr) -> None:
        value = called_on_each(node.value)
        match value:
            case ast.Constant():
                return
            case ast.NamedExpr():
                self.simple(value)
            case ast.IfExp() | ast.BoolOp():
                self.statement(as_statement(value))
            case ast.Call():
                self._call(value, node)
            case _:
                raise self._without_use(node)

    def _call(self, call: ast.Call, node: ast.Expr) -> None:
        """Lower a call that is a statement."""
        call = self._with_default_put(call, node)
        if (stored := self._as_assignment(call)) is not None:
            root = root_of(stored.targets[0])
            assert isinstance(root, ast.Name)
            self.changes_own(root.id)
            self.statement(stored)
        elif is_sync(call, self.source, self.local):
            self._sync(call, node)
        elif self.prints(call):
            self.simple(call)
        elif called := self.called(call):
            self.call(call, called, self.temporary(DROPPED))
        elif self.changes_growing_part(call):
            self.change_growing_part(call, node)
        elif has_host_do(self.static_value(call.func)):
            self.blocks.finish()
            self.assign(self.temporary(DROPPED), self.simple(call), node)
        elif self._may_change_its_arguments(call) or kept_iterators.is_next(call, self.static_value):
            value = self.simple(call)
            if not isinstance(value, ast.Name):  # the result of a call that is lowered already
                self.assign(self.temporary(DROPPED), value, node)
        else:
            raise self._without_use(node)

    def _as_assignment(self, call: ast.Call) -> ast.Assign | None:
        """The assignment with the effect of a call that writes into an array, or of `setattr`; None if it has none."""
        function = self.static_value(call.func)
        match call:
            case ast.Call(_, [place, ast.Constant(str() as name), value], []) if function is setattr:
                if isinstance(root_of(place), ast.Name):
                    return located(ast.Assign([located(ast.Attribute(place, name, ast.Store()), call)], value), call)
        if (stored := in_place_calls.of_function(call, function, self.constant)) is not None:
            return stored
        if not in_place_calls.is_method(call):
            return None
        if self.callees.facts.of(ChangesArray, self.site(call)) is not None:
            return in_place_calls.as_assignment(call, self.constant)
        assert isinstance(call.func, ast.Attribute)
        value = call.func.value
        check = helper("__hb_check_no_array", [self.constant(self.site(call)), value], value)
        self.primitive([located(ast.Expr(check), value)], [], value, self.source.text(value), tests=True)
        return None

    def _sync(self, call: ast.Call, node: ast.Expr) -> None:
        if call.args or call.keywords:
            raise UnsupportedSyntaxError(
                "`sync` takes no arguments", self.location(node), help="it marks a point: write `hb.sync()`."
            )
        self.blocks.start(self.blocks.name("sync"), self.location(node), sync=True)

    def _without_use(self, node: ast.Expr) -> UnsupportedSyntaxError:
        """The error for an expression that is a statement, and has no effect that a lane can have."""
        function = node.value.func if isinstance(node.value, ast.Call) else None
        value = MISSING if function is None else self.static_value(function)
        try:
            refuse_generator(value)
        except UnsupportedSyntaxError as drawn:
            return drawn.at(self.location(node))
        if function is not None and speaks(value):
            what, instead = (
                f"`{ast.unparse(function)}` is called, which Python does once, and no lane",
                INSTEAD_OF_LOGGING,
            )
        elif function is not None and (changed := self._changed_outside(function)):
            what, instead = outside(changed), instead_of_effect(node.value)
        else:
            what, instead = "the value of this expression is not used", instead_of_effect(node.value)
        return UnsupportedSyntaxError(what, self.location(node), help=instead)

    def _changed_outside(self, method: ast.expr) -> str:
        """The name of an object from outside of the function, whose method is called and may change it; else empty."""
        root = root_of(method) if isinstance(method, ast.Attribute) else None
        if not isinstance(method, ast.Attribute) or not isinstance(root, ast.Name):
            return ""
        return root.id if may_change(self.static_value(method.value)) else ""

    def _with_default_put(self, call: ast.Call, node: ast.Expr) -> ast.Call:
        """A method call on the result of ``setdefault``, as a call on the item, after the ``setdefault`` is emitted."""
        match call.func:
            case ast.Attribute(ast.Call(ast.Attribute(entries, "setdefault"), [key, default], []) as put, method):
                if not (self.holds_growing(entries) or self.callees.facts.has(AnotherName)):
                    return call
                name = self.temporary()
                self.assign(name, self.simple(key), node)
                place = located(ast.Subscript(entries, load(name, key), ast.Load()), put)
                there = located(ast.Call(put.func, [load(name, key), default], []), put)
                self.statement(located(ast.Expr(there), node))
                function = located(ast.Attribute(place, method, ast.Load()), call.func)
                return located(ast.Call(function, call.args, call.keywords), call)
        return call

    def _may_change_its_arguments(self, node: ast.Call) -> bool:
        """Whether a call may change a variable in place; tracing finds out whether it does."""
        return self.may_be_followed(node) or self.changes_argument(node)

    @statement.register
    def _global(self, node: ast.Global) -> None:
        """Refuse assignments to names that are declared ``global``; reads need nothing."""
        for part in ast.walk(self.source.node):
            if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load) and part.id in node.names:
                what, instead = refusal(node)
                raise UnsupportedSyntaxError(
                    f"{what} is not supported in a batched function", self.location(part), help=instead
                )

    @statement.register
    def _delete(self, node: ast.Delete) -> None:
        AssignmentLowering(self).delete_statement(node)

    @statement.register
    def _assign(self, node: ast.Assign) -> None:
        AssignmentLowering(self).assign_statement(node)

    @statement.register
    def _annotated(self, node: ast.AnnAssign) -> None:
        AssignmentLowering(self).annotated_assignment(node)

    @statement.register
    def _augmented(self, node: ast.AugAssign) -> None:
        AssignmentLowering(self).augmented_assignment(node)

    @statement.register
    def _match(self, node: ast.Match) -> None:
        MatchLowering(self, node).lower()

    @statement.register
    def _return(self, node: ast.Return) -> None:
        value = self.handed_on(node.value or literal(None, node))
        self.give_back(self._checked(value), node)

    def _checked(self, value: ast.expr) -> ast.expr:
        """A returned value, whose iterators of a lane's length are refused."""
        kept = [] if self.source.is_of_prelude else used_up.iterators_kept(value, self.source, self.local)

        def checked(node: Any) -> Any:
            if not any(node is one for one in kept):
                return with_parts(node, checked)
            return helper("__hb_once", [node, self.constant(self.source.text(node))], node)

        return checked(value) if kept else value

    def give_back(self, value: ast.expr, node: ast.AST) -> None:
        """Return a value. Each side of a conditional expression returns, so that its calls stay in tail position."""
        match value:
            case ast.IfExp():
                names = [self.blocks.name(stem) for stem in ("choose", "otherwise")]
                self.conditions.branch(value.test, *names)
                for name, side in zip(names, (value.body, value.orelse), strict=True):
                    self.blocks.start(name, self.location(side))
                    self.give_back(side, side)
            case ast.BoolOp() if self.called(value.values[-1]):
                self._give_back_short_circuit(value)
            case _:
                is_variable = self._is_the_same_after_the_last(value)
                if is_variable:
                    self.leave()
                if self._has_to_return():
                    value = helper("__hb_has_to_return", [value], node)
                if self.blocks.is_open:
                    self.tail = None if self.tries else value
                    self.store(RESULT, value, node)
                    self.tail = None
                if not is_variable:
                    self.leave()
                self.go(HALT, node)

    def _is_the_same_after_the_last(self, value: ast.expr) -> bool:
        """Whether a value is that of a variable, to which no ``finally`` on the way out gives another one.

        Such a ``finally`` may change the object itself, and the caller sees that.
        """
        last = [statement for one in self.tries for statement in one.last]
        if not last or not isinstance(value, ast.Name) or value.id not in self.local:
            return False
        declared = (part.names for part in walk(self.source.node) if isinstance(part, ast.Nonlocal))
        bound = frozenset().union(*declared, *(template.bound for template in self.scope.values()))
        return value.id not in bound.union(*map(stored_names, last))

    def _has_to_return(self) -> bool:
        """Whether the function returns the program's result, and that may be None in some lanes as far as types say."""
        known = self.callees.facts.of(HasToReturn, WHOLE_PROGRAM)
        return known is not None and known.function == self.callee.name

    def _give_back_short_circuit(self, value: ast.BoolOp) -> None:
        self.conditions.all_but_last(value, RESULT, HALT)
        self.give_back(value.values[-1], value.values[-1])

    @statement.register
    def _if(self, node: ast.If) -> None:
        around: list[tuple[ast.If, str, bool]] = []
        lowered: ast.If | None = node
        then, otherwise, after = self._test(node)
        while lowered is not None:  # not recursive, since each `elif` is nested in the one before
            node, lowered = lowered, None
            self.blocks.start(then, self.location(node.body[0]))
            self._side(node.body)
            around.append((node, after, self.blocks.is_open or not node.orelse))
            self.go(after, node)
            match node.orelse:
                case [ast.If() as inner]:
                    self.blocks.start(otherwise, self.location(inner))
                    tested = self._unless_refused(inner, functools.partial(self._test, inner))
                    if tested is not None:
                        lowered, (then, otherwise, after) = inner, tested
                case [first, *_]:
                    self.blocks.start(otherwise, self.location(first))
                    self._side(node.orelse)
        for outer, after, is_left in reversed(around):
            goes_on = is_left or self.blocks.is_open
            self.go(after, outer)
            if goes_on:
                self.blocks.start(after, self.location(outer))

    def _test(self, node: ast.If) -> tuple[str, str, str]:
        """Lower the test of an ``if``; return the names of the blocks for its sides and for the code after it."""
        then, otherwise, after = (self.blocks.name(stem) for stem in ("then", "else", "after_if"))
        self.conditions.branch(node.test, then, otherwise if node.orelse else after)
        return then, otherwise, after

    def _side(self, body: list[ast.stmt]) -> None:
        """Lower a side of a branch; unsupported code in it is refused only if tracing reaches it."""
        self._unless_refused(body[0], functools.partial(self.statements, body))

    def _unless_refused(self, node: ast.stmt, lower: Callable[[], T]) -> T | None:
        """The result of ``lower``; None if it refuses code, with an error that tracing raises at ``node``."""
        around = list(self.loops), self.tries, self.handled, self.path, list(self.untested), self._failed, self.drawn
        try:
            with self.blocks.all_or_nothing():
                return lower()
        except HloBatchError as error:
            self.loops, self.tries, self.handled, self.path, self.untested, self._failed, self.drawn = around
            refused = helper("__hb_refuse", [located(self.constant(error), node)], node)
            self.assign(self.temporary(), refused, node)
            return None

    @statement.register
    def _while(self, node: ast.While) -> None:
        head, body = self.blocks.name("while"), self.blocks.name("body")
        otherwise, after = self.blocks.name("else"), self.blocks.name("after_while")
        self.blocks.start(head, self.location(node.test))
        self.conditions.branch(node.test, body, otherwise if node.orelse else after)
        self.blocks.start(body, self.location(node.body[0]))
        self.loop_body(node.body, Loop(head, after))
        self.go(head, node)
        self.loop_end(node, otherwise, after)

    def loop_body(self, body: list[ast.stmt], loop: Loop) -> None:
        """Lower the body of a loop."""
        self.loops.append(loop)
        self.statements(body)
        self.loops.pop()

    def loop_end(self, node: ast.While | ast.For, otherwise: str, after: str) -> None:
        """Lower the end of a loop, with its ``else``."""
        if node.orelse:
            self.blocks.start(otherwise, self.location(node.orelse[0]))
            self.statements(node.orelse)
        self.go(after, node)
        self.blocks.start(after, self.location(node))

    @statement.register
    def _for(self, node: ast.For) -> None:
        if (endless := as_while(node, self.static_value, self.temporary)) is not None:
            self.statements(endless)
            return
        if (in_turn := loop_in_turn(node, self)) is not None:
            self.statements(in_turn)
            return
        if self._goes_in_turn(node.iter):
            node = with_fields(node, iter=kept_iterators.made(node.iter, self.static_value, self.constant))
        if (gives := self.callees.facts.of(GivesInTurn, self.site(node.iter))) is not None:
            self.statements(kept_iterators.as_while(node, gives, self.temporary))
            return
        own = self.callees.facts.of(Iterates, self.site(node.iter))
        if (turns := by_place.of_listed(self, node)) is not None:
            for turn in turns:
                self.statements(turn)
        elif calls := self.draws(node.iter) if own is None else Calls(own.function, "itself"):
            GeneratorLoop(self, node, calls).lower()
        else:
            ForLowering(self, by_place.of_items(self, node)).lower()

    def _goes_in_turn(self, items: ast.expr) -> bool:
        """Whether a loop goes over ``zip`` or ``enumerate`` of a variable that may hold an object with ``__next__``."""
        is_one = isinstance(items, ast.Call) and self.static_value(items.func) in (enumerate, zip)
        return is_one and kept_iterators.takes_in_turn(items) and self.is_overloaded((NEXT,), items)

    @statement.register
    def _once(self, node: Once) -> None:
        """Lower the body of a loop in place of a ``yield`` of the innermost generator."""
        after, path, drawn = self.blocks.name("next"), self.path, self.drawn
        assert isinstance(node.test, ast.Constant)
        assert isinstance(node.test.value, int)
        self.path, self.drawn = (*path, node.test.value), drawn[:-1]
        body = node.body
        if len(self.tries) > node.tries:  # what is yielded is computed inside of the generator's
            self.statements(body[:1])
            body = body[1:]
        handled, self.handled = self.handled, self.handled[: node.handled]
        with TryLowering(self).outside(node.tries, node):
            self.loop_body(body, Loop(after, after))
            self.go(after, node)
        self.path, self.drawn, self.handled = path, drawn, handled
        self.blocks.start(after, self.location(node))

    @statement.register
    def _break(self, node: ast.Break) -> None:
        depth = node.depth if isinstance(node, Leave) else len(self.loops) - 1
        self.leave(depth)
        self.go(self.loops[depth].after, node)

    @statement.register
    def _continue(self, node: ast.Continue) -> None:
        self.leave(len(self.loops) - 1)
        self.go(self.loops[-1].latch, node)
