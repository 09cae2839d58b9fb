"""Converts types: ``Type`` to and from the ``pattern`` of an ``autobatch.var``, ``TensorType`` to and from MLIR types.

Containers are written as ``PyTreeDef.node_data`` describes them, so every registered pytree can be written; a class is
found by its name, as objects are in ``values``, and if it is not loaded, a stand-in is used, which is written as it was
read.
"""

from __future__ import annotations

import collections
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, cast

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

from hlobatch._jax import ir, mlir, tree_from_node
from hlobatch.dialect.values import PatternError, entries_of, found, from_value, items_of, name_of, text_of, to_value
from hlobatch.ir.physical import key_dtypes, physical
from hlobatch.ir.types import Leaf, Static, TensorType, Type

# Tensors


def element_type(dtype: Any) -> Any:
    """The MLIR type of an element, in the current context."""
    return mlir.dtype_to_ir_type(np.dtype(dtype))


def tensor_type(leaf: TensorType, *leading: int) -> Any:
    """The MLIR type of the array that stores a leaf, with leading dimensions."""
    stored = physical(leaf)
    return ir.RankedTensorType.get([*leading, *stored.shape], element_type(stored.dtype))


def from_leaf(leaf: TensorType) -> Any:
    """The MLIR type of one lane's array."""
    words = tensor_type(leaf)
    if leaf.is_key:
        generator = str(leaf.dtype).removeprefix("key<").removesuffix(">")
        return ir.Type.parse(f'!autobatch.key<"{generator}", {words}>')
    return ir.Type.parse(f"!autobatch.weak<{words}>") if leaf.weak else words


_OPAQUE: Final = re.compile(
    r'(?:(?P<weak>weak)|key)<(?:"(?P<generator>\w+)", ?)?(?P<inner>tensor<[^<>]*(?:<[^<>]*>)?>)>'
)


def to_leaf(type_: Any) -> TensorType:
    """One lane's array type, from its MLIR type.

    Raises:
        PatternError: The MLIR type is not that of an array.
    """
    if isinstance(type_, ir.RankedTensorType) and type_.has_static_shape and type_.encoding is None:
        return TensorType(dtype_of(type_.element_type), tuple(type_.shape))
    match = _OPAQUE.fullmatch(type_.data) if isinstance(type_, ir.OpaqueType) else None
    if match is None or bool(match["weak"]) == bool(match["generator"]):
        raise PatternError(f"{type_} is no array of static shape")
    inner = to_leaf(_parsed(match["inner"]))
    if match["weak"]:
        return TensorType(inner.dtype, inner.shape, weak=True)
    return _key(match["generator"], inner)


def _parsed(text: str) -> Any:
    try:
        return ir.Type.parse(text)
    except ir.MLIRError:
        raise PatternError(f"{text} is no type") from None


def _key(generator: str, words: TensorType) -> TensorType:
    for dtype in key_dtypes():
        one = physical(TensorType(dtype))
        if str(dtype) == f"key<{generator}>" and words == physical(TensorType(dtype, words.shape[: -len(one.shape)])):
            return TensorType(dtype, words.shape[: -len(one.shape)])
    raise PatternError(f"no generator {generator!r} has keys of the words {words}")


