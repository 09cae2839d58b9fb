"""Types to JSON, which describes the arguments and results of an artifact, and back; a file is not trusted.

Containers are tuples, lists, dicts, None, namedtuples and growing containers. A namedtuple's class is found by its
module and name among the given classes and in modules that are imported already; reading a file imports nothing. If the
class is not found, a namedtuple with the same fields stands in for it.
"""

from __future__ import annotations

import collections
import math
import sys
import types
from collections.abc import Collection
from typing import Any, Final

import jax.numpy as jnp
import numpy as np

from hlobatch.diagnostics import ArtifactError
from hlobatch.ir.boxed import Boxed, has_own_order, in_own_order
from hlobatch.ir.growing import Growing, growing_for
from hlobatch.ir.physical import key_dtypes
from hlobatch.ir.types import Static, TensorType, Type

Schema = dict[str, Any]
_PLAIN = (str, int, float, bool, type(None))
_INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (1, 2, 4, 8, 16, 32, 64)]
_SMALL_FLOATS = [
    "4_e2m1fn",
    "6_e2m3fn",
    "6_e3m2fn",
    *(f"8_{form}" for form in ("e3m4", "e4m3", "e4m3b11fnuz", "e4m3fn", "e4m3fnuz")),
]
_SMALL_FLOATS += [f"8_{form}" for form in ("e5m2", "e5m2fnuz", "e8m0fnu")]
_FLOATS = [*(f"float{form}" for form in (*_SMALL_FLOATS, 16, 32, 64)), "bfloat16", "complex64", "complex128"]
_NUMBERS: Final = frozenset(name for name in ("bool", *_INTEGERS, *_FLOATS) if hasattr(jnp, name))
"""Names of the dtypes of arrays that this JAX has."""

_GROWING: Final = (
    str,
    tuple,
    collections.defaultdict,
    list,
    collections.deque,
    set,
    dict,
    collections.Counter,
    collections.OrderedDict,
)
"""Classes of containers that a result may be whose length differs between lanes."""
MOST_NESTED_CONTAINERS: Final = 64
"""Depth to which containers may be nested."""
MOST_ELEMENTS: Final = 1 << 40
"""Number of elements that an array may have."""


def to_schema(type_: Type) -> Schema:
    """A type as JSON.

    Raises:
        ArtifactError: It has a container or a Python object that JSON cannot describe.
    """
    return _describe(type_.tensors)


def _describe(tree: Any) -> Schema:
    match tree:
        case TensorType() if tree.is_key or str(tree.dtype) in _NUMBERS:
            return {"kind": "array", "dtype": str(tree.dtype), "shape": list(tree.shape)}
        case Static(value) if type(value) in _PLAIN:
            return {"kind": "static", "value": value}
        case None:
            return {"kind": "none"}
        case dict() if type(tree) is dict and all(isinstance(key, str) for key in tree):
            return {"kind": "dict", "items": {key: _describe(value) for key, value in tree.items()}}
        case Boxed(cls, names, values) if cls is dict and all(isinstance(name, str) for name in names):
            return {"kind": "dict", "items": dict(zip(names, map(_describe, values), strict=True))}
        case tuple() if hasattr(tree, "_fields"):
            kind = type(tree)
            fields = {name: _describe(value) for name, value in zip(kind._fields, tree, strict=True)}
            return {"kind": "namedtuple", "class": f"{kind.__module__}:{kind.__qualname__}", "items": fields}
        case tuple() | list() if type(tree) in (tuple, list):
            return {"kind": type(tree).__name__, "items": [_describe(value) for value in tree]}
        case Growing() if tree.python in _GROWING:
            parts, _ = tree.tree_flatten()
            return {"kind": "growing", "class": _name(tree.python), "items": list(map(_describe, parts))}
    described = tree.value if isinstance(tree, Static) else tree
    kind = tree.cls if isinstance(tree, Boxed) else type(described)
    raise ArtifactError(
        f"an object of the class {kind.__name__} cannot be described in an artifact",
        help="pass and return arrays in tuples, lists, dicts with string keys, or namedtuples.",
    )


def from_schema(schema: Any, classes: Collection[type] = ()) -> Type:
    """The type that a schema describes.

    Args:
        schema: A schema of ``to_schema``, or any other JSON value.
        classes: Classes of namedtuples, which are found by their names in whatever module they are defined.

    Raises:
        ArtifactError: It describes no type.
    """
    return Type(_Reader(classes).read(schema, 0))


