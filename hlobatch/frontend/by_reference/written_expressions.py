"""Expressions as they are written with containers by reference."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from typing import Any

from hlobatch.frontend.by_reference.ways import CannotBeWrittenError, is_path
from hlobatch.frontend.by_reference.written_calls import WrittenCalls
from hlobatch.frontend.nodes import located
from hlobatch.frontend.syntax import load


class WrittenExpressions(WrittenCalls):
    """Writes expressions."""

    def made(self, node: ast.expr) -> ast.expr:
        rule = getattr(self, f"visit_{type(node).__name__.lower()}", None)
        if rule is None:
            raise CannotBeWrittenError
        new: ast.expr = rule(node)
        return located(new, node)

    def visit_name(self, node: ast.Name) -> ast.expr:
        return copy.copy(node)

    def visit_constant(self, node: ast.Constant) -> ast.expr:
        return copy.copy(node)

    def visit_attribute(self, node: ast.Attribute) -> ast.expr:
        return ast.Attribute(self.plain(node.value), node.attr, node.ctx)

    def visit_subscript(self, node: ast.Subscript) -> ast.expr:
        return ast.Subscript(self.plain(node.value), self.made(node.slice), node.ctx)

    def visit_slice(self, node: ast.Slice) -> ast.expr:
        return ast.Slice(*(one and self.plain(one) for one in (node.lower, node.upper, node.step)))

    def visit_call(self, node: ast.Call) -> ast.expr:
        return self.call(node)

    def visit_list(self, node: ast.List) -> ast.expr:
        return ast.List(self.many(node.elts), node.ctx)

    def visit_tuple(self, node: ast.Tuple) -> ast.expr:
        return ast.Tuple(self.many(node.elts), node.ctx)

    def visit_set(self, node: ast.Set) -> ast.expr:
        return ast.Set(self.many(node.elts))

    def visit_dict(self, node: ast.Dict) -> ast.expr:
        keys = [key and self.kept(key) for key in node.keys]
        values = [
            self.plain(value) if key is None else self.kept(value)
            for key, value in zip(node.keys, node.values, strict=True)
        ]
        return ast.Dict(keys, values)

    def visit_starred(self, node: ast.Starred) -> ast.expr:
        return ast.Starred(self.plain(node.value), node.ctx)

    def visit_listcomp(self, node: Any) -> ast.expr:
        self.depth += 1
        new: ast.expr = type(node)(self.kept(node.elt), self.generators(node.generators))
        self.depth -= 1
        return new

    visit_setcomp = visit_generatorexp = visit_listcomp

    def visit_dictcomp(self, node: ast.DictComp) -> ast.expr:
        self.depth += 1
        new = ast.DictComp(self.kept(node.key), self.kept(node.value), self.generators(node.generators))
        self.depth -= 1
        return new

    def visit_lambda(self, node: ast.Lambda) -> ast.expr:
        self.depth += 1
        new = ast.Lambda(self.arguments(node.args), self.kept(node.body))
        self.depth -= 1
        return new

    def visit_binop(self, node: ast.BinOp) -> ast.expr:
        return ast.BinOp(self.plain(node.left), node.op, self.plain(node.right))

    def visit_unaryop(self, node: ast.UnaryOp) -> ast.expr:
        return ast.UnaryOp(
            node.op, self.truth(node.operand) if isinstance(node.op, ast.Not) else self.plain(node.operand)
        )

    def visit_boolop(self, node: ast.BoolOp) -> ast.expr:
        return self.choice(node)

    def visit_compare(self, node: ast.Compare) -> ast.expr:
        are_of_identity = [isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops]
        if all(are_of_identity):
            return ast.Compare(self.kept(node.left), node.ops, self.many(node.comparators))
        if any(are_of_identity):
            raise CannotBeWrittenError
        return ast.Compare(self.whole(node.left), node.ops, [*map(self.compared, node.ops, node.comparators)])

    def visit_ifexp(self, node: ast.IfExp) -> ast.expr:
        return ast.IfExp(self.truth(node.test), self.kept(node.body), self.kept(node.orelse))

    def visit_namedexpr(self, node: ast.NamedExpr) -> ast.expr:
        return ast.NamedExpr(node.target, self.kept(node.value))

    def visit_joinedstr(self, node: ast.JoinedStr) -> ast.expr:
        return ast.JoinedStr([self.made(one) for one in node.values])

    def visit_formattedvalue(self, node: ast.FormattedValue) -> ast.expr:
        return ast.FormattedValue(
            self.whole(node.value), node.conversion, node.format_spec and self.made(node.format_spec)
        )

    def visit_yield(self, node: ast.Yield) -> ast.expr:
        return ast.Yield(node.value and self.kept(node.value))

    def visit_yieldfrom(self, node: ast.YieldFrom) -> ast.expr:
        return ast.YieldFrom(self.plain(node.value))

    def compared(self, op: ast.cmpop, node: ast.expr) -> ast.expr:
        """The right operand of a comparison."""
        are_keys = isinstance(op, (ast.In, ast.NotIn)) and self.flow.of(node).kinds <= {"dict", "set"}
        return self.plain(node) if are_keys else self.whole(node)

    def choice(self, node: ast.BoolOp) -> ast.expr:
        """``and`` and ``or``, with the value of one of their operands."""
        *first, last = node.values
        if all(self.number(one) is None for one in first):
            return located(ast.BoolOp(node.op, self.many(node.values)), node)
        new = self.kept(last)
        for one in reversed(first):
            if is_path(one):
                value, test = self.kept(one), self.truth(one)
            else:
                value, test = self._named(one)
            sides = (value, new) if isinstance(node.op, ast.Or) else (new, value)
            new = located(ast.IfExp(test, *sides), node)
        return new

    def _named(self, node: ast.expr) -> tuple[ast.expr, ast.expr]:
        """The value of an expression as a variable, and its truth, where the variable gets it."""
        number, name = self.number(node), self.fresh()
        if self.depth or "None" in self.flow.of(node).kinds:
            raise CannotBeWrittenError
        stored = located(ast.NamedExpr(located(ast.Name(name, ast.Store()), node), self.kept(node)), node)
        return load(name, node), stored if number is None else self.content(stored, number, node)

    def generators(self, parts: Sequence[ast.comprehension]) -> list[ast.comprehension]:
        """The loops of a comprehension."""
        for one in parts:
            self.check_target(one.target, is_inside=False)
        return [
            ast.comprehension(one.target, self.plain(one.iter), [self.truth(t) for t in one.ifs], one.is_async)
            for one in parts
        ]

    def check_target(self, target: ast.expr, *, is_inside: bool) -> None:
        """Refuse a target that would take a holder apart."""
        if isinstance(target, (ast.Tuple, ast.List)):
            if self.number(target) is not None:
                raise CannotBeWrittenError
            for one in target.elts:
                if isinstance(one, ast.Starred) and self.number(one.value) is not None:
                    raise CannotBeWrittenError
                self.check_target(one, is_inside=True)
        elif not isinstance(target, (ast.Name, ast.Starred)):
            raise CannotBeWrittenError

    def arguments(self, arguments: ast.arguments) -> ast.arguments:
        """The parameters of a function, with their defaults."""
        new = copy.copy(arguments)
        new.defaults = self.many(arguments.defaults)
        new.kw_defaults = [one and self.kept(one) for one in arguments.kw_defaults]
        return new
