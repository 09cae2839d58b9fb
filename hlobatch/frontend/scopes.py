"""Syntax -> names: the local ones of a function, those that an expression reads, and those that an assignment writes.

Python's own rule: a name assigned anywhere in a function is local in all of it, also if a global has the same name.
Lambdas and comprehensions have scopes of their own.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from hlobatch.frontend.nodes import FIELDS, Comprehension, Tree, children, walk, with_fields

HELPER: Final = "__hb_"
"""Prefix of the names by which compiled code refers to objects of the frontend."""
MISSING: Final = object()
"""The result of ``Source.resolve`` for a name that is not defined."""
TEMPORARY: Final = "_hb_"
"""Prefix of variables that the user cannot have written."""


def target_names(target: ast.expr) -> list[str]:
    """The names that an assignment target binds, in order, each once."""
    names = [n.id for n in walk(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return list(dict.fromkeys(names))


def stored_names(node: ast.AST) -> frozenset[str]:
    """The names that statements assign to or delete."""
    return frozenset(_assigned(node))


def places_in(target: ast.expr) -> Iterator[ast.Subscript | ast.Attribute]:
    """The items and attributes that an assignment target assigns to, in order."""
    if isinstance(target, (ast.Subscript, ast.Attribute)):
        yield target
    elif isinstance(target, (ast.Tuple, ast.List)):
        for part in target.elts:
            yield from places_in(part)
    elif isinstance(target, ast.Starred):
        yield from places_in(target.value)


def root_of(node: ast.expr) -> ast.expr:
    """The expression that an item or an attribute, at any depth, is a part of."""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return node


def is_path(node: ast.expr) -> bool:
    """Whether an expression is a variable, or attributes and items of one at keys that are variables or constants."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, (ast.Name, ast.Constant)):
            return False
        node = node.value
    return isinstance(node, ast.Name)


def dump_as_read(node: ast.expr) -> str:
    """A text of an expression by which places are compared, whether they are read, assigned or deleted."""
    return ast.dump(node).replace("ctx=Store()", "ctx=Load()").replace("ctx=Del()", "ctx=Load()")


def own_parts(node: ast.AST) -> Iterator[ast.AST]:
    """A node and its descendants, in order, except those inside functions and classes in it."""
    pending = [node]  # not recursive, since a chain of `elif`s may be long
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            pending.extend(children(node)[::-1])


def leave_the_loop(body: Iterable[ast.AST]) -> bool:
    """Whether a ``break`` or ``continue`` in some statements is of the loop around them."""
    return any(map(_leaves_the_loop, body))


def _leaves_the_loop(node: ast.AST) -> bool:
    match node:
        case ast.Break() | ast.Continue():
            return True
        case ast.For() | ast.While():
            return leave_the_loop(node.orelse)
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.expr():
            return False
    return leave_the_loop(children(node))


def with_parts(node: Tree, changed: Callable[[Any], Any]) -> Tree:
    """A node with each child, as in ``children``, replaced by ``changed(child)``; the node itself if none changes."""
    others = dict[str, Any]()
    for name in FIELDS[type(node)]:
        value = getattr(node, name, None)
        if value.__class__ is list:
            new = [changed(part) if isinstance(part, ast.AST) else part for part in value]
            if not all(map(operator.is_, new, value)):
                others[name] = new
        elif isinstance(value, ast.AST) and (new := changed(value)) is not value:
            others[name] = new
    return with_fields(node, **others) if others else node


def local_names(node: ast.FunctionDef) -> frozenset[str]:
    """Parameters and assigned names of a function, those declared ``global`` excepted."""
    names = all_parameters(node)
    for statement in node.body:
        names.update(_assigned(statement))
    return frozenset(names.difference(global_names(node)))


def bound_by_match(node: ast.Match) -> frozenset[str]:
    """The names to which the patterns and guards of a ``match`` assign."""
    parts = (part for case in node.cases for part in (case.pattern, case.guard) if part is not None)
    return frozenset().union(*map(_assigned, parts))


