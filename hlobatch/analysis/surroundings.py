"""A function -> what it may read outside of it, so that what was made of it is found again only if that is as it was.

What is made of a function has the values in it that its names, its defaults and attributes of objects had then. Whether
they have them still is asked in each call, and costs little: some forty nanoseconds for a name that stands for the
object that it did. Only where one does not are values compared, since what was bound anew may be equal.
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
"""Classes of objects that consist of nothing that could change."""


class Surroundings:
    """What functions may read outside of them, as it is when this is made.

    Args:
        values: Functions, and objects that they are given.
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
        """Keep what a part consists of, as far as it may be read."""
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
        """Whether all that was read is what it was: the same objects, and arrays that hold the same."""
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
        for item, before in self._bytes:  # noqa: SIM110  # each call asks, and a generator takes as long as all the rest
            if _bytes_of(item) != before:
                return False
        return True

    def are_like(self, other: Surroundings) -> bool:
        """Whether functions read equal values there, which may be other objects."""
        lists = (self._contents, other._contents)
        if len(self._contents) != len(other._contents) or len(self._bytes) != len(other._bytes):
            return False
        pairs = ((a, b) for left, right in zip(*lists, strict=True) for a, b in _paired(left, right))
        held = zip(self._bytes, other._bytes, strict=True)
        return all(_are_alike(a, b) for a, b in pairs) and all(a[1] == b[1] for a, b in held)

    def again(self) -> Surroundings:
        """What the same functions read now."""
        return Surroundings(self._values)


def _paired(left: Sequence[Any], right: Sequence[Any]) -> Iterable[tuple[Any, Any]]:
    return zip(left, right, strict=True) if len(left) == len(right) else [(_MISSING, None)]


def _mapping_of(item: Any) -> Any:
    """What gives the attributes of an object, or what names stand for, by ``get``."""
    if isinstance(item, Namespace):
        return item.bound
    own = vars(item) if hasattr(item, "__dict__") else {}
    return own if isinstance(item, type) or len(own) == len(attributes(item)) else _Slots(item)


class _Slots:
    """An object with slots, as what has its attributes."""

    def __init__(self, item: Any) -> None:
        self.item = item

    def get(self, name: str, default: Any) -> Any:
        return getattr(self.item, name, default)


def _items(container: Any) -> Iterable[Any]:
    return [*container, *container.values()] if isinstance(container, dict) else container


def _bytes_of(item: Any) -> bytes:
    return item.tobytes() if isinstance(item, np.ndarray) else bytes(item)


def _are_alike(left: Any, right: Any) -> bool:
    """Whether two objects are equal to code, but for what they consist of, which is compared by itself."""
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
