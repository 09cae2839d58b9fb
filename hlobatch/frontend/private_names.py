"""The definition of a method -> the same with the names that Python has for those that are its class's own.

::

    class Deck:
        def size(self): return len(self.__cards)      ==>      return len(self._Deck__cards)

Outside of the class, where pieces of the method are compiled, the names would be others.
"""

from __future__ import annotations

import ast
import functools
from typing import Any, Final

from hlobatch.frontend.scopes import with_parts


def as_python_has_them(node: ast.FunctionDef, qualified: str) -> ast.FunctionDef:
    """The definition; the node itself if it has no such names.

    Args:
        node: A definition, or a lambda's as one.
        qualified: What the function is called, with its class (``__qualname__``).
    """
    *_, owner, _ = ("", "", *qualified.split("."))
    prefix = "" if owner == "<locals>" else owner.lstrip("_")
    return with_parts(node, functools.partial(_renamed, f"_{prefix}")) if prefix else node


_NAMED: Final = {ast.Name: "id", ast.Attribute: "attr", ast.arg: "arg", ast.FunctionDef: "name"}
"""Nodes that have a name, and in which field."""


def _renamed(prefix: str, node: Any) -> Any:
    copy = with_parts(node, functools.partial(_renamed, prefix))
    field = _NAMED.get(type(copy))
    name = field and getattr(copy, field)
    if field is None or not name or not name.startswith("__") or name.endswith("__"):
        return copy
    return ast.copy_location(type(copy)(**{**dict(ast.iter_fields(copy)), field: prefix + name}), copy)
