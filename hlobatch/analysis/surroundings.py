"""A function -> the values it may read outside of it: a program made of it is used again only if they are the same.

A program made of a function has in it the values that the function's names, defaults and attributes of objects had
then. Each call asks whether they still have these values, which costs some forty nanoseconds for a name bound to the
same object. Only where a name is bound to another object are values compared, since they may be equal.
"""

from __future__ import annotations

import enum
import operator
import types
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import jax
import numpy as np

from hlobatch._jax import is_key, is_tracer
from hlobatch.analysis.mutation import Namespace, Part, content
from hlobatch.analysis.reach import is_read_by_name, read
from hlobatch.ir.sameness import are_same
from hlobatch.ir.walk import PLAIN, attributes, is_filled
from hlobatch.values.draws import is_users_class

_MISSING: Final = object()
_OF_CLASSES: Final = frozenset({"__dict__", "__weakref__", "__doc__"})
"""Attributes of a class that no code of its objects reads."""
UNCHANGING: Final = (*PLAIN, np.generic)
"""Classes of objects that never change."""


class Surroundings:
    """The values that functions may read outside of them, as they are when this is made.

    Args:
        values: Functions, and the objects that they are called with.
    """

    def __init__(self, values: Iterable[Any]) -> None:
        self._values = tuple(values)
        found, names = read([("", value) for value in self._values])
        self._contents: list[Sequence[Any]] = [self._values]
        self._bound: list[tuple[Any, str, Any]] = []
        self._cells: list[tuple[types.CellType, Any]] = []
        self._functions: list[tuple[types.FunctionType, Any, Any, Any]] = []
        self._classes: list[tuple[Any, type]] = []
        self._containers: list[tuple[Any, Sequence[Any]]] = []
        self._bytes: list[tuple[Any, bytes]] = [(array, array.tobytes()) for array in found.arrays]
        for part in found.parts:
            self._take_down(part, names)
        for function in found.functions:
            self._take_down_parameters(function)
        for kind in found.classes:
            self._take_down_methods(kind, names)

    def _take_down_parameters(self, function: types.FunctionType) -> None:
        """Keep the code of a function and the defaults of its parameters, which other objects may replace."""
        self._functions.append((function, function.__code__, function.__defaults__, function.__kwdefaults__))
        if function.__kwdefaults__:
            defaults = [*function.__kwdefaults__, *function.__kwdefaults__.values()]
            self._containers.append((function.__kwdefaults__, defaults))
        self._contents.append([function.__code__, *_defaults(function)])

    def _take_down_methods(self, kind: type, names: frozenset[str]) -> None:
        """Keep what functions may read of a class besides its variables: methods, and names that a base class has."""
        own = vars(kind)
        methods = {name: value for name, value in own.items() if hasattr(type(value), "__get__")}
        kept = {name: value for name, value in methods.items() if name in names or _is_special(name)}
        inherited = {name for base in kind.__mro__[1:-1] for name in vars(base)} - set(own)
        kept |= {name: _MISSING for name in inherited if name in names or _is_special(name)}
        self._bound += [(own.get, name, value) for name, value in kept.items()]
        self._contents.append([*kept, *kept.values()])

    def _take_down(self, part: Part, names: frozenset[str]) -> None:
        """Keep the contents of an object, as far as functions may read them."""
        item, before = part.item, part.before
        match item:
            case types.CellType():
                values: Sequence[Any] = tuple(before.values())
                self._cells += [(item, value) for value in values]
            case bytearray():
                values = [before]
                self._bytes.append((item, before))
            case _ if part.read is content and isinstance(before, (tuple, dict)):
                values = [*before, *before.values()] if isinstance(before, dict) else before
                self._containers.append((item, values))
            case _ if isinstance(before, dict):
                is_any = isinstance(item, (Namespace, type, types.FunctionType)) or not is_read_by_name(item)
                kept = {name: value for name, value in before.items() if is_any or name in names}
                values = [*kept, *kept.values()]
                if is_users_class(type(item)):
                    self._classes.append((item, type(item)))
                where = _mapping_of(item)
                kept |= {name: _MISSING for name in _read_elsewhere(item, names) if name not in before}
                self._bound += [(where.get, name, value) for name, value in kept.items()]
            case _:
                return
        self._contents.append(values)

    def are_as_before(self) -> bool:
        """Whether all values are what they were: the same objects, and arrays with the same contents."""
        for get, name, value in self._bound:
            if get(name, _MISSING) is not value:
                return False
        for cell, value in self._cells:
            if not is_filled(cell) or cell.cell_contents is not value:
                return False
        if not self._is_code_as_before():
            return False
        for container, values in self._containers:
            if len(values) != len(container) * (1 + isinstance(container, dict)) or not all(
                map(operator.is_, _items(container), values)
            ):
                return False
        for item, before in self._bytes:  # noqa: SIM110  # a generator takes twice as long, in each call
            if _bytes_of(item) != before:
                return False
        return True

    def _is_code_as_before(self) -> bool:
        """Whether objects are of the classes that they were of, and functions have the code that they had."""
        for item, kind in self._classes:
            if type(item) is not kind:
                return False
        for function, code, defaults, named in self._functions:
            if function.__code__ is not code or function.__defaults__ is not defaults:
                return False
            if function.__kwdefaults__ is not named:
                return False
        return True

    def are_like(self, other: Surroundings) -> bool:
        """Whether functions read equal values in both, which may be other objects."""
        lists = (self._contents, other._contents)
        if len(self._contents) != len(other._contents) or len(self._bytes) != len(other._bytes):
            return False
        pairs = ((a, b) for left, right in zip(*lists, strict=True) for a, b in _paired(left, right))
        held = zip(self._bytes, other._bytes, strict=True)
        return all(_are_alike(a, b) for a, b in pairs) and all(a[1] == b[1] for a, b in held)

    def again(self) -> Surroundings:
        """The values that the same functions read now."""
        return Surroundings(self._values)


