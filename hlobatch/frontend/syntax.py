"""New syntax nodes, each at the source location of a node of the user's, whose lines tracebacks and errors show."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from hlobatch.frontend.nodes import Tree, located, walk


def load(name: str, node: ast.AST) -> ast.expr:
    """A read of a name, located at ``node``."""
    return located(ast.Name(name, ast.Load()), node)


def literal(value: Any, node: ast.AST) -> ast.expr:
    """A literal, located at ``node``."""
    return located(ast.Constant(value), node)


def helper(name: str, arguments: Sequence[ast.expr], node: ast.AST) -> ast.Call:
    """A call of one of ``primitives.HELPERS``, located at ``node``."""
    return located(ast.Call(load(name, node), list(arguments), []), node)


def spread(arguments: Sequence[ast.expr]) -> list[ast.expr]:
    """Arguments of a call, in which a list after a star may have a length that differs between lanes."""
    return [
        located(ast.Starred(helper("__hb_spread", [value.value], value), ast.Load()), value)
        if isinstance(value, ast.Starred)
        else value
        for value in arguments
    ]


def assigned(name: str, value: ast.expr, node: ast.AST) -> ast.stmt:
    """``name = value``, located at ``node``; the value keeps its own location."""
    target = located(ast.Name(name, ast.Store()), node)
    return located(ast.Assign([target], value), node)


def placed(tree: Tree, node: ast.AST) -> Tree:
    """A tree, all of whose nodes are located at ``node``."""
    for part in walk(tree):
        if isinstance(part, (ast.expr, ast.stmt)):
            located(part, node)
    return tree


def is_none(operator: ast.cmpop, value: ast.expr, node: ast.AST) -> ast.expr:
    """``value is None``, or with another of the operators ``==``, ``is not`` and ``!=``."""
    if isinstance(operator, (ast.Eq, ast.NotEq)):
        return helper("__hb_equals_none", [literal("eq" if isinstance(operator, ast.Eq) else "ne", node), value], node)
    known = helper("__hb_is_none", [value], node)
    return known if isinstance(operator, ast.Is) else helper("__hb_not", [known], node)
