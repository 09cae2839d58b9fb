"""Types: what one lane holds in a variable.

A ``Type`` is a pytree whose leaves are ``TensorType`` (an array of known dtype and event shape; the batch axis is never
part of a type) or ``Static`` (a Python object known when the program is built). Types are immutable and hashable.

Reference: seed data model, ``var_defs``: "a dict mapping variable names to Type objects giving their pattern of held
Tensors. … The shape excludes the batch dimension."
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, TypeGuard, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch._jax import is_key
from hlobatch.ir.boxed import boxes_in
from hlobatch.ir.growing import is_growing
from hlobatch.ir.sameness import are_same
from hlobatch.ir.value import is_value
from hlobatch.typing import DType

_Tensor = TypeVar("_Tensor")
_FLOATS: Final = (float, complex, np.inexact)
_SHORT_NAMES: Final = {"float": "f", "int": "i", "uint": "u", "bfloat": "bf", "complex": "c"}


@dataclass(frozen=True, slots=True)
class TensorType:
    """One array per lane.

    Attributes:
        dtype: A numpy dtype, one of ml_dtypes', or an extended dtype such as that of a typed PRNG key.
        shape: Event shape, without the batch axis.
        weak: Whether the value is a Python scalar, which adopts the dtype of the array it meets.
    """

    dtype: DType
    shape: tuple[int, ...] = ()
    weak: bool = False

    @property
    def is_key(self) -> bool:
        """Whether the array holds typed PRNG keys."""
        ordinary = isinstance(self.dtype, np.dtype)  # the cheap test first: this runs for every result of every call
        return not ordinary and is_key(self)

    @property
    def aval(self) -> jax.ShapeDtypeStruct:
        """One lane's value, as JAX describes it."""
        return jax.ShapeDtypeStruct(self.shape, self.dtype, weak_type=self.weak)

    @property
    def blank(self) -> Any:
        """Zeros, to stand where there is no value."""
        return jnp.zeros(self.shape, self.dtype)

    def __str__(self) -> str:
        name = str(self.dtype)
        if not self.is_key:
            stem = name.rstrip("0123456789")
            name = _SHORT_NAMES.get(stem, stem) + name[len(stem) :] if stem in _SHORT_NAMES else name
        suffix = "*" if self.weak else ""
        return f"{name}[{','.join(map(str, self.shape))}]{suffix}"


@dataclass(frozen=True, slots=True, eq=False)
class Static:
    """A Python object that is the same in every lane and known when the program is built."""

    value: Any

    @property
    def blank(self) -> Any:
        """The object itself, to stand where there is no value."""
        return self.value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Static):
            return NotImplemented
        return are_same(self.value, other.value)

    def __hash__(self) -> int:
        if isinstance(self.value, _FLOATS):
            return hash(repr(self.value))
        try:
            return hash(self.value)
        except TypeError:
            return id(self.value)

    def __str__(self) -> str:
        name = getattr(self.value, "__name__", None)
        return f"static {name if isinstance(name, str) else repr(self.value)}"


Leaf = TensorType | Static


def number_kind(value: Any) -> type | None:
    """The class of Python number that a value has, ``int`` for members of an ``IntEnum``; None if it is no number."""
    if isinstance(value, enum.IntEnum):
        return int
    return type(value) if type(value) in (bool, int, float, complex) else None


def is_leaf(part: Any) -> TypeGuard[Leaf]:
    """Whether a part of a type is a leaf."""
    return isinstance(part, (TensorType, Static))


