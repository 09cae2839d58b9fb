"""Values -> values of a wider type, for variables that may be None, may grow, or may be one of several objects.

::

    %best: Maybe(is_there: bool[], value: f32[])         a variable that is None in some lanes

    None   ==>   Maybe(False, 0.0)
    2.5    ==>   Maybe(True, 2.5)

The variable's type was found where several values meet (``type_join.py``). ``transforms/lift_optional.py`` lifts values
where they are assigned, passed on and returned.
"""

from __future__ import annotations

import enum
from typing import Any

import jax
import jax.numpy as jnp

from hlobatch.ir.choice import Choice
from hlobatch.ir.patterns import INSIDE, remade
from hlobatch.ir.types import Static, TensorType, Type, is_leaf
from hlobatch.ir.value import Value, is_value
from hlobatch.values.kinds import Kinds
from hlobatch.values.one_of import each


def differs_by_lane(type_: Type) -> bool:
    """Whether a type has a part that is None, or one of several objects, depending on the lane."""
    parts = jax.tree.leaves(type_.tensors, is_leaf=lambda part: is_leaf(part) or (is_value(part) and part.hb_differs))
    return any(is_value(part) and part.hb_differs for part in parts)


def may_need_lift(held: Type) -> bool:
    """Whether values assigned to a variable of a type may have to be lifted."""
    return held.grows or differs_by_lane(held)


def needs_lift(given: Type, held: Type) -> bool:
    """Whether a value of the type ``given`` has to be lifted for a variable of the type ``held``."""
    if given.treedef != held.treedef or given.metadata != held.metadata:
        return True
    pairs = list(zip(given.leaves, held.leaves, strict=True))
    if (held.grows or differs_by_lane(held)) and any(_as_stored(a) != _as_stored(b) for a, b in pairs):
        return True
    return any(isinstance(a, Static) and isinstance(a.value, enum.Enum) and isinstance(b, TensorType) for a, b in pairs)


def _as_stored(leaf: TensorType | Static) -> Any:
    return (leaf.dtype, leaf.shape) if isinstance(leaf, TensorType) else leaf


def lift(value: Any, held: Type) -> Any:
    """A value in the form in which a variable of the type ``held`` holds it."""
    return _lifted(held.tensors, value)


def _lifted(held: Any, value: Any) -> Any:
    return remade(_lifted_part, held, value)


def _lifted_part(held: Any, value: Any) -> Any:
    """A part of a value, lifted to the corresponding part of a type."""
    match held:
        case Value():
            return held.hb_hold(value, _lifted)
        case TensorType():
            return _as_tensor(value, held)
        case Static() | None:
            return value
    return INSIDE


def _as_tensor(value: Any, held: TensorType) -> Any:
    if isinstance(value, Choice):
        return jnp.asarray(each(value, int), held.dtype)
    if isinstance(value, Kinds):
        return jnp.stack([jnp.asarray(part, held.dtype) for part in value.hb_parts])[value.hb_tag]
    if isinstance(value, enum.IntEnum):
        return jnp.asarray(int(value), held.dtype)
    return value if held.is_key else jnp.asarray(value, held.dtype)
