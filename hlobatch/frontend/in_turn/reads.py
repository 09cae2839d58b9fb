"""A variable and code -> how often the code may read the variable on one path, which counts for an iterator in it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

MAKERS: Final = (enumerate, filter, iter, map, reversed, zip)
"""Python's functions that make iterators, those of `itertools` excepted."""
_LATER: Final = (ast.Lambda, ast.FunctionDef)
_ENDS: Final = (ast.Return, ast.Raise, ast.Break, ast.Continue)
_OFTEN: Final = 2


def is_used_again(name: str, statement: ast.stmt, function: ast.AST) -> bool:
    """Whether code may read a variable twice after a statement of a function assigns it, or ask for its truth."""
    return _after(name, statement, function) >= _OFTEN


def is_read_again(name: str, function: ast.FunctionDef) -> bool:
    """Whether a function may read a parameter twice, or ask for its truth."""
    return reads_in_order(name, function.body) >= _OFTEN


def _after(name: str, statement: ast.stmt, function: ast.AST) -> int:
    """The most reads of a variable on a path from a statement."""
    for block in _blocks(function):
        for at, inner in enumerate(block):
            if inner is statement:
                return reads_in_order(name, block[at + 1 :])
            if any(part is statement for part in ast.walk(inner)):
                within = _after(name, statement, inner)
                again = reads_in_order(name, [inner]) if isinstance(inner, (ast.For, ast.While)) else 0
                return within + again + reads_in_order(name, block[at + 1 :])
    return 0


def _blocks(node: ast.AST) -> list[list[ast.stmt]]:
    """The lists of statements in a statement."""
    fields = [value for _, value in ast.iter_fields(node) if isinstance(value, list)]
    parts = [part for value in fields for part in value if isinstance(part, (ast.ExceptHandler, ast.match_case))]
    own = [value for value in fields if value and isinstance(value[0], ast.stmt)]
    return [*own, *(block for part in parts for block in _blocks(part))]


def reads_in_order(name: str, statements: Sequence[ast.stmt]) -> int:
    """The most reads of a variable on a path through statements, as long as none of them assigns it."""
    for at, statement in enumerate(statements):
        rest = statements[at + 1 :]
        match statement:
            case ast.If(test, body, otherwise):
                sides = ([*side, *([] if side and isinstance(side[-1], _ENDS) else rest)] for side in (body, otherwise))
                found = _tested(name, test) + max(reads_in_order(name, side) for side in sides)
            case ast.Assign([ast.Name(target)], value) if target == name:
                found = _read(name, value)
            case _:
                found = _read(name, statement) + reads_in_order(name, rest)
        return found
    return 0


def _read(name: str, node: ast.AST) -> int:
    """The most reads of a variable while a node runs once."""
    match node:
        case ast.Name(read, ast.Load()):
            return int(read == name)
        case ast.For(_, items, body, otherwise):
            return _read(name, items) + _OFTEN * reads_in_order(name, body) + reads_in_order(name, otherwise)
        case ast.While(test, body, otherwise):
            return _OFTEN * (_tested(name, test) + reads_in_order(name, body)) + reads_in_order(name, otherwise)
        case ast.IfExp(test, body, otherwise):
            return _tested(name, test) + max(_read(name, body), _read(name, otherwise))
        case ast.BoolOp(_, values):
            return sum(_tested(name, value) for value in values)
        case ast.UnaryOp(ast.Not(), operand):
            return _tested(name, operand)
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            first = _read(name, node.generators[0].iter)
            return first + _OFTEN * (sum(_read(name, part) for part in ast.iter_child_nodes(node)) - first)
    inside = [reads_in_order(name, block) for block in _blocks(node)]
    others = [
        part for part in ast.iter_child_nodes(node) if isinstance(part, (ast.expr, ast.comprehension, ast.keyword))
    ]
    times = _OFTEN if isinstance(node, _LATER) else 1
    return times * (sum(inside) + sum(_read(name, part) for part in others))


def _tested(name: str, test: ast.expr) -> int:
    """The reads of a variable in a condition; a truth value of the variable counts as several."""
    return _OFTEN if isinstance(test, ast.Name) and test.id == name else _read(name, test)