_NARROW: Final = [name for name in dir(ml_dtypes) if re.fullmatch(r"(float|u?int|bfloat)\d\w*", name)]
_DTYPES: Final = tuple(
    np.dtype(kind)
    for kind in (
        *(np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
        *(np.float16, np.float32, np.float64, np.complex64, np.complex128),
        *(getattr(ml_dtypes, name) for name in _NARROW),
    )
)


def dtype_of(element: Any) -> Any:
    """The dtype of an MLIR element type.

    Raises:
        PatternError: JAX has none.
    """
    text = str(element)
    if text not in _dtypes():
        raise PatternError(f"JAX has no arrays of {text}")
    return _dtypes()[text]


@lru_cache(maxsize=1)
def _dtypes() -> dict[str, Any]:
    """JAX's dtypes, by the text of their MLIR element type."""
    named: dict[str, Any] = {}
    with mlir.make_ir_context():
        for dtype in _DTYPES:
            try:
                named.setdefault(str(element_type(dtype)), jnp.dtype(dtype))
            except TypeError:  # one that this release of JAX does not have
                continue
    return named


# Patterns


def from_type(type_: Type) -> Any:
    """The attribute that describes a type, in the current context."""
    return _from_tree(type_.treedef, iter(type_.leaves))


def _from_tree(tree: Any, leaves: Any) -> Any:
    node = tree.node_data()
    if node is None:
        return _from_leaf(next(leaves))
    items = ir.ArrayAttr.get([_from_tree(child, leaves) for child in tree.children()])
    kind, data = node
    if kind is tuple:
        return items
    if kind in _PLAIN_NODES:
        entries: dict[str, Any] = {"node": ir.StringAttr.get(_PLAIN_NODES[kind])}
        entries |= {"items": items} if kind is not type(None) else {}
        return ir.DictAttr.get(entries | ({"keys": from_value(tuple(data))} if kind is dict else {}))
    entries = {"node": ir.StringAttr.get(_class_name(kind)), "items": items}
    fields = getattr(kind, "_fields", None)
    known = {"fields": from_value(tuple(fields))} if fields is not None else {"data": from_value(data)}
    return ir.DictAttr.get(entries | known)


_PLAIN_NODES: Final[dict[type, str]] = {list: "list", dict: "dict", type(None): "none"}


def _class_name(kind: type) -> str:
    return kind.__dict__.get("_stands_for") or name_of(kind)


def _from_leaf(leaf: Leaf) -> Any:
    if isinstance(leaf, Static):
        return ir.DictAttr.get({"static": from_value(leaf.value)})
    return ir.TypeAttr.get(from_leaf(leaf))


def to_type(attribute: ir.Attribute) -> Type:
    """The type that an attribute describes.

    Raises:
        PatternError: It does not describe a type.
    """
    leaves: list[Leaf] = []
    try:
        tree = _to_tree(attribute, leaves)
    except RecursionError:
        raise PatternError("the pattern is nested too deep") from None
    try:
        return Type.of_leaves(tuple(leaves), tree)
    except Exception as error:  # noqa: BLE001  # a pytree's own constructor may refuse what it is given
        raise PatternError(f"{attribute} describes no type: {error}") from None


def _to_tree(attribute: ir.Attribute, leaves: list[Leaf]) -> Any:
    if isinstance(attribute, ir.TypeAttr):
        leaves.append(to_leaf(attribute.value))
        return jax.tree.structure(0)
    if isinstance(attribute, ir.ArrayAttr):
        return tree_from_node((tuple, None), [_to_tree(item, leaves) for item in attribute])
    entries = entries_of(attribute)
    if entries.keys() == {"static"}:
        leaves.append(Static(to_value(entries["static"])))
        return jax.tree.structure(0)
    if "node" not in entries:
        raise PatternError(f"{attribute} describes no type")
    children = [_to_tree(item, leaves) for item in items_of(entries.get("items", ir.ArrayAttr.get([])))]
    try:
        return tree_from_node(_node(text_of(entries["node"]), entries, len(children)), children)
    except (TypeError, ValueError) as error:
        raise PatternError(f"{attribute} describes no type: {error}") from None


def _node(name: str, entries: dict[str, Any], count: int) -> tuple[type, Any]:
    """The node data of a container, in JAX's terms: its class, and the data of the class's."""
    if name in ("list", "none"):
        return (list, None) if name == "list" else (type(None), None)
    if name == "dict":
        keys = list(_tuple(entries.get("keys"), count))
        if sorted(set(keys)) != keys:
            raise PatternError(f"{keys} are no keys in order")
        return dict, keys
    if "fields" in entries:
        return _namedtuple(name, _tuple(entries["fields"], count)), None
    return _registered(name), to_value(entries.get("data"))


def _tuple(attribute: ir.Attribute | None, count: int) -> tuple[Any, ...]:
    values = tuple(map(to_value, items_of(attribute)))
    if len(values) != count:
        raise PatternError(f"{attribute} does not name {count} items")
    return values


@lru_cache(maxsize=256)
def _namedtuple(name: str, fields: Sequence[str]) -> type:
    """The namedtuple class with a name and fields, or a stand-in with the same fields."""
    kind = found(name)
    if isinstance(kind, type) and getattr(kind, "_fields", None) == fields:
        return kind
    make: Any = collections.namedtuple  # noqa: PYI024  # the fields are known only now
    stand_in: Any = make(name.rpartition(":")[2].rpartition(".")[2], fields)
    stand_in._stands_for = name
    return cast(type, stand_in)


@lru_cache(maxsize=256)
def _registered(name: str) -> type:
    """The registered pytree class with a name, or a stand-in for it."""
    kind = found(name)
    if isinstance(kind, type) and _is_pytree(kind):
        return kind
    short = name.rpartition(":")[2].rpartition(".")[2]
    stand_in = type(short, (_StandIn,), {"_stands_for": name})
    jax.tree_util.register_pytree_node(stand_in, lambda s: (s.items, s.data), lambda d, c: stand_in(d, tuple(c)))
    return stand_in


def _is_pytree(kind: type) -> bool:
    """Whether a class is registered with JAX as a pytree."""
    try:
        tree_from_node((kind, ()), [])
    except (ValueError, RuntimeError):
        return False
    return True


class _StandIn:
    """An instance of a pytree class that is not loaded."""

    def __init__(self, data: Any, items: tuple[Any, ...]) -> None:
        self.data, self.items = data, items
