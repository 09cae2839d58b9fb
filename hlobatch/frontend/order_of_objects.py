"""A class of the user's -> whether its methods say which of two objects comes first, and only read.

::

    class Task:
        def __lt__(self, other):                 sorted(tasks), heapq.heappush(tasks, task), max(tasks)
            return self.rank < other.rank

Lanes sort by other comparisons than CPython does. The order is the same, but not how often, and for which pairs, a
method is called. So a method that changes something, prints or draws is refused where items are put in order.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import functools
import inspect
import types
from typing import Any, Final

from hlobatch.diagnostics import UnsupportedSyntaxError
from hlobatch.frontend.files import is_users, lines_of
from hlobatch.frontend.harm import READERS, of_function
from hlobatch.frontend.scopes import MISSING
from hlobatch.frontend.source import read_source

_METHODS: Final = ("__lt__", "__gt__", "__le__", "__ge__")
_ALSO_ASKED: Final = ("__eq__", "__ne__")


def has_order(cls: type) -> bool:
    """Whether the user, or a decorator, has written which of two objects of a class comes first."""
    return any(isinstance(getattr(cls, name, None), types.FunctionType) for name in _METHODS)


def check_order(cls: type) -> None:
    """Refuse a class for whose objects a method that says their order may do more than to read.

    Raises:
        UnsupportedSyntaxError: A method does, or calls what is not known to read alone.
    """
    for name in (*_METHODS, *_ALSO_ASKED):
        method = getattr(cls, name, None)
        if isinstance(method, types.FunctionType) and not _only_reads(cls, method):
            raise UnsupportedSyntaxError(
                f"objects are put in order by `{name}` of a {cls.__name__!r}, which may do more than to read, and "
                "lanes do not call it as often as Python does",
                help="let it only compare attributes, or sort by a key, as in `key=lambda item: item.size`.",
            )


@functools.lru_cache(maxsize=256)
def _only_reads(cls: type, function: types.FunctionType) -> bool:
    return _reads(cls, function, frozenset())


def _reads(cls: type, function: types.FunctionType, known: frozenset[Any]) -> bool:
    """Whether a function only reads, given functions that are being looked at."""
    if function in known:
        return True
    if not is_users(function) or not lines_of(function):
        # What `functools.total_ordering` and `dataclasses` write reads alone.
        return function.__module__ == functools.__name__ or dataclasses.is_dataclass(cls)
    body = read_source(function).node.body
    return all(_is_harmless(part, cls, function, known | {function}) for line in body for part in ast.walk(line))


def _is_harmless(part: ast.AST, cls: type, function: types.FunctionType, known: frozenset[Any]) -> bool:
    match part:
        case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
            return False
        case ast.Nonlocal() | ast.Global() | ast.Yield() | ast.YieldFrom() | ast.Await() | ast.Import():
            return False
        case ast.Call(ast.Name() | ast.Attribute() as called):
            found = _object(called, function)
            if found is MISSING:  # a method of an object
                own = getattr(cls, called.attr, None) if isinstance(called, ast.Attribute) else None
                is_own = isinstance(own, types.FunctionType) and _reads(cls, own, known)
                return is_own or (isinstance(called, ast.Attribute) and own is None and called.attr in READERS)
            if isinstance(found, types.FunctionType) and is_users(found):
                return _reads(cls, found, known)
            return found is not print and not of_function(found).changes
        case ast.Call():
            return False
        case ast.Attribute(_, name):
            own = inspect.getattr_static(cls, name, None)
            return not isinstance(own, property) or _reads(cls, own.fget, known)  # type: ignore[arg-type]
    return True


def _object(node: ast.expr, function: types.FunctionType) -> Any:
    """The object that a name outside of a function stands for, or an attribute of a module; else ``MISSING``."""
    match node:
        case ast.Name(name) if name not in function.__code__.co_varnames:
            return function.__globals__.get(name, getattr(builtins, name, MISSING))
        case ast.Attribute(value, name):
            owner = _object(value, function)
            return getattr(owner, name, MISSING) if isinstance(owner, types.ModuleType) else MISSING
    return MISSING
