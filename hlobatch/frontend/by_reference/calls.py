"""Calls: what functions do with the objects that they are given, and what objects they give."""

from __future__ import annotations

import ast
import collections
import copy
import dataclasses
import functools
import heapq
import itertools
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from hlobatch.frontend.by_reference.flow import Function, initializer_of
from hlobatch.frontend.by_reference.library import ADDS, CHANGES, COPIES, EXTENDS, KINDS, METHODS, OF_ITEMS, TAKES
from hlobatch.frontend.by_reference.names import Names, some
from hlobatch.frontend.by_reference.places import CONTAINERS, Objects
from hlobatch.frontend.scopes import MISSING
from hlobatch.values.draws import is_users_class


class Calls(Names):
    """Goes over the calls of a function."""

    def call(self, node: ast.Call) -> Objects | None:
        """The objects that a call gives."""
        function = node.func
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        for one in arguments:
            self.of(one.value if isinstance(one, ast.Starred) else one)
        if isinstance(function, ast.Attribute):
            self.flow.called.setdefault(id(function), True)
            value = self.static(function)
            if value is MISSING:
                return self.method(node, function)
            return self.of_value(node, value)
        found = self.of(function)
        if found.functions:
            return self.own(node, [*found.functions.values()])
        value = self.static(function)
        if value is MISSING:
            return self.unknown(node)
        return self.of_value(node, value)

    def own(self, node: ast.Call, functions: Sequence[Function], skipped: int = 0) -> Objects:
        """A call of functions of the user's, whose first parameters may be given already."""
        self.flow.called[id(node)] = "own"
        given = [self.flow.of(one) for one in node.args]
        roots = [one.root() for one in given]
        inside = [part for one in {*roots} for part in one.inside]
        are_apart = len({*roots, *inside}) == len(roots) + len({*inside})
        for one in () if are_apart else given:
            one.note("bound")
        for value in (*node.args, *(keyword.value for keyword in node.keywords)):
            self.flow.given[id(value)] = []
        made = Objects()
        for function in functions:
            names = function.parameters[skipped:]
            function.kept.update(() if are_apart else names)
            self._positional(function, node.args, names)
            for keyword in node.keywords:
                if keyword.arg is not None:
                    self._lend(function, keyword.arg, keyword.value)
                else:
                    self.flow.of(keyword.value).items.note("unclear")
            made.join(function.gives)
        return made

    def _positional(self, function: Function, args: Sequence[ast.expr], names: Sequence[str]) -> None:
        for index, value in enumerate(args):
            if isinstance(value, ast.Starred):
                function.kept.update(names[index:])
                for name in names[index:]:
                    self._give(function, name, self.iterated(value.value))
            elif index < len(names):
                self._lend(function, names[index], value)
            elif function.node.args.vararg is not None:
                rest = function.names.setdefault(function.node.args.vararg.arg, Objects())
                rest.are("tuple")
                rest.items.join(self.flow.of(value))
                rest.items.note("bound")

    def _lend(self, function: Function, name: str, argument: ast.expr) -> None:
        """Give an argument to a function, as a whole if that keeps a reference to it."""
        self.flow.given[id(argument)].append((function, name))
        value = self.flow.of(argument)
        if name not in function.local or name in function.kept or "tuple" in value.root().kinds:
            self._give(function, name, value)
            self.keep(argument)
            return
        parameter = function.names.setdefault(name, Objects())
        parameter.are(*value.root().kinds)
        parameter.root().functions.update(value.root().functions)
        if not value.root().kinds & CONTAINERS:
            return
        parameter.items.join(value.items)
        if "dict" in value.root().kinds:
            parameter.keys.join(value.keys)
        if "changed" in parameter.root().said:
            value.note("changed")

    def _give(self, function: Function, name: str, value: Objects) -> None:
        if name in function.local:
            function.names.setdefault(name, Objects()).join(value)
        elif function.node.args.kwarg is not None:
            value.note("unclear")

    def method(self, node: ast.Call, function: ast.Attribute) -> Objects | None:
        """A call of a method."""
        of, name = self.of(function.value), function.attr
        kinds = of.root().kinds
        own = self.flow.methods(name)
        if own and not kinds & CONTAINERS:
            return self.own(node, own, 1) if own[0].is_method else self.own(node, own)
        if name in METHODS and (kinds & CONTAINERS or not self.flow.is_first):
            return self.of_container(node, of, name)
        stored = self.flow.of(function)
        if stored.functions:
            return self.own(node, [*stored.functions.values()])
        return self.unknown(node)

    def of_container(self, node: ast.Call, of: Objects, name: str) -> Objects | None:
        """A call of a method of a container."""
        self.flow.called[id(node)] = "method"
        if name in CHANGES:
            of.note("changed")
        for keyword in node.keywords:
            if keyword.arg == "key":
                self.applied(keyword.value, of.items)
        if name in ADDS or name == "insert":
            for one in node.args[-1:]:
                self.binds(one, of.items)
        elif name in EXTENDS:
            for one in node.args:
                self._extend(of, one)
        elif name in TAKES:
            return self._taken(node, of, name)
        elif name in COPIES:
            return self._copied(node, of, name)
        elif name in _VIEWS:
            return _VIEWS[name](of)
        return None

    def _extend(self, of: Objects, value: ast.expr) -> None:
        other = self.of(value)
        if "dict" in (of.root().kinds & other.root().kinds):
            of.items.join(other.items)
            of.keys.join(other.keys)
        else:
            of.items.join(self.iterated(value))

    def _taken(self, node: ast.Call, of: Objects, name: str) -> Objects:
        found = of.items
        for default in node.args[1:]:
            self.binds(default, found)
        if name == "get" and len(node.args) == 1:
            found.are("None")
        return found

    def _copied(self, node: ast.Call, of: Objects, name: str) -> Objects:
        made = _copy_of(of)
        for one in node.args if name != "fromkeys" else ():
            made.items.join(self.iterated(one))
        return made

    def applied(self, function: ast.expr, *given: Objects) -> Objects:
        """A function that Python applies to some objects."""
        made = Objects()
        for one in self.flow.of(function).functions.values():
            for name, value in zip(one.parameters, given, strict=False):
                one.names.setdefault(name, Objects()).join(value)
                one.kept.add(name)
            made.join(one.gives)
        return made

    def of_value(self, node: ast.Call, value: Any) -> Objects | None:
        """A call of an object that is known before the program is built."""
        if isinstance(value, type) and is_users_class(value):
            return self._object(node, value)
        if (function := self.flow.function_of(value)) is not None:
            return self.own(node, [function])
        self.flow.called[id(node)] = value
        if not isinstance(value, (type, types.BuiltinFunctionType, types.FunctionType)):
            return self.unknown(node)
        if value in KINDS:
            return self._container(node, value)
        if value in OF_ITEMS:
            return self._iterator(node)
        rule = _RULES.get(value)
        return self.unknown(node) if rule is None else rule(self, node)

    def _object(self, node: ast.Call, kind: type) -> Objects:
        """A new object of a user's class."""
        self.flow.reach_class(kind)
        init = initializer_of(kind)
        function = self.flow.function_of(init)
        self.own(node, [] if function is None else [function], 1)
        if dataclasses.is_dataclass(kind) and init is None:
            self.flow.called[id(node)] = kind
            for one, given in zip(dataclasses.fields(kind), node.args, strict=False):
                self.binds(given, self.flow.attribute(one.name))
            for keyword in node.keywords:
                if keyword.arg is not None:
                    self.binds(keyword.value, self.flow.attribute(keyword.arg))
        return some("object")

    def _container(self, node: ast.Call, kind: Any) -> Objects:
        """A container of the items of another one."""
        made = some(KINDS[kind])
        if kind is collections.defaultdict:
            self._defaults(node, made)
            made.note("unclear")  # a read adds a key, also in a statement that raises
        elif kind is not collections.Counter:
            for one in _plain(node)[:1]:
                self._with_items_of(self.of(one), made)
                made.items.note("bound")
        for keyword in node.keywords:
            if keyword.arg == "key":
                self.applied(keyword.value, made.items)
        return made

    def _defaults(self, node: ast.Call, made: Objects) -> None:
        for one in _plain(node)[1:2]:
            self._with_items_of(self.of(one), made)
        for one in _plain(node)[:1]:
            factory = self.static(one)
            if isinstance(factory, type) and factory in KINDS:
                made.items.are(KINDS[factory])
            else:
                made.items.join(self.applied(one))

    def _with_items_of(self, other: Objects, made: Objects) -> None:
        if "dict" not in made.root().kinds:
            made.items.join(self.each(other))
        elif "dict" in other.root().kinds:
            made.items.join(other.items)
            made.keys.join(other.keys)
        elif (pairs := self.each(other)).root().kinds == {"tuple"}:
            made.keys.join(pairs.part(0))
            made.items.join(pairs.part(1))
        elif not self.flow.is_first:
            made.keys.join(pairs.items)
            made.items.join(pairs.items)

    def _iterator(self, node: ast.Call) -> Objects:
        """The items of an argument that is a container."""
        made = some("tuple")
        for one in _plain(node):
            if self.of(one).root().kinds & (CONTAINERS | {"tuple"}):
                made.items.join(self.iterated(one))
        return made

    def extreme(self, node: ast.Call) -> Objects:
        """``min`` and ``max``."""
        given, found = _plain(node), Objects()
        for one in given:
            found.join(self.iterated(one) if len(given) == 1 else self.of(one))
        found.note("bound")
        for keyword in node.keywords:
            if keyword.arg == "key":
                self.applied(keyword.value, found)
            elif keyword.arg == "default":
                found.join(self.of(keyword.value))
        return found

    def next_of(self, node: ast.Call) -> Objects:
        """``next``."""
        found = Objects()
        for one in node.args[:1]:
            found.join(self.iterated(one))
        for one in node.args[1:]:
            found.join(self.of(one))
        return found

    def zipped(self, node: ast.Call) -> Objects:
        """``zip``."""
        made, item = some("tuple"), some("tuple")
        for index, one in enumerate(node.args):
            if isinstance(one, ast.Starred):
                item.items.join(self.each(self.iterated(one.value)))
            else:
                item.part(index).join(self.iterated(one))
        made.items.join(item)
        return made

    def numbered(self, node: ast.Call) -> Objects:
        """``enumerate``."""
        made, item = some("tuple"), some("tuple")
        for one in _plain(node)[:1]:
            item.part(1).join(self.iterated(one))
        made.items.join(item)
        return made

    def mapped(self, node: ast.Call) -> Objects:
        """``map``."""
        made = some("tuple")
        for function in node.args[:1]:
            made.items.join(self.applied(function, *(self.iterated(one) for one in _plain(node)[1:])))
        return made

    def filtered(self, node: ast.Call) -> Objects:
        """``filter``."""
        made = some("tuple")
        for one in node.args[1:]:
            made.items.join(self.iterated(one))
            self.applied(node.args[0], made.items)
        return made

    def copied(self, node: ast.Call) -> Objects:
        """``copy.copy``."""
        return _copy_of(self.of(node.args[0])) if node.args else Objects()

    def chained(self, node: ast.Call) -> Objects:
        """``itertools.chain``."""
        made = some("tuple")
        for one in node.args:
            if isinstance(one, ast.Starred):
                made.items.join(self.each(self.iterated(one.value)))
            else:
                made.items.join(self.iterated(one))
        return made

    def chained_inside(self, node: ast.Call) -> Objects:
        """``itertools.chain.from_iterable``."""
        made = some("tuple")
        for one in node.args:
            made.items.join(self.each(self.iterated(one)))
        return made

    def of_heap(self, node: ast.Call) -> Objects:
        """Functions of ``heapq`` that change a heap."""
        heap = self.of(node.args[0])
        heap.note("changed")
        for one in node.args[1:]:
            self.binds(one, heap.items)
        return heap.items

    def pushed(self, node: ast.Call) -> None:
        """``heapq.heappush``."""
        self.of_heap(node)

    def partly(self, node: ast.Call) -> None:
        """``functools.partial``: what its function is called with later is not followed."""
        for one in node.args:
            self.of(one).note("unclear")
            for function in self.of(one).functions.values():
                for name in function.parameters:
                    function.names.setdefault(name, Objects()).note("unclear")

    def unknown(self, node: ast.Call) -> Objects | None:
        """A call of something else: functions among its arguments may be called with anything."""
        if not self.flow.is_first:
            self.flow.called.setdefault(id(node), None)
        return None


