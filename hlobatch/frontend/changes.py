"""A function's definition -> which of its parameters it changes in place, as far as its own statements say.

    def swap(a, i, j):
        a[i], a[j] = a[j], a[i]        changes ``a``

Whoever calls it sees that in Python. A name that is also assigned to as a whole may stand for another object by then.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hlobatch.frontend.scopes import places_in, root_of, target_names


@dataclass(frozen=True)
class Changes:
    """What the statements of a function change.

    Attributes:
        places: The names of whose values a part is changed, each with the first target that says so.
        rebound: The names that are assigned to as a whole.
    """

    places: Mapping[str, ast.expr]
    rebound: frozenset[str]


def changes_of(node: ast.FunctionDef, *, inside: bool = False) -> Changes:
    """What a function's statements change.

    Args:
        node: Its definition.
        inside: Whether the statements of functions that are defined inside it are meant, too.
    """
    places: dict[str, ast.expr] = {}
    rebound = set[str]()
    for target in _targets(node.body, inside=inside):
        for part in places_in(target):
            root = root_of(part)
            if isinstance(root, ast.Name):
                places.setdefault(root.id, part)
        rebound.update(target_names(target))
    return Changes(places, frozenset(rebound))


def changed_parameters(node: ast.FunctionDef) -> Mapping[str, ast.expr]:
    """The parameters of a function that it changes, each with the first target that says so."""
    arguments = node.args
    names = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    return {name: part for name, part in changes_of(node).places.items() if name in names}


def _targets(body: list[ast.stmt], *, inside: bool) -> Iterator[ast.expr]:
    """What statements assign to, at any depth of control."""
    for statement in body:
        for node in ast.walk(statement) if inside else _own(statement):
            match node:
                case ast.Assign(targets):
                    yield from targets
                case ast.AugAssign(target) | ast.AnnAssign(target, value=ast.expr()) | ast.For(target):
                    yield target


def _own(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
        for child in ast.iter_child_nodes(node):
            yield from _own(child)
