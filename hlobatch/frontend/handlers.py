"""A ``try`` -> the classes of exceptions that it catches, and whether it drops others, as far as its syntax says."""

from __future__ import annotations

import ast

from hlobatch.frontend.callees import static_value
from hlobatch.frontend.scopes import own_parts
from hlobatch.frontend.source import Source


def caught_kinds(handler: ast.ExceptHandler, source: Source, local: frozenset[str]) -> list[type[BaseException]]:
    """The classes of exceptions that a handler catches, as far as names outside of the function tell."""
    if handler.type is None:
        return [BaseException]
    nodes = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    found = (static_value(node, source, local) for node in nodes)
    return [kind for kind in found if isinstance(kind, type) and issubclass(kind, BaseException)]


def drops_exceptions(node: ast.Try) -> bool:
    """Whether the ``finally`` of a ``try`` may be left by a statement in it, so that an exception is dropped."""
    leaving = (ast.Return, ast.Break, ast.Continue)
    return any(isinstance(part, leaving) for statement in node.finalbody for part in own_parts(statement))