def _plain(node: ast.Call) -> list[ast.expr]:
    """The arguments of a call, those with stars excepted."""
    return [one for one in node.args if not isinstance(one, ast.Starred)]


def _copy_of(other: Objects) -> Objects:
    """A container of its own, with the items of another one."""
    made = some(*(other.root().kinds & (CONTAINERS | {"tuple"})))
    made.items.join(other.items)
    made.items.note("bound")
    made.keys.join(other.keys)
    return made


def _values(of: Objects) -> Objects:
    made = some("tuple")
    made.items.join(of.items)
    return made


def _keys(of: Objects) -> Objects:
    made = some("tuple")
    made.items.join(of.keys)
    return made


def _pair(of: Objects) -> Objects:
    made = some("tuple")
    made.part(0).join(of.keys)
    made.part(1).join(of.items)
    return made


def _pairs(of: Objects) -> Objects:
    made = some("tuple")
    made.items.join(_pair(of))
    return made


_VIEWS: Final[Mapping[str, Callable[[Objects], Objects]]] = {
    "values": _values, "keys": _keys, "items": _pairs, "popitem": _pair,
}  # fmt: skip
"""By method of a dict, what it gives."""
_RULES: Final[Mapping[Any, Callable[[Calls, ast.Call], Objects | None]]] = {
    min: Calls.extreme, max: Calls.extreme, next: Calls.next_of, zip: Calls.zipped, itertools.zip_longest: Calls.zipped,
    enumerate: Calls.numbered, map: Calls.mapped, filter: Calls.filtered, copy.copy: Calls.copied,
    itertools.chain: Calls.chained, itertools.chain.from_iterable: Calls.chained_inside,
    heapq.heappush: Calls.pushed, heapq.heappop: Calls.of_heap, heapq.heappushpop: Calls.of_heap,
    heapq.heapreplace: Calls.of_heap, functools.partial: Calls.partly,
}  # fmt: skip
"""By function of Python, what it does with the items of its arguments."""
