"""Conditions, choices and chained comparisons -> branches and blocks.

::

    if a and not f(b):         branch %a, and, else
                       ==>     and: %$1 = call @f(%b); branch %$1, else, then
    x = y if c else z          branch %c, choose, otherwise; each block gives %$2 a value
    if best is None:           branch "not is_there" (%best), then, there; in ``there`` %best is the value alone

Operands are evaluated in Python's order, and only if Python would evaluate them.
"""

from __future__ import annotations

import abc
import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from hlobatch.analysis.facts import MayBeNone
from hlobatch.analysis.lane_failures import CanFail
from hlobatch.analysis.optional import NotNone
from hlobatch.frontend.straight_line import TEMPORARY, StraightLineLowering
from hlobatch.frontend.syntax import helper, literal, load
from hlobatch.ir.ops import PrimOp


@dataclass(frozen=True)
class _Asked:
    """A test for None.

    Attributes:
        name: The variable.
        part: The index of the item that is tested, if the variable is a tuple; None if the variable itself is.
        condition: The test as straight-line code.
        if_true: Whether the value is not None where the test holds.
        is_known: Whether a fact says that the variable, or the item, is None in some lanes and a value in others.
    """

    name: str
    part: int | None
    condition: ast.expr
    if_true: bool
    is_known: bool


