"""Classes that are defined inside a function -> classes that exist when the program is built, and are its free names.

::

    def total(n):                               Point = the class, made once
        @dataclass
        class Point:                    ==>     def total(n):
            x: int                                  return Point(n).x
        return Point(n).x

Python makes another class in each call; that shows only where classes of two calls are compared. A class that uses a
variable of the function would have to be another one in each lane, and is refused.
"""

from __future__ import annotations

import ast
import copy
import types
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from hlobatch.diagnostics import UnsupportedSyntaxError
from hlobatch.frontend.nodes import located, walk, walk_all
from hlobatch.frontend.rewriting.recompiled import recompiled
from hlobatch.frontend.scopes import local_names
from hlobatch.frontend.source import Source

_MADE: Final[weakref.WeakKeyDictionary[types.FunctionType, Mapping[str, type]]] = weakref.WeakKeyDictionary()
"""The classes inside of a function, by their names."""


def with_classes(source: Source) -> Source:
    """A function without the classes that are defined between its statements, which are free names of it instead.

    Raises:
        UnsupportedSyntaxError: A class uses a variable of the function, or a name stands for more than the class.
    """
    inside = [part for part in source.node.body if isinstance(part, ast.ClassDef)]
    if not inside:
        return source
    if source.function not in _MADE:
        _MADE[source.function] = _made(source, inside)
    node = copy.copy(source.node)
    node.body = [part for part in source.node.body if part not in inside] or [located(ast.Pass(), inside[0])]
    return replace(source, node=node, classes=_MADE[source.function])


def _made(source: Source, inside: list[ast.ClassDef]) -> Mapping[str, type]:
    names = [node.name for node in inside]
    others = local_names(source.node).difference(names)
    _check(source, inside, others)
    imports = [part for part in source.node.body if isinstance(part, (ast.Import, ast.ImportFrom))]
    own = [located(ast.Assign([ast.Name(name, ast.Store())], ast.Constant(None)), inside[0]) for name in sorted(others)]
    result = ast.Return(ast.Tuple([ast.Name(name, ast.Load()) for name in names], ast.Load()))
    body = [*own, *imports, *inside, located(result, inside[-1])]
    code = recompiled(source.node, body, source.function.__code__, source.file)
    imported = {(alias.asname or alias.name).split(".")[0] for part in imports for alias in part.names}
    for part in _codes(code):
        if used := sorted(others.difference(imported).intersection(part.co_freevars)):
            raise _refusal(source, inside, used[0])
    cells = dict(zip(source.function.__code__.co_freevars, source.function.__closure__ or (), strict=True))
    closure = tuple(cells[name] for name in code.co_freevars)
    function = types.FunctionType(code, source.function.__globals__, code.co_name, None, closure)
    given = code.co_argcount + code.co_kwonlyargcount
    positional = [None] * code.co_argcount
    named = dict.fromkeys(code.co_varnames[code.co_argcount : given])
    return dict(zip(names, function(*positional, **named), strict=True))


def _check(source: Source, inside: list[ast.ClassDef], others: frozenset[str]) -> None:
    """Refuse names of classes that are bound elsewhere, and what decorators and bases name of the function's own."""
    bound = [part.id for part in walk(source.node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)]
    names = [node.name for node in inside]
    for node in inside:
        if names.count(node.name) > 1 or node.name in bound:
            raise UnsupportedSyntaxError(
                f"the name {node.name!r} stands for a class that is defined inside and for something else",
                source.location(node),
                help="give the class a name of its own.",
            )
        outside = [*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)]
        imported = {
            (alias.asname or alias.name).split(".")[0]
            for part in source.node.body
            if isinstance(part, (ast.Import, ast.ImportFrom))
            for alias in part.names
        }
        for part in walk_all(outside):
            if isinstance(part, ast.Name) and part.id in others.difference(imported):
                raise _refusal(source, [node], part.id)


def _refusal(source: Source, inside: list[ast.ClassDef], name: str) -> UnsupportedSyntaxError:
    node = next(
        (one for one in inside if any(isinstance(part, ast.Name) and part.id == name for part in walk(one))), inside[0]
    )
    return UnsupportedSyntaxError(
        f"a class defined inside uses {name!r}, a variable of the function around it",
        source.location(node),
        help="pass the value to its `__init__` or to its method, or define the class outside.",
    )


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """The codes inside of some code, at any depth."""
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            yield part
            yield from _codes(part)
