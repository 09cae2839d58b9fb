"""Syntax nodes of ours, each in the place of a node of the user's: tracebacks and errors show that node's lines."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, TypeVar

Tree = TypeVar("Tree", bound=ast.AST)


def load(name: str, node: ast.AST) -> ast.expr:
    """A name that is read, in the place of ``node``."""
    return ast.copy_location(ast.Name(name, ast.Load()), node)


def literal(value: Any, node: ast.AST) -> ast.expr:
    """A literal, in the place of ``node``."""
    return ast.copy_location(ast.Constant(value), node)


def helper(name: str, arguments: Sequence[ast.expr], node: ast.AST) -> ast.Call:
    """A call of one of ``primitives.HELPERS``, in the place of ``node``."""
    return ast.copy_location(ast.Call(load(name, node), list(arguments), []), node)


def assigned(name: str, value: ast.expr, node: ast.AST) -> ast.stmt:
    """``name = value``, in the place of ``node``; the value stays in its own place."""
    target = ast.copy_location(ast.Name(name, ast.Store()), node)
    return ast.copy_location(ast.Assign([target], value), node)


def placed(tree: Tree, node: ast.AST) -> Tree:
    """A tree, all of which is in the place of ``node``."""
    for part in ast.walk(tree):
        if isinstance(part, (ast.expr, ast.stmt)):
            ast.copy_location(part, node)
    return tree