class ConditionLowering(StraightLineLowering):
    """Lowers conditions, conditional expressions and short-circuit operators."""

    @abc.abstractmethod
    def simple(self, node: ast.expr) -> ast.expr:
        """Lower the control flow in an expression; the result is straight-line code."""

    @abc.abstractmethod
    def is_simple(self, node: ast.expr) -> bool:
        """Whether an expression is straight-line code as it stands."""

    @abc.abstractmethod
    def in_order(self, operands: Sequence[ast.expr]) -> list[ast.expr]:
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

    def chained(self, node: ast.Compare) -> ast.expr:
        """``a < b < c`` with ``b`` evaluated once."""
        *values, last = self.in_order([node.left, *node.comparators])
        values = [*self._once(values, node), last]
        links: list[ast.expr] = [
            ast.copy_location(ast.Compare(left, [op], [right]), node)
            for left, op, right in zip(values, node.ops, values[1:], strict=False)
        ]
        return helper("__hb_and", links, node)

    def _once(self, operands: Sequence[ast.expr], node: ast.Compare) -> list[ast.expr]:
        """Operands, of which those behind the first are used twice, so that each of these becomes a variable."""
        first, *others = operands
        if any(map(self.changes, others)):
            first = load(self.as_variable(first, node), node)
        return [first, *(load(self.as_variable(value, node), node) for value in others)]

    def is_conditional(self, node: ast.expr) -> bool:
        """Whether a chained comparison may skip an operand that has control flow or effects, or may fail."""
        if not isinstance(node, ast.Compare):
            return False
        others = node.comparators[1:]
        may_fail = bool(others) and self.callees.facts.has(CanFail)
        is_lookup = may_fail and any(map(_is_looked_up, others))
        return is_lookup or not all(map(self.is_simple, others)) or any(map(self.changes, others))

    def as_conjunction(self, node: ast.Compare) -> ast.BoolOp:
        """``a < b < f(c)`` as ``a < b and b < f(c)``, with ``b`` evaluated once."""
        left, middle = self._once(self.in_order([node.left, node.comparators[0]]), node)
        first = ast.Compare(left, node.ops[:1], [middle])
        rest = ast.Compare(middle, node.ops[1:], node.comparators[1:])
        links: list[ast.expr] = [ast.copy_location(link, node) for link in (first, rest)]
        return ast.copy_location(ast.BoolOp(ast.And(), links), node)

    def choose(self, node: ast.IfExp) -> str:
        """``a if c else b`` as two blocks that write one variable."""
        result = self.temporary()
        names = [self.blocks.name(stem) for stem in ("choose", "otherwise", "chosen")]
        self.branch(node.test, names[0], names[1])
        for name, value in zip(names, (node.body, node.orelse), strict=False):
            self.blocks.start(name, self.location(value))
            self.store(result, value, value)
            self.go(names[2], node)
        self.blocks.start(names[2], self.location(node))
        return result

    def short_circuit(self, node: ast.BoolOp) -> str:
        """``a and b`` as Python means it: the value of the operand that decided."""
        result = self.temporary()
        done = self.blocks.name("decided")
        self.all_but_last(node, result, done)
        self.store(result, node.values[-1], node.values[-1])
        self.blocks.start(done, self.location(node))
        return result

    def all_but_last(self, node: ast.BoolOp, result: str, done: str) -> None:
        """Lower the operands before the last: each is stored and may decide, else control goes on to the next one.

        Args:
            node: The expression.
            result: The variable that takes the operand that decides.
            done: The block to go to once an operand has decided.
        """
        for value in node.values[:-1]:
            self.store(result, value, value)
            rest = self.blocks.name("and" if isinstance(node.op, ast.And) else "or")
            targets = (rest, done) if isinstance(node.op, ast.And) else (done, rest)
            self.branch(load(result, value), *targets)
            self.blocks.start(rest, self.location(value))

    def branch(self, test: ast.expr, true: str, false: str) -> None:
        """End the open block by a branch on an expression, with short-circuit operators as control flow."""
        match test:
            case ast.BoolOp():
                for value in test.values[:-1]:
                    rest = self.blocks.name("and" if isinstance(test.op, ast.And) else "or")
                    targets = (rest, false) if isinstance(test.op, ast.And) else (true, rest)
                    self.branch(value, *targets)
                    self.blocks.start(rest, self.location(value))
                self.branch(test.values[-1], true, false)
            case ast.UnaryOp(op=ast.Not()):
                self.branch(test.operand, false, true)
            case ast.Compare() if self.is_conditional(test):
                self.branch(self.as_conjunction(test), true, false)
            case _:
                self._branch_on_value(self.asked(test), true, false)

    def _branch_on_value(self, test: ast.expr, true: str, false: str) -> None:
        """End the open block by a branch on an expression other than ``and``, ``or`` and ``not``."""
        asked = self._asked_for_none(test)
        condition = helper("__hb_truth", [self.simple(test) if asked is None else asked.condition], test)
        text = self.source.text(test)
        if asked is None or not asked.is_known:
            self.branch_on(condition, true, false, test, text)
        elif asked.if_true:
            there = self.blocks.name("there")
            self.branch_on(condition, there, false, test, text)
            self._go_with_value(asked, there, true, test)
        else:
            there = self.blocks.name("there")
            self.branch_on(condition, true, there, test, text)
            self._go_with_value(asked, there, false, test)

    def _go_with_value(self, asked: _Asked, there: str, onward: str, test: ast.expr) -> None:
        """Emit the block on the side of a test where a variable is not None, which narrows it to the plain value."""
        self.blocks.start(there, self.location(test))
        variable, which = (self.variable(asked.name),), "" if asked.part is None else f"[{asked.part}]"
        text = f"{asked.name}{which} is there"
        self.blocks.add(PrimOp(variable, variable, NotNone(asked.part), text, location=self.location(test)))
        self.go(onward, test)

    def _asked_for_none(self, test: ast.expr) -> _Asked | None:
        """The test of a variable, or of an item of it, for None; None for any other expression."""
        read, if_true, part = test, True, cast("int | None", None)
        if isinstance(test, ast.Compare):
            if len(test.ops) != 1 or not isinstance(test.ops[0], (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)):
                return None
            if not (isinstance(test.comparators[0], ast.Constant) and test.comparators[0].value is None):
                return None
            read, if_true = test.left, isinstance(test.ops[0], (ast.IsNot, ast.NotEq))
        match read:
            case ast.Name(name):
                pass
            case ast.Subscript(ast.Name(name), ast.Constant(int() as index)):
                part = index
            case _:
                return None
        if not self._is_variable(name):
            return None
        of = self.variable(name) if part is None else f"{self.variable(name)}[{part}]"
        is_known = self.callees.facts.of(MayBeNone, MayBeNone(of).site) is not None
        unknown = [literal(of, test), *([] if part is None else [load(name, test)])]
        asked = read if is_known else helper("__hb_asked", [read, *unknown], test)
        if read is test:
            return _Asked(name, part, asked, True, is_known)
        is_none = helper("__hb_is_none", [asked], test)
        condition = helper("__hb_not", [is_none], test) if if_true else is_none
        return _Asked(name, part, condition, if_true, is_known)

    def _is_variable(self, name: str) -> bool:
        return name in self.local or name.startswith(TEMPORARY)


def _is_looked_up(node: ast.expr) -> bool:
    """Whether an expression has a lookup or a call, which may fail."""
    return any(isinstance(part, (ast.Subscript, ast.Call)) for part in ast.walk(node))
