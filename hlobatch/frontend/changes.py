"""A function's definition -> the parameters that it changes in place, as far as its own statements show.

    def swap(a, i, j):
        a[i], a[j] = a[j], a[i]        changes ``a``

The caller sees such a change in Python. A name that is also assigned as a whole may be bound to another object by then.
"""

from __future__ import annotations

import ast
import functools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from hlobatch.frontend.harm import ANY, Harm, of_method
from hlobatch.frontend.nodes import all_arguments, children, walk, walk_all
from hlobatch.frontend.scopes import own_parts, parameters, places_in, root_of, target_names


@dataclass(frozen=True, slots=True)
class ChangesByCalls:
    """The fact that a function changes parameters, or closure variables, since a callee of it does.

    Attributes:
        names: Their names.
    """

    names: tuple[str, ...]

    def joined(self, known: ChangesByCalls) -> ChangesByCalls:
        """This fact joined with the one known before."""
        return ChangesByCalls(tuple(dict.fromkeys((*known.names, *self.names))))


@dataclass(frozen=True, slots=True)
class GivesBack:
    """The fact that the program has a call of a function that changes its arguments, so that it returns them."""


def changes_of(body: Iterable[ast.stmt], *, inside: bool = False) -> Mapping[str, ast.expr]:
    """The names whose values statements change in part, each with the first target that does.

    Args:
        body: The statements.
        inside: Whether to include the statements of functions that are defined by them.
    """
    places: dict[str, ast.expr] = {}
    for target in _targets(body, inside=inside):
        for part in places_in(target):
            root = root_of(part)
            if isinstance(root, ast.Name):
                places.setdefault(root.id, part)
    return places


@functools.lru_cache(maxsize=256)
def changed_parameters(node: ast.FunctionDef) -> Mapping[str, ast.expr]:
    """The parameters of a function whose arguments it changes, each with the first target that does.

    A parameter that is first bound to another object, as in ``items = list(items)``, is not among them.
    """
    own = {name for statement in _before_changes(node) for name in _bound_by(statement)}
    names = set(parameters(node)) - own
    return {name: part for name, part in changes_of(node.body).items() if name in names}


def _changing(kind: type) -> set[str]:
    names = {name for name in vars(kind) if not name.startswith("_") and callable(getattr(kind, name))}
    return {name for name in names if of_method(kind, name) == ANY}


CHANGING: Final = frozenset(_changing(list) | _changing(deque) | _changing(dict)) - {"extendleft", "rotate", "sort"}
"""Methods that change lists, deques or dicts, and that arrays do not have. Those of the prelude are not among them:
their own code says what they change."""


def changed_by(node: ast.AST, harm: Callable[[ast.expr], Harm]) -> list[ast.expr]:
    """The values that a statement or an expression may change in place, apart from its parts.

    Args:
        node: The code.
        harm: What the operation of an expression may do.
    """
    match node:
        case ast.Assign(targets) | ast.Delete(targets):
            return [part.value for target in targets for part in places_in(target)]
        case ast.AugAssign(target):
            return [target]
        case ast.Call(function) if harm(node).changes:
            return [*all_arguments(node), *([root_of(function)] if isinstance(function, ast.Attribute) else [])]
    return []


class Change(ast.Call):
    """A call of a method that is known to change its receiver."""


def is_change(node: ast.AST) -> bool:
    """Whether an expression is a call of a method that changes its receiver."""
    if isinstance(node, Change):
        return True
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGING


def changed_by_methods(body: Sequence[ast.stmt]) -> frozenset[str]:
    """The names whose values straight-line code changes by methods that always do so."""
    found = set[str]()
    for node in walk_all(body):
        match node:
            case ast.Call(ast.Attribute(value, method)) if method in CHANGING:
                root = root_of(value)
                found.update([root.id] if isinstance(root, ast.Name) else [])
    return frozenset(found)


def objects_changed(node: ast.FunctionDef) -> list[str]:
    """The parameters of a function to an attribute of which, or a part of one, it assigns."""
    found: dict[str, None] = {}
    for target in _targets(node.body, inside=False):
        for part in places_in(target):
            step: ast.expr = part
            while isinstance(step, (ast.Subscript, ast.Attribute)) and not isinstance(step.value, ast.Name):
                step = step.value
            root = root_of(part)
            if isinstance(step, ast.Attribute) and isinstance(root, ast.Name):
                found[root.id] = None
    names = parameters(node)
    return [name for name in found if name in names]


def rebinding(node: ast.FunctionDef, name: str) -> ast.AST | None:
    """A statement that binds a name to another object; None if there is none."""
    return next((part for statement in node.body for part in own_parts(statement) if name in _bound_by(part)), None)


def _before_changes(node: ast.FunctionDef) -> Iterator[ast.stmt]:
    """The statements at the beginning of a function, up to the first that changes an object or contains statements."""
    for statement in node.body:
        changes = any(True for target in _targets([statement], inside=True) for _ in places_in(target))
        if changes or any(isinstance(part, ast.stmt) for part in children(statement)):
            return
        yield statement


def _bound_by(node: ast.AST) -> list[str]:
    match node:
        case ast.Assign(targets):
            return [name for target in targets for name in target_names(target)]
        case ast.AnnAssign(target, value=ast.expr()) | ast.For(target):
            return target_names(target)
    return []


def _targets(body: Iterable[ast.stmt], *, inside: bool) -> Iterator[ast.expr]:
    """The targets of assignments in statements, at any depth of control."""
    for statement in body:
        for node in walk(statement) if inside else own_parts(statement):
            match node:
                case ast.Assign(targets):
                    yield from targets
                case ast.AugAssign(target) | ast.AnnAssign(target, value=ast.expr()) | ast.For(target):
                    yield target