@dataclass(frozen=True, init=False, eq=False)
class Type:
    """The pattern of values a variable holds: a pytree of ``TensorType`` and ``Static`` leaves.

    Attributes:
        leaves: The leaves, in pytree order.
        treedef: The pytree they make up.
    """

    leaves: tuple[Leaf, ...]
    treedef: Any

    def __init__(self, tensors: Any) -> None:
        leaves, treedef = jax.tree.flatten(tensors, is_leaf=is_leaf)
        for leaf in leaves:
            if not is_leaf(leaf):
                raise TypeError(f"a leaf of a Type is a TensorType or a Static, not {leaf!r}")
        object.__setattr__(self, "leaves", tuple(leaves))
        object.__setattr__(self, "treedef", treedef)

    @classmethod
    def of_leaves(cls, leaves: tuple[Leaf, ...], treedef: Any) -> Type:
        """The type with these leaves in this pytree."""
        return cls(jax.tree.unflatten(treedef, leaves))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Type):
            return NotImplemented
        return self is other or (self.leaves == other.leaves and self.has_pattern_of(other))

    def __hash__(self) -> int:
        return hash((self.leaves, self.treedef))

    def has_pattern_of(self, other: Type) -> bool:
        """Whether both are the same pytree, with the same Python objects (not just equal ones) in its nodes."""
        return bool(self.treedef == other.treedef) and self.metadata == other.metadata

    @cached_property
    def metadata(self) -> tuple[Static, ...]:
        """The Python objects in the nodes of the pytree; ``treedef`` compares them by ``==``, which takes 1 for 1.0."""
        return metadata_of(self.treedef)

    @property
    def tensors(self) -> Any:
        """The pytree of leaves. The name is that of TFP's ``auto_batching``."""
        return jax.tree.unflatten(self.treedef, self.leaves)

    @cached_property
    def tensor_leaves(self) -> tuple[TensorType, ...]:
        """The leaves that need storage."""
        return tuple(leaf for leaf in self.leaves if isinstance(leaf, TensorType))

    @cached_property
    def is_stored_as_it_is(self) -> bool:
        """Whether the caller's value is this pytree of stored arrays: no object, key or growing container is in it."""
        return (
            not self.grows
            and not boxes_in(self.tensors)
            and all(isinstance(leaf, TensorType) and not leaf.is_key for leaf in self.leaves)
        )

    @cached_property
    def grows(self) -> bool:
        """Whether a container whose length differs between lanes is in it."""
        if self.treedef.num_nodes == 1:
            return False
        return any(map(is_growing, jax.tree.leaves(self.tensors, is_leaf=is_growing)))

    @property
    def is_static(self) -> bool:
        """Whether nothing in it differs between lanes or needs storage."""
        return not self.tensor_leaves

    @property
    def strong(self) -> Type:
        """The type with no leaf weak."""
        leaves = (replace(leaf, weak=False) if isinstance(leaf, TensorType) else leaf for leaf in self.leaves)
        return Type.of_leaves(tuple(leaves), self.treedef)

    def rebuild(self, values: Iterator[Any] | list[Any] | tuple[Any, ...]) -> Any:
        """The pytree with ``values`` for its tensors, in order, and the Python objects for its statics."""
        supply = iter(values)
        return jax.tree.unflatten(
            self.treedef, [leaf.value if isinstance(leaf, Static) else next(supply) for leaf in self.leaves]
        )

    def flatten(self, value: Any) -> list[Any]:
        """The tensors of ``value``, a pytree of this pattern, in order."""
        leaves = self.treedef.flatten_up_to(value)
        return [v for v, leaf in zip(leaves, self.leaves, strict=True) if isinstance(leaf, TensorType)]

    def __str__(self) -> str:
        if len(self.leaves) == 1 and jax.tree.structure(0) == self.treedef:
            return str(self.leaves[0])
        return _pattern(self.tensors)


def metadata_of(treedef: Any) -> tuple[Static, ...]:
    """The Python objects in the nodes of a pytree that may equal different ones: dataclass fields, dict keys."""
    if treedef.num_nodes == 1:
        return ()
    found: list[Static] = []
    pending = [treedef]
    while pending:
        node = pending.pop()
        _, data = node.node_data() or (None, None)
        if isinstance(data, list):  # the keys of a dict
            data = None if all(type(key) is str for key in data) else tuple(data)
        is_plain = data is None or isinstance(data, type) or (type(data) is tuple and not data)
        if not is_plain:
            found.append(Static(data))
        pending.extend(node.children())
    return tuple(found)


def _pattern(tree: Any) -> str:
    """A pytree of leaves in Python's own notation, without the quotes of a repr."""
    if is_leaf(tree):
        return str(tree)
    if tree is None:
        return "None"
    if is_value(tree):
        return tree.hb_text(_pattern)
    if isinstance(tree, dict):
        return "{" + ", ".join(f"{k}: {_pattern(v)}" for k, v in tree.items()) + "}"
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        fields = ", ".join(f"{k}={_pattern(v)}" for k, v in zip(tree._fields, tree, strict=True))
        return f"{type(tree).__name__}({fields})"
    if isinstance(tree, (tuple, list)):
        inner = ", ".join(_pattern(v) for v in tree)
        comma = "," if isinstance(tree, tuple) and len(tree) == 1 else ""
        return f"({inner}{comma})" if isinstance(tree, tuple) else f"[{inner}]"
    leaves = jax.tree.leaves(tree, is_leaf=is_leaf)
    name = getattr(tree, "hb_name", type(tree).__name__)
    return f"{name}({', '.join(map(_pattern, leaves))})"


def tensor(dtype: DType, shape: tuple[int, ...] = ()) -> Type:
    """The type of a variable that holds one array per lane."""
    return Type(TensorType(jnp.dtype(dtype), shape))


def grouped(tensors: Iterable[_Tensor], types: Iterable[Type]) -> list[list[_Tensor]]:
    """The tensors of several types, one after the other, divided into a list for each type."""
    supply = iter(tensors)
    return [[next(supply) for _ in type_.tensor_leaves] for type_ in types]


def rebuilt(tensors: Iterable[Any], types: Sequence[Type]) -> list[Any]:
    """The values of some types, given all their tensors in order."""
    return [type_.rebuild(own) for type_, own in zip(types, grouped(tensors, types), strict=True)]
