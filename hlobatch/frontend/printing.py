"""``print(…)`` -> its values, computed like all others, and a function that makes a text of them on the host.

::

    print(f"{i:3d}", norm(x) / 2)      ==>      %$1 = prim "norm(x) / 2" (%x)
                                                prim "print(f"{i:3d}", norm(x) / 2)" (%i, %$1)

A lane has no texts. Code that makes a text, such as a format, runs on the host, once for each lane that reached the
``print``, with that lane's values; these are values of the program, with its dtypes.
"""

from __future__ import annotations

import ast
import builtins
from typing import Any, Final

from hlobatch.frontend.effects import Shows
from hlobatch.frontend.nodes import located, with_fields
from hlobatch.frontend.primitives import compile_primitive
from hlobatch.frontend.scopes import MISSING, read_names
from hlobatch.frontend.syntax import assigned, helper, literal, load
from hlobatch.frontend.whole_function import WholeLowering

_TEXTS: Final = ("str", "repr", "ascii", "format")
_COMPREHENSIONS: Final = (ast.ListComp, ast.SetComp, ast.GeneratorExp)


def as_statement(node: ast.IfExp | ast.BoolOp) -> ast.If:
    """An expression whose value is not used, such as ``verbose and print(x)``, as an ``if`` statement."""
    if isinstance(node, ast.IfExp):
        test, body, otherwise = node.test, node.body, [node.orelse]
    else:
        first, *rest = node.values
        test = first if isinstance(node.op, ast.And) else located(ast.UnaryOp(ast.Not(), first), first)
        body = rest[0] if len(rest) == 1 else located(ast.BoolOp(node.op, rest), rest[0])
        otherwise = []
    sides: list[list[ast.stmt]] = [[located(ast.Expr(value), value) for value in side] for side in ([body], otherwise)]
    return located(ast.If(test, *sides), node)


class PrintLowering:
    """Lowers one ``print``."""

    def __init__(self, function: WholeLowering, node: ast.Call) -> None:
        self.function = function
        self.node = node

    def lower(self) -> ast.expr:
        """Emit the ``print``; return its value, None."""
        function, node = self.function, self.node
        name = load("__hb_lane_print", node)
        keywords = [located(ast.keyword(k.arg, self._shown(k.value)), k) for k in node.keywords]
        call = located(ast.Call(name, list(map(self._shown, node.args)), keywords), node)
        reads = read_names(call)
        inputs = [n for n in reads if n in function.local or n.startswith("_hb_")]
        statement = assigned("_hb_printed", call, node)
        constants = {n: value for n, value in function.constants.items() if n in reads}
        shows = compile_primitive(function.source, [statement], inputs, ["_hb_printed"], constants)
        values = [load(n, reads[n]) for n in inputs]
        result = helper("__hb_printed", [located(function.constant(Shows(shows)), node), *values], node)
        stored = function.temporary()
        function.blocks.finish()
        function.primitive([assigned(stored, result, node)], [stored], node, function.source.text(node))
        return literal(None, node)

    def _shown(self, node: ast.expr) -> ast.expr:
        """An expression as the host evaluates it: parts that make no text become variables, computed before."""
        if not self._makes_text(node):
            return self._computed(node)
        if isinstance(node, _COMPREHENSIONS):
            first, *others = node.generators
            return with_fields(node, generators=[with_fields(first, iter=self._computed(first.iter)), *others])
        fields = {name: self._part(value) for name, value in ast.iter_fields(node)}
        if isinstance(node, ast.Call):
            fields["func"] = node.func
            if isinstance(node.func, ast.Attribute):
                method = ast.Attribute(self._shown(node.func.value), node.func.attr, node.func.ctx)
                fields["func"] = located(method, node.func)
        return located(type(node)(**fields), node)

    def _part(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._part(part) for part in value]
        if isinstance(value, ast.keyword):
            return located(ast.keyword(value.arg, self._shown(value.value)), value)
        return self._shown(value) if isinstance(value, ast.expr) else value

    def _computed(self, node: ast.expr) -> ast.expr:
        """The value of an expression that makes no text, as a variable unless it is a constant or a name."""
        if isinstance(node, ast.Constant):
            return node
        if isinstance(node, ast.Starred):
            return located(ast.Starred(self._computed(node.value), node.ctx), node)
        if self.function.static_value(node) is not MISSING:  # it is outside of the function, such as ``sys.stderr``
            return node
        name = self.function.as_variable(self.function.simple(node), node)
        return load(name, node)

    def _makes_text(self, node: ast.expr) -> bool:
        """Whether an expression makes a text of values, or a container with such texts."""
        match node:
            case ast.JoinedStr() | ast.FormattedValue():
                return True
            case ast.BinOp(left, ast.Mod(), _):
                return self._is_text(left)
            case ast.BinOp(left, ast.Add() | ast.Mult(), right):
                return self._is_text(left) or self._is_text(right)
            case ast.Call(ast.Name(name)) if name in _TEXTS:
                return self.function.static_value(node.func) is getattr(builtins, name)
            case ast.Call(ast.Attribute(value, _)):
                return self._is_text(value)
            case ast.IfExp(_, body, otherwise):
                return self._is_text(body) or self._is_text(otherwise)
            case ast.BoolOp(_, values) | ast.Tuple(values) | ast.List(values):
                return any(map(self._is_text, values))
            case ast.Starred(value):
                return self._makes_text(value)
            case ast.ListComp(item) | ast.SetComp(item) | ast.GeneratorExp(item):
                return self._is_text(item)
        return False

    def _is_text(self, node: ast.expr) -> bool:
        return (isinstance(node, ast.Constant) and isinstance(node.value, str)) or self._makes_text(node)
