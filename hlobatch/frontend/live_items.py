"""A ``for`` -> what it goes over that its body may change, which is looked at anew in each turn.

::

    for v in items:              items        a list may have more or fewer items by the next turn
        items.append(v + 1)
    for k, v in d.items():       d            its values are what they are when a turn comes to them
        d[k + 1] = 0

All else is looked at once, before the first turn. What the body, as it is written, does not change is taken for the
same in all turns; a name that is bound to another object leaves the loop with the first one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Final

from hlobatch.frontend.changes import is_change
from hlobatch.frontend.nested import Template
from hlobatch.frontend.scopes import root_of, stored_names

VIEWS: Final = ("items", "keys", "values")
"""Methods that give what can be gone over, in which changes of the dict are seen."""


def view_of(node: ast.expr) -> tuple[ast.expr, str] | None:
    """What a call may be a view of, and the name of the method."""
    match node:
        case ast.Call(ast.Attribute(value, name), [], []) if name in VIEWS:
            return value, name
    return None


def is_same(
    node: ast.expr, loop: ast.For, local: frozenset[str], scope: Mapping[str, Template], *, is_viewed: bool = False
) -> bool:
    """Whether an expression stands for one object in all turns of a loop: a variable, or a part that the loop changes.

    Args:
        node: The expression.
        loop: The loop.
        local: The variables of the function.
        scope: The functions that are defined inside of it.
        is_viewed: Whether a view of it is gone over: then calls that are given the variable may change it, too.
    """
    root = root_of(node)
    if not isinstance(root, ast.Name) or root.id not in local:
        return False
    bound = stored_names(loop).union(*(template.bound for template in scope.values()))
    if not bound.isdisjoint(part.id for part in ast.walk(node) if isinstance(part, ast.Name)):
        return False
    return node is root or (_is_path(node) and _is_changed(node, loop, root.id if is_viewed else ""))


def may_change(node: ast.expr, loop: ast.For, scope: Mapping[str, Template]) -> bool:
    """Whether the body of a loop may change what such an expression stands for, other than by what it calls."""
    if not isinstance(node, ast.Name):
        return True
    called = {name for name, template in scope.items() if node.id in template.captured}
    reads = {id(part.value) for part in _inside(loop) if isinstance(part, ast.Subscript) and not _is_store(part)}
    for part in _inside(loop):
        if isinstance(part, ast.Name) and (part.id in called or (part.id == node.id and id(part) not in reads)):
            return True
    return False


def _is_path(node: ast.expr) -> bool:
    """Whether an expression is a variable, or attributes and items of one whose keys are variables or constants."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, (ast.Name, ast.Constant)):
            return False
        node = node.value
    return isinstance(node, ast.Name)


def _is_changed(path: ast.expr, loop: ast.For, variable: str) -> bool:
    """Whether the body of a loop changes what a part of a variable stands for, and puts no other object there.

    Args:
        path: The part.
        loop: The loop.
        variable: The variable, if calls that are given it may do that.
    """
    whole, found = ast.dump(path), False
    for part in _inside(loop):
        if isinstance(part, (ast.Attribute, ast.Subscript)) and _is_store(part):
            if _dump(part) == whole:
                return False
            found |= any(_dump(step) == whole for step in _way(part))
        elif isinstance(part, ast.Call) and _is_given(part, variable):
            found = True
        elif is_change(part) and isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
            found |= any(_dump(step) == whole for step in _way(part.func))
    return found


def _is_given(call: ast.Call, variable: str) -> bool:
    """Whether a call is of a method of a variable, or has it for an argument."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    if isinstance(call.func, ast.Attribute):
        given.append(call.func.value)
    return any(isinstance(part, ast.Name) and part.id == variable for part in given)


def _way(node: ast.expr) -> Iterator[ast.expr]:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
        yield node


def _dump(node: ast.expr) -> str:
    return ast.dump(node).replace("ctx=Store()", "ctx=Load()").replace("ctx=Del()", "ctx=Load()")


def _is_store(node: ast.Attribute | ast.Subscript) -> bool:
    return isinstance(node.ctx, (ast.Store, ast.Del))


def _inside(loop: ast.For) -> Iterator[ast.AST]:
    return (part for statement in loop.body for part in ast.walk(statement))
