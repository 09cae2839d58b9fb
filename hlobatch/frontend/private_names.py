"""The definition of a method -> the definition with private names, such as ``__x``, mangled as Python does it.

::

    class Deck:
        def size(self): return len(self.__cards)      ==>      return len(self._Deck__cards)

Outside of the class, where parts of the method are compiled, Python would not mangle them.
"""

from __future__ import annotations

import ast
import functools
from typing import Any, Final

from hlobatch.frontend.scopes import with_parts


def as_python_has_them(node: ast.FunctionDef, qualified: str) -> ast.FunctionDef:
    """The definition with its private names mangled; the node itself if it has none.

    Args:
        node: A definition, or that of a lambda.
        qualified: The function's ``__qualname__``, which contains its class.
    """
    *_, owner, _ = ("", "", *qualified.split("."))
    prefix = "" if owner == "<locals>" else owner.lstrip("_")
    return with_parts(node, functools.partial(_renamed, f"_{prefix}")) if prefix else node


_NAMED: Final = {ast.Name: "id", ast.Attribute: "attr", ast.arg: "arg", ast.FunctionDef: "name"}
"""The field with the name, for nodes that have one."""


def _renamed(prefix: str, node: Any) -> Any:
    copy = with_parts(node, functools.partial(_renamed, prefix))
    field = _NAMED.get(type(copy))
    name = field and getattr(copy, field)
    if field is None or not name or not name.startswith("__") or name.endswith("__"):
        return copy
    return ast.copy_location(type(copy)(**{**dict(ast.iter_fields(copy)), field: prefix + name}), copy)
