"""Functions with ``functools.cache`` -> functions that keep their results in a dict of each lane.

::

    @functools.cache                            ways_kept = {}
    def ways(y, x):                             def ways_computed(y, x):
        if not y or not x:                          if not y or not x:
            return 1                                    return 1
        return ways(y - 1, x) + …                   return ways(y - 1, x) + …
                                      ==>       def ways(y, x):
                                                    if (y, x) not in ways_kept:
                                                        ways_kept[y, x] = ways_computed(y, x)
                                                    return ways_kept[y, x]

A function that is defined inside the batched one is rewritten where it stands. One that is defined in the same file
and called by its name is put inside each function that calls it, once a call with values that differ between lanes is
met: with other values, its own cache serves while the program is built. Python keeps results from call to call, and
lanes do not; that shows only in how often a function is computed, so one that changes what is around it is left alone.
"""

from __future__ import annotations

import ast
import copy
import functools
import itertools
import types
import weakref
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from hlobatch.diagnostics import UnsupportedSyntaxError
from hlobatch.frontend.changes import changes_of
from hlobatch.frontend.files import is_users
from hlobatch.frontend.lane_numbers import differs
from hlobatch.frontend.nodes import walk, walk_all
from hlobatch.frontend.rewriting.recompiled import recompiled, without_defaults
from hlobatch.frontend.rewriting.rewriting import Rewriting
from hlobatch.frontend.scopes import local_names, positional
from hlobatch.frontend.source import Source, source_of
from hlobatch.frontend.written import written
from hlobatch.values.facts import Learned, of_function

Resolve = Callable[[ast.expr, Source], Any]
"""Gives the object that a dotted name stands for in a function."""

_DEFAULT_SIZE: Final = 128
"""The number of results that ``functools.lru_cache`` keeps, where none is given."""
_TEXT: Final = """
{kept} = {{}}
def {computed}(): pass
def {name}():
    if {key} not in {kept}:
        {kept}[{key}] = {computed}({arguments})
    return {kept}[{key}]
"""


@dataclass(frozen=True, slots=True)
class Memoized:
    """The fact that a function with a cache is called with values that differ between lanes."""


