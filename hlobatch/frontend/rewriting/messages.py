"""A text in a variable that the next statement shows -> the text where it is shown.

::

    message = f"no root of {x}"
    raise ValueError(message)         ==>      raise ValueError(f"no root of {x}")

A lane has no texts. The text of an exception or of a ``print`` is made on the host, of the lane's values, where it is
written inside of the statement. Many people write it into a variable first, which some linters ask for.
"""

from __future__ import annotations

import ast
import collections
import functools
import itertools
from typing import Any

from hlobatch.frontend.nodes import located, walk, with_fields
from hlobatch.frontend.scopes import with_parts


def with_messages_in_place(node: ast.FunctionDef) -> ast.FunctionDef:
    """The definition, with each text that is only shown by the statement behind it inside of that statement.

    A variable that is read anywhere else stays, with the statement that assigns it.
    """
    shown = collections.Counter(name for body in _bodies(node) for _, name in _pairs(body))
    if not shown:
        return node
    names_in_it = (part for part in walk(node) if isinstance(part, ast.Name))
    reads = collections.Counter(part.id for part in names_in_it if not isinstance(part.ctx, ast.Store))
    others = {name for part in walk(node) if isinstance(part, (ast.Global, ast.Nonlocal)) for name in part.names}
    names = {name for name, count in shown.items() if count == reads[name] and name not in others}
    return _rewritten(frozenset(names), node) if names else node


def _bodies(node: ast.AST) -> list[list[ast.stmt]]:
    """All lists of statements in a node."""
    fields = (value for part in walk(node) for _, value in ast.iter_fields(part))
    return [value for value in fields if isinstance(value, list) and value and isinstance(value[0], ast.stmt)]


def _pairs(body: list[ast.stmt]) -> list[tuple[int, str]]:
    """Where a statement assigns a text that the next one shows: its position, and the variable's name."""
    found = []
    for position, (statement, then) in enumerate(itertools.pairwise(body)):
        match statement:
            case ast.Assign([ast.Name(name)], value) if _has_text(value) and _first_shown(then) == name:
                found.append((position, name))
    return found


def _has_text(node: ast.expr) -> bool:
    return any(
        isinstance(part, ast.JoinedStr) or (isinstance(part, ast.Constant) and isinstance(part.value, str))
        for part in walk(node)
    )


def _first_shown(node: ast.stmt) -> str | None:
    """The variable that is the first argument of a ``raise`` or a ``print``; None if no variable is."""
    match node:
        case ast.Raise(ast.Call(ast.Name() | ast.Attribute(), [ast.Name(name), *_])):
            return name
        case ast.Expr(ast.Call(ast.Name("print"), [ast.Name(name), *_])):
            return name
    return None


def _rewritten(names: frozenset[str], node: Any) -> Any:
    """Code in which the texts of these variables stand where they are shown."""
    node = with_parts(node, functools.partial(_rewritten, names))
    changed = {
        field: _joined(names, value)
        for field, value in ast.iter_fields(node)
        if isinstance(value, list) and value and isinstance(value[0], ast.stmt) and _pairs(value)
    }
    return with_fields(node, **changed) if changed else node


def _joined(names: frozenset[str], body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements without those that assign a text to one of these variables."""
    texts = {position: body[position] for position, name in _pairs(body) if name in names}
    found = []
    for position, statement in enumerate(body):
        before = texts.get(position - 1)
        if position not in texts:
            found.append(statement if before is None else _with_text(statement, before.value))  # type: ignore[attr-defined]
    return found


def _with_text(node: Any, text: ast.expr) -> Any:
    """A ``raise`` or ``print`` whose first argument is the text."""
    field = "exc" if isinstance(node, ast.Raise) else "value"
    call = getattr(node, field)
    call = located(ast.Call(call.func, [text, *call.args[1:]], call.keywords), call)
    return with_fields(node, **{field: call})
