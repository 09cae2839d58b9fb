"""Types as JSON, so that a file can say what it takes and gives.

Containers are tuples, lists, dicts, None and namedtuples; a namedtuple's class is found again by its module and name,
and where it cannot be imported a namedtuple of the same fields stands in for it.
"""

from __future__ import annotations

import collections
import importlib
from typing import Any

import jax
import numpy as np

from hlobatch.diagnostics import ArtifactError
from hlobatch.ir.physical import key_dtypes
from hlobatch.ir.types import Static, TensorType, Type

Schema = dict[str, Any]
_PLAIN = (str, int, float, bool, type(None))


def to_schema(type_: Type) -> Schema:
    """A type as JSON.

    Raises:
        ArtifactError: It has a container or a Python object that JSON cannot describe.
    """
    return _describe(type_.tensors)


def _describe(tree: Any) -> Schema:
    match tree:
        case TensorType():
            return {"kind": "array", "dtype": _dtype_name(tree), "shape": list(tree.shape)}
        case Static(value) if isinstance(value, _PLAIN):
            return {"kind": "static", "value": value}
        case None:
            return {"kind": "none"}
        case dict() if all(isinstance(key, str) for key in tree):
            return {"kind": "dict", "items": {key: _describe(value) for key, value in tree.items()}}
        case tuple() if hasattr(tree, "_fields"):
            kind = type(tree)
            fields = {name: _describe(value) for name, value in zip(kind._fields, tree, strict=True)}
            return {"kind": "namedtuple", "class": f"{kind.__module__}:{kind.__qualname__}", "items": fields}
        case tuple() | list():
            return {"kind": type(tree).__name__, "items": [_describe(value) for value in tree]}
    raise ArtifactError(
        f"{type(tree).__name__} cannot be described in an artifact",
        help="pass and return arrays in tuples, lists, dicts with string keys, or namedtuples.",
    )


def _dtype_name(leaf: TensorType) -> str:
    return str(leaf.dtype)


def from_schema(schema: Schema) -> Type:
    """The type that a schema describes."""
    return Type(_build(schema))


def _build(schema: Schema) -> Any:
    match schema["kind"]:
        case "array":
            return TensorType(_dtype(schema["dtype"]), tuple(schema["shape"]))
        case "static":
            return Static(schema["value"])
        case "none":
            return None
        case "dict":
            return {key: _build(value) for key, value in schema["items"].items()}
        case "namedtuple":
            values = {name: _build(value) for name, value in schema["items"].items()}
            return _class(schema["class"], tuple(values))(**values)
        case "tuple":
            return tuple(map(_build, schema["items"]))
        case "list":
            return list(map(_build, schema["items"]))
    raise ArtifactError(f"an artifact describes a {schema['kind']!r}, which this version does not know")


def _dtype(name: str) -> Any:
    if not name.startswith("key<"):
        return np.dtype(jax.numpy.dtype(name))
    for dtype in key_dtypes():
        if str(dtype) == name:
            return dtype
    raise ArtifactError(f"an artifact uses keys of type {name}, which this JAX does not have")


_stand_ins: dict[tuple[str, tuple[str, ...]], Any] = {}


def _class(path: str, fields: tuple[str, ...]) -> Any:
    """The namedtuple of that name, or one like it."""
    module, _, name = path.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
        if getattr(found, "_fields", None) == fields:
            return found
    except (ImportError, AttributeError):
        pass
    key = (path, fields)
    if key not in _stand_ins:
        _stand_ins[key] = collections.namedtuple(name.split(".")[-1], fields)  # noqa: PYI024  # fields are known only now
    return _stand_ins[key]
