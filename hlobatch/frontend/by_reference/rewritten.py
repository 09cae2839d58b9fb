"""A definition -> the definition in which some containers are held by reference.

::

    cur = []                            cur = hb_Holder0([])
    groups.append(cur)          ==>     groups.append(cur)
    for x in cur: …                     for x in cur.hb_content0: …

An expression is written in one of three ways: with the holder as its value, where the container is passed on; with the
container, where something is asked of it; and with the containers in the container, too, where it leaves the program.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from typing import Any

from hlobatch.frontend.by_reference.places import CONTAINERS
from hlobatch.frontend.by_reference.ways import CannotBeWrittenError
from hlobatch.frontend.by_reference.written_expressions import WrittenExpressions
from hlobatch.frontend.nodes import located
from hlobatch.frontend.syntax import literal, load


class Rewritten(WrittenExpressions):
    """Writes the functions of a program anew."""

    def definition(self, node: ast.FunctionDef, is_first: bool) -> ast.FunctionDef:
        """A definition.

        Args:
            node: The definition.
            is_first: Whether it is that of the batched function, whose results leave the program.
        """
        self.is_first = is_first
        new = copy.copy(node)
        new.body = self.body(node.body)
        return new

    def body(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Some statements."""
        return [new for one in statements for new in self.statement(one)]

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        """A statement, and what has to follow it."""
        new = copy.copy(node)
        rule = getattr(self, f"visit_{type(node).__name__.lower()}", None)
        if rule is not None:
            return rule(new) or [new]
        if any(isinstance(part, ast.expr) for part in ast.iter_child_nodes(node)):
            raise CannotBeWrittenError
        return [new]

    def visit_functiondef(self, new: ast.FunctionDef) -> None:
        outer, self.is_first = self.is_first, False
        new.args, new.body = self.arguments(new.args), self.body(new.body)
        self.is_first = outer

    def visit_return(self, new: ast.Return) -> None:
        new.value = new.value and (self.whole(new.value) if self.is_first else self.kept(new.value))

    def visit_assign(self, new: ast.Assign) -> list[ast.stmt]:
        return self.assign(new, new.targets, new.value)

    def visit_annassign(self, new: ast.AnnAssign) -> None:
        new.target, new.value = self.target(new.target), new.value and self.kept(new.value)  # type: ignore[assignment]

    def visit_augassign(self, new: ast.AugAssign) -> None:
        target, number = new.target, self.number(new.target)
        if number is None:
            new.target = self.target(target)  # type: ignore[assignment]
        elif not isinstance(target, ast.Name) and self._is_of_tuple(target):
            raise CannotBeWrittenError
        else:
            new.target = self.content(self._read(target), number, target, ast.Store())  # type: ignore[assignment]
        new.value = self.plain(new.value)

    def visit_delete(self, new: ast.Delete) -> None:
        new.targets = [one if isinstance(one, ast.Name) else self.target(one) for one in new.targets]

    def visit_for(self, new: ast.For) -> None:
        new.iter = self.plain(new.iter)
        new.target, before = self.loop_target(new.target)
        new.body, new.orelse = [*before, *self.body(new.body)], self.body(new.orelse)

    def visit_while(self, new: ast.While | ast.If) -> None:
        new.test, new.body, new.orelse = self.truth(new.test), self.body(new.body), self.body(new.orelse)

    visit_if = visit_while

    def visit_assert(self, new: ast.Assert) -> None:
        new.test, new.msg = self.truth(new.test), new.msg and self.whole(new.msg)

    def visit_expr(self, new: ast.Expr) -> None:
        new.value = self.made(new.value)

    def visit_raise(self, new: ast.Raise) -> None:
        new.exc, new.cause = new.exc and self.raised(new.exc), new.cause and self.kept(new.cause)

    def visit_try(self, new: ast.Try) -> None:
        new.body, new.orelse, new.finalbody = self.body(new.body), self.body(new.orelse), self.body(new.finalbody)
        new.handlers = [self.handler(one) for one in new.handlers]

    def visit_with(self, new: ast.With) -> None:
        new.items = [ast.withitem(self.kept(one.context_expr), one.optional_vars) for one in new.items]
        new.body = self.body(new.body)

    def visit_match(self, new: ast.Match) -> None:
        new.subject = self.kept(new.subject)
        new.cases = [self.case(one) for one in new.cases]

    def case(self, case: ast.match_case) -> ast.match_case:
        """One case of a ``match``."""
        return ast.match_case(case.pattern, case.guard and self.truth(case.guard), self.body(case.body))

    def handler(self, handler: ast.ExceptHandler) -> ast.ExceptHandler:
        """One ``except``."""
        new = copy.copy(handler)
        new.body = self.body(handler.body)
        return new

    def raised(self, error: ast.expr) -> ast.expr:
        """What is raised: the arguments of an exception leave the program."""
        if isinstance(error, ast.Call) and self.flow.called.get(id(error)) != "own":
            return self._call(error, self.kept(error.func), self.whole)
        return self.kept(error)

    def assign(self, node: Any, targets: Sequence[ast.expr], value: ast.expr) -> list[ast.stmt]:
        """An assignment."""
        patterns = [one for one in targets if isinstance(one, (ast.Tuple, ast.List))]
        if not patterns:
            slices = [one for one in targets if isinstance(one, ast.Subscript) and isinstance(one.slice, ast.Slice)]
            if slices and len(targets) > 1:
                raise CannotBeWrittenError
            node.targets = [self.target(one) for one in targets]
            node.value = self.plain(value) if slices else self.kept(value)
            return [node]
        if len(targets) > 1 and self.number(value) is not None:
            raise CannotBeWrittenError
        elements = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
        is_by_one = all(
            elements
            and len(one.elts) == len(elements)
            and not any(isinstance(part, ast.Starred) for part in (*one.elts, *elements))
            for one in patterns
        )
        after = list[ast.stmt]()
        node.targets = [self._pattern(one, after, is_by_one=is_by_one) for one in targets]
        node.value = self.made(value) if is_by_one else self.plain(value)
        return [node, *after]

    def _pattern(self, target: ast.expr, after: list[ast.stmt], *, is_by_one: bool) -> ast.expr:
        """A target whose parts get the items of a container, which is no holder itself."""
        if not isinstance(target, (ast.Tuple, ast.List)):
            return self.target(target)
        parts = list[ast.expr]()
        for one in target.elts:
            if isinstance(one, ast.Starred):
                number = self.number(one.value)
                if number is not None:
                    if not isinstance(one.value, ast.Name):
                        raise CannotBeWrittenError
                    value = self.wrapped(load(one.value.id, one.value), number, one.value)
                    after.append(located(ast.Assign([copy.copy(one.value)], value), one))
                parts.append(located(ast.Starred(self.target(one.value), ast.Store()), one))
            elif isinstance(one, (ast.Tuple, ast.List)):
                if self.number(one) is not None:
                    name = self.fresh()
                    number = self.number(one)
                    assert number is not None
                    inner = located(ast.Assign([], literal(None, one)), one)
                    place = len(after)
                    inner.targets = [self._pattern(one, after, is_by_one=False)]
                    inner.value = self.content(load(name, one), number, one)
                    after.insert(place, inner)
                    parts.append(located(ast.Name(name, ast.Store()), one))
                else:
                    parts.append(self._pattern(one, after, is_by_one=False))
            else:
                parts.append(self.target(one))
        return located(type(target)(parts, ast.Store()), target)

    def loop_target(self, target: ast.expr) -> tuple[ast.expr, list[ast.stmt]]:
        """The target of a loop, and what its body begins with."""
        if not isinstance(target, (ast.Tuple, ast.List)):
            return self.target(target), []
        before = list[ast.stmt]()
        number = self.number(target)
        if number is None:
            return self._pattern(target, before, is_by_one=False), before
        name = self.fresh()
        inner = located(ast.Assign([], self.content(load(name, target), number, target)), target)
        inner.targets = [self._pattern(target, before, is_by_one=False)]
        return located(ast.Name(name, ast.Store()), target), [inner, *before]

    def target(self, target: ast.expr) -> ast.expr:
        """A place that is assigned."""
        match target:
            case ast.Name():
                return copy.copy(target)
            case ast.Attribute(value, name, context):
                return located(ast.Attribute(self.plain(value), name, context), target)
            case ast.Subscript(value, index, context):
                return located(ast.Subscript(self.plain(value), self.made(index), context), target)
            case ast.Starred(value, context):
                return located(ast.Starred(self.target(value), context), target)
        raise CannotBeWrittenError

    def _read(self, target: ast.expr) -> ast.expr:
        """A target as it is read."""
        new = self.target(target)
        new.ctx = ast.Load()  # type: ignore[attr-defined]
        return new

    def _is_of_tuple(self, target: ast.expr) -> bool:
        return isinstance(target, ast.Subscript) and not self.flow.of(target.value).kinds <= CONTAINERS
