"""What each rewriting of a definition has: a copy to change, and unused names for new code (`frontend.written`)."""

from __future__ import annotations

import abc
import ast
import copy
from typing import Any

from hlobatch.frontend.nodes import walk
from hlobatch.ir.names import unused


class Rewriting(abc.ABC, ast.NodeTransformer):
    """A rewriting of a definition: other statements in place of some of its statements."""

    @abc.abstractmethod
    def instead_of(self, node: ast.stmt) -> list[ast.stmt] | None:
        """The statements in place of one whose parts are rewritten already; None if it stays."""

    def __init__(self, node: ast.FunctionDef) -> None:
        self.node = node
        self._taken = {part.id for part in walk(node) if isinstance(part, ast.Name)}

    def of(self) -> ast.FunctionDef:
        """The definition as it is rewritten."""
        new = copy.copy(self.node)
        new.body = self.statements(self.node.body)
        return new

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Statements as they are rewritten."""
        found = [self.visit(copy.deepcopy(statement)) for statement in body]
        return [part for one in found for part in (one if isinstance(one, list) else [one])]

    def visit(self, node: ast.AST) -> Any:
        node = self.generic_visit(node)
        new = self.instead_of(node) if isinstance(node, ast.stmt) else None
        return node if new is None else new

    def fresh(self, name: str) -> str:
        """A name that the definition does not use, made from another one."""
        made = unused(name, self._taken, separator="_")
        self._taken.add(made)
        return made
