"""The definition of a generator and a loop over its items -> the generator's statements, with the loop's body inside.

::

    def upto(n):                        i = 0
        i = 0                           while i < n:
        while i < n:                        once:
            yield i            ==>              x = i
            i += 1                              if x == 3: leave the loop
    for x in upto(n):                           total += x
        if x == 3: break                    i += 1
        total += x

So the generator and the loop take turns as in Python, and a generator without an end is left by ``break``. Each
``yield`` has a copy of the body.
"""

from __future__ import annotations

import ast
import copy
from typing import Any, ClassVar

from hlobatch.frontend.nodes import located
from hlobatch.frontend.rewriting.rewriting import Rewriting
from hlobatch.frontend.written import written


class Once(ast.While):
    """The body of a loop in place of a ``yield``: it runs once, and ``continue`` ends it. Its test is its number.

    Attributes:
        tries: The number of ``try`` statements around the loop. Exceptions of the body pass by those of the generator.
        handled: The number of ``except`` clauses around the loop.
    """

    _fields = (*ast.While._fields, "tries", "handled")
    _field_types: ClassVar[dict[str, Any]] = {**getattr(ast.While, "_field_types", {}), "tries": int, "handled": int}
    tries: int
    handled: int

    def __init__(self, *fields: Any, **named: Any) -> None:
        super().__init__(*fields, **named)


class Leave(ast.Break):
    """A ``break`` out of a loop that may be around others.

    Attributes:
        depth: The number of loops around that loop.
    """

    _fields = ("depth",)
    _field_types: ClassVar[dict[str, Any]] = {"depth": int}
    depth: int

    def __init__(self, *fields: Any, **named: Any) -> None:
        super().__init__(*fields, **named)


class WithBody(Rewriting):
    """Puts the body of a loop in place of each ``yield`` of a generator."""

    def __init__(self, node: ast.FunctionDef, loop: ast.For, depth: int, tries: int, handled: int) -> None:
        """For one loop.

        Args:
            node: The generator, whose variables have names of their own.
            loop: The loop over its items.
            depth: The number of loops around the loop. One further loop ends with the generator.
            tries: The number of ``try`` statements around the loop.
            handled: The number of ``except`` clauses around the loop.
        """
        super().__init__(node)
        self._loop, self._depth, self._tries, self._handled, self._number = loop, depth, tries, handled, 0

    def instead_of(self, node: ast.stmt) -> list[ast.stmt] | None:
        match node:
            case ast.Expr(ast.Yield(value)):
                return [self._turn(value or located(ast.Constant(None), node))]
            case ast.Expr(ast.YieldFrom(items)):
                item = self.fresh("_hb_item")
                turn = [self._turn(located(ast.Name(item, ast.Load()), node))]
                return written("for ITEM in ITEMS: TURN", node, ITEM=item, ITEMS=items, TURN=turn)
            case ast.Return():
                return [located(Leave(depth=self._depth + 1), node)]
            case ast.Nonlocal():
                return []
        return None

    def _turn(self, value: ast.expr) -> ast.stmt:
        """The body of the loop with one item."""
        self._number += 1
        loop = copy.deepcopy(self._loop)
        target = located(ast.Assign([loop.target], value), loop.target)
        body = [_Leaving(self._depth).visit(statement) for statement in loop.body]
        number = located(ast.Constant(self._number), loop)
        return located(Once(number, [target, *body], [], tries=self._tries, handled=self._handled), loop)


class _Leaving(ast.NodeTransformer):
    """Lets a ``break`` leave the loop that it belongs to, where the loop's body is put inside of other loops."""

    def __init__(self, depth: int) -> None:
        self._depth = depth

    def visit_Break(self, node: ast.Break) -> ast.stmt:
        return located(Leave(depth=self._depth), node)

    def visit_For(self, node: ast.For) -> ast.stmt:
        node.orelse = [self.visit(statement) for statement in node.orelse]
        return node

    def visit_While(self, node: ast.While) -> ast.stmt:
        node.orelse = [self.visit(statement) for statement in node.orelse]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        return node
