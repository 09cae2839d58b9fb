"""An ``except`` -> the classes of exceptions that it catches, as far as its syntax says."""

from __future__ import annotations

import ast
from typing import Final

from hlobatch.frontend.callees import static_value
from hlobatch.frontend.source import Source

OF_LANES: Final = (ZeroDivisionError, IndexError, KeyError, ValueError, OverflowError)
"""Exceptions that operations raise by themselves for the values of a lane."""


def caught_kinds(handler: ast.ExceptHandler, source: Source, local: frozenset[str]) -> list[type[BaseException]]:
    """The classes of exceptions that a handler catches, as far as they are known."""
    if handler.type is None:
        return [BaseException]
    nodes = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    found = (static_value(node, source, local) for node in nodes)
    return [kind for kind in found if isinstance(kind, type) and issubclass(kind, BaseException)]
