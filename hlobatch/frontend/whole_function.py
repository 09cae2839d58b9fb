"""The interface of the whole function's lowering, for the lowering of conditions, calls, comprehensions and loops."""

from __future__ import annotations

import abc
import ast
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from hlobatch.frontend.callees import Called, Callee
from hlobatch.frontend.following import Calls
from hlobatch.frontend.guesses import Expected
from hlobatch.frontend.straight_line import StraightLineLowering


@dataclass(frozen=True)
class Loop:
    """The targets of ``continue`` and ``break``."""

    latch: str
    after: str


class WholeLowering(StraightLineLowering):
    """Lowers one function; the methods that its parts call, such as ``CallLowering``, are declared here."""

    @abc.abstractmethod
    def simple(self, node: ast.expr) -> ast.expr:
        """Lower the control flow in an expression; the result is straight-line code."""

    @abc.abstractmethod
    def is_simple(self, node: ast.expr) -> bool:
        """Whether an expression is straight-line code as it stands."""

    @abc.abstractmethod
    def evaluated_in_order(
        self, operands: Sequence[ast.expr], later: Sequence[ast.expr] = (), *, changed: Collection[ast.expr] = ()
    ) -> list[ast.expr]:
        """Operands with their control flow lowered, with the values they have when Python evaluates them."""

    @abc.abstractmethod
    def changes(self, value: ast.expr) -> bool:
        """Whether straight-line code changes an object in place."""

    @abc.abstractmethod
    def store(self, name: str, value: ast.expr, node: ast.AST) -> None:
        """Emit ``name = value`` for any expression."""

    @abc.abstractmethod
    def asked(self, test: ast.expr) -> ast.expr:
        """A condition; for a variable whose class has its own truth method, a call of that."""

    @abc.abstractmethod
    def draws(self, node: ast.AST) -> Calls | None:
        """The generator with which a loop over the value of an expression takes turns; None if there is none."""

    @abc.abstractmethod
    def called(self, node: ast.AST) -> Called | None:
        """The callee of an expression that is a call of a function of the program; None for any other."""

    @abc.abstractmethod
    def is_overloaded(self, names: Sequence[str], node: ast.AST) -> bool:
        """Whether one of the methods that Python may call for an operation has to be followed."""

    @abc.abstractmethod
    def implicit_call(self, node: ast.AST) -> tuple[str, Sequence[ast.expr]] | None:
        """The operation and operands of an expression that implicitly calls a followed method; else None."""

    @abc.abstractmethod
    def prints(self, node: ast.AST) -> TypeGuard[ast.Call]:
        """Whether an expression is a call of ``print``."""

    @abc.abstractmethod
    def with_simple_children(self, node: ast.expr, later: Sequence[ast.expr] = ()) -> ast.expr:
        """An expression with the control flow of its operands lowered."""

    @abc.abstractmethod
    def name_of(self, function: ast.Lambda) -> str | None:
        """The name of a lambda that is assigned to one name and never reassigned; else None."""

    @abc.abstractmethod
    def closure_of(self, function: ast.Lambda) -> ast.expr:
        """A lambda as a value of the program, with its closure variables."""

    @abc.abstractmethod
    def statements(self, body: list[ast.stmt]) -> None:
        """Lower statements up to the first that control cannot pass."""

    @abc.abstractmethod
    def statement(self, node: ast.stmt) -> None:
        """Lower one statement."""

    @abc.abstractmethod
    def loop_body(self, body: list[ast.stmt], loop: Loop) -> None:
        """Lower the body of a loop, run in each turn."""

    @abc.abstractmethod
    def loop_end(self, node: ast.While | ast.For, otherwise: str, after: str) -> None:
        """Lower the code at the end of a loop."""

    @abc.abstractmethod
    def bound(self, body: list[ast.stmt]) -> list[str]:
        """The user's names that statements assign to."""

    @abc.abstractmethod
    def outlives_failure(self, name: str) -> bool:
        """Whether a variable may be read after a statement that assigns it has raised."""

    @abc.abstractmethod
    def expect(self, expected: Expected, call: ast.Call, node: ast.Call) -> None:
        """Emit code that tries to trace a call of which the guess is that it cannot be traced."""

    @abc.abstractmethod
    def told(self, callee: Callee) -> tuple[str, ...]:
        """The variables that take a call's failure code and details."""

    @abc.abstractmethod
    def after_call(self, node: ast.Call, callee: Callee) -> None:
        """Emit the test behind a call of a function that may raise."""
