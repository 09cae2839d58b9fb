"""Statements: what they bind to objects, and which objects they change."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hlobatch.frontend.by_reference.expressions import Expressions
from hlobatch.frontend.by_reference.flow import Flow, Function
from hlobatch.frontend.by_reference.places import CONTAINERS, Objects


def look(flow: Flow, function: Function) -> None:
    """Go over a function once."""
    Statements(flow, function).run()


class Statements(Expressions):
    """Goes over the statements of a function."""

    def run(self) -> None:
        """Go over the whole function."""
        node = self.function.node
        if isinstance(node, ast.Lambda):
            self.binds(node.body, self.function.gives)
        else:
            if self.function.around is None:
                for name, value in _defaults(self.function.source.function).items():
                    if isinstance(value, (list, dict, set)) and (found := self.function.variable(name)) is not None:
                        found.note("outside")
            self.body(node.body)

    def define(self, node: ast.FunctionDef | ast.Lambda) -> Objects:
        inner = self.flow.inner(node, self.function)
        arguments = node.args
        named = [*arguments.posonlyargs, *arguments.args]
        pairs = list(zip(named[len(named) - len(arguments.defaults) :], arguments.defaults, strict=True))
        pairs += [(a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None]
        for parameter, default in pairs:
            self.binds(default, inner.names.setdefault(parameter.arg, Objects()))
            inner.kept.add(parameter.arg)
        Statements(self.flow, inner, self.scopes).run()
        found = Objects()
        found.functions[id(inner)] = inner
        return found

    def body(self, statements: Sequence[ast.stmt]) -> None:
        """Go over some statements."""
        for one in statements:
            getattr(self, f"visit_{type(one).__name__.lower()}", self._parts)(one)

    def _parts(self, node: ast.AST) -> None:
        for part in ast.iter_child_nodes(node):
            match part:
                case ast.expr() if isinstance(getattr(part, "ctx", None), (ast.Store, ast.Del)):
                    self.target(part)
                case ast.expr():
                    self.of(part)
                case ast.stmt():
                    self.body([part])
                case ast.ExceptHandler(_, _, body):
                    self.body(body)

    def visit_functiondef(self, node: ast.FunctionDef) -> None:
        made = self.define(node)
        if (variable := self.function.variable(node.name)) is not None:
            variable.join(made)

    def visit_classdef(self, node: ast.ClassDef) -> None:
        if (kind := self.function.source.classes.get(node.name)) is not None:
            self.flow.reach_class(kind)

    def visit_return(self, node: ast.Return) -> None:
        if node.value is not None and self.function is self.flow.first:
            self.of(node.value)  # nobody has it after that
        elif node.value is not None:
            self.binds(node.value, self.function.gives)

    def visit_assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self.assign(target, node.value)
        if len(node.targets) > 1:
            self.of(node.value).note("bound")

    def visit_annassign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, node.value)

    def visit_augassign(self, node: ast.AugAssign) -> None:
        whole = self.target(node.target)
        self.of(node.value)
        whole.note("changed")
        if whole.root().kinds & CONTAINERS:
            whole.items.join(self.iterated(node.value))

    def visit_if(self, node: ast.If | ast.While) -> None:
        self.asked(node.test)
        self.body([*node.body, *node.orelse])

    visit_while = visit_if

    def visit_assert(self, node: ast.Assert) -> None:
        self.asked(node.test)
        if node.msg is not None:
            self.of(node.msg)

    def visit_for(self, node: ast.For) -> None:
        self.destructure(node.target, self.iterated(node.iter))
        self.body([*node.body, *node.orelse])

    def visit_with(self, node: ast.With) -> None:
        for item in node.items:
            self.of(item.context_expr)
            if item.optional_vars is not None:
                place = self.target(item.optional_vars)
                for one in self.flow.methods("__enter__"):
                    place.join(one.gives)
        self.body(node.body)

    def visit_match(self, node: ast.Match) -> None:
        found = self.of(node.subject)
        self.keep(node.subject)
        for case in node.cases:
            self.pattern(case.pattern, found)
            if case.guard is not None:
                self.asked(case.guard)
            self.body(case.body)

    def pattern(self, pattern: ast.pattern, found: Objects) -> None:
        """A pattern of a ``match``: a container that is taken apart by one stays as it is."""
        if isinstance(pattern, ast.MatchAs) and pattern.pattern is None:
            if pattern.name is not None and (variable := self.function.variable(pattern.name)) is not None:
                variable.join(found)
                variable.note("bound")
            return
        found.note("unclear")
        for part in ast.walk(pattern):
            name = getattr(part, "name", None) or getattr(part, "rest", None)
            if isinstance(name, str) and (variable := self.function.variable(name)) is not None:
                variable.note("unclear")

    def assign(self, target: ast.expr, value: ast.expr) -> None:
        """An assignment to one target."""
        if isinstance(target, (ast.Tuple, ast.List)):
            elements = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
            has_star = any(isinstance(one, ast.Starred) for one in (*target.elts, *elements))
            if len(elements) == len(target.elts) and not has_star:
                self.of(value)
                for one, other in zip(target.elts, elements, strict=True):
                    self.assign(one, other)
                return
            found = self.of(value)
            self.destructure(target, found)
            return
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Slice):
            items = self.iterated(value)
            items.note("bound")
            self.target(target).items.join(items)
            return
        self.binds(value, self.target(target))

    def destructure(self, target: ast.expr, found: Objects) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            self.flow.of(target).join(found)
            is_plain = not any(isinstance(one, ast.Starred) for one in target.elts)
            for index, one in enumerate(target.elts):
                if isinstance(one, ast.Starred):
                    rest = self.target(one.value)
                    rest.are("list")
                    rest.items.join(self.each(found))
                else:
                    part = found.part(index) if is_plain and "tuple" in found.root().kinds else self.each(found)
                    self.destructure(one, part)
            return
        place = self.target(target)
        place.join(found)
        place.note("bound")

    def target(self, target: ast.expr) -> Objects:
        match target:
            case ast.Name(name):
                self.keep_name(name)
                return self.named(target, name)
            case ast.Attribute(value, name):
                self.of(value)
                found = self.flow.of(target)
                found.join(self.flow.attribute(name))
                return found.root()
            case ast.Subscript(value, index):
                around, of_index = self.of(value), self.of(index)
                around.note("changed")
                if isinstance(index, ast.Slice):
                    found = self.flow.of(target)
                    found.are("list")
                    found.items.join(around.items)
                    return found.root()
                around.keys.join(of_index)
                found = self.flow.of(target)
                found.join(around.items)
                for one in self.flow.methods("__setitem__"):
                    if not around.root().kinds & CONTAINERS and len(one.parameters) > 2:
                        found.join(one.variable(one.parameters[2]) or Objects())
                return found.root()
            case ast.Starred(value):
                return self.target(value)
        return self.of(target)


def _defaults(function: Callable[..., Any]) -> Mapping[str, Any]:
    """The defaults of a function's parameters."""
    parameters = inspect.signature(function, follow_wrapped=False).parameters
    return {name: one.default for name, one in parameters.items() if one.default is not inspect.Parameter.empty}
