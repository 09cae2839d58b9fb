"""The functions of a program -> which of their expressions may have one container as their value.

This decides how a program is written anew, and not what it computes: a container that is taken for another kind of
object is refused by the class of holders (``values/holders.py``). What each piece of code does with objects is in
``statements.py``, ``expressions.py`` and ``calls.py``.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from hlobatch.diagnostics import HloBatchError
from hlobatch.frontend.by_reference.places import Objects
from hlobatch.frontend.dataclass_init import init_of
from hlobatch.frontend.files import is_users
from hlobatch.frontend.scopes import local_names
from hlobatch.frontend.source import Source, source_of
from hlobatch.values.draws import is_users_class

PASSES: Final = 6
"""How often the functions are gone over: what one pass finds of a function's result, the next uses at its calls."""


@dataclass(eq=False)
class Function:
    """A function of the user's.

    Attributes:
        node: Its definition, or a lambda.
        source: The source of the outermost function around it.
        around: The function around it; None if there is none.
        names: The objects of its variables.
        gives: The objects that it returns, or yields.
        is_generator: Whether it yields them.
        is_method: Whether its first parameter is the object that it is called on.
        kept: The parameters of which it may keep a reference, or which it binds to another object.
        local: Its local variables.
    """

    node: ast.FunctionDef | ast.Lambda
    source: Source
    around: Function | None
    names: dict[str, Objects] = field(default_factory=dict)
    gives: Objects = field(default_factory=Objects)
    is_generator: bool = False
    is_method: bool = False
    kept: set[str] = field(default_factory=set)
    local: frozenset[str] = frozenset()

    @property
    def parameters(self) -> list[str]:
        arguments = self.node.args
        return [one.arg for one in (*arguments.posonlyargs, *arguments.args)]

    def variable(self, name: str) -> Objects | None:
        """The objects of a variable; None if it is no variable of this function or of those around it."""
        if name in self.local or name in self.names:
            return self.names.setdefault(name, Objects())
        return None if self.around is None else self.around.variable(name)


class Flow:
    """Finds which expressions may have one object as their value, in all functions that a function may call.

    Args:
        function: The function.
        look: Goes over one function, and notes what it does.

    Attributes:
        functions: The functions that were reached, by their plain functions.
        objects: The objects of each expression, by its node's identity.
        called: What each call calls: ``method``, ``own``, or an object of Python's or of a library.
        given: The parameters for which an argument is given.
    """

    def __init__(self, function: types.FunctionType, look: Callable[[Flow, Function], None]) -> None:
        self.functions: dict[types.FunctionType, Function] = {}
        self.objects: dict[int, Objects] = {}
        self.called: dict[int, Any] = {}
        self.given: dict[int, list[tuple[Function, str]]] = {}
        self.attributes: dict[str, Objects] = {}
        self.of_comprehensions: dict[int, dict[str, Objects]] = {}
        self.members: dict[str, list[types.FunctionType]] = {}
        self._classes: set[type] = set()
        self._inner: dict[int, Function] = {}
        self._passes = 0
        self.first = self._reach(function)
        if self.first is None:
            return
        for name in self.first.local & {a.arg for a in ast.walk(self.first.node.args) if isinstance(a, ast.arg)}:
            self.first.variable(name).note("outside")  # type: ignore[union-attr]
        for self._passes in range(PASSES):
            for one in list(self.functions.values()):
                look(self, one)
        self._spread()

    @property
    def is_first(self) -> bool:
        """Whether this is the first pass, in which it is not known yet what variables hold."""
        return self._passes == 0

    def of(self, node: ast.expr) -> Objects:
        """The objects that an expression may have as its value."""
        return self.objects.setdefault(id(node), Objects()).root()

    def attribute(self, name: str) -> Objects:
        return self.attributes.setdefault(name, Objects()).root()

    def _reach(self, function: Any) -> Function | None:
        plain = function
        while hasattr(plain, "__wrapped__") and not isinstance(plain, types.FunctionType):
            plain = plain.__wrapped__
        plain = getattr(plain, "__hlobatch_function__", plain)
        if not isinstance(plain, types.FunctionType) or not is_users(plain):
            return None
        if plain not in self.functions:
            source = source_of(plain)
            self.functions[plain] = _function(source.node, source, None)
        return self.functions[plain]

    def inner(self, node: ast.FunctionDef | ast.Lambda, around: Function) -> Function:
        """The function that is defined by a node inside of another one."""
        if id(node) not in self._inner:
            self._inner[id(node)] = _function(node, around.source, around)
        return self._inner[id(node)]

    def function_of(self, value: Any) -> Function | None:
        """A function of the user's; None if it is none, or has no source."""
        try:
            return self._reach(value)
        except HloBatchError:
            return None

    def is_lent(self, argument: ast.expr) -> bool:
        """Whether an argument of a call is only used by the callee, which keeps no reference to it."""
        given = self.given.get(id(argument), ())
        return bool(given) and not any(name in function.kept for function, name in given)

    def reach_class(self, kind: type) -> None:
        """Note the methods of a class, and its attributes that are containers made outside."""
        if kind in self._classes:
            return
        self._classes.add(kind)
        for base in kind.__mro__:
            if not is_users_class(base):
                continue
            for name, value in vars(base).items():
                plain = getattr(value, "fget", None) or getattr(value, "__func__", value)
                if name == "__init__":
                    plain = initializer_of(base)
                if isinstance(plain, types.FunctionType) and (reached := self.function_of(plain)) is not None:
                    reached.is_method = not isinstance(value, staticmethod)
                    self.members.setdefault(name, []).append(plain)
                elif isinstance(value, (list, dict, set)) and not name.startswith("__"):
                    self.attribute(name).note("outside")

    def methods(self, name: str) -> list[Function]:
        """The methods, and getters of properties, of the user's classes that have a name."""
        return [self.functions[one] for one in self.members.get(name, ())]

    def _spread(self) -> None:
        """What comes from outside has items from outside."""
        every = [*self.objects.values(), *self.attributes.values()]
        for one in self.functions.values():
            every += [*one.names.values(), one.gives]
        for one in self._inner.values():
            every += [*one.names.values(), one.gives]
        pending = [one.root() for one in every if "outside" in one.root().said]
        while pending:
            for part in pending.pop().inside:
                if "outside" not in part.said:
                    part.note("outside")
                    pending.append(part)


def _function(node: ast.FunctionDef | ast.Lambda, source: Source, around: Function | None) -> Function:
    made = Function(node, source, around)
    if isinstance(node, ast.Lambda):
        made.local = frozenset(one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg))
    else:
        others = {n for part in ast.walk(node) if isinstance(part, ast.Nonlocal) for n in part.names}
        own = {n for part in _own_statements(node) if isinstance(part, ast.Nonlocal) for n in part.names}
        made.local = frozenset(local_names(node) - (own & others))
        made.is_generator = any(isinstance(part, (ast.Yield, ast.YieldFrom)) for part in _own_statements(node))
    return made


def _own_statements(node: ast.AST) -> list[ast.AST]:
    """The nodes in a function, those of the functions inside it excepted."""
    found = list[ast.AST]()
    pending = list(ast.iter_child_nodes(node))
    while pending:
        part = pending.pop()
        found.append(part)
        if not isinstance(part, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            pending += ast.iter_child_nodes(part)
    return found


def initializer_of(kind: type) -> types.FunctionType | None:
    """The ``__init__`` of a class; None if it has no source."""
    try:
        return init_of(kind)
    except HloBatchError:  # it is not written in Python, or in no file
        return None
