"""What each rewriting of a definition has: a copy to change, unused names, and new statements written as text.

::

    written("NAME = GIVEN", node, NAME="kept", GIVEN=node.args[0])   ==>   kept = …, at the line and column of ``node``

Code of the user's keeps its own lines and columns, and new code has those of the code that it stands for, since errors
show them, and facts are about them.
"""

from __future__ import annotations

import abc
import ast
import copy
from typing import Any

from hlobatch.frontend.nodes import located, walk
from hlobatch.ir.names import unused

Part = str | ast.expr | list[ast.stmt]
"""What stands for a name in the text of new code: another name, an expression, or statements."""


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


def written(text: str, at: ast.AST, **parts: Part) -> list[ast.stmt]:
    """Statements from their text, in which the names of ``parts`` stand for those; located at ``at``.

    Statements stand for a name that is a statement by itself.
    """
    return _Written(at, parts).body(ast.parse(text).body)


class _Written(ast.NodeTransformer):
    """Puts parts in place of names, and gives all other nodes a place."""

    def __init__(self, at: ast.AST, parts: dict[str, Part]) -> None:
        self.at, self.parts = at, parts

    def body(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        found = map(self.visit, statements)
        return [part for one in found for part in (one if isinstance(one, list) else [one])]

    def generic_visit(self, node: Any) -> Any:
        return located(super().generic_visit(node), self.at) if "lineno" in node._attributes else node

    def visit_Expr(self, node: ast.Expr) -> Any:
        part = self.parts.get(node.value.id) if isinstance(node.value, ast.Name) else None
        return part if isinstance(part, list) else self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> Any:
        part: Any = self.parts.get(node.id, node.id)
        part = ast.Name(part, node.ctx) if isinstance(part, str) else part
        return part if hasattr(part, "lineno") else located(part, self.at)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        node.name = str(self.parts.get(node.name, node.name))
        return self.generic_visit(node)