def memoized(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """The value of a call of a function with a cache, which has it for known arguments.

    Raises:
        Learned: An argument differs between lanes.
    """
    if differs((args, kwargs)):
        raise Learned(of_function(None), Memoized())
    return function(*args, **kwargs)


def is_memoized(function: Any, source: Source) -> bool:
    """Whether an object is a function with a cache that can be put inside another function."""
    if not isinstance(function, functools._lru_cache_wrapper):
        return False
    plain, size = function.__wrapped__, function.cache_parameters()
    return (
        isinstance(plain, types.FunctionType)
        and is_users(plain)
        and plain.__globals__ is source.function.__globals__
        and not plain.__closure__
        and not size["typed"]
        and _can_be_found(plain)
    )


def _can_be_found(plain: types.FunctionType) -> bool:
    try:
        return _can_keep(source_of(plain).node, keeps_all=False)
    except UnsupportedSyntaxError:
        return False


def with_dicts(source: Source, resolve: Resolve, *, of_globals: bool) -> Source:
    """A function whose inner functions with caches keep their results in dicts; the source itself if it has none.

    Args:
        source: The function.
        resolve: Gives the object that a dotted name stands for.
        of_globals: Whether functions of the file that it calls are put inside it, if they have caches.
    """
    if not is_users(source.function):
        return source
    called = _called(source, resolve) if of_globals else {}
    made, key = _MADE.setdefault(source.function, {}), (of_globals, *called.items())
    if key not in made:
        made[key] = _rewritten(source, resolve, called, of_globals=of_globals)
    new = made[key]
    return source if new is None else replace(source, code=new[0], node=new[1])


_Made = tuple[types.CodeType, ast.FunctionDef] | None
_MADE: Final[weakref.WeakKeyDictionary[types.FunctionType, dict[Hashable, _Made]]] = weakref.WeakKeyDictionary()
"""What was made of a function and of the functions with caches that it calls.

It stays the same while facts about its inner functions are learned.
"""


def _rewritten(source: Source, resolve: Resolve, called: Mapping[str, Any], *, of_globals: bool) -> _Made:
    """The code of a function and its definition with dicts in place of caches; None if it has none.

    Args:
        source: The function.
        resolve: Gives the object that a dotted name stands for.
        called: The functions of the file to put inside it, by name.
        of_globals: Whether functions of the file are put inside it.
    """
    inside = (part for part in walk(source.node) if part is not source.node)
    if not of_globals and not any(isinstance(part, ast.FunctionDef) and part.decorator_list for part in inside):
        return None
    dicts = _Dicts(source, resolve)
    node = dicts.of()
    first = [part for found in called.items() for part in dicts.inside(*found)]
    if not dicts.dicts:
        return None
    node.body = [*first, *node.body]
    return recompiled(source.node, node.body, source.code, source.file), node


class _Dicts(Rewriting):
    """Rewrites inner functions with caches, and notes the dict of each function that it has rewritten, by its name."""

    def __init__(self, source: Source, resolve: Resolve) -> None:
        super().__init__(source.node)
        self.source, self.resolve, self.dicts = source, resolve, dict[str, str]()

    def instead_of(self, node: ast.stmt) -> list[ast.stmt] | None:
        match node:
            case ast.FunctionDef(name, decorator_list=[decorator]) if self._is_cache(decorator, node):
                return self._keeping(name, node)
            case ast.Expr(ast.Call(ast.Attribute(ast.Name(name), "cache_clear"), [], [])) if self._is_bound_once(name):
                return written(f"{self.dicts[name]}.clear()", node)
        return None

    def _is_bound_once(self, name: str) -> bool:
        """Whether a name stands for a function that was rewritten, and for nothing else anywhere."""
        parts = walk_all([self.source.node])
        defined = [part for part in parts if isinstance(part, ast.FunctionDef) and part.name == name]
        others = (
            (isinstance(part, ast.arg) and part.arg == name)
            or (isinstance(part, ast.Name) and part.id == name and not isinstance(part.ctx, ast.Load))
            for part in parts
        )
        return name in self.dicts and len(defined) <= 1 and not any(others)

    def inside(self, name: str, function: Any) -> list[ast.stmt]:
        """The definitions to put into a function in place of one of its file that it calls by a name."""
        node = copy.deepcopy(source_of(function.__wrapped__).node)
        self.generic_visit(node)
        return self._keeping(name, node)

    def _is_cache(self, decorator: ast.expr, node: ast.FunctionDef) -> bool:
        """Whether a decorator is a cache with which a function can keep its results in a dict."""
        match decorator:
            case ast.Call(function, [], [ast.keyword("maxsize", ast.Constant(size))]):
                pass
            case ast.Call(function, [ast.Constant(size)], []):
                pass
            case _:
                function, size = decorator, _DEFAULT_SIZE
        meant = self.resolve(function, self.source)
        if meant is functools.cache:
            size = None
        return meant in (functools.cache, functools.lru_cache) and _can_keep(node, keeps_all=size is None)

    def _keeping(self, name: str, node: ast.FunctionDef) -> list[ast.stmt]:
        """The definition of a function that keeps its results, and before it what it uses."""
        kept, computed = self.fresh(f"{name}_kept"), self.fresh(f"{name}_computed")
        self.dicts[name] = kept
        parameters = positional(node)
        key = parameters[0] if len(parameters) == 1 else f"({', '.join(parameters)})"
        text = _TEXT.format(name=name, kept=kept, computed=computed, key=key, arguments=", ".join(parameters))
        first, body, keeps = _placed_apart(written(text, node), node)
        assert isinstance(body, ast.FunctionDef)
        assert isinstance(keeps, ast.FunctionDef)
        body.args, body.body, keeps.args = without_defaults(node.args), node.body, node.args
        return [first, body, keeps]


def _placed_apart(statements: Sequence[ast.stmt], node: ast.FunctionDef) -> Sequence[ast.stmt]:
    """New syntax, each node of which has another place on the line of a definition, since places tell code apart."""
    columns = len("def f():") + 2 * len(positional(node))  # no definition has a shorter line
    places = itertools.combinations(range(columns + 1), 2)
    for part in walk_all(statements):
        if isinstance(part, (ast.expr, ast.stmt)):
            first, last = next(places)
            part.lineno = part.end_lineno = node.lineno
            part.col_offset, part.end_col_offset = node.col_offset + first, node.col_offset + last
    return statements


def _can_keep(node: ast.FunctionDef, *, keeps_all: bool) -> bool:
    """Whether a dict can stand for the cache of a function: Python computes a function that it forgot once more."""
    arguments = node.args
    is_pure = not any(isinstance(part, (ast.Nonlocal, ast.Global)) for part in walk(node)) and not (
        changes_of(node.body, inside=True).keys() - local_names(node)
    )
    is_plain = not (arguments.vararg or arguments.kwarg or arguments.kwonlyargs)
    return is_plain and bool(positional(node)) and (keeps_all or is_pure)


def _called(source: Source, resolve: Resolve) -> dict[str, Any]:
    """The functions with caches that a function calls, or one of them does, by the names that it calls them by."""
    found, pending = dict[str, Any](), [source]
    while pending:
        one = pending.pop()
        local = local_names(one.node)
        names = {n.id: n for n in walk(one.node) if isinstance(n, ast.Name) and n.id not in local}
        for name, node in names.items():
            function = resolve(node, one)
            if name not in found and is_memoized(function, source):
                found[name] = function
                pending.append(source_of(function.__wrapped__))
    return found
