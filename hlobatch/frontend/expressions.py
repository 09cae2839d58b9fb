"""Expressions -> operations, and what is left of them as straight-line code.

Batched calls, conditional expressions and short-circuit operators are taken out of an expression, in the order Python
evaluates them, into variables of their own; the rest is one ``PrimOp``.

    fibonacci(n - 2) + fibonacci(n - 1)
    ==>
    %$1 = prim "n - 2" (%n); %$2 = call @fibonacci(%$1); …; prim "$2 + $4" (%$2, %$4)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from hlobatch.analysis.facts import MayBeNone
from hlobatch.analysis.lane_failures import CanFail
from hlobatch.analysis.optional import NOT_NONE
from hlobatch.analysis.overloads import BOOL, LEN, Overloaded, of_operations
from hlobatch.diagnostics import (
    Note,
)
from hlobatch.frontend import builtins as batched_builtins
from hlobatch.frontend import heaps, special_methods
from hlobatch.frontend.callees import Called, Callee, static_value
from hlobatch.frontend.changes import is_change
from hlobatch.frontend.following import Calls
from hlobatch.frontend.printing import PrintLowering
from hlobatch.frontend.program_calls import CallLowering
from hlobatch.frontend.scopes import HELPER, assigned_in_expressions, read_names, root_of
from hlobatch.frontend.source import Source
from hlobatch.frontend.straight_line import TEMPORARY, StraightLineLowering
from hlobatch.frontend.syntax import helper, literal, load
from hlobatch.frontend.trace_time import TraceTimeLowering
from hlobatch.ir.ops import PrimOp

_TRACE_TIME = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True)
class _Asked:
    """A test for None.

    Attributes:
        name: The variable.
        condition: The test, as an expression without control.
        if_true: Whether there is a value where the test holds.
        is_known: Whether the variable is None in some lanes, so that it matters.
    """

    name: str
    condition: ast.expr
    if_true: bool
    is_known: bool


class ExpressionLowering(StraightLineLowering):
    """Lowers the expressions of one function into the blocks it builds."""

    # Expressions

    def simple(self, node: ast.expr) -> ast.expr:
        """Lower the control in an expression; what comes back is straight-line code."""
        if self.is_simple(node):
            return node
        special = self._special(node)
        return self._with_control(node) if special is None else self.as_method_call(node, *special)

    def _with_control(self, node: ast.expr) -> ast.expr:
        match node:
            case ast.Name(name):
                return self.closure(self.scope[name], node)
            case ast.Call() if called := self.called(node):
                return load(self.call(node, called, self.temporary()), node)
            case ast.IfExp():
                return load(self._choose(node), node)
            case ast.BoolOp():
                return load(self._short_circuit(node), node)
            case ast.UnaryOp(op=ast.Not()):
                return helper("__hb_not", [self.simple(self._asked(node.operand))], node)
            case ast.Compare() if self._is_conditional(node):
                return self.simple(self._as_conjunction(node))
            case ast.Compare() if len(node.ops) > 1:
                return self._chained(node)
            case ast.NamedExpr(target, value):
                self.store(target.id, value, node)
                return load(target.id, node)
            case ast.Await() | ast.Yield() | ast.YieldFrom():
                raise self.unsupported(node)
            case _ if isinstance(node, _TRACE_TIME):
                return TraceTimeLowering(self).lower(node)
            case ast.Call(_, [ast.GeneratorExp() | ast.ListComp() as items, *_]):
                return TraceTimeLowering(self).reduction(node, items)
        return self.with_simple_children(node)

    def _special(self, node: ast.AST) -> tuple[str, Sequence[ast.expr]] | None:
        """What an expression is, and its operands, if Python calls a method for it that has to be followed."""
        if not self.callees.facts.all_of(Overloaded) or id(node) in self._functions:
            return None
        found = special_methods.operation(node)
        match node:
            case ast.Call(function, [value], []) if static_value(function, self.source, self.local) is len:
                found = (LEN,), "len", [value]
        return found[1:] if found is not None and self.is_overloaded(found[0], node) else None

    def is_overloaded(self, names: Sequence[str], node: ast.AST) -> bool:
        """Whether one of some methods, which Python may call for an operation, has to be followed."""
        place = self.location(node)
        return any(self.callees.facts.of(Overloaded, of_operations(place, name)) for name in names)

    def as_method_call(self, node: ast.expr | ast.stmt, operation: str, operands: Sequence[ast.expr]) -> ast.expr:
        """An operation as a call of what it stands for, which tracing finds out."""
        names = [self.as_variable(operand, node) for operand in self.in_order(operands)]
        name = literal(operation, node)
        method = helper("__hb_method", [name, *(load(operand, node) for operand in names)], node)
        given = reversed(names) if operation == "contains" else names
        call = ast.copy_location(ast.Call(method, [load(operand, node) for operand in given], []), node)
        result = self.simple(call)
        if operation == "ne":
            return helper("__hb_result", [name, result, *(load(operand, node) for operand in names)], node)
        is_inverse = isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.NotIn)
        return helper("__hb_not", [result], node) if is_inverse else result

    def _asked(self, test: ast.expr) -> ast.expr:
        """A condition; a variable whose truth a method of the user's says is what that gives."""
        if not isinstance(test, ast.Name) or not self.callees.facts.all_of(Overloaded):
            return test
        return self.as_method_call(test, "truth", [test]) if self.is_overloaded((BOOL, LEN), test) else test

    def prints(self, node: ast.AST) -> TypeGuard[ast.Call]:
        """Whether an expression is a call of ``print``."""
        return isinstance(node, ast.Call) and static_value(node.func, self.source, self.local) is print

    def is_simple(self, node: ast.expr) -> bool:
        """Whether an expression is straight-line code as it stands."""
        control = (ast.IfExp, ast.BoolOp, ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom, *_TRACE_TIME)
        for child in ast.walk(node):
            if isinstance(child, ast.Name) and child.id in self.scope:
                return False
            if isinstance(child, control) or self.called(child) or self.prints(child):
                return False
            if isinstance(child, ast.Call):
                self._functions[id(child.func)] = child.func
            if self._special(child):
                return False
            if isinstance(child, ast.UnaryOp) and isinstance(child.op, ast.Not):
                return False
            if isinstance(child, ast.Compare) and len(child.ops) > 1:
                return False
        return True

    def with_simple_children(self, node: ast.expr) -> ast.expr:
        if self.prints(node):
            return PrintLowering(self, node).lower()
        copy = type(node)(**dict(ast.iter_fields(node)))
        ast.copy_location(copy, node)
        fields = list(ast.iter_fields(node))
        parts = [part for _, value in fields for part in (value if isinstance(value, list) else [value])]
        parts = [part.value if isinstance(part, ast.keyword) else part for part in parts]
        operands = iter(self.in_order([part for part in parts if isinstance(part, ast.expr)]))

        def simple(part: Any) -> Any:
            if isinstance(part, ast.keyword):
                return ast.copy_location(ast.keyword(part.arg, next(operands)), part)
            return next(operands) if isinstance(part, ast.expr) else part

        for name, value in fields:
            setattr(copy, name, [simple(part) for part in value] if isinstance(value, list) else simple(value))
        return copy

    def in_order(self, operands: Sequence[ast.expr]) -> list[ast.expr]:
        """Operands without their control, as they are when Python evaluates them: before what is assigned later.

        In an expression, ``:=`` assigns, and so do calls of functions that have ``nonlocal`` variables.
        """
        found: list[ast.expr] = []
        for index, operand in enumerate(operands):
            value = self.simple(operand)
            later = {name for other in operands[index + 1 :] for name in assigned_in_expressions(other)}
            before_the_rest = [other for other in operands[index + 1 :] if not self.is_simple(other)]
            later |= self._changed_by(before_the_rest)
            if (before_the_rest and self._changes(value)) or later.intersection(read_names(value)):
                name = self.temporary()
                self.assign(name, value, operand)
                value = load(name, operand)
            found.append(value)
        return found

    def _changes(self, value: ast.expr) -> bool:
        """Whether straight-line code changes something in place."""
        return any(is_change(part) or self.changes_argument(part) for part in ast.walk(value))

    def changes_argument(self, node: ast.AST) -> bool:
        """Whether an expression is a call of a function of Python's that changes what it is given."""
        if not isinstance(node, ast.Call):
            return False
        function = static_value(node.func, self.source, self.local)
        return any(function is known for known in heaps.CHANGES)

    def _changed_by(self, parts: Sequence[ast.expr]) -> frozenset[str]:
        """Variables that calls of functions in some expressions assign."""
        found = set[str]()
        for node in (node for part in parts for node in ast.walk(part) if isinstance(node, ast.Call)):
            if is_change(node) or self.changes_argument(node):
                found.update(root.id for root in _roots(node) if isinstance(root, ast.Name))
            if (one := self.called(node)) is None:
                continue
            found.update(one.callee.changed)
            if one.callee.changes:  # of its arguments, whichever that is
                found.update(root.id for root in _roots(node) if isinstance(root, ast.Name))
        return frozenset(found)

    def statements(self, body: list[ast.stmt]) -> None:
        """Lower statements up to the first that control cannot pass."""
        raise NotImplementedError

    def name_of(self, function: ast.Lambda) -> str | None:
        """The name of a lambda that has one once and for all."""
        lambdas = (t for t in self.scope.items() if t[1].source.node.name == "<lambda>")
        found = (name for name, template in lambdas if _returned(template.source.node) is function.body)
        return next(found, None)

    def _chained(self, node: ast.Compare) -> ast.expr:
        """``a < b < c`` with ``b`` evaluated once."""
        values = self.in_order([node.left, *node.comparators])
        middle = [load(self.as_variable(value, node), node) for value in values[1:-1]]
        values = [values[0], *middle, values[-1]]
        links: list[ast.expr] = [
            ast.copy_location(ast.Compare(left, [op], [right]), node)
            for left, op, right in zip(values, node.ops, values[1:], strict=False)
        ]
        return helper("__hb_and", links, node)

    def _is_conditional(self, node: ast.expr) -> bool:
        """Whether a chained comparison has an operand with control of its own that may not be reached."""
        if not isinstance(node, ast.Compare):
            return False
        others = node.comparators[1:]
        may_fail = bool(others) and bool(self.callees.facts.all_of(CanFail))
        return not all(map(self.is_simple, others)) or (may_fail and any(map(_is_looked_up, others)))

    def _as_conjunction(self, node: ast.Compare) -> ast.BoolOp:
        """``a < b < f(c)`` as ``a < b and b < f(c)``, with ``b`` evaluated once."""
        left, middle = self.in_order([node.left, node.comparators[0]])
        middle = load(self.as_variable(middle, node), node)
        first = ast.Compare(left, node.ops[:1], [middle])
        rest = ast.Compare(middle, node.ops[1:], node.comparators[1:])
        links: list[ast.expr] = [ast.copy_location(link, node) for link in (first, rest)]
        return ast.copy_location(ast.BoolOp(ast.And(), links), node)

    def _choose(self, node: ast.IfExp) -> str:
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

    def _short_circuit(self, node: ast.BoolOp) -> str:
        """``a and b`` as Python means it: the value of the operand that decided."""
        result = self.temporary()
        done = self.blocks.name("decided")
        for value in node.values[:-1]:
            self.store(result, value, value)
            rest = self.blocks.name("and" if isinstance(node.op, ast.And) else "or")
            targets = (rest, done) if isinstance(node.op, ast.And) else (done, rest)
            self.branch(load(result, value), *targets)
            self.blocks.start(rest, self.location(value))
        self.store(result, node.values[-1], node.values[-1])
        self.blocks.start(done, self.location(node))
        return result

    def store(self, name: str, value: ast.expr, node: ast.AST) -> None:
        """Emit ``name = value`` for any expression; a call writes its result there directly."""
        if isinstance(value, ast.Call) and (called := self.called(value)):
            self.call(value, called, name)
            return
        late = next(self._late_names(value), None)
        if late is None:
            self.assign(name, self.simple(value), node)
            return
        kept, read, assigned = late
        if isinstance(value, ast.Lambda):
            error = batched_builtins.kept_error(kept).at(self.location(read))
            raise error.with_note(Note("here", self.location(assigned)))
        self.assign(name, helper("__hb_kept", [self.simple(value), self.constant(kept)], value), node)

    def _late_names(self, value: ast.expr) -> Iterator[tuple[str, ast.Name, ast.Name]]:
        """What lambdas in an expression read that is assigned again later, where it is read and where assigned.

        Where the lambda is kept, Python would see the later value in it. So it would in a function defined inside.
        """
        for node in ast.walk(value):
            if isinstance(node, ast.Lambda):
                reads = read_names(node)
            elif isinstance(node, ast.Name) and node.id in self.scope:
                reads = dict.fromkeys(self.scope[node.id].captured, node)
            else:
                continue
            for other in ast.walk(self.source.node):
                if not (isinstance(other, ast.Name) and isinstance(other.ctx, ast.Store) and other.id in reads):
                    continue
                if self._is_after(other, node):
                    yield other.id, reads[other.id], other

    def _is_after(self, other: ast.expr, node: ast.expr) -> bool:
        """Whether code may run after some other: it stands behind it, or in a loop that both are in."""
        if (other.lineno, other.col_offset) > (node.lineno, node.col_offset):
            return True
        loops = (loop for loop in ast.walk(self.source.node) if isinstance(loop, (ast.For, ast.While)))
        return any({id(node), id(other)} <= {id(part) for part in ast.walk(loop)} for loop in loops)

    # Control

    def branch(self, test: ast.expr, true: str, false: str) -> None:
        """End the open block by a branch on any expression, short-circuiting."""
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
            case ast.Compare() if self._is_conditional(test):
                self.branch(self._as_conjunction(test), true, false)
            case _:
                self._branch_on_value(self._asked(test), true, false)

    def _branch_on_value(self, test: ast.expr, true: str, false: str) -> None:
        """End the open block by a branch on an expression that has no control of its own for a branch."""
        asked = self._asked_for_none(test)
        condition = helper("__hb_truth", [self.simple(test) if asked is None else asked.condition], test)
        text = self.source.text(test)
        if asked is None or not asked.is_known:
            self.branch_on(condition, true, false, test, text)
        elif asked.if_true:
            there = self.blocks.name("there")
            self.branch_on(condition, there, false, test, text)
            self._go_with_value(asked.name, there, true, test)
        else:
            there = self.blocks.name("there")
            self.branch_on(condition, true, there, test, text)
            self._go_with_value(asked.name, there, false, test)

    def _go_with_value(self, name: str, there: str, onward: str, test: ast.expr) -> None:
        """Emit the block in which a variable has turned out not to be None, so that it holds the value alone."""
        self.blocks.start(there, self.location(test))
        variable = (self.variable(name),)
        self.blocks.add(PrimOp(variable, variable, NOT_NONE, f"{name} is there", location=self.location(test)))
        self.go(onward, test)

    def _asked_for_none(self, test: ast.expr) -> _Asked | None:
        """What a test asks of a variable that may be None in some lanes, if that is what it asks."""
        match test:
            case ast.Compare(ast.Name(name) as read, [operator], [ast.Constant(None)]) if self._is_variable(name):
                if not isinstance(operator, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)):
                    return None
                if_true = isinstance(operator, (ast.IsNot, ast.NotEq))
            case ast.Name(name) as read if self._is_variable(name):
                if_true = True
            case _:
                return None
        variable = self.variable(name)
        is_known = self.callees.facts.of(MayBeNone, MayBeNone(variable).site) is not None
        unknown = [] if is_known else [literal(variable, test)]
        if isinstance(test, ast.Name):
            asked = test if is_known else helper("__hb_asked", [read, *unknown], test)
            return _Asked(name, asked, True, is_known)
        condition = helper("__hb_is_none", [read if is_known else helper("__hb_asked", [read, *unknown], test)], test)
        return _Asked(name, helper("__hb_not", [condition], test) if if_true else condition, if_true, is_known)

    def _is_variable(self, name: str) -> bool:
        return name in self.local or name.startswith(TEMPORARY)

    # Calls

    def called(self, node: ast.AST) -> Called | None:
        """What an expression calls, if it is a call of a function of the program."""
        if not isinstance(node, ast.Call) or (isinstance(node.func, ast.Name) and node.func.id.startswith(HELPER)):
            return None
        if found := self.callees.of_call(node, self.source, self.local):
            return found
        template = self.scope.get(node.func.id) if isinstance(node.func, ast.Name) else None
        if template is not None and template.is_followed:
            return Called(self.callees.of_template(template))
        fact = self.callees.facts.of(Calls, self.site(node)) if self.callees.facts else None
        return None if fact is None else self.callees.of_fact(fact)

    def call(self, node: ast.Call, called: Called, result: str) -> str:
        """Emit a call of a function of the program; returns the name of the variable that receives its result."""
        return CallLowering(self).lower(node, called, result)

    def put_back(self, place: ast.expr, name: str, node: ast.Call) -> None:
        """Let an item or an attribute be what a callee made of it."""
        raise NotImplementedError

    def told(self, callee: Callee) -> tuple[str, ...]:
        """Variables that a call's failure goes to."""
        raise NotImplementedError

    def after_call(self, node: ast.Call) -> None:
        """Behind a call of a function that may raise."""
        raise NotImplementedError


def _roots(node: ast.Call) -> Iterator[ast.expr]:
    """What the arguments of a call, and what is called, are parts of."""
    return (root_of(part) for part in (*node.args, *(k.value for k in node.keywords), node.func))


def _is_looked_up(node: ast.expr) -> bool:
    """Whether an expression may fail by itself."""
    return any(isinstance(part, (ast.Subscript, ast.Call)) for part in ast.walk(node))


def _returned(node: ast.FunctionDef) -> ast.expr | None:
    """What a lambda returns, seen as a definition."""
    (statement,) = node.body
    return statement.value if isinstance(statement, ast.Return) else None


def parameter_names(source: Source) -> tuple[str, ...]:
    """Parameters in order."""
    return tuple(source.signature.parameters)
