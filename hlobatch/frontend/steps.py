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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hlobatch.frontend.nodes import all_arguments
from hlobatch.frontend.scopes import read_names, root_of


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


def changes_one_of(node: ast.AST, names: frozenset[str], captured: Mapping[str, Sequence[str]] | None = None) -> bool:
    """Whether an expression is a call that may change the value of one of the variables.

    Args:
        node: The expression.
        names: The variables.
        captured: The variables that functions defined inside read from around them, by the functions' names.
    """
    if not isinstance(node, ast.Call):
        return False
    given = all_arguments(node)
    match node.func:
        case ast.Name("super"):
            return False
        case ast.Attribute(ast.Call(ast.Name("super"), [_, receiver])) | ast.Attribute(receiver):
            given.append(receiver)
        case function:
            given.append(function)
    return any(not names.isdisjoint(_handed_on(part, captured or {})) for part in given)


def _handed_on(part: ast.expr, captured: Mapping[str, Sequence[str]]) -> Iterable[str]:
    """The variables whose objects a call gets by an argument: its own, or those that a function uses."""
    match part:
        case ast.Lambda():
            return read_names(part)
        case ast.Call(_, [_, *values]) if is_closure(part):
            return [value.id for value in values if isinstance(value, ast.Name)]
        case ast.Name(name) if name in captured:
            return captured[name]
    root = root_of(part)
    return [root.id] if isinstance(root, ast.Name) else []


def is_only_stored(body: Sequence[ast.stmt], name: str) -> bool:
    """Whether code assigns to a part of a variable's value, and does not read the value, which might change it too.

    Args:
        body: The code.
        name: The variable.
    """
    match body[-1]:
        case ast.Assign([ast.Name(target)], ast.Call(ast.Name("__hb_put" | "__hb_stored"), [ast.Name(), *_])):
            reads = [node for one in body for node in ast.walk(one) if isinstance(node, ast.Name) and node.id == name]
            return target == name and len(reads) == 2  # the target, and the value before
    return False


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
    if any(keyword.arg == "key" for keyword in call.keywords):  # `items.sort(key=f)` calls `f`, which may raise
        return False
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
    return is_closure(node)


def is_closure(node: ast.expr) -> bool:
    """Whether an expression is a function that is defined inside, as a value with what it reads from around it."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "__hb_closure"
