"""A leaf of a pytree (array, Python number, any object) -> its type, and the tensor type of a number as an array."""

from __future__ import annotations

import enum
from typing import Any, Final

import jax
import numpy as np

from hlobatch.ir.types import Leaf, Static, TensorType, Type, number_kind
from hlobatch.values import number_classes

KINDS_OF_NUMBERS: Final = "biufcV"
"""Kinds of dtypes: booleans, integers, floats, complex numbers, and "V" for those of ml_dtypes such as bfloat16."""


def leaf_type(value: Any) -> Leaf:
    """The type of one leaf as it stands: Python scalars and other objects are static."""
    if isinstance(value, (jax.Array, np.ndarray, np.generic)):
        aval = jax.typeof(value)
        return TensorType(aval.dtype, aval.shape, bool(getattr(aval, "weak_type", False)))
    return Static(value)


def is_scalar(leaf: Leaf) -> bool:
    """Whether a leaf is a static Python number, which can be stored as a tensor."""
    return isinstance(leaf, Static) and number_kind(leaf.value) is not None


def widened_leaf(leaf: Leaf) -> Leaf:
    """The tensor type of a static Python number as JAX sees it; any other leaf unchanged.

    An integer that needs all bits of JAX's integers is unsigned, and adopts no other dtype.
    """
    if not (isinstance(leaf, Static) and is_scalar(leaf)):
        return leaf
    kind = number_kind(leaf.value)
    assert kind is not None
    if isinstance(leaf.value, enum.IntEnum):
        number_classes.member_is_number()
    aval = jax.typeof(kind())
    if kind is int and np.iinfo(aval.dtype).max < leaf.value < 1 << 8 * aval.dtype.itemsize:
        return TensorType(np.dtype(f"u{aval.dtype}"), ())
    return TensorType(aval.dtype, (), weak=True)


def widened(type_: Type) -> Type:
    """A type with its static Python numbers as tensors."""
    leaves = tuple(map(widened_leaf, type_.leaves))
    return type_ if leaves == type_.leaves else Type.of_leaves(leaves, type_.treedef)
