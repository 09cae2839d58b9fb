"""An operation on objects of the user's classes -> the result of the methods that Python calls for it.

::

    v + w          V.__add__(v, w), or W.__radd__(w, v)
    v != w         V.__ne__(v, w), or not V.__eq__(v, w)

If Python called the methods itself, they would run their own code, in which the sum of two bools has JAX's meaning.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator
from typing import Any, Final

import jax.numpy as jnp

from hlobatch.diagnostics import BatchTypeError, UnsupportedSyntaxError
from hlobatch.frontend.builtins import logical_not
from hlobatch.frontend.files import is_users
from hlobatch.frontend.traced_functions import as_meant
from hlobatch.prelude import standing_for
from hlobatch.prelude.in_turn import is_of_iterators
from hlobatch.values.held_classes import is_held, is_there
from hlobatch.values.lane_failures import fails
from hlobatch.values.own_containers import has_content, is_of_missing_keys

NEXT: Final = "__next__"
REFLECTED: Final = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


def own_method(value: Any, name: str) -> types.FunctionType | None:
    """The method of this name of a value's class, if the user has written it; else None.

    A method that ``functools.total_ordering`` has added counts as one of the user's.
    """
    found = getattr(type(value), name, None)
    if not isinstance(found, types.FunctionType):
        return None
    if found.__module__ == functools.__name__:
        return standing_for(found)
    is_own = is_users(found) or is_of_missing_keys(found) or is_of_iterators(found.__code__)
    return found if is_own else None


def own_method_error(base: Any, name: str, what: str) -> UnsupportedSyntaxError:
    """The error for a statement on an item of a user's object that has to become a call of the object's method."""
    error = UnsupportedSyntaxError(
        f"this {what} an item of a {type(base).__name__!r}, whose `{name}` is not followed",
        help="write a method of another name, and call it by that, as in `x.put(i, value)`.",
    )
    error.overloaded = name if own_method(base, name) or has_content(base) else ""
    return error


def check_asked_in_part(iterable: Any, instead: str = "") -> None:
    """Refuse an object with ``__next__`` for code that may not ask for all of its items.

    Args:
        iterable: The object, or any other value.
        instead: The method that Python calls where the class has it.

    Raises:
        UnsupportedSyntaxError: The iterable is one whose method is not followed, so that all items would be made.
    """
    if own_method(iterable, NEXT) is not None and own_method(iterable, instead) is None:
        error = UnsupportedSyntaxError(
            f"this goes over a {type(iterable).__name__!r} in part, and its `__next__` is not followed",
            help="write a `for` over it that ends by `break`.",
        )
        error.overloaded = NEXT
        raise error


def by_methods(operation: str, *operands: Any) -> Any:
    """The result of the user's methods for an operation, named as in ``operator``.

    Args:
        operation: The name, with an ``i`` before it for an operation in place.
        *operands: One or two.

    Returns:
        ``NotImplemented`` if no operand's class has such a method, or none of the methods accepts the other operand.
    """
    if not any(own_method(operand, name) for operand in operands for name in _names(operation)):
        return NotImplemented
    check_operands(operation, *operands)
    for method, self, others in _methods(operation, *operands):
        result = as_meant(method, (self, others))(self, *others)
        if result is not NotImplemented:
            return result
    if operation == "ne" and not any(own_method(operand, "__ne__") for operand in operands):
        equal = by_methods("eq", *operands)
        return equal if equal is NotImplemented else logical_not(equal)
    return NotImplemented


def check_operands(operation: str, *operands: Any) -> None:
    """Note the lanes in which an operator that calls a method of the left operand's raises, since that is None.

    Args:
        operation: The operation, named as in ``operator``.
        *operands: One or two, of which the first may be a reference that is None in some lanes.

    Raises:
        BatchTypeError: Python may call a method of the other operand's there.
    """
    left, *right = operands
    if not is_held(left):
        return
    _, _, reflected, *_ = _names(operation)
    if operation in ("eq", "ne") or any(own_method(other, reflected) for other in right):
        raise BatchTypeError(
            f"an operator calls a method of a {type(left).__name__!r} that may be None, for which Python calls another",
            help="test it for None, and call the method by its name, as in `a is not None and a.same_as(b)`.",
        ).of_references()
    sign = _SIGNS.get(operation.removeprefix("i") if operation not in _SIGNS else operation, operation)
    if not right:
        fails(TypeError, f"bad operand type for unary {sign}: 'NoneType'", jnp.logical_not(is_there(left)))
        return
    other = type(right[0]).__name__
    text = f"unsupported operand type(s) for {sign}: 'NoneType' and {other!r}"
    if operation in REFLECTED:
        text = f"{sign!r} not supported between instances of 'NoneType' and {other!r}"
    fails(TypeError, text, jnp.logical_not(is_there(left)))


_SIGNS: Final = {
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "** or pow()",
    "and": "&",
    "or": "|",
    "xor": "^",
    "matmul": "@",
    "lshift": "<<",
    "rshift": ">>",
    "neg": "-",
    "pos": "+",
    "invert": "~",
    "abs": "abs()",
}


def _names(operation: str) -> tuple[str, ...]:
    """The names of the methods that Python may call for an operation."""
    plain = operation.removeprefix("i") if operation != "invert" else operation
    reflected = REFLECTED.get(plain, f"r{plain}")
    return f"__{operation}__", f"__{plain}__", f"__{reflected}__", *(("__eq__",) if operation == "ne" else ())


def _methods(operation: str, left: Any, *right: Any) -> Iterator[tuple[Callable[..., Any], Any, tuple[Any, ...]]]:
    """The user's methods that Python tries in turn, each with its object and its other operands."""
    in_place, plain, reflected, *_ = _names(operation)
    forward = [(plain, left, right)]
    # Between two objects of one class, only comparisons ask the other one as well.
    backward = [(reflected, o, (left,)) for o in right if type(o) is not type(left) or plain.strip("_") in REFLECTED]
    comes_first = any(reflected_comes_first(operation, left, other) for other in right)
    for name, self, others in (
        *([(in_place, left, right)] if in_place != plain else []),
        *([*backward, *forward] if comes_first else [*forward, *backward]),
    ):
        if method := own_method(self, name):
            yield method, self, others


def reflected_comes_first(operation: str, left: Any, right: Any) -> bool:
    """Whether Python tries the right operand's method first, such as ``__radd__``.

    It does if the class of the right operand is derived from that of the left one, and overrides the method. A method
    of comparison need not be overridden.
    """
    _, plain, reflected, *_ = _names(operation)
    kind, derived = type(left), type(right)
    if derived is kind or not issubclass(derived, kind) or not own_method(right, reflected):
        return False
    return plain.strip("_") in REFLECTED or getattr(derived, reflected) is not getattr(kind, reflected, None)
