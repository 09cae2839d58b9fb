"""Calls as they are written with containers by reference."""

from __future__ import annotations

import ast
import builtins
import collections
import copy
import dataclasses
import functools
import heapq
import itertools
from collections.abc import Callable, Sequence
from typing import Any, Final

from hlobatch.frontend.by_reference.library import ADDS, KINDS, TAKES
from hlobatch.frontend.by_reference.places import Objects
from hlobatch.frontend.by_reference.ways import CannotBeWrittenError, Ways, given_by, one_of
from hlobatch.frontend.nodes import located
from hlobatch.frontend.syntax import load

_KEPT: Final = (functools.partial, next)
"""Functions that pass their arguments on."""
_WHOLE: Final = (print, str, repr, format)
"""Functions that look at all that is in their arguments."""
_HEAPS: Final = (heapq.heappush, heapq.heappushpop, heapq.heapreplace)
"""Functions that put their second argument into the first."""
_ORDERED: Final = (min, max, sorted)
"""Functions that compare the items of their argument."""
_COMPARED: Final = frozenset({"index", "count", "remove", "discard"})
"""Methods that compare items with an argument."""
Way = Callable[[ast.expr], ast.expr]
"""Writes an argument."""


class WrittenCalls(Ways):
    """Writes calls."""

    def call(self, node: ast.Call) -> ast.expr:
        """A call, whatever it calls."""
        called, function = self.flow.called.get(id(node)), node.func
        if called == "own":
            return self._call(node, self.kept(function), self.lent)
        if isinstance(called, type) and dataclasses.is_dataclass(called):
            return self.of_dataclass(node, called)
        if called == "method":
            assert isinstance(function, ast.Attribute)
            return self.of_container(node, function)
        if any(isinstance(one, ast.Starred) and self.holds_held(self.flow.of(one.value)) for one in node.args):
            return self._with_items(node, called)
        rule = self._rule(node, called)
        return self._call(node, self.kept(function), self._way(node, called)) if rule is None else rule(node)

    def _rule(self, node: ast.Call, called: Any) -> Callable[[ast.Call], ast.expr] | None:
        if called in (map, filter) and node.args:
            return self._applying
        number = self.number_of(self.flow.of(node).items)
        if called is collections.defaultdict and node.args and number is not None:
            return None if isinstance(node.args[0], ast.Lambda) else self._defaults
        return self._put if one_of(called, _HEAPS) else None

    def _way(self, node: ast.Call, called: Any) -> Way:
        """The way in which the arguments of a function of a library are written."""
        if one_of(called, _WHOLE):
            return self.whole
        if called in (min, max) and len(node.args) > 1:
            if any(one.arg == "key" for one in node.keywords):
                return self.kept
            if any(self.number(one) is not None for one in node.args):
                raise CannotBeWrittenError
        return self.kept if one_of(called, _KEPT) else self.plain

    def _applying(self, node: ast.Call) -> ast.expr:
        """``map`` and ``filter``."""
        first = self.applied(node.args[0], [given_by(self.flow.of(one)) for one in node.args[1:]])
        return located(ast.Call(self.kept(node.func), [first, *map(self.plain, node.args[1:])], []), node)

    def _defaults(self, node: ast.Call) -> ast.expr:
        """A ``defaultdict`` whose values are by reference."""
        factory, number = node.args[0], self.number_of(self.flow.of(node).items)
        if (
            number is None
            or not isinstance(factory, ast.Name)
            or not one_of(getattr(builtins, factory.id, None), KINDS)
        ):
            raise CannotBeWrittenError
        value = located(ast.Call(copy.copy(factory), [], []), factory)
        made = located(ast.Lambda(_parameters([], factory), self.wrapped(value, number, factory)), factory)
        return located(ast.Call(self.kept(node.func), [made, *map(self.plain, node.args[1:])], []), node)

    def _put(self, node: ast.Call) -> ast.expr:
        """A function of ``heapq``."""
        given = [self.plain(one) if index == 0 else self.kept(one) for index, one in enumerate(node.args)]
        return located(ast.Call(self.kept(node.func), given, []), node)

    def of_dataclass(self, node: ast.Call, kind: type) -> ast.expr:
        """A call of a dataclass whose ``__init__`` cannot be read, with the containers that it would make."""
        new = self._call(node, self.kept(node.func), self.kept)
        fields = [one for one in dataclasses.fields(kind) if one.init]
        given = {*(one.name for one in fields[: len(node.args)]), *(one.arg for one in node.keywords)}
        for one in fields:
            number, factory = self.number_of(self.flow.attribute(one.name)), one.default_factory
            if number is None or one.name in given or factory is dataclasses.MISSING:
                continue
            empty: dict[Any, ast.expr] = {list: ast.List([], ast.Load()), dict: ast.Dict([], [])}
            if factory not in empty:
                raise CannotBeWrittenError
            value = located(empty[factory], node)
            new.keywords.append(located(ast.keyword(one.name, self.wrapped(value, number, node)), node))
        return new

    def lent(self, node: ast.expr) -> ast.expr:
        """An argument of a function of the user's."""
        return self.plain(node) if self.flow.is_lent(node) else self.kept(node)

    def _with_items(self, node: ast.Call, called: Any) -> ast.expr:
        """A call of ``zip(*rows)`` or ``chain(*rows)``."""
        if called not in (zip, itertools.chain) or len(node.args) != 1:
            raise CannotBeWrittenError
        [one] = node.args
        assert isinstance(one, ast.Starred)
        number = self.number_of(self.flow.of(one.value).items)
        if number is None or "None" in self.flow.of(one.value).items.root().kinds:
            raise CannotBeWrittenError
        name = self.fresh()
        target = located(ast.Name(name, ast.Store()), one)
        part = ast.comprehension(target, self.plain(one.value), [], 0)
        items = located(ast.ListComp(self.content(load(name, one), number, one), [part]), one)
        return located(
            ast.Call(self.kept(node.func), [located(ast.Starred(items, ast.Load()), one)], node.keywords), node
        )

    def _call(self, node: ast.Call, function: ast.expr, way: Way) -> ast.Call:
        """A call whose arguments are written in one way."""
        given = [
            located(ast.Starred(self.plain(one.value), ast.Load()), one) if isinstance(one, ast.Starred) else way(one)
            for one in node.args
        ]
        keywords = [located(ast.keyword(one.arg, self._keyword(node, one, way)), one) for one in node.keywords]
        is_ordered = len(node.args) == 1 and self.flow.called.get(id(node)) in _ORDERED
        if is_ordered and not any(one.arg == "key" for one in node.keywords):
            keywords += self.by_content(given_by(self.flow.of(node.args[0])), node)
        return located(ast.Call(function, given, keywords), node)

    def _keyword(self, node: ast.Call, keyword: ast.keyword, way: Way) -> ast.expr:
        if keyword.arg == "key" and node.args and self.flow.called.get(id(node)) != "own":
            of = self.flow.of(node.args[0])
            return self.applied(keyword.value, [given_by(of) if len(node.args) == 1 else of])
        if keyword.arg == "default":
            return self.kept(keyword.value)
        return self.plain(keyword.value) if keyword.arg is None else way(keyword.value)

    def of_container(self, node: ast.Call, function: ast.Attribute) -> ast.expr:
        """A call of a method of a container."""
        name, of = function.attr, self.flow.of(function.value)
        new = located(ast.Attribute(self.plain(function.value), name, ast.Load()), function)
        if name in {*ADDS, *TAKES, "insert", "fromkeys"}:
            return self._call(node, new, self.kept)
        if name in _COMPARED:
            if self.holds_held(of):
                raise CannotBeWrittenError
            return self._call(node, new, self.whole)
        return self._sort(node, new, of) if name == "sort" else self._call(node, new, self.plain)

    def _sort(self, node: ast.Call, function: ast.expr, of: Objects) -> ast.expr:
        keys = [one for one in node.keywords if one.arg == "key"]
        others = [one for one in node.keywords if one.arg != "key"]
        keywords = [located(ast.keyword("key", self.applied(one.value, [of.items])), one) for one in keys]
        keywords += [located(ast.keyword(one.arg, self.plain(one.value)), one) for one in others]
        keywords += [] if keys else self.by_content(of.items, node)
        return located(ast.Call(function, [], keywords), node)

    def by_content(self, items: Objects, node: ast.expr) -> list[ast.keyword]:
        """The key by which items are compared, where they are containers by reference."""
        number = self.number_of(items)
        if number is None:
            return []
        if self.holds_held(items):
            raise CannotBeWrittenError
        name = self.fresh()
        key = located(ast.Lambda(_parameters([name], node), self.content(load(name, node), number, node)), node)
        return [located(ast.keyword("key", key), node)]

    def applied(self, function: ast.expr, given: Sequence[Objects]) -> ast.expr:
        """A function that Python applies to items."""
        if self.flow.of(function).functions or isinstance(function, ast.Lambda):
            return self.kept(function)
        numbers = [self.number_of(one) for one in given]
        if all(number is None for number in numbers):
            return self.plain(function)
        if isinstance(function, ast.Constant):
            raise CannotBeWrittenError
        names = [self.fresh() for _ in given]
        values = [
            load(name, function) if number is None else self.content(load(name, function), number, function)
            for name, number in zip(names, numbers, strict=True)
        ]
        return located(
            ast.Lambda(_parameters(names, function), located(ast.Call(self.plain(function), values, []), function)),
            function,
        )


def _parameters(names: Sequence[str], node: ast.AST) -> ast.arguments:
    """The parameters of a lambda."""
    given = [located(ast.arg(name), node) for name in names]
    return ast.arguments(posonlyargs=[], args=given, kwonlyargs=[], kw_defaults=[], defaults=[])
