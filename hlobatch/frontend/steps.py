"""A statement that changes an object in place and computes what may raise -> one operation for each change.

::

    try:                                     try:
        x = 10 // items.pop()      ==>           $1 = items.pop()
    except ZeroDivisionError: …                  x = 10 // $1          if this raises, the item has been taken out

If an object may be read after an exception, changes before the exception have to stay, and later ones must not happen.
An operation that raises has no results, so each change becomes an operation of its own: operands of it are computed in
operations before it, and values computed from its result in operations after it.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from hlobatch.frontend.nodes import all_arguments
from hlobatch.frontend.scopes import root_of


@dataclass(frozen=True, slots=True)
class StepByStep:
    """The fact that a statement changes objects in place, and may raise while they can still be read.

    Attributes:
        names: The variables that hold the objects.
    """

    names: frozenset[str]

    def joined(self, known: StepByStep) -> StepByStep:
        """This fact joined with the one known before."""
        return StepByStep(known.names | self.names)


def changes_one_of(node: ast.AST, names: frozenset[str]) -> bool:
    """Whether an expression is a call that may change the value of one of the variables."""
    if not isinstance(node, ast.Call):
        return False
    given = all_arguments(node)
    match node.func:
        case ast.Name("super"):
            return False
        case ast.Attribute(ast.Call(ast.Name("super"), [_, receiver])) | ast.Attribute(receiver):
            given.append(receiver)
    return any(isinstance(root := root_of(part), ast.Name) and root.id in names for part in given)


def is_one_step(body: Sequence[ast.stmt], names: frozenset[str]) -> bool:
    """Whether the change of a variable's value is the last operation of code, and the only one that may raise.

    Args:
        body: The code; before its last statement there may be calls that say how to trace it.
        names: The variables.
    """
    changes = [node for statement in body for node in ast.walk(statement) if changes_one_of(node, names)]
    value = next((one.value for one in body[-1:] if isinstance(one, (ast.Assign, ast.Expr))), None)
    if len(changes) != 1 or changes[0] is not value:
        return False
    call = changes[0]
    assert isinstance(call, ast.Call)
    return all(map(is_given, all_arguments(call)))


def is_given(node: ast.expr) -> bool:
    """Whether the evaluation of an expression can neither raise nor have an effect."""
    match node:
        case ast.Name() | ast.Constant() | ast.Lambda():
            return True
        case ast.Attribute(value) | ast.Starred(value):
            return is_given(value)
        case ast.Tuple(items) | ast.List(items):
            return all(map(is_given, items))
    return False
