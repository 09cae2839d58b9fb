"""What all code does with objects: variables have them, and names, attributes and items are bound to them."""

from __future__ import annotations

import abc
import ast
import builtins
import types
from collections.abc import Mapping, Sequence
from typing import Any

from hlobatch.frontend.by_reference.flow import Flow, Function
from hlobatch.frontend.by_reference.library import COPIES, KINDS
from hlobatch.frontend.by_reference.places import CONTAINERS, Objects
from hlobatch.frontend.scopes import MISSING
from hlobatch.values.draws import is_users_class


class Names(abc.ABC):
    """Goes over one function.

    Attributes:
        flow: What is known of all functions.
        function: The function.
        scopes: The variables of the comprehensions around the code.
    """

    def __init__(self, flow: Flow, function: Function, scopes: Sequence[Mapping[str, Objects]] = ()) -> None:
        self.flow, self.function, self.scopes = flow, function, list(scopes)

    @abc.abstractmethod
    def of(self, node: ast.expr) -> Objects:
        """The objects that an expression may have as its value, with all that the expression does."""

    @abc.abstractmethod
    def define(self, node: ast.FunctionDef | ast.Lambda) -> Objects:
        """The function that is defined inside."""

    @abc.abstractmethod
    def target(self, target: ast.expr) -> Objects:
        """The objects of a place that is assigned."""

    @abc.abstractmethod
    def destructure(self, target: ast.expr, found: Objects) -> None:
        """Bind the parts of a target to the items of an object."""

    def binds(self, value: ast.expr, place: Objects) -> None:
        """The objects of an expression are stored in a place."""
        found = self.of(value)
        place.join(found)
        if not _is_fresh(value):
            place.note("bound")
        self.keep(value)

    def keep(self, value: ast.expr) -> None:
        """Note that a reference to what an expression may have as its value is kept."""
        match value:
            case ast.Name(name):
                self.keep_name(name)
            case ast.IfExp(_, body, orelse):
                self.keep(body)
                self.keep(orelse)
            case ast.BoolOp(_, values):
                for one in values:
                    self.keep(one)
            case ast.NamedExpr(_, inner):
                self.keep(inner)

    def keep_name(self, name: str) -> None:
        """Note that a reference to what a variable has is kept, or that the variable is bound anew."""
        if any(name in scope for scope in self.scopes):
            return
        function: Function | None = self.function
        while function is not None and name not in function.local:
            function = function.around
        if function is not None:
            function.kept.add(name)

    def iterated(self, iterable: ast.expr) -> Objects:
        """What a loop over an expression gives."""
        return self.each(self.of(iterable))

    def each(self, found: Objects) -> Objects:
        """What a loop over objects gives."""
        if self.flow.is_first and not found.root().kinds:
            return Objects()
        if "dict" in found.root().kinds:
            return found.keys
        items = found.items
        if not found.root().kinds & (CONTAINERS | {"tuple"}):
            for name in ("__iter__", "__next__"):
                for one in self.flow.methods(name):
                    items.join(one.gives.items if name == "__iter__" else one.gives)
        return items.root()

    def named(self, node: ast.expr, name: str) -> Objects:
        """The objects of a variable, or of what stands outside of the function."""
        found = self.flow.of(node)
        for scope in reversed(self.scopes):
            if name in scope:
                found.join(scope[name])
                return found.root()
        if (variable := self.function.variable(name)) is not None:
            found.join(variable)
            return found.root()
        value = self.function.source.resolve(name)
        if (function := self.flow.function_of(value)) is not None:
            found.functions[id(function)] = function
        elif isinstance(value, type) and is_users_class(value):
            self.flow.reach_class(value)
        elif isinstance(value, (list, dict, set, tuple)):
            found.note("outside")
        return found.root()

    def static(self, node: ast.expr) -> Any:
        """The object outside of the program that an expression stands for."""
        match node:
            case ast.Name(name):
                if any(name in scope for scope in self.scopes) or self.function.variable(name) is not None:
                    return MISSING
                return self.function.source.resolve(name)
            case ast.Attribute(value, name):
                around = self.static(value)
                if isinstance(around, (types.ModuleType, type)):
                    return getattr(around, name, MISSING)
        return MISSING


def some(*kinds: str) -> Objects:
    """Objects of some kinds that nothing else has."""
    made = Objects()
    made.are(*kinds)
    return made


def _is_fresh(node: ast.expr) -> bool:
    """Whether an expression makes its value, so that nothing else has it."""
    match node:
        case ast.Name() | ast.Attribute() | ast.BoolOp() | ast.IfExp() | ast.NamedExpr() | ast.Yield():
            return False
        case ast.Subscript(_, index):
            return isinstance(index, ast.Slice)
        case ast.Call(ast.Attribute(_, name)):
            return name in COPIES
        case ast.Call(ast.Name(name)):
            return getattr(builtins, name, None) in KINDS or name in ("deque", "defaultdict", "Counter", "OrderedDict")
    return True
