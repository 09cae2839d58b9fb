"""New statements, written as text -> syntax nodes, with parts of the user's code in them.

::

    written("NAME = GIVEN", node, NAME="kept", GIVEN=node.args[0])   ==>   kept = …, at the line and column of ``node``

Code of the user's keeps its own lines and columns, and new code has those of the code that it stands for, since errors
show them, and facts are about them.
"""

from __future__ import annotations

import ast
from typing import Any

from hlobatch.frontend.nodes import located

Part = str | ast.expr | list[ast.stmt]
"""What stands for a name in the text of new code: another name, an expression, or statements."""


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