def parameters(node: ast.FunctionDef | ast.Lambda) -> list[str]:
    """The parameters of a function, those with stars excepted."""
    return [*positional(node), *(one.arg for one in node.args.kwonlyargs)]


def all_parameters(node: ast.FunctionDef | ast.Lambda) -> set[str]:
    """All parameters of a function."""
    return {*parameters(node), *(one.arg for one in (node.args.vararg, node.args.kwarg) if one is not None)}


def positional(node: ast.FunctionDef | ast.Lambda) -> list[str]:
    """The parameters of a function to which arguments may be given by their position."""
    return [one.arg for one in (*node.args.posonlyargs, *node.args.args)]


def global_names(node: ast.FunctionDef) -> frozenset[str]:
    """The names that a function declares ``global``."""
    return frozenset(name for part in walk(node) if isinstance(part, ast.Global) for name in part.names)


def _assigned(node: ast.AST) -> Iterator[str]:
    pending = [node]  # not recursive, since each `elif` is nested in the one before
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, Comprehension):  # a scope of its own, except for `:=`
            yield from assigned_in_expressions(node)
        elif not isinstance(node, ast.Lambda):
            yield from _assigned_by(node)
            pending.extend(children(node)[::-1])


def _assigned_by(node: ast.AST) -> Iterator[str]:
    """The names that a node itself assigns to, its children excepted."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
        yield node.id
    if isinstance(node, ast.alias):
        yield (node.asname or node.name).split(".")[0]
    if isinstance(node, (ast.MatchAs, ast.MatchStar, ast.ExceptHandler)) and node.name is not None:
        yield node.name
    if isinstance(node, ast.MatchMapping) and node.rest is not None:
        yield node.rest


def assigned_in_expressions(node: ast.AST) -> Iterator[str]:
    """The names that ``:=`` assigns in an expression."""
    if isinstance(node, ast.NamedExpr):
        yield node.target.id
    for child in children(node.args if isinstance(node, ast.Lambda) else node):
        yield from assigned_in_expressions(child)


def read_names(node: ast.AST) -> dict[str, ast.Name]:
    """The names that code reads from its surroundings, in order of appearance, each with its first read."""
    found: dict[str, ast.Name] = {}
    for name in _reads(node, frozenset()):
        found.setdefault(name.id, name)
    return found


def names_before(body: Sequence[ast.stmt]) -> dict[str, ast.Name]:
    """The names that successive statements read without having assigned them, each with its first read."""
    found: dict[str, ast.Name] = {}
    assigned = set[str]()
    for statement in body:
        found |= {n: where for n, where in read_names(statement).items() if n not in assigned and n not in found}
        if isinstance(statement, ast.Assign):
            assigned.update(name for target in statement.targets for name in target_names(target))
    return found


def _reads(node: ast.AST, bound: frozenset[str]) -> Iterator[ast.Name]:
    if isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Load) and node.id not in bound:
            yield node
        return
    if isinstance(node, ast.Lambda):
        inner = bound | {a.arg for a in walk(node.args) if isinstance(a, ast.arg)}
        for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
            yield from _reads(default, bound)
        yield from _reads(node.body, inner)
        return
    if isinstance(node, Comprehension):
        yield from _comprehension_reads(node, bound)
        return
    if isinstance(node, ast.NamedExpr):
        yield from _reads(node.value, bound)
        return
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        yield node.target
    for child in children(node):
        yield from _reads(child, bound)


def _comprehension_reads(node: Comprehension, bound: frozenset[str]) -> Iterator[ast.Name]:
    for generator in node.generators:
        yield from _reads(generator.iter, bound)
        bound = bound | set(target_names(generator.target))
        for condition in generator.ifs:
            yield from _reads(condition, bound)
            bound = bound | set(assigned_in_expressions(condition))
    for part in ("elt", "key", "value"):
        if hasattr(node, part):
            yield from _reads(getattr(node, part), bound)
