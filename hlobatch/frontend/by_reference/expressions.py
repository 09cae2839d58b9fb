"""Expressions: the objects that they may have as their values."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from hlobatch.frontend.by_reference.calls import Calls
from hlobatch.frontend.by_reference.names import some
from hlobatch.frontend.by_reference.places import CONTAINERS, Objects


class Expressions(Calls):
    """Goes over the expressions of a function."""

    def of(self, node: ast.expr) -> Objects:
        found = self.flow.of(node)
        rule = getattr(self, f"visit_{type(node).__name__.lower()}", self._of_parts)
        made = rule(node)
        if made is not None:
            found.join(made)
        return found.root()

    def asked(self, node: ast.expr) -> None:
        """Go over a condition: which operand of its ``and`` and ``or`` is its value does not matter."""
        match node:
            case ast.BoolOp(_, values):
                for one in values:
                    self.asked(one)
            case ast.UnaryOp(ast.Not(), operand):
                self.asked(operand)
            case _:
                self.of(node)

    def _of_parts(self, node: ast.expr) -> None:
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr):
                self.of(part)

    def visit_name(self, node: ast.Name) -> Objects:
        return self.named(node, node.id)

    def visit_constant(self, node: ast.Constant) -> Objects:
        return some("None" if node.value is None else "tuple" if isinstance(node.value, (str, bytes)) else "number")

    def visit_list(self, node: ast.List) -> Objects:
        return self.display(node.elts, "list")

    def visit_set(self, node: ast.Set) -> Objects:
        return self.display(node.elts, "set")

    def visit_tuple(self, node: ast.Tuple) -> Objects:
        if any(isinstance(one, ast.Starred) for one in node.elts):
            return self.display(node.elts, "tuple")
        made = some("tuple")
        for index, one in enumerate(node.elts):
            self.binds(one, made.part(index))
        return made

    def visit_dict(self, node: ast.Dict) -> Objects:
        made = some("dict")
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                other = self.of(value)
                made.items.join(other.items)
                made.keys.join(other.keys)
            else:
                made.keys.join(self.of(key))
                self.binds(value, made.items)
        return made

    def visit_listcomp(self, node: ast.ListComp) -> Objects:
        return self.comprehension(node, "list")

    def visit_setcomp(self, node: ast.SetComp) -> Objects:
        return self.comprehension(node, "set")

    def visit_generatorexp(self, node: ast.GeneratorExp) -> Objects:
        return self.comprehension(node, "tuple")

    def visit_dictcomp(self, node: ast.DictComp) -> Objects:
        return self.comprehension(node, "dict")

    def visit_attribute(self, node: ast.Attribute) -> Objects:
        self.of(node.value)
        found = self.flow.attribute(node.attr)
        for one in () if id(node) in self.flow.called else self.flow.methods(node.attr):  # properties
            found.join(one.gives)
        return found

    def visit_subscript(self, node: ast.Subscript) -> Objects | None:
        return self.subscript(node.value, node.slice)

    def visit_starred(self, node: ast.Starred) -> None:
        self.of(node.value)

    def visit_binop(self, node: ast.BinOp) -> Objects:
        return self.operation(node.left, node.right)

    def visit_unaryop(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            self.asked(node.operand)
        else:
            self.of(node.operand)

    def visit_boolop(self, node: ast.BoolOp) -> Objects:
        made = self.flow.of(node)
        for one in node.values:
            made.join(self.of(one))
        return made

    def visit_ifexp(self, node: ast.IfExp) -> Objects:
        self.asked(node.test)
        made = self.of(node.body)
        made.join(self.of(node.orelse))
        return made

    def visit_namedexpr(self, node: ast.NamedExpr) -> Objects:
        self.binds(node.value, self.target(node.target))
        made = self.of(node.value)
        made.note("bound")
        return made

    def visit_lambda(self, node: ast.Lambda) -> Objects:
        return self.define(node)

    def visit_call(self, node: ast.Call) -> Objects | None:
        return self.call(node)

    def visit_yield(self, node: ast.Yield) -> None:
        if node.value is not None:
            self.binds(node.value, self.function.gives.items)

    def visit_yieldfrom(self, node: ast.YieldFrom) -> None:
        self.function.gives.items.join(self.iterated(node.value))

    def display(self, elements: Sequence[ast.expr], kind: str) -> Objects:
        """A container of the values of some expressions."""
        made = some(kind)
        for one in elements:
            if isinstance(one, ast.Starred):
                made.items.join(self.iterated(one.value))
                made.items.note("bound")
            else:
                self.binds(one, made.items)
        return made

    def comprehension(self, node: Any, kind: str) -> Objects:
        """A container of the values of an expression."""
        made, depth = some(kind), len(self.scopes)
        for one in node.generators:
            found = self.iterated(one.iter)
            names = [part.id for part in ast.walk(one.target) if isinstance(part, ast.Name)]
            kept = self.flow.of_comprehensions.setdefault(id(one), {})
            self.scopes.append({name: kept.setdefault(name, Objects()) for name in names})
            self.destructure(one.target, found)
            for test in one.ifs:
                self.asked(test)
        if isinstance(node, ast.DictComp):
            made.keys.join(self.of(node.key))
            self.binds(node.value, made.items)
        else:
            self.binds(node.elt, made.items)
        del self.scopes[depth:]
        return made

    def subscript(self, value: ast.expr, index: ast.expr) -> Objects | None:
        """An item, or a slice."""
        around, of_index = self.of(value), self.of(index)
        if isinstance(index, ast.Slice):
            made = Objects()
            made.are(*(around.root().kinds & {"list", "tuple", "deque"}))
            made.items.join(around.items)
            made.items.note("bound")
            return made
        kinds = around.root().kinds
        if "dict" in kinds:
            around.keys.join(of_index)
        match index:
            case ast.Constant(int() as at) if at >= 0 and kinds == {"tuple"}:
                return around.part(at)
            case _ if self.flow.is_first and not kinds:
                return None
        found = around.items
        if not kinds & (CONTAINERS | {"tuple"}):
            for one in self.flow.methods("__getitem__"):
                found.join(one.gives)
        return found

    def operation(self, left: ast.expr, right: ast.expr) -> Objects:
        """An operation on two values, which may be a container of their items."""
        made = Objects()
        for one in (left, right):
            found = self.of(one)
            if kinds := found.root().kinds & (CONTAINERS | {"tuple"}):
                made.are(*kinds)
                made.items.join(found.items)
                made.items.note("bound")
                if "dict" in kinds:
                    made.keys.join(found.keys)
        return made
