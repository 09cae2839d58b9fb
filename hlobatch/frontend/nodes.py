"""Traversal of syntax nodes: like that of ``ast``, but several times as fast, since each function is traversed often.

All other frontend modules that handle syntax may import it; it imports none of them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeVar

Tree = TypeVar("Tree", bound=ast.AST)


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes in the fields of a node, in order, except operators and contexts such as ``ast.Load``."""
    found = list[ast.AST]()
    for name in FIELDS[type(node)]:
        value = getattr(node, name, None)
        if value.__class__ is list:
            found += [part for part in value if isinstance(part, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def prefixes(place: ast.expr) -> Iterator[ast.expr]:
    """The values that a place is a part of, from the innermost."""
    while isinstance(place, (ast.Attribute, ast.Subscript)):
        place = place.value
        yield place


Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_NO_NODES: Final = frozenset({"id", "ctx", "attr", "arg", "kind", "type_comment", "op", "ops"})


class _Fields(dict[type[ast.AST], tuple[str, ...]]):
    """The names of the fields of a class of nodes that may hold nodes."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        self[kind] = () if kind is ast.Constant else tuple(name for name in kind._fields if name not in _NO_NODES)
        return self[kind]


FIELDS: Final = _Fields()


def walk(node: ast.AST) -> list[ast.AST]:
    """A node and all nodes in it, in breadth-first order."""
    found = [node]
    for part in found:  # ``found`` grows in the loop; calls of ``children`` would take most of the time
        for name in FIELDS[type(part)]:
            value = getattr(part, name, None)
            if value.__class__ is list:
                found += [one for one in value if isinstance(one, ast.AST)]
            elif isinstance(value, ast.AST):
                found.append(value)
    return found


def is_in(part: ast.AST, node: ast.AST) -> bool:
    """Whether a node is another one, or a part of it."""
    return any(part is one for one in walk(node))


def walk_all(body: Iterable[ast.AST]) -> list[ast.AST]:
    """All nodes in some statements, one statement after the other."""
    return [part for statement in body for part in walk(statement)]


def all_arguments(call: ast.Call) -> list[ast.expr]:
    """The arguments of a call, positional ones and then those by keyword."""
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def located(new: Tree, old: ast.AST) -> Tree:
    """A new node, given the location of an old one."""
    try:
        place = old.lineno, old.col_offset, old.end_lineno, old.end_col_offset  # type: ignore[attr-defined]
    except AttributeError:  # the old node has no location, such as the context of a name
        return ast.copy_location(new, old)
    new.lineno, new.col_offset, new.end_lineno, new.end_col_offset = place  # type: ignore[attr-defined]
    return new


def with_fields(node: Tree, **fields: Any) -> Tree:
    """A copy of a node, at its place, with other values of some fields."""
    return located(type(node)(**{**dict(ast.iter_fields(node)), **fields}), node)


def with_iterables(node: Any, changed: Callable[[ast.expr], ast.expr]) -> Any:
    """A comprehension in which each iterable is replaced by ``changed(iterable)``."""
    return with_fields(node, generators=[with_fields(part, iter=changed(part.iter)) for part in node.generators])
