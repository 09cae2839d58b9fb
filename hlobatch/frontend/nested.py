"""A function defined inside another -> its closure variables as parameters, so that it can be a function of its own.

::

    def root(target):                       def improve(target, x):          # closure variables come first
        def improve(x):                         return (x + target / x) / 2
            return (x + target / x) / 2
        …                                   def root(target): …
        x = improve(x)                ==>       %x = call @improve(%target, %x)

A variable of an enclosing function is passed with each call, with its value at that time, as Python sees it; if it is
declared ``nonlocal``, its new value is returned beside the result. A function that is used as a value is a ``Closure``:
a callable pytree of its closure variables. So is a ``Partial`` of it.
"""

from __future__ import annotations

import ast
import functools
import inspect
import types
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import jax

from hlobatch.diagnostics import Note, UnsupportedSyntaxError
from hlobatch.frontend.changes import changes_of
from hlobatch.frontend.rewriting.recompiled import compiled
from hlobatch.frontend.rewriting.references import columns
from hlobatch.frontend.scopes import own_parts
from hlobatch.frontend.source import Source, as_definition, check_kind, holds

Node = ast.FunctionDef | ast.Lambda


class OfItems(ast.Lambda):
    """A lambda that stands for an expression of the user's, such as what a generator expression computes of an item."""


@dataclass(frozen=True, slots=True)
class Default:
    """A default that is computed where the function is defined.

    Attributes:
        name: The variable that keeps it.
    """

    name: str


@dataclass(frozen=True, eq=False)
class Template:
    """A function defined inside another, without the values of its closure variables.

    Attributes:
        key: Its key: that of the enclosing function, and its code.
        source: Its source.
        captured: Its closure variables, and those of its callees.
        changed: The closure variables that it assigns, or whose values it changes in part.
        bound: The closure variables that it declares ``nonlocal``, so that they may be bound to other values.
        scope: The inner functions that it sees by name, itself included.
        is_recursive: Whether it, or a callee, calls itself.
        defaults: Defaults that are computed where it is defined, by the variable that keeps each.
        reads_columns: Whether it, or a callee, reads or changes attributes of objects that refer to each other.
    """

    key: Hashable
    source: Source
    captured: tuple[str, ...]
    changed: tuple[str, ...]
    bound: frozenset[str]
    scope: Mapping[str, Template] = field(repr=False)
    is_recursive: bool
    defaults: Mapping[str, ast.expr]
    reads_columns: bool = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Template) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def is_followed(self) -> bool:
        """Whether JAX cannot trace it: it assigns closure variables, or calls itself."""
        return bool(self.changed) or self.is_recursive or self.reads_columns

    def function(self, values: Mapping[str, Any]) -> types.FunctionType:
        """The Python function with these values of its closure variables."""
        plain = self.source.function
        names = zip(plain.__code__.co_freevars, plain.__closure__ or (), strict=True)
        cells = tuple(self._cell(name, cell, values) for name, cell in names)
        made = types.FunctionType(plain.__code__, plain.__globals__, plain.__name__, None, cells)
        given = [values[d.name] if isinstance(d, Default) else d for d in plain.__defaults__ or ()]
        made.__defaults__ = tuple(given) or None
        named = plain.__kwdefaults__ or {}
        made.__kwdefaults__ = {n: values[d.name] if isinstance(d, Default) else d for n, d in named.items()} or None
        return made

    def _cell(self, name: str, cell: types.CellType, values: Mapping[str, Any]) -> types.CellType:
        if name in values:
            return types.CellType(values[name])
        other = self.scope.get(name)
        return cell if other is None else types.CellType(closure(other, *(values[n] for n in other.captured)))


@jax.tree_util.register_pytree_node_class
@dataclass(frozen=True, eq=False)
class Closure:
    """A function defined inside another with the values of its closure variables, as a value.

    Attributes:
        template: The function.
        values: The values, in the order of ``template.captured``.
    """

    template: Template
    values: tuple[Any, ...]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it as JAX would trace it.

        Raises:
            UnsupportedSyntaxError: It cannot be traced, and has to be followed.
        """
        if self.template.is_followed:
            raise UnsupportedSyntaxError(
                f"{self.template.source.node.name!r} is called where the program cannot see it",
                help="call it by its own name, or define it outside the batched function.",
            )
        return self.plain()(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"'function' object has no attribute {name!r}")

    @property
    def hb_name(self) -> str:
        """The name of its type in messages."""
        return f"function {self.template.source.node.name}"

    def plain(self) -> types.FunctionType:
        """The Python function with the closure's values."""
        return self.template.function(dict(zip(self.template.captured, self.values, strict=True)))

    def default(self, value: Any) -> Any:
        """The value of a parameter's default, which may be computed where the function is defined."""
        return self.values[self.template.captured.index(value.name)] if isinstance(value, Default) else value

    def tree_flatten(self) -> tuple[tuple[Any, ...], Template]:
        return self.values, self.template

    @classmethod
    def tree_unflatten(cls, template: Template, values: Sequence[Any]) -> Closure:
        return cls(template, tuple(values))


