"""Traversal of syntax nodes: like that of ``ast``, but three times as fast, since each function is traversed often.

All other frontend modules that handle syntax may import it; it imports none of them.
"""

from __future__ import annotations

import ast
import functools
from typing import Final, TypeVar

Tree = TypeVar("Tree", bound=ast.AST)


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes in the fields of a node, in order, expression contexts such as ``ast.Load`` excepted."""
    found = list[ast.AST]()
    for name in _fields_with_nodes(type(node)):  # type: ignore[arg-type]  # classes are hashed
        value = getattr(node, name, None)
        if isinstance(value, ast.AST):
            found.append(value)
        elif isinstance(value, list):
            found += [part for part in value if isinstance(part, ast.AST)]
    return found


_NO_NODES: Final = frozenset({"id", "ctx", "attr", "arg", "kind", "type_comment"})


@functools.cache
def _fields_with_nodes(kind: type[ast.AST]) -> tuple[str, ...]:
    return tuple(name for name in kind._fields if name not in _NO_NODES)


def walk(node: ast.AST) -> list[ast.AST]:
    """A node and all nodes in it, in breadth-first order."""
    found = [node]
    for part in found:  # ``found`` grows in the loop
        found += children(part)
    return found


def located(new: Tree, old: ast.AST) -> Tree:
    """A new node, given the location of an old one."""
    try:
        place = old.lineno, old.col_offset, old.end_lineno, old.end_col_offset  # type: ignore[attr-defined]
    except AttributeError:  # the old node has no location, such as the context of a name
        return ast.copy_location(new, old)
    new.lineno, new.col_offset, new.end_lineno, new.end_col_offset = place  # type: ignore[attr-defined]
    return new
