"""Conditions, choices and chained comparisons -> branches and blocks.

::

    if a and not f(b):         branch %a, and, else
                       ==>     and: %$1 = call @f(%b); branch %$1, else, then
    x = y if c else z          branch %c, choose, otherwise; each block gives %$2 a value
    if best is None:           branch "not is_there" (%best), then, there; in ``there`` %best is the value alone

Operands are evaluated in Python's order, and only if Python would evaluate them.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from hlobatch.frontend.nodes import Tree, located
from hlobatch.frontend.scopes import TEMPORARY, root_of
from hlobatch.frontend.syntax import helper, is_none, literal, load
from hlobatch.frontend.whole_function import WholeLowering
from hlobatch.ir.ops import PrimOp
from hlobatch.values.facts import MayBeNone, MayBeSeveral
from hlobatch.values.kinds import OfKinds
from hlobatch.values.lane_failures import CanFail
from hlobatch.values.optional import NotNone


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


class ConditionLowering:
    """Lowers conditions, conditional expressions and short-circuit operators of one function."""

    def __init__(self, function: WholeLowering) -> None:
        self.function = function

    def chained(self, node: ast.Compare) -> ast.expr:
        """``a < b < c`` with ``b`` evaluated once."""
        *values, last = self.function.evaluated_in_order([node.left, *node.comparators])
        values = [*self._once(values, node), last]
        links: list[ast.expr] = [
            located(ast.Compare(left, [op], [right]), node)
            for left, op, right in zip(values, node.ops, values[1:], strict=False)
        ]
        return helper("__hb_and", links, node)

    def _once(self, operands: Sequence[ast.expr], node: ast.Compare) -> list[ast.expr]:
        """Operands, of which those behind the first are used twice, so that each of these becomes a variable."""
        first, *others = operands
        if any(map(self.function.changes, others)):
            first = load(self.function.as_variable(first, node), node)
        return [first, *(load(self.function.as_variable(value, node), node) for value in others)]

    def is_conditional(self, node: ast.expr) -> bool:
        """Whether a chained comparison may skip an operand that has control flow or effects, or may fail."""
        if not isinstance(node, ast.Compare):
            return False
        others = node.comparators[1:]
        may_fail = bool(others) and self.function.callees.facts.has(CanFail)
        is_lookup = may_fail and any(map(_is_looked_up, others))
        return is_lookup or not all(map(self.function.is_simple, others)) or any(map(self.function.changes, others))

    def as_conjunction(self, node: ast.Compare) -> ast.BoolOp:
        """``a < b < f(c)`` as ``a < b and b < f(c)``, with ``b`` evaluated once."""
        left, middle = self._once(self.function.evaluated_in_order([node.left, node.comparators[0]]), node)
        first = ast.Compare(left, node.ops[:1], [middle])
        rest = ast.Compare(middle, node.ops[1:], node.comparators[1:])
        links: list[ast.expr] = [located(link, node) for link in (first, rest)]
        return located(ast.BoolOp(ast.And(), links), node)

    def choose(self, node: ast.IfExp) -> str:
        """``a if c else b`` as two blocks that write one variable."""
        result = self.function.temporary()
        names = [self.function.blocks.name(stem) for stem in ("choose", "otherwise", "chosen")]
        self.branch(node.test, names[0], names[1])
        for name, value in zip(names, (node.body, node.orelse), strict=False):
            self.function.blocks.start(name, self.function.location(value))
            self.function.store(result, value, value)
            self.function.go(names[2], node)
        self.function.blocks.start(names[2], self.function.location(node))
        return result

    def short_circuit(self, node: ast.BoolOp) -> str:
        """``a and b`` as Python means it: the value of the operand that decided."""
        result = self.function.temporary()
        done = self.function.blocks.name("decided")
        self.all_but_last(node, result, done)
        self.function.store(result, node.values[-1], node.values[-1])
        self.function.blocks.start(done, self.function.location(node))
        return result

    def all_but_last(self, node: ast.BoolOp, result: str, done: str) -> None:
        """Lower the operands before the last: each is stored and may decide, else control goes on to the next one.

        Args:
            node: The expression.
            result: The variable that takes the operand that decides.
            done: The block to go to once an operand has decided.
        """
        facts = self.function.callees.facts
        is_several = facts.has(MayBeSeveral) or facts.has(OfKinds)
        for value in node.values[:-1]:
            if is_several and isinstance(value, ast.Name):
                own = value.id
            else:
                own = self.function.temporary() if is_several else result
                self.function.store(own, value, value)
            rest = self.function.blocks.name("and" if isinstance(node.op, ast.And) else "or")
            decides = self.function.blocks.name("decides") if is_several else done
            targets = (rest, decides) if isinstance(node.op, ast.And) else (decides, rest)
            self.branch(load(own, value), *targets)
            if is_several:  # the operand is tested as what it is, before it is one of several kinds
                self.function.blocks.start(decides, self.function.location(value))
                self.function.store(result, load(own, value), value)
                self.function.go(done, value)
            self.function.blocks.start(rest, self.function.location(value))

    def branch(self, test: ast.expr, true: str, false: str) -> None:
        """End the open block by a branch on an expression, with short-circuit operators as control flow."""
        match test:
            case ast.BoolOp():
                for value in test.values[:-1]:
                    rest = self.function.blocks.name("and" if isinstance(test.op, ast.And) else "or")
                    targets = (rest, false) if isinstance(test.op, ast.And) else (true, rest)
                    self.branch(value, *targets)
                    self.function.blocks.start(rest, self.function.location(value))
                self.branch(test.values[-1], true, false)
            case ast.UnaryOp(op=ast.Not()):
                self.branch(test.operand, false, true)
            case ast.Compare() if self.is_conditional(test):
                self.branch(self.as_conjunction(test), true, false)
            case _:
                self._branch_on_value(self.function.asked(self._with_assignment_before(test)), true, false)

    def _with_assignment_before(self, test: ast.expr) -> ast.expr:
        """A test of what ``:=`` assigns as a test of the variable, which may then be known not to be None."""
        match test:
            case ast.NamedExpr(target, value):
                self.function.store(target.id, value, test)
                return load(target.id, test)
            case ast.Compare(ast.NamedExpr() as assigned, [_], [ast.Constant(None)]):
                left = self._with_assignment_before(assigned)
                return located(ast.Compare(left, test.ops, test.comparators), test)
        return test

    def _branch_on_value(self, test: ast.expr, true: str, false: str) -> None:
        """End the open block by a branch on an expression other than ``and``, ``or`` and ``not``."""
        asked = self._asked_for_none(test)
        condition = helper("__hb_truth", [self.function.simple(test) if asked is None else asked.condition], test)
        text = self.function.source.text(test)
        if asked is None or not asked.is_known:
            self.function.branch_on(condition, true, false, test, text)
        elif asked.if_true:
            there = self.function.blocks.name("there")
            self.function.branch_on(condition, there, false, test, text)
            self._go_with_value(asked, there, true, test)
        else:
            there = self.function.blocks.name("there")
            self.function.branch_on(condition, true, there, test, text)
            self._go_with_value(asked, there, false, test)

    def _go_with_value(self, asked: _Asked, there: str, onward: str, test: ast.expr) -> None:
        """Emit the block on the side of a test where a variable is not None, which narrows it to the plain value."""
        self.function.blocks.start(there, self.function.location(test))
        variable, which = (self.function.variable(asked.name),), "" if asked.part is None else f"[{asked.part}]"
        text = f"{asked.name}{which} is there"
        self.function.blocks.add(
            PrimOp(variable, variable, NotNone(asked.part), text, location=self.function.location(test))
        )
        self.function.go(onward, test)

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
        if name not in self.function.local and not name.startswith(TEMPORARY):
            return None
        of = self.function.variable(name) if part is None else f"{self.function.variable(name)}[{part}]"
        is_known = self.function.callees.facts.of(MayBeNone, MayBeNone(of).site) is not None
        unknown = [literal(of, test), *([] if part is None else [load(name, test)])]
        asked = read if is_known else helper("__hb_asked", [read, *unknown], test)
        condition = is_none(test.ops[0], asked, test) if isinstance(test, ast.Compare) else asked
        return _Asked(name, part, condition, if_true, is_known)


def _is_looked_up(node: ast.expr) -> bool:
    """Whether an expression has a lookup or a call, which may fail."""
    return any(isinstance(part, (ast.Subscript, ast.Call)) for part in ast.walk(node))


def called_on_each(node: Tree) -> Tree:
    """A method call on one of two variables, as a choice between two calls; any other node unchanged.

    ::

        (a if c else b).add(x)    ==>    a.add(x) if c else b.add(x)

    So each call may change its own variable, and find a method of its own.
    """
    match node:
        case ast.Call(ast.Attribute(ast.IfExp(test, one, other), name)) if _are_parts(one, other):
            calls = (_method_call(side, name, node) for side in (one, other))
            return located(ast.IfExp(test, *calls), node)  # type: ignore[return-value]
    return node


def _are_parts(*nodes: ast.expr) -> bool:
    """Whether expressions are variables or parts of such."""
    return all(isinstance(root_of(node), ast.Name) for node in nodes)


def _method_call(value: ast.expr, name: str, node: ast.Call) -> ast.expr:
    """A method call at the place of its object, so that facts tell apart the calls for two objects."""
    return located(ast.Call(located(ast.Attribute(value, name, ast.Load()), value), node.args, node.keywords), value)
