"""A ``for`` -> the parts of its iterable that its body may change, and that each turn reads anew.

::

    for v in items:              items        a list may have more or fewer items by the next turn
        items.append(v + 1)
    for k, v in d.items():       d            a turn reads the values as they are then
        d[k + 1] = 0

Any other iterable is read once, before the first turn. If the body does not change it by its own statements, it is the
same in all turns. If its name is bound to another object, the loop goes on with the first. A dict is also read anew if
a callee of the body may change it.
"""

from __future__ import annotations

import ast
import dis
import enum
import functools
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from hlobatch.frontend.changes import is_change
from hlobatch.frontend.nested import Template
from hlobatch.frontend.nodes import all_arguments, prefixes, walk, walk_all
from hlobatch.frontend.scopes import dump_as_read, is_path, root_of, stored_names

VIEWS: Final = ("items", "keys", "values")
"""Methods of dicts that return views, which show later changes of the dict."""


def view_of(node: ast.expr) -> tuple[ast.expr, str] | None:
    """The receiver and the method name of a call that may return a view of a dict; None for any other expression."""
    match node:
        case ast.Call(ast.Attribute(value, name), [], []) if name in VIEWS:
            return value, name
    return None


class Seen(enum.Enum):
    """How a loop sees changes of its iterable by its body.

    Attributes:
        ONCE: The body does not change it.
        BY_NAME: It may change, and the expression means the same object in all turns.
        KEPT: It may change, and the expression may mean another object later.
    """

    ONCE = enum.auto()
    BY_NAME = enum.auto()
    KEPT = enum.auto()


def how_seen(
    node: ast.expr,
    loop: ast.For,
    local: frozenset[str],
    scope: Mapping[str, Template],
    assigns: Callable[[str], bool],
    *,
    by_calls: bool,
) -> Seen:
    """How a loop sees changes of the value of an expression, a variable or a part of one.

    Args:
        node: The expression.
        loop: The loop.
        local: The variables of the function.
        scope: The functions that are defined inside it.
        assigns: Whether a function that may be called assigns to an attribute of this name.
        by_calls: Whether callees that get the variable may change it.
    """
    root = root_of(node)
    if not isinstance(root, ast.Name) or root.id not in local or not is_path(node):
        return Seen.ONCE
    bound = stored_names(loop).union(*(template.bound for template in scope.values()))
    is_bound = not bound.isdisjoint(part.id for part in walk(node) if isinstance(part, ast.Name))
    is_bound |= _is_bound_anew(node, loop)
    is_bound |= isinstance(node, ast.Attribute) and _calls_others(node, loop, root.id) and assigns(node.attr)
    is_changed = _is_changed(node, loop, root.id if by_calls else "")
    if is_bound:
        return Seen.KEPT if is_changed else Seen.ONCE
    return Seen.BY_NAME if is_changed or node is root else Seen.ONCE


def attributes_assigned(functions: Iterable[Any]) -> frozenset[str]:
    """The attributes that functions assign to, ``__init__`` excepted."""
    plain = (getattr(function, "__hlobatch_function__", function) for function in functions)
    codes = (f.__code__ for f in plain if isinstance(f, types.FunctionType) and f.__name__ != "__init__")
    return frozenset().union(*map(_assigned_in, codes))


@functools.lru_cache(maxsize=10_000)
def _assigned_in(code: types.CodeType) -> frozenset[str]:
    return frozenset(i.argval for i in dis.get_instructions(code) if i.opname == "STORE_ATTR")


def may_change(node: ast.expr, loop: ast.For, scope: Mapping[str, Template]) -> bool:
    """Whether the body of a loop may change the value of an expression other than through its callees."""
    if not isinstance(node, ast.Name):
        return True
    called = {name for name, template in scope.items() if node.id in template.captured}
    reads = {id(part.value) for part in walk_all(loop.body) if isinstance(part, ast.Subscript) and not _is_store(part)}
    for part in walk_all(loop.body):
        if isinstance(part, ast.Name) and (part.id in called or (part.id == node.id and id(part) not in reads)):
            return True
    return False


def _is_bound_anew(path: ast.expr, loop: ast.For) -> bool:
    """Whether the body of a loop assigns to an attribute or an item."""
    whole = ast.dump(path)
    places = (
        part for part in walk_all(loop.body) if isinstance(part, (ast.Attribute, ast.Subscript)) and _is_store(part)
    )
    return any(dump_as_read(place) == whole for place in places)


def _calls_others(path: ast.expr, loop: ast.For, variable: str) -> bool:
    """Whether the body of a loop passes a variable to calls, other than of methods of the part ``path``."""
    whole = ast.dump(path)
    calls = (part for part in walk_all(loop.body) if isinstance(part, ast.Call) and _is_given(part, variable))
    return any(not isinstance(call.func, ast.Attribute) or dump_as_read(call.func.value) != whole for call in calls)


def _is_changed(path: ast.expr, loop: ast.For, variable: str) -> bool:
    """Whether the body of a loop changes the value of a part of a variable.

    Args:
        path: The part.
        loop: The loop.
        variable: The variable, if callees that get it, or a part of it, may change it; else empty.
    """
    whole = ast.dump(path)
    for part in walk_all(loop.body):
        is_place = isinstance(part, (ast.Attribute, ast.Subscript)) and _is_store(part)
        if isinstance(part, ast.Call) and _is_given(part, variable):
            return True
        if isinstance(part, ast.Call) and is_change(part) and isinstance(part.func, ast.Attribute):
            place: ast.expr | None = part.func
        else:
            place = part if is_place and isinstance(part, (ast.Attribute, ast.Subscript)) else None
        if place is not None and any(dump_as_read(step) == whole for step in prefixes(place)):
            return True
    return False


def may_take_out(node: ast.expr, loop: ast.For, scope: Mapping[str, Template]) -> bool:
    """Whether the body of a loop may remove keys from a dict, itself or through its callees."""
    root = root_of(node)
    variable = root.id if isinstance(root, ast.Name) else ""
    called = {name for name, template in scope.items() if variable in template.captured}
    for part in walk_all(loop.body):
        match part:
            case ast.Delete():
                return True
            case ast.Name(name) if name in called:
                return True
            case ast.Call(ast.Attribute(_, method)) if method in _KEEPING:
                pass
            case ast.Call() if _is_given(part, variable):
                return True
    return False


_KEEPING: Final = frozenset({*VIEWS, "append", "get", "setdefault", "update"})
"""Methods of containers that remove no key of a dict."""


def _is_given(call: ast.Call, variable: str) -> bool:
    """Whether a variable, or a part of it, is an argument or the receiver of a call."""
    given = all_arguments(call)
    if isinstance(call.func, ast.Attribute):
        given.append(call.func.value)
    roots = map(root_of, given)
    return any(isinstance(root, ast.Name) and root.id == variable for root in roots)


def _is_store(node: ast.Attribute | ast.Subscript) -> bool:
    return isinstance(node.ctx, (ast.Store, ast.Del))
