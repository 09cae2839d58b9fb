"""The base class of stand-ins for Python objects that differ between lanes, such as one of several functions.

A stand-in is of another class than the object, so Python's operators would give an answer that is wrong for the
object. A carrier therefore refuses every special method that its subclass does not define.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final

from hlobatch.diagnostics import BatchTypeError
from hlobatch.ir.value import Value

BINARY: Final = (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow", "matmul"),
    *("lshift", "rshift", "and", "or", "xor"),
)
"""Operators that have a method, a reflected one and, but for ``divmod``, one for ``+=`` and the like."""
COMPARISONS: Final = ("eq", "ne", "lt", "le", "gt", "ge")
UNARY: Final = ("neg", "pos", "invert", "abs")
_NUMBERS: Final = ("int", "float", "complex", "index", "round", "trunc", "floor", "ceil")
_TEXTS: Final = ("str", "format", "bytes")
_ITEMS: Final = ("iter", "reversed", "contains", "getitem", "setitem", "delitem", "len")
_OTHERS: Final = ("bool", "copy", "deepcopy")


class Carrier(Value):
    """A stand-in for Python objects.

    Attributes:
        python: The Python class that it stands for, if all instances of the subclass stand for the same one.
    """

    python: ClassVar[Any]

    def hb_truth(self, truth: Callable[[Any], Any]) -> Any:
        del truth
        return bool(self)

    def __hash__(self) -> int:
        raise TypeError("unhashable type: 'Tracer'")  # the message for other values that differ between lanes


def _refusal(name: str) -> Callable[..., Any]:
    def refuse(self: Carrier, *_: Any, **__: Any) -> Any:
        kind = getattr(type(self), "python", object).__name__
        raise BatchTypeError(
            f"`__{name}__` is asked of {'an' if kind == 'object' else 'a'} {kind} that differs between lanes",
            help="write an `if` for each that it may be, or compute with numbers that differ between lanes.",
        )

    return refuse


ASKED: Final = (
    *BINARY,
    *(f"r{name}" for name in BINARY),
    *(f"i{name}" for name in BINARY if name != "divmod"),
    *(*COMPARISONS, *UNARY, *_NUMBERS, *_TEXTS, *_ITEMS, *_OTHERS),
)
for _name in ASKED:
    setattr(Carrier, f"__{_name}__", _refusal(_name))
