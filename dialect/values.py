"""Converts Python objects to and from attributes: numbers and containers by value, classes and functions by name.

Reading an attribute imports and runs nothing. A name stands for its object if the object's module is loaded and still
has it; otherwise, and for objects without such a name, a ``Named`` stands in, which is written as it was read.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, Final

import numpy as np

from hlobatch._jax import ir


class PatternError(Exception):
    """An attribute does not describe a type or a Python object; the message says why."""


@dataclass(frozen=True)
class Named:
    """Stands for a Python object of which only the name is known."""

    name: str

    @property
    def __name__(self) -> str:
        """The name that types print."""
        return self.name.rpartition(":")[2]

    def __call__(self, *_: Any) -> Any:
        raise TypeError(f"{self.name} is only known by its name")


def _entry(key: str, attribute: ir.Attribute) -> Any:
    return ir.DictAttr.get({key: attribute})


def _array(values: Any) -> Any:
    return ir.ArrayAttr.get([from_value(v) for v in values])


@singledispatch
def from_value(value: Any) -> Any:
    """The attribute of a Python object, in the current context."""
    return _entry("object", ir.StringAttr.get(name_of(value)))


@from_value.register
def _bool(value: bool) -> Any:
    return ir.BoolAttr.get(value)


@from_value.register
def _int(value: int) -> Any:
    if type(value) is not int:
        return from_value.dispatch(object)(value)
    if -(1 << 63) <= value < 1 << 63:
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
    return _entry("int", ir.StringAttr.get(str(value)))


@from_value.register
def _float(value: float) -> Any:
    return ir.FloatAttr.get_f64(value)


@from_value.register
def _complex(value: complex) -> Any:
    return _entry("complex", _array((value.real, value.imag)))


@from_value.register
def _str(value: str) -> Any:
    return ir.StringAttr.get(value)


@from_value.register
def _bytes(value: bytes) -> Any:
    return _entry("bytes", ir.StringAttr.get(value.hex()))


@from_value.register
def _none(_: None) -> Any:
    return _entry("none", ir.UnitAttr.get())


@from_value.register
def _tuple(value: tuple) -> Any:  # type: ignore[type-arg]
    return _array(value) if type(value) is tuple else from_value.dispatch(object)(value)


@from_value.register
def _list(value: list) -> Any:  # type: ignore[type-arg]
    return _entry("list", _array(value))


@from_value.register
def _dict(value: dict) -> Any:  # type: ignore[type-arg]
    return _entry("dict", _array(value.items()))


@from_value.register
def _named(value: Named) -> Any:
    return _entry("object", ir.StringAttr.get(value.name))


@from_value.register
def _dtype(value: np.dtype) -> Any:
    return _entry("dtype", ir.StringAttr.get(str(value)))


def name_of(value: Any) -> str:
    """``module:name`` of an object that can be found by it; otherwise its name or repr."""
    holder = type(value) if isinstance(value, enum.Enum) else value
    path = str(getattr(holder, "__qualname__", ""))
    path += f".{value.name}" if isinstance(value, enum.Enum) else ""
    name = f"{getattr(holder, '__module__', '')}:{path}"
    if path and found(name) is value:
        return name
    text = getattr(value, "__name__", None)
    return text if isinstance(text, str) else repr(value)


def found(name: str) -> Any:
    """The object named ``module:name`` in a loaded module; None if there is none."""
    module, colon, path = name.partition(":")
    value = sys.modules.get(module) if colon else None
    for part in path.split("."):
        value = vars(value).get(part) if hasattr(value, "__dict__") else None
    return value


def to_value(attribute: ir.Attribute | None) -> Any:
    """The Python object that an attribute describes.

    Raises:
        PatternError: It does not describe an object.
    """
    for kind, read in _PLAIN:
        if isinstance(attribute, kind):
            return read(attribute)
    entries = entries_of(attribute)
    key = next(iter(entries), "")
    if len(entries) != 1 or key not in _TAGGED:
        raise PatternError(f"{attribute} describes no Python object")
    try:
        return _TAGGED[key](entries[key])
    except (TypeError, ValueError, OverflowError):
        raise PatternError(f"{attribute} describes no Python object") from None


def _object(attribute: ir.Attribute) -> Any:
    name = text_of(attribute)
    value = found(name)
    return Named(name) if value is None else value


def text_of(attribute: ir.Attribute) -> str:
    """The text of a string attribute."""
    if not isinstance(attribute, ir.StringAttr):
        raise PatternError(f"{attribute} is no string")
    return str(attribute.value)


def entries_of(attribute: ir.Attribute | None) -> dict[str, Any]:
    """The entries of a dictionary attribute; empty for any other attribute."""
    entries: Any = attribute if isinstance(attribute, ir.DictAttr) else ()
    return {entry.name: entry.attr for entry in entries}


def items_of(attribute: ir.Attribute | None) -> list[Any]:
    """The items of an array attribute."""
    if not isinstance(attribute, ir.ArrayAttr):
        raise PatternError(f"{attribute} is no array")
    return list(attribute)


def _integer(attribute: Any) -> int:
    if str(attribute.type) != "i64":
        raise PatternError(f"{attribute} is no i64")
    return int(attribute.value)


_PLAIN: Final[tuple[tuple[Any, Callable[[Any], Any]], ...]] = (
    (ir.BoolAttr, lambda a: bool(a.value)),
    (ir.IntegerAttr, _integer),
    (ir.FloatAttr, lambda a: float(a.value)),
    (ir.StringAttr, lambda a: str(a.value)),
    (ir.ArrayAttr, lambda a: tuple(map(to_value, a))),
)
_TAGGED: Final[dict[Any, Callable[[Any], Any]]] = {
    "bytes": lambda a: bytes.fromhex(text_of(a)),
    "complex": lambda a: complex(*map(to_value, items_of(a))),
    "dict": lambda a: dict(map(to_value, items_of(a))),
    "dtype": lambda a: np.dtype(text_of(a)),
    "int": lambda a: int(text_of(a)),
    "list": lambda a: list(map(to_value, items_of(a))),
    "none": lambda _: None,
    "object": _object,
}
