"""An object of a user's class as a variable holds it: its class, and its attributes as a pytree.

JAX takes an object for a leaf unless its class was registered with it. The user's code is handed the object itself, and
so is who called the batched function; in between it is a ``Boxed``. Nothing is registered in the user's name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax


@jax.tree_util.register_pytree_node_class
@dataclass(frozen=True, eq=False)
class Boxed:
    """An object.

    Attributes:
        cls: Its class.
        names: Of its attributes, sorted.
        values: The attributes, each a pytree.
    """

    cls: type
    names: tuple[str, ...]
    values: tuple[Any, ...]

    def tree_flatten(self) -> tuple[tuple[Any, ...], tuple[type, tuple[str, ...]]]:
        return self.values, (self.cls, self.names)

    @classmethod
    def tree_unflatten(cls, data: tuple[type, tuple[str, ...]], values: Sequence[Any]) -> Boxed:
        return cls(*data, tuple(values))


def unboxed(value: Any) -> Any:
    """A pytree with the objects themselves."""
    return jax.tree.map(_object, value, is_leaf=is_boxed)


def is_boxed(part: Any) -> bool:
    """Whether a value is a box."""
    return isinstance(part, Boxed)


def _object(part: Any) -> Any:
    if not isinstance(part, Boxed):
        return part
    new: Any = object.__new__(part.cls)
    for name, value in zip(part.names, part.values, strict=True):
        object.__setattr__(new, name, unboxed(value))
    return new
