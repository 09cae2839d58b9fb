"""A function -> the values it may read outside of it: a program made of it is used again only if they are the same.

A program made of a function has in it the values that the function's names, defaults and attributes of objects had
then. Each call asks whether they still have these values, which costs some forty nanoseconds for a name bound to the
same object. Only where a name is bound to another object are values compared, since they may be equal.
"""

from __future__ import annotations

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

_MISSING: Final = object()
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
        self._containers: list[tuple[Any, Sequence[Any]]] = []
        self._bytes: list[tuple[Any, bytes]] = [(array, array.tobytes()) for array in found.arrays]
        for part in found.parts:
            self._take_down(part, names)

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
                where = _mapping_of(item)
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
        for container, values in self._containers:
            if len(values) != len(container) * (1 + isinstance(container, dict)) or not all(
                map(operator.is_, _items(container), values)
            ):
                return False
        for item, before in self._bytes:  # noqa: SIM110  # a generator takes twice as long, in each call
            if _bytes_of(item) != before:
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
