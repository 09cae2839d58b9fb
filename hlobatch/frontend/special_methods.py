"""Operators, properties and ``len`` of the user's objects -> calls of the methods that Python calls for them.

::

    low < high          Card.__lt__ branches on a lane's value:
    prim "low < high"   ==>   %$1 = call @__lt__(%low, %high)

Code is first traced unchanged. If that fails in such a method, the function is lowered again with its operators of that
kind as calls. The callee of such a call is then found like any other (``following.py``).
"""

from __future__ import annotations

import ast
import functools
import types
from collections.abc import Callable, Sequence
from typing import Any, Final

from hlobatch.analysis.overloads import BOOL, LEN
from hlobatch.diagnostics import UnsupportedSyntaxError
from hlobatch.frontend import builtins as batched_builtins
from hlobatch.frontend import own_methods, python_numbers, sequences
from hlobatch.frontend.calls import call
from hlobatch.frontend.files import is_users
from hlobatch.frontend.guesses import ANY_SPECIAL
from hlobatch.frontend.items import item
from hlobatch.frontend.members import NAMES, member
from hlobatch.frontend.operators import BINARY, COMPARISONS, UNARY
from hlobatch.frontend.own_methods import REFLECTED, own_method, reflected_comes_first
from hlobatch.values.held_classes import is_held
from hlobatch.values.lane_failures import needed

_EQ: Final = "__eq__"
_NE: Final = "__ne__"
_POW: Final = "pow"
_BINARY: Final = {**BINARY, ast.Pow: _POW}


def operation(node: ast.AST) -> tuple[tuple[str, ...], str, Sequence[ast.expr]] | None:
    """The methods that Python may call for an expression, its operation, and its operands; None if it calls none."""
    match node:
        case ast.BinOp(left, op, right) if name := _BINARY.get(type(op)):
            return (f"__{name}__",), name, (left, right)
        case ast.UnaryOp(op, operand) if name := UNARY.get(type(op)):
            return (f"__{name}__",), name, (operand,)
        case ast.Compare(left, [op], [right]) if name := COMPARISONS.get(type(op)):
            return ((_NE, _EQ) if name == "ne" else (f"__{name}__", *reflected(name))), name, (left, right)
        case ast.Compare(left, [ast.In() | ast.NotIn()], [right]):
            return ("__contains__",), "contains", (left, right)
        case ast.Subscript(value, index, ast.Load()) if not isinstance(index, (ast.Slice, ast.Starred)):
            return ("__getitem__",), "getitem", (value, index)
        case ast.Attribute(value, name, ast.Load()):
            return (name,), f".{name}", (value,)
    return None


_TRUTH: Final = ("__bool__", "__len__")
_ITEMS: Final = ("__iter__", "__getitem__", "__next__", "__len__")
_TEXTS: Final = ("__str__", "__repr__", "__format__")
_KEYS: Final = ("__hash__", "__eq__")
_CALLED: Final[dict[type[ast.AST], tuple[str, ...]]] = {
    ast.BoolOp: _TRUTH,
    ast.IfExp: _TRUTH,
    ast.Starred: _ITEMS,
    ast.ListComp: _ITEMS,
    ast.Subscript: _ITEMS,
    ast.SetComp: (*_ITEMS, *_KEYS),
    ast.DictComp: (*_ITEMS, *_KEYS),
    ast.Set: _KEYS,
    ast.Dict: _KEYS,
    ast.JoinedStr: _TEXTS,
    ast.FormattedValue: _TEXTS,
}
"""The methods that Python may call for expressions that are no operators, attributes or calls."""
_IN: Final = ("__contains__", "__iter__", "__getitem__", "__eq__")


def methods_called(node: ast.expr) -> tuple[str, ...]:
    """The methods of a class that Python may call for an expression, as ``guesses.has_methods`` takes them."""
    match node:
        case ast.Call(ast.Attribute(_, name)):
            return (name, ANY_SPECIAL)
        case ast.Attribute(_, name):
            return (name, "__getattr__", "__getattribute__")
        case ast.BinOp(_, op):
            return (f"__{_BINARY[type(op)]}__", f"__r{_BINARY[type(op)]}__")
        case ast.UnaryOp(op):
            return (f"__{UNARY[type(op)]}__",) if type(op) in UNARY else _TRUTH
        case ast.Compare(_, ops):
            names = [COMPARISONS[type(op)] for op in ops if type(op) in COMPARISONS]
            others = [] if len(names) == len(ops) else _IN
            of_right = [method for name in names for method in reflected(name)]
            return (*(f"__{name}__" for name in names), *of_right, *others, *(_KEYS[1:] if "ne" in names else ()))
    return _CALLED.get(type(node), (ANY_SPECIAL,))