def _is_special(name: str) -> bool:
    """Whether Python calls a method of this name by itself."""
    return name.startswith("__") and name not in _OF_CLASSES


def _read_elsewhere(item: Any, names: frozenset[str]) -> Iterable[str]:
    """The names that code finds in another place as long as an object has none of its own.

    They are found among Python's own functions for a module, and in the class for an object.
    """
    if isinstance(item, Namespace):
        return item.names
    if isinstance(item, (type, types.FunctionType)):
        return ()
    return (name for kind in type(item).__mro__[:-1] for name in vars(kind) if name in names)


def _paired(left: Sequence[Any], right: Sequence[Any]) -> Iterable[tuple[Any, Any]]:
    return zip(left, right, strict=True) if len(left) == len(right) else [(_MISSING, None)]


def _mapping_of(item: Any) -> Any:
    """An object whose ``get`` returns attributes of ``item``, or the values of a module's names."""
    if isinstance(item, Namespace):
        return item.bound
    own = vars(item) if hasattr(item, "__dict__") else {}
    return own if isinstance(item, type) or len(own) == len(attributes(item)) else _Slots(item)


class _Slots:
    """An object with slots, as a mapping of its attributes."""

    def __init__(self, item: Any) -> None:
        self.item = item

    def get(self, name: str, default: Any) -> Any:
        return getattr(self.item, name, default)


def _items(container: Any) -> Iterable[Any]:
    return [*container, *container.values()] if isinstance(container, dict) else container


def _bytes_of(item: Any) -> bytes:
    return item.tobytes() if isinstance(item, np.ndarray) else bytes(item)


def _are_alike(left: Any, right: Any) -> bool:
    """Whether two objects are equal to code, apart from their contents, which are compared separately."""
    if left is right:
        return True
    if type(left) is not type(right) or left is _MISSING:
        return False
    if isinstance(left, jax.Array):
        return _hold_the_same(left, right)
    if isinstance(left, np.ndarray):
        return bool(left.dtype == right.dtype) and left.shape == right.shape
    if isinstance(left, UNCHANGING):
        return are_same(left, right)
    if isinstance(left, types.FunctionType):
        return left.__code__ == right.__code__ and all(
            _are_alike(a, b) for a, b in _paired(_defaults(left), _defaults(right))
        )
    if isinstance(left, types.BuiltinFunctionType):
        return bool(left == right)
    if isinstance(left, (tuple, frozenset)):  # which have no contents of their own in `Surroundings`
        return len(left) == len(right) and all(_are_alike(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, range):
        return bool(left == right)
    if isinstance(left, enum.Enum):  # whose attributes are read by code of Python's library
        return False
    return content(left) is not None or bool(attributes(left)) or are_same(left, right)


def _defaults(function: types.FunctionType) -> list[Any]:
    named: Mapping[str, Any] = function.__kwdefaults__ or {}
    return [*(function.__defaults__ or ()), *named, *named.values()]


def _hold_the_same(left: Any, right: Any) -> bool:
    if is_tracer(left) or left.shape != right.shape or left.dtype != right.dtype:
        return False
    if left.weak_type != right.weak_type:
        return False
    if is_key(left):
        left, right = jax.random.key_data(left), jax.random.key_data(right)
    return np.asarray(left).tobytes() == np.asarray(right).tobytes()
