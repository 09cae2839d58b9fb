"""A definition -> with other names for its variables, so that its statements may stand in another function."""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping

from hlobatch.frontend.nodes import walk


def with_names(
    node: ast.FunctionDef, names: Mapping[str, str], values: Mapping[str, ast.expr] | None = None
) -> ast.FunctionDef:
    """A definition with other names for some of its variables, and values in place of some of the new names."""
    new = copy.deepcopy(node)
    for part in walk(new):
        for field in ("id", "arg", "name", "rest"):
            if isinstance(name := getattr(part, field, None), str) and not isinstance(part, (ast.keyword, ast.alias)):
                setattr(part, field, names.get(name, name))
    return _Valued(values).visit(new) if values else new


class _Valued(ast.NodeTransformer):
    """Puts values in place of names."""

    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._values.get(node.id, node)
