"""A ``for`` over ``itertools.count``, also inside of ``takewhile`` -> a ``while`` loop that counts.

::

    for i in itertools.count(1):               $next = 1
        if i * i > n:                          while True:
            return i                 ==>           i, $next = $next, $next + 1
                                                   if i * i > n:
                                                       return i

Such a loop ends only by ``break``, ``return`` or ``raise``, which the ``while`` tells the code behind it. The first
number and the step may differ between lanes.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable
from typing import Any

from hlobatch.frontend.in_turn.comprehensions import renamed
from hlobatch.frontend.nodes import located
from hlobatch.frontend.written import written


def is_count(node: ast.expr, static_value: Callable[[ast.expr], Any]) -> bool:
    """Whether an expression is a call of ``itertools.count``."""
    is_plain = isinstance(node, ast.Call) and not any(isinstance(part, ast.Starred) for part in node.args)
    return is_plain and static_value(node.func) is itertools.count  # type: ignore[attr-defined]


def as_while(
    node: ast.For, static_value: Callable[[ast.expr], Any], fresh: Callable[[str], str]
) -> list[ast.stmt] | None:
    """The statements in place of a loop; None if it is no such loop.

    Args:
        node: The loop.
        static_value: Gives the value of an expression that is known outside of the function.
        fresh: Makes unused names.
    """
    predicate, counted = None, node.iter
    match node.iter:
        case ast.Call(function, [test, inner], []) if (
            static_value(function) is itertools.takewhile
            and isinstance(test, (ast.Lambda, ast.Name))
            and not node.orelse
        ):
            predicate, counted = test, inner
    bounds = _bounds(counted) if is_count(counted, static_value) else None
    if bounds is None:
        return None
    item = fresh("item")
    parts: dict[str, Any] = {"NEXT": fresh("next"), "STEP": fresh("step"), "ITEM": item}
    parts |= {"START": bounds[0], "BY": bounds[1], "ENDS": []}
    begin = written("NEXT = START\nSTEP = BY", node.iter, **parts)
    if predicate is not None:
        parts["ENDS"] = written("if not TEST:\n    break", node.iter, TEST=_applied(predicate, item))
    turn = written("ITEM = NEXT\nNEXT = NEXT + STEP\nENDS", node.iter, **parts)
    bind = located(ast.Assign([node.target], located(ast.Name(item, ast.Load()), node.target)), node.target)
    loop = ast.While(located(ast.Constant(True), node.iter), [*turn, bind, *node.body], [])
    return [*begin, located(loop, node)]


def _applied(predicate: ast.expr, name: str) -> ast.expr:
    """The call of a function, or the body of a lambda of one parameter, for a variable."""
    match predicate:
        case ast.Lambda(ast.arguments([], [ast.arg(parameter)], None, [], [], None, []), body):
            return renamed(body, {parameter: name})
    return located(ast.Call(predicate, [located(ast.Name(name, ast.Load()), predicate)], []), predicate)


def _bounds(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """The first number and the step of a call of ``itertools.count``; None if it is called wrongly."""
    assert isinstance(node, ast.Call)
    given = dict(zip(("start", "step"), node.args, strict=False)) | {k.arg: k.value for k in node.keywords if k.arg}
    zero, one = (located(ast.Constant(number), node) for number in (0, 1))
    is_right = len(given) == len(node.args) + len(node.keywords) and given.keys() <= {"start", "step"}
    return (given.get("start", zero), given.get("step", one)) if is_right else None
