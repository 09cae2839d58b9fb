"""Comprehensions -> loops, where the program itself carries out a call in them.

::

                                          $1 = []
    total = sum(f(x) for x in xs)   ==>   for $x in xs:
                                              $1 = [*$1, f($x)]
                                          total = sum($1)

All other comprehensions are straight-line code, which Python runs as it is traced. A list that grows has another type
in each turn, so that the turns of such a loop are written out (``transforms/learning.py``).
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping, Sequence

from hlobatch.frontend.scopes import target_names

Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def as_loop(node: Comprehension, result: str, fresh: Callable[[str], str]) -> list[ast.stmt]:
    """Statements that give a name the items of a comprehension: a list, or the comprehension's own container.

    Args:
        node: The comprehension.
        result: The name.
        fresh: Gives names that nobody uses, for the variables of the comprehension, which are its own.
    """
    names: dict[str, str] = {}
    target = ast.Name(result, ast.Store())
    value = ast.Name(result, ast.Load())
    loops: list[tuple[ast.expr, ast.expr, list[ast.expr]]] = []
    for generator in node.generators:
        iterable = renamed(generator.iter, names)
        names = {**names, **{name: fresh(name) for name in target_names(generator.target)}}
        conditions = [renamed(condition, names) for condition in generator.ifs]
        loops.append((renamed(generator.target, names), iterable, conditions))
    empty, grown = _growth(node, value, names)
    body: list[ast.stmt] = [ast.Assign([target], grown)]
    for goes_to, iterable, conditions in reversed(loops):
        for condition in reversed(conditions):
            body = [ast.If(condition, body, [])]
        body = [ast.For(goes_to, iterable, body, [])]
    return [_placed(statement, node) for statement in (ast.Assign([target], empty), *body)]


def _growth(node: Comprehension, value: ast.expr, names: Mapping[str, str]) -> tuple[ast.expr, ast.expr]:
    """The container that a comprehension begins with, and the one with an item more."""
    if isinstance(node, ast.DictComp):
        pair = [renamed(part, names) for part in (node.key, node.value)]
        return ast.Dict([], []), ast.Dict([None, pair[0]], [value, pair[1]])
    item = renamed(node.elt, names)
    more: list[ast.expr] = [ast.Starred(value, ast.Load()), item]
    return ast.List([], ast.Load()), ast.List(more, ast.Load())


def renamed(node: ast.expr, names: Mapping[str, str]) -> ast.expr:
    """An expression with other names for some."""

    class Renaming(ast.NodeTransformer):
        def visit_Name(self, name: ast.Name) -> ast.Name:
            return ast.copy_location(ast.Name(names.get(name.id, name.id), name.ctx), name)

    if not names:
        return node
    changed: ast.expr = Renaming().visit(copy.deepcopy(node))
    return changed


def _placed(statement: ast.stmt, node: ast.expr) -> ast.stmt:
    """A statement all of whose new nodes stand where a comprehension does."""
    pending: Sequence[ast.AST] = [statement]
    while pending:
        for part in pending:
            if isinstance(part, (ast.expr, ast.stmt)) and not hasattr(part, "lineno"):
                ast.copy_location(part, node)
        pending = [child for part in pending for child in ast.iter_child_nodes(part)]
    return statement
