"""Expressions -> operations, and the remaining straight-line code.

Batched calls, conditional expressions and short-circuit operators are taken out of an expression, in the order Python
evaluates them, into variables of their own; the rest is one ``PrimOp``.

    fibonacci(n - 2) + fibonacci(n - 1)
    ==>
    %$1 = prim "n - 2" (%n); %$2 = call @fibonacci(%$1); …; prim "$2 + $4" (%$2, %$4)
"""

from __future__ import annotations

import ast
import collections
import math
import types
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final, TypeGuard

from hlobatch.analysis.overloads import BOOL, LEN, Overloaded, of_operations
from hlobatch.diagnostics import Note, UnsupportedSyntaxError
from hlobatch.frontend import builtins as batched_builtins
from hlobatch.frontend import special_methods
from hlobatch.frontend.callees import Called
from hlobatch.frontend.changes import Change, is_change
from hlobatch.frontend.conditions import ConditionLowering, called_on_each
from hlobatch.frontend.differentiated import differentiates
from hlobatch.frontend.following import Calls, called, is_generator
from hlobatch.frontend.harm_of_code import may_raise
from hlobatch.frontend.in_turn import kept_iterators, used_up
from hlobatch.frontend.in_turn.comprehensions import listed, with_items
from hlobatch.frontend.in_turn.lazy import LAZY, as_generator, one_by_one
from hlobatch.frontend.in_turn.moments import effects_of
from hlobatch.frontend.in_turn.reductions import REDUCERS
from hlobatch.frontend.in_turn.trace_time import TraceTimeLowering
from hlobatch.frontend.library import changed_by, is_built_in
from hlobatch.frontend.nested import unnamed_function
from hlobatch.frontend.nodes import Tree, all_arguments, located, prefixes, walk, with_fields
from hlobatch.frontend.operands import operands_of, with_operands
from hlobatch.frontend.own_methods import NEXT
from hlobatch.frontend.places import changed
from hlobatch.frontend.printing import PrintLowering
from hlobatch.frontend.program_calls import CallLowering, is_starred
from hlobatch.frontend.scopes import (
    HELPER,
    MISSING,
    assigned_in_expressions,
    read_names,
    root_of,
    target_names,
    with_parts,
)
from hlobatch.frontend.source import Source
from hlobatch.frontend.steps import changes_one_of, is_given
from hlobatch.frontend.straight_line import WHOLE
from hlobatch.frontend.syntax import helper, literal, load
from hlobatch.frontend.whole_function import WholeLowering
from hlobatch.prelude import is_trusted
from hlobatch.values.draws import is_users_class
from hlobatch.values.facts import Changes, Grows, holds
from hlobatch.values.own_containers import MakesContents

_ITERATORS: Final = (enumerate, filter, iter, map, range, reversed, zip)
"""Functions whose results are never stored in variables, since they can be iterated over only once."""


_GO_OVER: Final = (
    *REDUCERS,
    sorted,
    list,
    tuple,
    set,
    frozenset,
    dict,
    math.prod,
    math.fsum,
    collections.deque,
    collections.Counter,
)
"""Functions that go over their first argument once, at once."""
_TAKE_ITEMS: Final = frozenset({"difference_update", "extend", "extendleft", "join", "union", "update"})
"""Methods that do so."""