@jax.tree_util.register_pytree_node_class
class Partial(functools.partial[Any]):
    """A ``functools.partial`` as a value, whose parts are its function and its arguments."""

    hb_name: ClassVar[str] = "partial"

    def tree_flatten(self) -> tuple[tuple[Any, ...], None]:
        function = self.func.value if isinstance(self.func, _StandsForFunction) else self.func
        return (function, self.args, self.keywords), None

    @classmethod
    def tree_unflatten(cls, _: None, parts: Any) -> Partial:
        function, arguments, keywords = parts
        return cls(function if callable(function) else _StandsForFunction(function), *arguments, **keywords)


@dataclass(frozen=True)
class _StandsForFunction:
    """What JAX or a type has in place of a function, where ``functools.partial`` takes nothing but what can be called.

    Attributes:
        value: The other object.
    """

    value: Any

    def __call__(self) -> None:
        raise TypeError(f"{self.value!r} is no function")


def closure(template: Template, *values: Any) -> Closure:
    """A function with the values of its closure variables."""
    return Closure(template, values)


def closure_in(function: Any) -> Closure | None:
    """The inner function that a call of an object calls, which may be a ``functools.partial`` of it; None if none."""
    while isinstance(function, functools.partial):
        function = function.func
    return function if isinstance(function, Closure) else None


def captured_value(function: Any, index: int) -> Any:
    """The value of one closure variable of an inner function, or of that in a ``functools.partial``."""
    inner = closure_in(function)
    assert inner is not None
    return inner.values[index]


def by_another_name(function: str) -> UnsupportedSyntaxError:
    """The error for a call of an inner function that assigns variables around it, by another name than its own."""
    return UnsupportedSyntaxError(
        f"{function!r} assigns variables around it, and is called by another name",
        help="call it by its own name, or let it return what it assigns.",
    )


def nested_functions(
    source: Source, key: Hashable, local: frozenset[str], scope: Mapping[str, Template]
) -> dict[str, Template]:
    """The inner functions that a function sees by name, defined inside it or in an enclosing function.

    Args:
        source: The function.
        key: Its key.
        local: Its variables, closure variables included.
        scope: The inner functions of the enclosing functions.

    Raises:
        UnsupportedSyntaxError: A name is that of two functions, or of a function and a variable.
    """
    nodes = dict(_definitions(source))
    seen = frozenset((*scope, *nodes))
    parts = [_Part(name, node, _function(source, node, local), local, seen) for name, node in nodes.items()]
    found = dict(scope)
    for part in parts:
        found[part.name] = _template(part, parts, source, key, found, scope)
    return found


def unnamed_function(
    source: Source, key: Hashable, local: frozenset[str], scope: Mapping[str, Template], node: ast.Lambda
) -> Template:
    """The template of a lambda inside an expression; the other arguments are those of ``nested_functions``."""
    part = _Part("lambda", node, _function(source, node, local), local, frozenset(scope))
    return _template(part, [part], source, key, scope, scope)


def _template(
    part: _Part,
    beside: Sequence[_Part],
    source: Source,
    key: Hashable,
    visible: Mapping[str, Template],
    scope: Mapping[str, Template],
) -> Template:
    reached = _reached(part, beside)
    inside = {p.name for p in beside}
    outer = [scope[name] for p in reached for name in p.calls if name not in inside]
    captured = dict.fromkeys(name for p in reached for name in (*p.captured, *p.defaults))
    captured.update(dict.fromkeys(name for template in outer for name in template.captured))
    changed = dict.fromkeys(name for p in reached for name in p.assigns if name in captured)
    changed.update(dict.fromkeys(name for template in outer for name in template.changed))
    return Template(
        (key, part.function.__code__),
        replace(source, function=part.function, node=part.definition, code=part.function.__code__),
        tuple(captured),
        tuple(changed),
        frozenset().union(*(p.bound for p in reached), *(template.bound for template in outer)).intersection(changed),
        visible,
        any(part.name in p.calls for p in reached) or any(template.is_recursive for template in outer),
        part.defaults,
        any(p.reads_columns for p in reached) or any(template.reads_columns for template in outer),
    )


