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
from collections.abc import Iterator
from contextlib import contextmanager

from hlobatch.diagnostics import UnsupportedSyntaxError
from hlobatch.frontend.failing_statements import FailingLowering
from hlobatch.frontend.handlers import caught_kinds, drops_exceptions
from hlobatch.frontend.nodes import located
from hlobatch.frontend.raising import DETAILS, FAILURE, Handled, Try
from hlobatch.frontend.syntax import helper, literal, load
from hlobatch.values.draws import is_users_class
from hlobatch.values.lane_failures import OF_LANES


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

    def _goes_to(self, block: str) -> bool:
        """Whether some block so far jumps to ``block``."""
        return any(block in b.terminator.successors for b in self.function.blocks.blocks)

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
        if self._goes_to(caught):
            self.function.blocks.start(caught, self.function.location(node))
            self._fail_after(node.finalbody, node)
        if self._goes_to(after):
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
        if not self._goes_to(caught) and self.function.blocks.is_open:
            self._doubt_handlers(node)
        self.function.go(after, node)
        if self._goes_to(caught):
            self.function.blocks.start(caught, self.function.location(node.handlers[0]))
            self._handlers(node, after)
        if self._goes_to(after):
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
        self._check_name(node)
        before, self.function.handled = self.function.handled, (*self.function.handled, kept)
        self.function.assign(FAILURE, literal(0, node), node)
        self.function.statements(node.body)
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
        kept = Handled(name, self.function.temporary("failure"), self.function.temporary("details"))
        self.function.move(FAILURE, kept.failure, node)
        self.function.move(DETAILS, kept.details, node)
        return kept

    # Refused uses

    def _check_name(self, node: ast.ExceptHandler) -> None:
        """Refuse reads of the exception itself, whose message is known on the host alone."""
        raised = [part for part in ast.walk(node) if isinstance(part, ast.Raise)]
        again = [one for part in raised for one in (part.exc, part.cause)]
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and part.id == node.name and not any(part is other for other in again):
                raise UnsupportedSyntaxError(
                    f"the exception {node.name!r} is looked at, which differs between lanes",
                    self.function.location(part),
                    help="keep what is needed of it in a variable before it is raised.",
                )

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
