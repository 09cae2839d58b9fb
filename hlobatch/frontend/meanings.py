"""Straight-line code as the user wrote it -> the same, which means on traced values what it means in Python.

::

    votes = first + second                    votes = __hb_operate("add", first, second)
    small = byte < 300                        small = __hb_compare("lt", byte, 300)
    scale = 10 ** -places             ==>     scale = __hb_power(10, -places, True)
    size = len(f"{n}")                        size = len(f"{__hb_known(n)}")
    if isinstance(i, int): …                  if __hb_isinstance(i, int): …

JAX's arrays stand for Python's numbers, and almost everything means the same on both. Here is what does not, and where
nobody would be told: flags that are added up, whole numbers of two dtypes that are compared, negative powers of
integers, texts, and questions about types.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from hlobatch.diagnostics import UnsupportedSyntaxError
from hlobatch.frontend.primitives import helper
from hlobatch.frontend.source import Source

_ARITHMETIC: Final[dict[type[ast.operator], str]] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
}
"""Operations on flags that Python does on numbers, as the module ``operator`` calls them."""
_AUGMENTED: Final = {
    **_ARITHMETIC,
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.MatMult: "matmul",
}
_COMPARISONS: Final[dict[type[ast.cmpop], str]] = {
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Eq: "eq",
    ast.NotEq: "ne",
}
_SIGNS: Final[dict[type[ast.unaryop], str]] = {ast.Invert: "invert", ast.USub: "neg", ast.UAdd: "pos"}
_TEXTS: Final = frozenset({"str", "repr", "ascii", "format"})
_QUESTIONS: Final = frozenset({"isinstance", "type", "hasattr"})
_SCOPES: Final = frozenset({"locals", "vars", "dir", "eval", "exec"})


def _may_be_flag(node: ast.expr) -> bool:
    """Whether the value of an expression may be a Python bool."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, bool)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitAnd, ast.BitOr, ast.BitXor)):
        return _may_be_flag(node.left) and _may_be_flag(node.right)
    return not isinstance(node, (ast.BinOp, ast.List, ast.Tuple, ast.Dict, ast.JoinedStr))


def _is_negated(node: ast.AST) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)