class _Reader:
    def __init__(self, classes: Collection[type]) -> None:
        self.classes = {kind.__qualname__: kind for kind in classes}
        self.classes |= {f"{kind.__module__}:{kind.__qualname__}": kind for kind in classes}

    def read(self, schema: Any, depth: int) -> Any:
        """The pytree of leaves that a schema describes."""
        if depth > MOST_NESTED_CONTAINERS:
            raise ArtifactError("an artifact describes containers that are nested too deeply")
        match schema:
            case {"kind": "array", "dtype": str(name), "shape": list(shape), **rest} if not rest:
                return TensorType(_dtype(name), _shape(shape))
            case {"kind": "static", "value": value, **rest} if not rest and isinstance(value, _PLAIN):
                return Static(value)
            case {"kind": "none", **rest} if not rest:
                return None
            case {"kind": "dict", "items": dict(items), **rest} if not rest:
                if has_own_order(items):
                    return in_own_order(items, lambda value: self.read(value, depth + 1))
                return {key: self.read(value, depth + 1) for key, value in items.items()}
            case {"kind": "namedtuple", "class": str(path), "items": dict(items), **rest} if not rest:
                values = [self.read(value, depth + 1) for value in items.values()]
                return self.named(path, tuple(items))._make(values)
            case {"kind": "tuple" | "list" as kind, "items": list(items), **rest} if not rest:
                values = [self.read(value, depth + 1) for value in items]
                return values if kind == "list" else tuple(values)
            case {"kind": "growing", "class": str(name), "items": list(items), **rest} if not rest:
                return _growing(name, [self.read(value, depth + 1) for value in items])
        raise ArtifactError(f"an artifact describes {str(schema)[:60]!r}, which is no type that this version knows")

    def named(self, path: str, fields: tuple[str, ...]) -> Any:
        """The namedtuple class with a name and these fields, or a stand-in for it."""
        module, _, name = path.partition(":")
        for found in (self.classes.get(path), self.classes.get(name), _imported(module, name.split("."))):
            if isinstance(found, type) and issubclass(found, tuple) and getattr(found, "_fields", None) == fields:
                return found
        key = (path, fields)
        if key not in _stand_ins:
            try:
                _stand_ins[key] = collections.namedtuple(name.split(".")[-1], fields)  # noqa: PYI024  # known only now
            except ValueError as error:
                raise ArtifactError(f"an artifact describes a namedtuple that there cannot be: {error}") from None
        return _stand_ins[key]


_stand_ins: dict[tuple[str, tuple[str, ...]], Any] = {}


def _imported(module: str, names: list[str]) -> Any:
    """The object with a dotted name in an imported module; None if there is none. Looking for it runs no user code."""
    found: Any = sys.modules.get(module)
    for name in names:
        if not isinstance(found, (types.ModuleType, type)):
            return None
        found = object.__getattribute__(found, "__dict__").get(name)
    return found


def _growing(name: str, parts: list[Any]) -> Any:
    """The type of a growing container, from the name of its Python class and the types of its arrays."""
    kind: Any = {_name(python): growing_for(python) for python in _GROWING}.get(name)
    if kind is not None and len(parts) == len(kind.arrays):
        rows = dict(zip(kind.arrays, parts, strict=True))
        size, start = rows.pop("size"), rows.pop("start", None)
        if isinstance(size, TensorType) and size.dtype == np.int32 and start in (None, size):
            rooms = {leaf.shape[: len(size.shape) + 1] for leaf in Type(rows).tensor_leaves}
            if len(rooms) == 1 and min(rooms)[:-1] == size.shape != min(rooms):
                return kind.tree_unflatten((True, None, None), parts)
    raise ArtifactError(f"an artifact describes a growing {name[:60]!r} that there cannot be")


def _name(kind: type) -> str:
    """The name of a class in a schema; what a ``defaultdict`` gives for missing keys cannot be described."""
    return (dict if kind is collections.defaultdict else kind).__name__


def _shape(shape: list[Any]) -> tuple[int, ...]:
    are_sizes = all(type(size) is int and 0 <= size <= MOST_ELEMENTS for size in shape)
    if are_sizes and len(shape) <= MOST_NESTED_CONTAINERS and math.prod(shape) <= MOST_ELEMENTS:
        return tuple(shape)
    raise ArtifactError(f"an artifact describes an array of shape {str(shape)[:60]}, which there cannot be")


def _dtype(name: str) -> Any:
    if name in _NUMBERS:
        return np.dtype(jnp.dtype(name))
    for dtype in key_dtypes():
        if str(dtype) == name:
            return dtype
    what = "keys" if name.startswith("key<") else "an array"
    raise ArtifactError(f"an artifact uses {what} of type {name[:60]!r}, which this JAX does not have")


def classes_of(*types_: Type) -> tuple[type, ...]:
    """The classes of the namedtuples in types, each once, without those that cannot be found by their names."""
    found: dict[type, None] = {}

    def collect(tree: Any) -> None:
        kind = type(tree)
        if hasattr(kind, "_fields") and _imported(kind.__module__, kind.__qualname__.split(".")) is kind:
            found[kind] = None
        if isinstance(tree, (tuple, list, dict, Boxed)):
            for part in tree.values if isinstance(tree, Boxed) else tree.values() if isinstance(tree, dict) else tree:
                collect(part)

    for type_ in types_:
        collect(type_.tensors)
    return tuple(found)