class ExpressionLowering(WholeLowering):
    """Lowers the expressions of one function into the blocks it builds.

    Attributes:
        steps: In a statement that is lowered step by step, the variables whose values it changes in place.
        here: The statement that is being lowered.
    """

    here: ast.stmt
    steps: frozenset[str] = frozenset()
    _makes_iterators: tuple[ast.FunctionDef | None, bool] = (None, False)

    @property
    def conditions(self) -> ConditionLowering:
        """The lowering of conditions in its expressions."""
        return ConditionLowering(self)

    @property
    def makes_iterators(self) -> bool:
        """Whether the statements that are lowered call Python's functions that make iterators to be kept."""
        node, makes = self._makes_iterators
        if node is not self.source.node:  # the statements of a generator are being lowered among its own
            node, makes = self.source.node, kept_iterators.makes_some(self.source.node, self.static_value)
            self._makes_iterators = node, makes
        return makes

    # Expressions

    def simple(self, node: ast.expr) -> ast.expr:
        """Lower the control flow in an expression; the result is straight-line code."""
        if self.makes_iterators:
            node = kept_iterators.with_arguments(node, self.static_value, self.constant)
        if self.is_simple(node):
            return node
        node = called_on_each(self._with_items(node))
        if isinstance(node, ast.Call) and node.args and self._goes_over(node.func, to_the_end=True):
            self.used_up.add(self.site(node.args[0]))
        special = self.implicit_call(node)
        return self._with_control(node) if special is None else self.as_method_call(node, *special)

    def _with_control(self, node: ast.expr) -> ast.expr:
        match node:
            case ast.Name(name):
                return self.closure(self.scope[name], node)
            case ast.Call() if called := self.called(node):
                return load(self.call(node, called, self.temporary()), node)
            case _ if (error := self._without_value(node)) is not None:
                raise error
            case ast.Call() if self._takes_from_growing(node) or self.is_step(node):
                return load(self._changing_call(node), node)
            case ast.IfExp():
                return load(self.conditions.choose(node), node)
            case ast.BoolOp():
                return load(self.conditions.short_circuit(node), node)
            case ast.UnaryOp(op=ast.Not()):
                return helper("__hb_not", [self.simple(self.asked(node.operand))], node)
            case ast.Compare():
                return self._compared(node)
            case ast.NamedExpr(target, value):
                self.store(target.id, value, node)
                return load(target.id, node)
            case ast.Lambda(arguments) if any(assigned_in_expressions(arguments)):
                return TraceTimeLowering(self).lower(self._with_defaults(node))
            case _ if isinstance(node, WHOLE):
                return TraceTimeLowering(self).lower(node)
            case ast.Call(_, [ast.GeneratorExp() | ast.ListComp() as items, *_]):
                return TraceTimeLowering(self).reduction(node, items)
        return self.with_simple_children(node)

    def _compared(self, node: ast.Compare) -> ast.expr:
        if self.conditions.is_conditional(node):
            return self.simple(self.conditions.as_conjunction(node))
        if len(node.ops) > 1:
            return self.conditions.chained(node)
        [items] = node.comparators
        made = items if isinstance(items, ast.GeneratorExp) else self.as_generator(items)
        if isinstance(items, ast.Name) and used_up.is_always_one(items.id, self.source, self.local):
            made = listed(items, ast.GeneratorExp)  # whose items behind the one that is found are left
        if isinstance(node.ops[0], (ast.In, ast.NotIn)) and made is not None:
            return TraceTimeLowering(self).membership(located(ast.Compare(node.left, node.ops, [made]), node))
        return self.with_simple_children(node)

    def implicit_call(self, node: ast.AST) -> tuple[str, Sequence[ast.expr]] | None:
        """The operation and operands of an expression that implicitly calls a followed method; else None."""
        if not self.callees.facts.has(Overloaded) or id(node) in self._functions:
            return None
        found = special_methods.operation(node)
        match node:
            case ast.Call(function, [value], []) if self.static_value(function) is len:
                found = (LEN,), "len", [value]
            case ast.Call(function, [value], []) if self.static_value(function) is bool:
                found = (BOOL, LEN), "truth", [value]
            case ast.Call(_, operands) if kept_iterators.is_next(node, self.static_value):
                found = (NEXT,), "next", operands
        return found[1:] if found is not None and self.is_overloaded(found[0], node) else None

    def is_overloaded(self, names: Sequence[str], node: ast.AST) -> bool:
        """Whether one of the methods that Python may call for an operation has to be followed."""
        place = self.location(node)
        return any(self.callees.facts.of(Overloaded, of_operations(place, name)) for name in names)

    def as_method_call(self, node: ast.expr | ast.stmt, operation: str, operands: Sequence[ast.expr]) -> ast.expr:
        """An operation as an explicit call of its method, which tracing finds."""
        match node:
            case ast.Attribute(ast.Call(ast.Name("super"), [cls, receiver]), attribute):
                method = helper("__hb_property_of_base", [cls, receiver, literal(attribute, node)], node)
                return self.simple(located(ast.Call(method, [receiver], []), node))
        if isinstance(node, ast.Call) and operation == "next":
            return self._next(node)
        names = [self.as_variable(operand, node) for operand in self.evaluated_in_order(operands)]
        name = literal(operation, node)
        if self.callee.columns:
            check = helper("__hb_check_operands", [name, *(load(operand, node) for operand in names)], node)
            self.primitive([located(ast.Expr(check), node)], [], node, self.source.text(node))
        method = helper("__hb_method", [name, *(load(operand, node) for operand in names)], node)
        given = reversed(names) if operation == "contains" else names
        operands = [load(operand, node) for operand in given]
        if self.is_overloaded(special_methods.reflected(operation), node):
            both = load(self.as_variable(helper("__hb_sides", [name, *operands], node), node), node)
            operands = [located(ast.Subscript(both, literal(i, node), ast.Load()), node) for i in range(2)]
        call = located(ast.Call(method, operands, []), node)
        if operation == "truth" and self.callee.columns:
            there = located(ast.Compare(load(names[0], node), [ast.IsNot()], [literal(None, node)]), node)
            return self.simple(located(ast.BoolOp(ast.And(), [there, helper("__hb_truth", [call], node)]), node))
        result = self.simple(call)
        if operation == "ne":
            return helper("__hb_result", [name, result, *(load(operand, node) for operand in names)], node)
        is_inverse = isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.NotIn)
        return helper("__hb_not", [result], node) if is_inverse else result

    def _next(self, node: ast.Call) -> ast.expr:
        """``next`` as a call of the method ``__next__``."""
        if len(node.args) == 1:
            return self.simple(kept_iterators.call_of_next(node.args[0], node.args[0]))
        statements, result = kept_iterators.next_or_default(node, self.temporary)
        self.statements(statements)
        return load(result, node)

    def asked(self, test: ast.expr) -> ast.expr:
        """A condition; for a variable whose class has its own truth method, a call of that."""
        if not isinstance(test, ast.Name) or not self.callees.facts.has(Overloaded):
            return test
        return self.as_method_call(test, "truth", [test]) if self.is_overloaded((BOOL, LEN), test) else test

    def prints(self, node: ast.AST) -> TypeGuard[ast.Call]:
        """Whether an expression is a call of ``print``."""
        return isinstance(node, ast.Call) and self.static_value(node.func) is print

    def is_simple(self, node: ast.expr) -> bool:
        """Whether an expression is straight-line code as it stands."""
        control = (ast.IfExp, ast.BoolOp, ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom, *WHOLE)
        for child in walk(node):
            if isinstance(child, ast.Name) and child.id in self.scope:
                return False
            if isinstance(child, control) or self.called(child) or self.prints(child) or self.is_step(child):
                return False
            if self._takes_from_growing(child) or (isinstance(child, ast.Call) and self.draws(child)):
                return False
            if isinstance(child, ast.Call):
                self._functions[id(child.func)] = child.func
            if self.implicit_call(child) or self._takes_in_turn(child):
                return False
            if isinstance(child, ast.UnaryOp) and isinstance(child.op, ast.Not):
                return False
            if isinstance(child, ast.Compare) and len(child.ops) > 1:
                return False
        return True

    def _takes_in_turn(self, node: ast.AST) -> bool:
        """Whether an expression goes over a variable whose object may have a method ``__next__`` of the user's."""
        if not kept_iterators.takes_in_turn(node) or not self.is_overloaded((NEXT,), node):
            return False
        if not isinstance(node, ast.Call):
            return True
        return self._goes_over(node.func) and self.static_value(node.func) is not next

    def _takes_from_growing(self, node: ast.AST) -> bool:
        """Whether an expression calls a method that changes a growing item of a variable."""
        return is_change(node) and self.changes_growing_part(node)

    def is_step(self, node: ast.AST) -> TypeGuard[ast.Call]:
        """Whether an expression is a call to lower as its own operation, in a statement lowered step by step."""
        if not self.steps:
            return False
        captured = {name: template.captured for name, template in self.scope.items()}
        if not changes_one_of(node, self.steps, captured):
            return False
        assert isinstance(node, ast.Call)
        return not any(self.static_value(node.func) is kind for kind in _ITERATORS)

    def _changing_call(self, node: ast.Call) -> str:
        """The variable that holds the result of a call that changes an object, lowered as an operation of its own."""
        if not self._takes_from_growing(node):
            return self.as_variable(self._step(node), node)
        result = self.temporary()
        self.change_growing_part(node, node, result)
        return result

    def _step(self, node: ast.Call) -> ast.expr:
        """A call that changes an object, with its operands computed before it."""
        parts = all_arguments(node)
        operands = iter([self._given(operand) for operand in self.evaluated_in_order(parts)])
        arguments = [next(operands) for _ in node.args]
        keywords = [located(ast.keyword(k.arg, next(operands)), k) for k in node.keywords]
        is_method = isinstance(node.func, ast.Attribute)
        function = self.with_simple_children(node.func) if is_method else self.simple(node.func)
        return located(ast.Call(function, arguments, keywords), node)

    def _given(self, operand: ast.expr) -> ast.expr:
        """An operand as a variable, unless it is known or is one already."""
        if is_given(operand) or isinstance(operand, (ast.Starred, *WHOLE)):
            return operand
        return load(self.as_variable(operand, operand), operand)

    def with_simple_children(self, node: ast.expr, later: Sequence[ast.expr] = ()) -> ast.expr:
        """An expression with the control flow of its operands lowered.

        Args:
            node: The expression.
            later: Expressions that are evaluated after it.
        """
        if self.prints(node):
            return PrintLowering(self, node).lower()
        if isinstance(node, ast.Call) and differentiates(self.static_value(node.func)):
            given = [self.closure_of(value) if isinstance(value, ast.Lambda) else value for value in node.args]
            node = located(ast.Call(node.func, given, node.keywords), node)
        operands = operands_of(node)
        return with_operands(node, dict(zip(map(id, operands), self.evaluated_in_order(operands, later), strict=True)))

    def evaluated_in_order(
        self, operands: Sequence[ast.expr], later: Sequence[ast.expr] = (), *, changed: Collection[ast.expr] = ()
    ) -> list[ast.expr]:
        """Operands with their control flow lowered, with the values they have when Python evaluates them.

        Control flow is lowered ahead of the straight-line code. An operand to the left of it is computed before it,
        too, if it changes an object, if the control flow changes what it reads, or if it may raise and the program
        catches exceptions. A name can be read late unless it is bound to another object.

        Args:
            operands: In the order in which Python evaluates them.
            later: Expressions that are evaluated after them, and lowered by the caller.
            changed: Operands that stay the places that they are, since a callee changes what they hold.
        """
        all_of_them = [*operands, *later]
        early = max((i for i, part in enumerate(all_of_them) if not self.is_simple(part)), default=-1)
        effects = self._effects_behind(all_of_them[: early + 1])
        found: list[ast.expr] = []
        for index, operand in enumerate(operands):
            value = self.simple(self._with_defaults(operand) if index < early else operand)
            is_place = any(operand is one for one in changed)
            if index < early and self._comes_first(operand, value, *effects[index], is_place=is_place):
                name = self.temporary()
                self.assign(name, value, operand)
                value = load(name, operand)
            found.append(value)
        return found

    def _with_defaults(self, operand: ast.expr) -> ast.expr:
        """A lambda whose defaults are variables, since Python evaluates them at once; any other operand unchanged."""
        if not isinstance(operand, ast.Lambda):
            return operand
        given = operand.args
        defaults = [self._given(self.simple(part)) for part in given.defaults]
        keywords = [None if part is None else self._given(self.simple(part)) for part in given.kw_defaults]
        return with_fields(operand, args=with_fields(given, defaults=defaults, kw_defaults=keywords))

    def _comes_first(
        self, operand: ast.expr, value: ast.expr, bound: frozenset[str], changed: frozenset[str], *, is_place: bool
    ) -> bool:
        """Whether an operand is computed before the control flow of later ones, and not behind it.

        Args:
            operand: The operand.
            value: The straight-line code that it has become.
            bound: The variables that later operands bind.
            changed: Those whose values they change in place.
            is_place: Whether a callee changes what the operand holds.
        """
        if isinstance(operand, ast.Lambda) or (isinstance(operand, ast.Name) and operand.id in self.scope):
            return False  # a function sees the last values of its variables
        if self.steps and not (is_given(value) or isinstance(value, ast.Attribute)):
            return True
        if self._is_affected(value, bound, changed):
            return True
        calls = any(isinstance(part, ast.Call) and self.may_be_followed(part) for part in walk(value))
        return self.has_try and not is_place and (calls or may_raise(value, self))

    def _effects_behind(self, operands: Sequence[ast.expr]) -> list[tuple[frozenset[str], frozenset[str]]]:
        """For each operand, the names that later operands bind, and those whose values they change in place."""
        bound, changed = frozenset[str](), frozenset[str]()
        found = list[tuple[frozenset[str], frozenset[str]]]()
        for operand in reversed(operands):
            found.append((bound, changed))
            bound |= {*assigned_in_expressions(operand), *self._bound_by_calls(operand)}
            changed |= self.changed_by(operand)
        return found[::-1]

    def _is_affected(self, value: ast.expr, bound: frozenset[str], changed: frozenset[str]) -> bool:
        """Whether straight-line code would have another value after these variables are bound or changed."""
        if isinstance(value, (ast.Constant, ast.Lambda, ast.GeneratorExp)):
            return False
        if isinstance(value, ast.Name):
            return value.id in bound
        return not (bound | changed).isdisjoint(read_names(value)) or self.changes(value)

    def changes(self, value: ast.expr) -> bool:
        """Whether straight-line code changes an object in place."""
        if any(is_change(part) or self.changes_argument(part) for part in walk(value)):
            return True
        place, here, reads = self.location(value), self.location(self.here), read_names(value)
        is_moved = not holds(here, place)  # the code is that of an iterator, which was made before this statement
        found = self.callees.facts.about_code(Changes)
        return any(
            not fact.names.isdisjoint(reads) and (holds(code, place) or (is_moved and holds(here, code)))
            for code, fact in found
        )

    def changes_argument(self, node: ast.AST) -> bool:
        """Whether an expression is a call of a Python function that changes an argument."""
        if not isinstance(node, ast.Call):
            return False
        return bool(changed_by(self.static_value(node.func)))

    def changes_growing_part(self, node: ast.AST) -> TypeGuard[ast.Call]:
        """Whether an expression calls a method on an item of a variable that holds growing containers."""
        match node:
            case ast.Call(ast.Attribute(ast.Subscript() | ast.Attribute() as part)):
                steps = [part, *prefixes(part)]
                return any(isinstance(step, ast.Subscript) for step in steps) and self.holds_growing(part)
        return False

    def holds_growing(self, part: ast.expr) -> bool:
        """Whether an expression is a part of a variable's growing containers, or one of them."""
        root = root_of(part)
        if not isinstance(root, ast.Name) or root.id not in self.local:
            return False
        if root.id in self.callee.columns:
            return True
        steps = len(list(prefixes(part)))
        hidden = steps + 1 if self.callees.facts.has(MakesContents) else 0  # to the container in each object on the way
        depths = range(steps + hidden + 1)
        return any(self.callees.facts.of(Grows, Grows(self.variable(root.id), depth).site) for depth in depths)

    def change_growing_part(self, call: ast.Call, node: ast.AST, result: str = "") -> None:
        """Lower a call that changes a growing item.

        Args:
            call: The call.
            node: The statement or expression that contains it.
            result: The variable for its result; empty if that is not used.
        """
        simple = self.with_simple_children(located(Change(call.func, call.args, call.keywords), call))
        assert isinstance(simple, ast.Call)
        if isinstance(root := root_of(simple.func), ast.Name):
            self.changes_own(root.id)
        body = changed(simple, self.temporary, result)
        self.primitive(body, [*([result] if result else []), *self.bound(body)], node, self.source.text(node))

    def bound(self, body: list[ast.stmt]) -> list[str]:
        """The user's names that statements assign to."""
        targets = [target for statement in body if isinstance(statement, ast.Assign) for target in statement.targets]
        names = dict.fromkeys(name for target in targets for name in target_names(target))
        return [name for name in names if self.is_own(name)]

    def _bound_by_calls(self, part: ast.expr) -> Iterator[str]:
        """Variables that calls in an expression bind to other values."""
        for node in walk(part):
            if one := self.called(node):
                yield from one.callee.bound

    def changed_by(self, part: ast.expr) -> frozenset[str]:
        """Variables whose values an expression changes in place."""
        found = set[str]()
        for node in (node for node in walk(part) if isinstance(node, ast.Call)):
            one = self.called(node)
            if one is not None:
                found.update(one.callee.changed)
                found.update(name for name in one.callee.changes if name in one.callee.captured)
            if is_change(node) or self.changes_argument(node) or (one is not None and one.callee.changes):
                roots = (root_of(given) for given in (*all_arguments(node), node.func))
                found.update(root.id for root in roots if isinstance(root, ast.Name))
        for inner in (inner for inner in walk(part) if isinstance(inner, ast.expr)):
            if (special := self.implicit_call(inner)) is not None:  # the method may change its object
                found.update(root.id for operand in special[1] if isinstance(root := root_of(operand), ast.Name))
        place = self.location(part)
        inside = (fact for code, fact in self.callees.facts.about_code(Changes) if holds(place, code))
        return frozenset(found).union(*(fact.names for fact in inside))

    def name_of(self, function: ast.Lambda) -> str | None:
        """The name of a lambda that is assigned to one name and never reassigned; else None."""
        lambdas = (t for t in self.scope.items() if t[1].source.node.name == "<lambda>")
        found = (name for name, template in lambdas if _returned(template.source.node) is function.body)
        return next(found, None)

    def closure_of(self, function: ast.Lambda) -> ast.expr:
        """A lambda as a value of the program, with its closure variables."""
        if (name := self.name_of(function)) is not None:
            return self.closure(self.scope[name], function)
        template = unnamed_function(self.source, self.callee.key, self.local, self.scope, function)
        for kept, default in template.defaults.items():
            self.store(kept, default, function)
        return self.closure(template, function)

    def store(self, name: str, value: ast.expr, node: ast.AST) -> None:
        """Emit ``name = value`` for any expression; a call writes its result there directly."""
        if isinstance(value, ast.Call) and (called := self.called(value)):
            self.call(value, called, name)
            return
        late = next(self._reassigned_reads(value), None)
        if late is None:
            self.assign(name, self.simple(value), node)
            return
        kept, read, assigned = late
        if isinstance(value, ast.Lambda):
            error = batched_builtins.kept_error(kept).at(self.location(read))
            raise error.with_note(Note("here", self.location(assigned)))
        self.assign(name, helper("__hb_kept", [self.simple(value), self.constant(kept)], value), node)

    def _reassigned_reads(self, value: ast.expr) -> Iterator[tuple[str, ast.Name, ast.Name]]:
        """Variables that lambdas in an expression read and that are assigned again later, with both of these places.

        If the lambda is kept, it would see the later value in Python. So would a function that is defined inside.
        """
        for node in walk(value):
            if isinstance(node, ast.Lambda):
                reads = read_names(node)
            elif isinstance(node, ast.Name) and node.id in self.scope:
                reads = dict.fromkeys(self.scope[node.id].captured, node)
            else:
                continue
            for other in walk(self.source.node):
                if not (isinstance(other, ast.Name) and isinstance(other.ctx, ast.Store) and other.id in reads):
                    continue
                if self._is_after(other, node):
                    yield other.id, reads[other.id], other

    def _is_after(self, other: ast.expr, node: ast.expr) -> bool:
        """Whether code may run after other code: it stands after it, or both are in one loop."""
        if (other.lineno, other.col_offset) > (node.lineno, node.col_offset):
            return True
        loops = (loop for loop in walk(self.source.node) if isinstance(loop, (ast.For, ast.While)))
        return any({id(node), id(other)} <= {id(part) for part in walk(loop)} for loop in loops)

    # Calls

    def called(self, node: ast.AST) -> Called | None:
        """The callee of an expression that is a call of a function of the program; None for any other."""
        if not isinstance(node, ast.Call):
            return None
        if isinstance(node.func, ast.Name) and node.func.id.startswith(HELPER):
            own = self.constants.get(node.func.id)
            return self.callees.of_fact(Calls(own)) if isinstance(own, types.FunctionType) else None
        found = self.callees.of_call(node, self.source, self.local)
        if found is not None and not self._may_get_contents(found.callee.source.function):
            return found
        if self.draws(node):
            return None
        template = self.scope.get(node.func.id) if isinstance(node.func, ast.Name) else None
        if template is not None and template.is_followed:
            return Called(self.callees.of_template(template))
        fact = self.callees.facts.of(Calls, self.site(node))
        return self._guessed(node) if fact is None else self.callees.of_fact(fact)

    def _may_get_contents(self, function: Any) -> bool:
        """Whether a callee gets the containers in objects that are derived from containers: tracing finds out which."""
        is_of_library = isinstance(function, types.FunctionType) and is_trusted(function.__code__.co_filename)
        return is_of_library and not self.source.is_of_prelude and self.callees.facts.has(MakesContents)

    def draws(self, node: ast.AST) -> Calls | None:
        """The generator with which a loop over the value of an expression takes turns; None if there is none."""
        match node:
            case ast.Call(ast.Name(name)) if name in self.scope and is_generator(self.scope[name]):
                if self.scope[name].is_followed:
                    return Calls(self.scope[name], "values")
            case ast.Call(ast.Name(name)) if name.startswith(HELPER):
                return None
            case ast.Call(function, arguments) if any(isinstance(a, ast.Call) and self.draws(a) for a in arguments):
                value = self.static_value(function)
                return next((Calls(own) for lazy, own in LAZY.items() if value is lazy), None)
        fact = self.callees.facts.of(Calls, self.site(node)) if isinstance(node, ast.expr) else None
        return fact if fact is not None and is_generator(fact.function) else None

    def _with_items(self, node: Tree) -> Tree:
        """A call that goes over the items of a generator, with a comprehension of them; any other node unchanged."""
        match node:
            case ast.Call(function, [ast.Call() as items, *others]) if self.draws(items) and self._goes_over(function):
                kind, drawn = self._kind_for(function), self.as_generator(items)
                if drawn is None:
                    return with_items(node, items, kind)  # type: ignore[return-value]
                given = drawn if kind is ast.GeneratorExp else _at_once(drawn)
                return located(ast.Call(function, [given, *others], node.keywords), node)  # type: ignore[return-value]
            case ast.Call(function, [ast.Call() as items]) if (by_key := self._by_a_key(node, items)) is not None:
                return located(ast.Call(function, [by_key], node.keywords), node)  # type: ignore[return-value]
            case ast.Call(function, [items, *_]) if self._takes_in_turn(node):
                return with_items(node, items, self._kind_for(function))  # type: ignore[return-value]
            case ast.Call() | ast.List() | ast.Tuple() | ast.Set():
                return with_parts(node, self._listed)
        return node

    def _kind_for(self, function: ast.expr) -> type[ast.ListComp | ast.GeneratorExp]:
        """The comprehension of the items that a function goes over: a reducer takes each when it asks for it."""
        value = self.static_value(function)
        return ast.GeneratorExp if any(value is known for known in REDUCERS if known is not len) else ast.ListComp

    def _listed(self, node: Any) -> Any:
        """``*map(f, xs)`` whose function the program calls, as ``*[f(x) for x in xs]``; any other node unchanged."""
        if isinstance(node, ast.Starred) and self._takes_in_turn(node):
            return located(ast.Starred(listed(node.value, ast.ListComp), node.ctx), node)
        items = self.as_list(node.value) if isinstance(node, ast.Starred) else None
        return node if items is None else located(ast.Starred(items, node.ctx), node)

    def as_list(self, items: ast.expr) -> ast.ListComp | None:
        """A generator expression, or ``map`` and ``filter`` whose function the program calls, as a list; else None."""
        found = items if isinstance(items, ast.GeneratorExp) else self.as_generator(items)
        return None if found is None else _at_once(found)

    def _by_a_key(self, node: ast.Call, items: ast.Call) -> ast.GeneratorExp | None:
        """``map`` or ``filter`` in ``max`` or ``min`` whose key has an effect, as a generator expression; else None."""
        keys = [keyword.value for keyword in node.keywords if keyword.arg == "key"]
        if not keys or self.static_value(node.func) not in (max, min) or not effects_of(keys[0], self).show:
            return None
        return one_by_one(items, self.static_value)

    def as_generator(self, items: ast.expr) -> ast.GeneratorExp | None:
        """``map`` or ``filter`` with a function that the program calls, as a generator expression; else None."""
        drawn = self.draws(items)
        return as_generator(items, drawn.function) if isinstance(items, ast.Call) and drawn is not None else None

    def _goes_over(self, function: ast.expr, *, to_the_end: bool = False) -> bool:
        """Whether a function goes over the items of its first argument at once, and keeps no iterator of them.

        Args:
            function: The function.
            to_the_end: Whether it has to go over all of them.
        """
        value = self.static_value(function)
        if value is MISSING and isinstance(function, ast.Attribute):
            return function.attr in _TAKE_ITEMS
        return any(value is known for known in _GO_OVER) and not (to_the_end and value in (any, all, next))

    def _without_value(self, node: ast.expr) -> UnsupportedSyntaxError | None:
        """The error for an expression that has no value of its own; None for any other."""
        if isinstance(node, (ast.Await, ast.Yield, ast.YieldFrom)):
            return self.unsupported(node)
        if not isinstance(node, ast.Call) or not self.draws(node):
            return None
        name = self.source.text(node.func)
        return UnsupportedSyntaxError(
            f"the generator {name!r} depends on values that differ between lanes, and is not gone over where it is "
            "called",
            self.location(node),
            help="go over the call itself in a `for`, or make a list of its items where it is called.",
        )

    def _guessed(self, node: ast.Call) -> Called | None:
        """The callee of a call, on the guess that the program has to carry it out; None if that is unlikely."""
        calls = None if is_starred(node) else self._probable_function(node.func)
        if calls is None:
            return None
        if is_generator(calls.function) or self._may_get_contents(calls.function):
            return None
        if calls.function is self.source.function and calls.receiver == "":
            return Called(self.callee)
        return self.callees.guess(calls, self.site(node))

    def _probable_function(self, function: ast.expr) -> Calls | None:
        """The function that a call of an expression probably means; None if that is not known."""
        value = self.static_value(function)
        if isinstance(value, type) and is_users_class(value):
            self.callees.makes(value)
        if value is not MISSING:
            return None if is_built_in(value) else called(value)
        match function:
            case ast.Name(name) if name in self.scope:
                return Calls(self.scope[name], "values")
            case ast.Attribute(ast.Name() | ast.Attribute(), name) if isinstance(root_of(function), ast.Name):
                return self.callees.method(name)
        return None

    def call(self, node: ast.Call, called: Called, result: str) -> str:
        """Emit a call of a function of the program; returns the name of the variable that receives its result."""
        return CallLowering(self).lower(self._with_items(node), called, result)


def _at_once(items: ast.GeneratorExp) -> ast.ListComp:
    """A list of the items of a generator expression."""
    return located(ast.ListComp(items.elt, items.generators), items)


def _returned(node: ast.FunctionDef) -> ast.expr | None:
    """The expression that a lambda returns, given the lambda as a definition."""
    (statement,) = node.body
    return statement.value if isinstance(statement, ast.Return) else None


def parameter_names(source: Source) -> tuple[str, ...]:
    """Parameters in order."""
    return tuple(source.signature.parameters)