@dataclass(frozen=True, eq=False)
class _Part:
    """The definition of an inner function, by itself."""

    name: str
    node: Node
    function: types.FunctionType
    local: frozenset[str]
    scope: frozenset[str]

    @property
    def definition(self) -> ast.FunctionDef:
        return as_definition(self.node)

    @property
    def calls(self) -> list[str]:
        """The names of inner functions that it refers to."""
        return [name for name in self.function.__code__.co_freevars if name in self.scope]

    @property
    def captured(self) -> list[str]:
        free = self.function.__code__.co_freevars
        return [n for n in free if n in self.local and n not in self.scope and n not in columns()]

    @property
    def reads_columns(self) -> bool:
        """Whether it reads or changes attributes of objects that refer to each other."""
        return not set(columns()).isdisjoint(self.function.__code__.co_freevars)

    @property
    def bound(self) -> list[str]:
        """The closure variables that it, or a function inside it, declares ``nonlocal``."""
        return [name for node in ast.walk(self.node) if isinstance(node, ast.Nonlocal) for name in node.names]

    @property
    def assigns(self) -> list[str]:
        """The closure variables that it, or a function inside it, assigns or changes in part."""
        return [*self.bound, *(name for name in changes_of(self.definition.body, inside=True) if name in self.captured)]

    @property
    def defaults(self) -> dict[str, ast.expr]:
        """The defaults that are computed where the function is defined, by the variable that keeps each."""
        return {d.name: e for d, e in _defaults(self.node) if isinstance(d, Default)}


def _reached(part: _Part, parts: Sequence[_Part]) -> list[_Part]:
    """A definition and the definitions beside it that it calls, directly or indirectly."""
    by_name = {p.name: p for p in parts}
    found, pending = {part.name: part}, [part]
    while pending:
        for name in pending.pop().calls:
            if name in by_name and name not in found:
                found[name] = by_name[name]
                pending.append(by_name[name])
    return list(found.values())


def _definitions(source: Source) -> Iterator[tuple[str, Node]]:
    """The functions that are defined directly in a function, and lambdas assigned to a name that has no other value."""
    nodes = [node for statement in source.node.body for node in own_parts(statement)]
    stores: dict[str, list[ast.AST]] = {}
    for node in nodes:
        if isinstance(node, ast.FunctionDef):
            stores.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            stores.setdefault(node.id, []).append(node)
    for node in nodes:
        if isinstance(node, ast.FunctionDef):
            if len(stores[node.name]) > 1:
                first, *_, last = stores[node.name]
                raise UnsupportedSyntaxError(
                    f"{node.name!r} is a function defined here, and something else elsewhere",
                    source.location(last),
                    notes=[Note("here", source.location(first))],
                    help="give each a name of its own.",
                )
            yield node.name, node
        match node:
            case ast.Assign([ast.Name(name)], ast.Lambda() as function) if len(stores[name]) == 1:
                yield name, function


def _function(source: Source, node: Node, local: frozenset[str]) -> types.FunctionType:
    """The function of a definition, as Python would make it, with empty cells for variables of the enclosing one."""
    around = source.function
    code = _code(source.code, node)
    if code is None and isinstance(node, OfItems):
        code = compiled(node, local, source.code, source.file)
    if code is None:
        raise UnsupportedSyntaxError(
            "this function inside of another was not found in what Python compiled",
            source.location(node),
            help="define it outside, and pass it what it uses.",
        )
    cells = dict(zip(around.__code__.co_freevars, around.__closure__ or (), strict=True))
    cells |= {name: types.CellType(kind) for name, kind in source.classes.items()}
    closed = tuple(
        types.CellType() if name in local else cells.get(name, types.CellType()) for name in code.co_freevars
    )
    made = types.FunctionType(code, around.__globals__, code.co_name, None, closed)
    values = [default for default, _ in _defaults(node)]
    positional = len(node.args.defaults)
    made.__defaults__ = tuple(values[:positional]) or None
    names = [a.arg for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if d is not None]
    made.__kwdefaults__ = dict(zip(names, values[positional:], strict=True)) or None
    if not inspect.isgeneratorfunction(made):  # a loop over the generator may take turns with it
        check_kind(replace(source, function=made, node=as_definition(node), code=code), made)
    return made


def _defaults(node: Node) -> list[tuple[Any, ast.expr]]:
    """Each default with its expression: a Python object if it is a literal, else a ``Default``."""
    expressions = [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]
    name = node.name if isinstance(node, ast.FunctionDef) else f"lambda_{node.lineno}_{node.col_offset}"
    kept = [f"_hb_{name}_{index}" for index in range(len(expressions))]
    return [(e.value if isinstance(e, ast.Constant) else Default(k), e) for k, e in zip(kept, expressions, strict=True)]


def _code(around: types.CodeType, node: Node) -> types.CodeType | None:
    """The compiled code of a definition among the constants of the enclosing function; None if it is not unique."""
    name = node.name if isinstance(node, ast.FunctionDef) else "<lambda>"
    line = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
    inside = [code for code in around.co_consts if isinstance(code, types.CodeType)]
    fitting = [code for code in inside if code.co_name == name and code.co_firstlineno == line]
    if isinstance(node, ast.Lambda):
        fitting = [code for code in fitting if holds(node.body, code)]
    return fitting[0] if len(fitting) == 1 else None