@dataclass(frozen=True)
class Meanings:
    """What the code of a function means.

    Attributes:
        source: The function.
        local: Its variables.
    """

    source: Source
    local: frozenset[str]

    def of(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Statements without control flow, with their meaning in Python; nodes that stay as they are are shared.

        Raises:
            UnsupportedSyntaxError: They look at the variables of the function as objects.
        """
        return [new for statement in body for new in self._statement(statement)]

    @cached_property
    def _negative(self) -> frozenset[str]:
        """Variables that are assigned something with a minus in front."""
        nodes = ast.walk(self.source.node)
        assigned = (node for node in nodes if isinstance(node, ast.Assign) and _is_negated(node.value))
        return frozenset(t.id for node in assigned for t in node.targets if isinstance(t, ast.Name))

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        if not isinstance(node, ast.AugAssign):
            return [self._rewritten(node)]
        target = ast.copy_location(ast.Name(_name(node.target), ast.Load()), node.target)
        value: ast.expr = self._rewritten(node.value)
        if isinstance(node.op, ast.Pow):
            return [ast.copy_location(ast.Assign([node.target], self._power(target, value, node.value, node)), node)]
        if isinstance(value, ast.Constant) and not isinstance(value.value, bool):
            return [ast.copy_location(ast.AugAssign(node.target, node.op, value), node)]
        operation = ast.copy_location(ast.Constant(_AUGMENTED[type(node.op)]), node)
        result = helper("__hb_augment", [operation, target, value], node)
        return [ast.copy_location(ast.Assign([node.target], result), node)]

    def _rewritten(self, node: Any) -> Any:
        """A node, of which at least one field is another, or the node itself."""
        changed = dict[str, Any]()
        for name, value in ast.iter_fields(node):
            new: Any = value
            if isinstance(value, ast.AST):
                new = self._rewritten(value)
            elif isinstance(value, list):
                new = [self._rewritten(part) if isinstance(part, ast.AST) else part for part in value]
                new = value if all(a is b for a, b in zip(new, value, strict=True)) else new
            if new is not value:
                changed[name] = new
        copy = ast.copy_location(type(node)(**{**dict(ast.iter_fields(node)), **changed}), node) if changed else node
        return self._as_meant(copy, node)

    def _as_meant(self, node: Any, written: Any) -> Any:
        """A node whose parts mean what they should, as it should."""
        match node:
            case ast.Compare(left, [ast.Is() | ast.IsNot() | ast.Eq() | ast.NotEq() as operator], [ast.Constant(None)]):
                is_none = helper("__hb_is_none", [left], node)
                return is_none if isinstance(operator, (ast.Is, ast.Eq)) else helper("__hb_not", [is_none], node)
            case ast.BinOp(left, ast.Pow(), right):
                return self._power(left, right, written.right, node)
            case ast.BinOp(ast.Constant(str()) | ast.JoinedStr() as left, ast.Mod(), right):
                return ast.copy_location(ast.BinOp(left, node.op, self._known(right)), node)
            case ast.BinOp(left, op, right) if type(op) in _ARITHMETIC and _may_be_flag(left) and _may_be_flag(right):
                return self._operate(_ARITHMETIC[type(op)], [left, right], node)
            case ast.UnaryOp(op, operand) if type(op) in _SIGNS and _may_be_flag(operand):
                return self._operate(_SIGNS[type(op)], [operand], node)
            case ast.Compare(left, [op], [right]) if type(op) in _COMPARISONS:
                name = ast.copy_location(ast.Constant(_COMPARISONS[type(op)]), node)
                return helper("__hb_compare", [name, left, right], node)
            case ast.FormattedValue(value):
                new = ast.FormattedValue(self._known(value), node.conversion, node.format_spec)
                return ast.copy_location(new, node)
            case ast.Call(ast.Attribute(ast.Constant(str()), "format"), arguments, keywords):
                return self._of_known(node, arguments, keywords)
            case ast.Call(ast.Name(name), arguments, keywords) if self._is_builtin(name):
                return self._call(node, name, arguments, keywords)
        return node

    def _call(self, node: ast.Call, name: str, arguments: list[ast.expr], keywords: list[ast.keyword]) -> ast.expr:
        if name in _TEXTS:
            return self._of_known(node, arguments, keywords)
        if name in _QUESTIONS and not keywords and (name != "type" or len(arguments) == 1):
            return helper(f"__hb_{name}", arguments, node)
        if name in _SCOPES and (name in ("eval", "exec") or not arguments):
            raise UnsupportedSyntaxError(
                f"`{name}` is not supported in a batched function",
                self.source.location(node),
                help="its variables are no Python objects: name those that are meant.",
            )
        return node

    def _is_builtin(self, name: str) -> bool:
        return name not in self.local and self.source.resolve(name) is getattr(builtins, name, self)

    def _of_known(self, node: ast.Call, arguments: list[ast.expr], keywords: list[ast.keyword]) -> ast.expr:
        """A call of arguments that have to be known when the program is built."""
        named = [ast.copy_location(ast.keyword(k.arg, self._known(k.value)), k) for k in keywords]
        return ast.copy_location(ast.Call(node.func, list(map(self._known, arguments)), named), node)

    def _known(self, value: ast.expr) -> ast.expr:
        if isinstance(value, ast.Constant):
            return value
        if isinstance(value, ast.Starred):
            return ast.copy_location(ast.Starred(self._known(value.value), value.ctx), value)
        return helper("__hb_known", [value], value)

    def _operate(self, operation: str, operands: Sequence[ast.expr], node: ast.AST) -> ast.expr:
        """An operation whose operands may be flags."""
        return helper("__hb_operate", [ast.copy_location(ast.Constant(operation), node), *operands], node)

    def _power(self, base: ast.expr, exponent: ast.expr, written: ast.expr, node: ast.AST) -> ast.expr:
        names = isinstance(written, ast.Name) and written.id in self._negative
        negated = ast.copy_location(ast.Constant(names or _is_negated(written)), exponent)
        return helper("__hb_power", [base, exponent, negated], node)


def _name(target: ast.expr) -> str:
    assert isinstance(target, ast.Name)
    return target.id
