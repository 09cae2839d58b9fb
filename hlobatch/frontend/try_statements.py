"""``try``, ``except``, ``else`` and ``finally`` -> blocks that handle failures.

::

    try:                                 %y, %$failure, %$details = call @root(%x)
        y = root(x)                      branch "$failure != 0" (%$failure), caught, went_well
    except ValueError:             ==>   caught:
        y = 0                              branch "except ValueError" (%$failure), except, not_caught
                                         except:
                                           %$failure = prim "0" ()
                                           %y = prim "0" ()
                                           jump after_try
                                         not_caught:
                                           jump failed

The number of a failure decides, in each lane, which handler it goes to (``failures.py``). The body of a ``finally`` is
lowered once for each exit from the ``try``: for its end, for failures, and for each ``return``, ``break`` and
``continue`` that leaves it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from hlobatch.diagnostics import UnsupportedSyntaxError
from hlobatch.frontend.failing_statements import FailingLowering
from hlobatch.frontend.failures import LooksAt
from hlobatch.frontend.handlers import caught_kinds, drops_exceptions
from hlobatch.frontend.nodes import located
from hlobatch.frontend.raising import FAILURE, Handled, Try
from hlobatch.frontend.scopes import TEMPORARY
from hlobatch.frontend.syntax import helper, literal, load
from hlobatch.values.draws import is_users_class
from hlobatch.values.facts import WHOLE_PROGRAM, Learned
from hlobatch.values.lane_failures import OF_LANES

_OF_TRACEBACKS: Final = frozenset(
    {"__cause__", "__context__", "__traceback__", "__notes__", "__suppress_context__", "add_note", "with_traceback"}
)
"""Attributes of exceptions that Python sets when it raises them."""
_OF_ALL: Final = ("args", "__class__")
"""Attributes of all exceptions that lanes keep."""


def _asks_for_class(call: ast.Call) -> bool:
    """Whether a call asks for the class of its first argument."""
    return isinstance(call.func, ast.Name) and call.func.id in ("isinstance", "type") and bool(call.args)


def _all_of(kind: type) -> list[type]:
    """A class and all classes derived from it."""
    subclasses: list[type] = kind.__subclasses__()
    return [kind, *(other for derived in subclasses for other in _all_of(derived))]


class TryLowering:
    """Lowers ``try`` statements of one function."""

    def __init__(self, function: FailingLowering) -> None:
        self.function = function

    def attempt(self, node: ast.Try) -> None:
        """Lower a ``try`` of any form."""
        if node.finalbody:
            self._attempt_finally(node)
        else:
            self._attempt(node)

    @contextmanager
    def _within(self, one: Try) -> Iterator[None]:
        """A context in which the body of a ``try`` is lowered; its statements are tested apart from those around it."""
        self.function.test_statements()
        before, self.function.tries = self.function.tries, (*self.function.tries, one)
        try:
            yield
            self.function.test_statements()
        finally:
            self.function.tries = before

    @contextmanager
    def outside(self, around: int, node: ast.AST) -> Iterator[None]:
        """A context for code around which only the outer ``try`` statements are in Python, but that stands in more.

        It is the body of a loop over a generator that yields inside of ``try``. The generator's handlers do not catch
        what the body raises, but each ``finally`` of the generator is carried out when the body raises or is left.

        Args:
            around: The number of the outer ``try`` statements.
            node: The code.
        """
        function = self.function
        outer, inner = function.tries[:around], [one for one in function.tries[around:] if one.last]
        if len(function.tries) == around:
            yield
            return
        function.test_statements()
        before = function.tries
        passing = [replace(one, caught=function.blocks.name("caught")) for one in inner]
        function.tries = (*outer, *passing)
        yield
        function.test_statements()
        while passing:
            one = passing.pop()
            function.tries = (*outer, *passing)
            if function.blocks.is_reached(one.caught):
                function.blocks.start(one.caught, function.location(node))
                self._fail_after(list(one.last), node)
        function.tries = before

    # finally

    def _attempt_finally(self, node: ast.Try) -> None:
        """Lower ``try: … finally: …``, with handlers or without."""
        caught, after = self.function.blocks.name("caught"), self.function.blocks.name("after_try")
        self.function.learn_caught([BaseException] if drops_exceptions(node) else [])
        inner = located(ast.Try(node.body, node.handlers, node.orelse, []), node)
        with self._within(Try(caught, len(self.function.loops), tuple(node.finalbody))):
            self.function.statements([inner] if node.handlers else node.body)
        if self.function.blocks.is_open:
            self.function.statements(node.finalbody)
        self.function.go(after, node)
        if self.function.blocks.is_reached(caught):
            self.function.blocks.start(caught, self.function.location(node))
            self._fail_after(node.finalbody, node)
        if self.function.blocks.is_reached(after):
            self.function.blocks.start(after, self.function.location(node))

    def _fail_after(self, last: list[ast.stmt], node: ast.AST) -> None:
        """Lower a ``finally`` for failed lanes: they fail again after it, unless it leaves the function."""
        kept = self._keep(None, node)
        self.function.assign(FAILURE, literal(0, node), node)  # a `return` in the `finally` drops the exception
        self.function.statements(last)
        if self.function.blocks.is_open:
            self.function.fail_as(kept, node)

    # except

    def _attempt(self, node: ast.Try) -> None:
        """Lower ``try: … except …: … else: …``."""
        caught, after = self.function.blocks.name("caught"), self.function.blocks.name("after_try")
        self.function.learn_caught(
            [kind for h in node.handlers for kind in caught_kinds(h, self.function.source, self.function.local)]
        )
        with self._within(Try(caught, len(self.function.loops))):
            self.function.statements(node.body)
        if self.function.blocks.is_open:
            self.function.statements(node.orelse)
        if not self.function.blocks.is_reached(caught) and self.function.blocks.is_open:
            self._doubt_handlers(node)
        self.function.go(after, node)
        if self.function.blocks.is_reached(caught):
            self.function.blocks.start(caught, self.function.location(node.handlers[0]))
            self._handlers(node, after)
        if self.function.blocks.is_reached(after):
            self.function.blocks.start(after, self.function.location(node))

    def _handlers(self, node: ast.Try, after: str) -> None:
        """Lower the handlers, one after the other; a failure that none of them catches is passed on."""
        for handler in node.handlers:
            self._handler(handler, after)
        if self.function.blocks.is_open:
            self.function.go(self.function.where_failures_go(), node)

    def _handler(self, node: ast.ExceptHandler, after: str) -> None:
        handle, not_caught = self.function.blocks.name("except"), self.function.blocks.name("not_caught")
        if node.type is None:
            self.function.go(handle, node)
        else:
            self._branch_on_kind(node.type, handle, not_caught)
        self.function.blocks.start(handle, self.function.location(node))
        kept = self._keep(node.name, node)
        names = self._looked_at(node)
        before, self.function.handled = self.function.handled, (*self.function.handled, kept)
        self.function.assign(FAILURE, literal(0, node), node)
        if names == ():
            self.function.statements(node.body)
        else:
            self._handle_each(node, kept, names, after)
        self.function.handled = before
        self.function.go(after, node)
        if node.type is not None:
            self.function.blocks.start(not_caught, self.function.location(node))

    def _branch_on_kind(self, kinds: ast.expr, caught: str, not_caught: str) -> None:
        """Emit a branch on whether the failure is an instance of some classes of exceptions."""
        failures = located(self.function.constant(self.function.callees.failures), kinds)
        test = helper("__hb_caught", [failures, load(FAILURE, kinds), kinds], kinds)
        self.function.branch_on(test, caught, not_caught, kinds, f"except {self.function.source.text(kinds)}")

    def _keep(self, name: str | None, node: ast.AST) -> Handled:
        """Emit copies of the failure that has been caught, since a later one may overwrite it."""
        failing = self.function.failing
        failure, details, *caught = (self.function.temporary(own.removeprefix(TEMPORARY)) for own in failing)
        for own, temporary in zip(failing, (failure, details, *caught), strict=True):
            self.function.move(own, temporary, node)
        return Handled(name, failure, details, tuple(caught))

    def _looked_at(self, node: ast.ExceptHandler) -> tuple[str, ...] | None:
        """The attributes of the exception that a handler reads; None if it uses the exception as a whole.

        Where it only asks for its class, that is ``__class__``.

        Raises:
            Learned: This is the first handler of these classes that does.
            UnsupportedSyntaxError: It reads what exceptions do not have here.
        """
        raised = [part for part in ast.walk(node) if isinstance(part, ast.Raise)]
        again = [one for part in raised for one in (part.exc, part.cause)]
        uses = [part for part in ast.walk(node) if isinstance(part, ast.Name) and part.id == node.name]
        uses = [part for part in uses if not any(part is other for other in again)]
        if not uses:
            return ()
        read = [part for part in ast.walk(node) if isinstance(part, ast.Attribute)]
        of_it = [part for part in read if any(part.value is use for use in uses)]
        for part in of_it:
            if part.attr in _OF_TRACEBACKS:
                raise UnsupportedSyntaxError(
                    f"{part.attr!r} of an exception is read, which lanes do not keep",
                    self.function.location(part),
                    help="keep what is needed in an attribute of the exception.",
                )
        kinds = caught_kinds(node, self.function.source, self.function.local)
        if not set(kinds).issubset(self.function.looks_at.caught):
            raise Learned(WHOLE_PROGRAM, LooksAt(caught=tuple(kinds)))
        names = tuple(sorted({part.attr for part in of_it}))
        calls = [part for part in ast.walk(node) if isinstance(part, ast.Call) and _asks_for_class(part)]
        asked = [call for call in calls if any(call.args[0] is use for use in uses)]
        names += ("__class__",) if asked else ()
        return names if len(of_it) + len(asked) == len(uses) and not self._has_methods(node, names) else None

    def _handle_each(self, node: ast.ExceptHandler, kept: Handled, names: tuple[str, ...] | None, after: str) -> None:
        """Lower a handler that reads parts of the exception, once for each class that it may have."""
        looks_at = self.function.looks_at
        numbers = looks_at.of(caught_kinds(node, self.function.source, self.function.local))
        for number in numbers[:-1]:
            this, other = self.function.blocks.name("except"), self.function.blocks.name("not_caught")
            kind = located(self.function.constant(looks_at.raised[number]), node)
            failures = located(self.function.constant(self.function.callees.failures), node)
            test = helper("__hb_caught", [failures, load(kept.failure, node), kind], node)
            self.function.branch_on(test, this, other, node, f"except {looks_at.raised[number].__name__}")
            self.function.blocks.start(this, self.function.location(node))
            self._handle_one(node, load(kept.caught[number], node), names)
            self.function.go(after, node)
            self.function.blocks.start(other, self.function.location(node))
        self._handle_one(node, load(kept.caught[numbers[-1]], node) if numbers else literal(None, node), names)

    def _handle_one(self, node: ast.ExceptHandler, caught: ast.expr, names: tuple[str, ...] | None) -> None:
        """Lower a handler for an exception of one class."""
        assert node.name is not None
        looked_at = helper("__hb_looked_at", [caught, literal(names, node)], node)
        self.function.assign(node.name, looked_at, node)
        self.function.statements(node.body)

    def _has_methods(self, node: ast.ExceptHandler, names: Sequence[str]) -> bool:
        """Whether a class that a handler catches has methods or properties of these names, which read other parts."""
        kinds = caught_kinds(node, self.function.source, self.function.local)
        derived = [kind for base in kinds for kind in _all_of(base)]
        found = (getattr(kind, name, None) for kind in derived for name in names if name not in _OF_ALL)
        return any(callable(one) or hasattr(one, "__get__") for one in found)

    def _is_known_kind(self, handler: ast.ExceptHandler) -> bool:
        """Whether each exception that a handler catches is raised here wherever Python raises it."""
        kinds = caught_kinds(handler, self.function.source, self.function.local)
        raised = (*OF_LANES, AssertionError)
        return all(any(issubclass(one, kind) for one in raised) or is_users_class(kind) for kind in kinds)

    def _doubt_handlers(self, node: ast.Try) -> None:
        """Emit an error, raised once all types are known, if nothing here raises: Python might, where JAX does not."""
        handler = next((h for h in node.handlers if not self._is_known_kind(h)), None)
        if handler is None:
            return
        error = UnsupportedSyntaxError(
            "nothing in this `try` raises for a lane by itself",
            self.function.location(handler.type or handler),
            help="test for it with `if`, or `raise` where it happens.",
        )
        refused = helper("__hb_doubt", [located(self.function.constant(error), handler)], handler)
        self.function.assign(self.function.temporary(), refused, handler)