def reflected(operation: str) -> tuple[str, ...]:
    """The method of the right operand that Python calls for a comparison by order, if the left one has none."""
    return (f"__{REFLECTED[operation]}__",) if operation in ("lt", "le", "gt", "ge") else ()


def augmented(node: ast.AugAssign) -> tuple[tuple[str, ...], str] | None:
    """The methods that Python may call for ``target += value``, and the operation; None if there are none."""
    name = _BINARY.get(type(node.op))
    return None if name is None else ((f"__i{name}__", f"__{name}__"), f"{name}=")


def method(name: str, *operands: Any) -> Callable[..., Any]:
    """The callee of an operation: a function of the user's, or the meaning of Python's operator on other values."""
    value = operands[1] if name == "contains" else operands[0]
    if name.startswith(".") and name.endswith("="):
        found = getattr(type(value), name[1:-1], None)
        if isinstance(found, property) and isinstance(found.fset, types.FunctionType):
            return found.fset
        return functools.partial(_assigned, name[1:-1])
    if name.startswith("."):
        found = getattr(type(value), name[1:], None)
        if isinstance(found, property) and isinstance(found.fget, types.FunctionType) and is_users(found.fget):
            return found.fget
        return functools.partial(_attribute, name[1:])
    operator = name.removesuffix("=")
    if name != "contains" and len(operands) == 2 and reflected_comes_first(operator, *operands):
        left, right = (type(operand).__name__ for operand in operands)
        raise UnsupportedSyntaxError(
            f"Python calls the reflected method of {right!r} here, which is derived from {left!r}, and a method of the "
            "two branches",
            help="write a method of another name, and call it by that, as in `x.plus(y)`.",
        )
    in_place = (f"__i{operator}__",) if operator != name else ()
    for special in (*in_place, *_SPECIALS.get(name, (f"__{operator}__",))):
        if own := own_method(value, special):
            return own
    if sides(name, *operands) != operands:
        return own_method(operands[1], *reflected(name))  # type: ignore[return-value]
    if in_place and operator != _POW:
        return functools.partial(python_numbers.augment, operator)
    name = operator if in_place else name
    return functools.partial(_MEANINGS.get(name, functools.partial(python_numbers.operate, name)))


def sides(name: str, *operands: Any) -> tuple[Any, ...]:
    """The operands of a comparison in the order in which its method gets them: the one with the method first."""
    if not reflected(name) or own_method(operands[0], f"__{name}__"):
        return operands
    return operands[::-1] if own_method(operands[1], *reflected(name)) else operands


def check_operands(name: str, *operands: Any) -> None:
    """Note the lanes in which an operation that is a call of a method raises, since its object is None."""
    value = operands[1] if name == "contains" else operands[0]
    if not is_held(value):
        return
    if name.startswith("."):
        needed(value, AttributeError, f"'NoneType' object has no attribute {name[1:].removesuffix('=')!r}")
    elif name == "contains":
        needed(value, TypeError, "argument of type 'NoneType' is not iterable")
    elif name == "getitem":
        needed(value, TypeError, "'NoneType' object is not subscriptable")
    elif name == "len":
        needed(value, TypeError, "object of type 'NoneType' has no len()")
    elif name != "truth":
        own_methods.check_operands(name.removesuffix("="), *operands)


def property_of_base(cls: type, value: Any, name: str) -> Callable[..., Any]:
    """The callee of ``super(cls, value).name``: the getter of a property, or code that reads another attribute."""
    kinds = type(value).__mro__
    behind = kinds[kinds.index(cls) + 1 :]
    found = next((vars(kind)[name] for kind in behind if name in vars(kind)), None)
    if isinstance(found, property) and isinstance(found.fget, types.FunctionType):
        return found.fget
    return lambda one: getattr(super(cls, one), name)


def _attribute(name: str, value: Any) -> Any:
    return member(value, name) if name in NAMES else getattr(value, name)


def _assigned(name: str, value: Any, given: Any) -> None:
    setattr(value, name, given)


def as_result(name: str, result: Any, *operands: Any) -> Any:
    """The result of an operation, given that of its method."""
    is_inverse = name == "ne" and own_method(operands[0], _EQ) and not own_method(operands[0], _NE)
    return batched_builtins.logical_not(result) if is_inverse else result


_SPECIALS: Final = {"ne": (_NE, _EQ), "truth": (BOOL, LEN), "contains": ("__contains__",)}
_MEANINGS: Final[dict[str, Callable[..., Any]]] = {
    **{name: functools.partial(sequences.compare, name) for name in COMPARISONS.values()},
    "contains": sequences.contains,
    "getitem": item,
    "len": functools.partial(call, len),
    "truth": batched_builtins.truth,
    _POW: functools.partial(python_numbers.power, may_be_negative=True),
}
