"""The definition of a method -> the definition as Python compiles it inside its class.

::

    class Deck(Cards):
        def size(self): return len(self.__cards)      ==>      return len(self._Deck__cards)
        def deal(self): return super().deal()         ==>      return super(__class__, self).deal()

Private names are mangled, and ``super()`` is given its class and its object. Python does neither outside of the class,
where parts of the method are compiled.
"""

from __future__ import annotations

import ast
import functools
import types
from typing import Any, Final

from hlobatch.frontend.nodes import located, with_fields
from hlobatch.frontend.scopes import positional, with_parts


def as_python_has_it(node: ast.FunctionDef, function: types.FunctionType) -> ast.FunctionDef:
    """The definition as Python compiles it inside its class; the node itself if nothing changes.

    Args:
        node: The definition of a function or a lambda.
        function: The function that it defines, whose ``__qualname__`` contains the class.
    """
    *_, owner, _ = ("", "", *function.__qualname__.split("."))
    prefix = "" if owner == "<locals>" else owner.lstrip("_")
    node = with_parts(node, functools.partial(_renamed, f"_{prefix}")) if prefix else node
    first = positional(node)[:1]
    if "__class__" not in function.__code__.co_freevars or not first:
        return node
    return with_parts(node, functools.partial(_with_super_arguments, first[0]))


def _with_super_arguments(name: str, node: Any) -> Any:
    """Code in which ``super()`` is given its class, and the name of its object."""
    match node:
        case ast.FunctionDef() | ast.Lambda() | ast.AsyncFunctionDef():
            return node
        case ast.Call(ast.Name("super"), [], []):
            names = (located(ast.Name(one, ast.Load()), node) for one in ("__class__", name))
            return located(ast.Call(node.func, [*names], []), node)
    return with_parts(node, functools.partial(_with_super_arguments, name))


_NAMED: Final = {ast.Name: "id", ast.Attribute: "attr", ast.arg: "arg", ast.FunctionDef: "name"}
"""The field with the name, for nodes that have one."""


def _renamed(prefix: str, node: Any) -> Any:
    copy = with_parts(node, functools.partial(_renamed, prefix))
    field = _NAMED.get(type(copy))
    name = field and getattr(copy, field)
    if field is None or not name or not name.startswith("__") or name.endswith("__"):
        return copy
    return with_fields(copy, **{field: prefix + name})
