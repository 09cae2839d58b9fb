"""An object of a user's class as a variable holds it: its class, and its attributes as a pytree.

JAX takes an object for a leaf unless its class was registered with it. The user's code is handed the object itself, and
so is who called the batched function; in between it is a ``Boxed``. Nothing is registered in the user's name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    """A pytree with the objects themselves; the pytree itself, if there are none."""
    if not any(map(is_boxed, jax.tree.leaves(value, is_leaf=is_boxed))):
        return value
    return jax.tree.map(lambda part: object_of(part, unboxed) if is_boxed(part) else part, value, is_leaf=is_boxed)


def is_boxed(part: Any) -> bool:
    """Whether a value is a box."""
    return isinstance(part, Boxed)


def object_of(box: Boxed, inside: Callable[[Any], Any]) -> Any:
    """The object in a box.

    Args:
        box: The box.
        inside: What makes of each attribute's value, in which there may be boxes, what the object is to have.
    """
    new: Any = object.__new__(box.cls)
    for name, value in zip(box.names, box.values, strict=True):
        object.__setattr__(new, name, inside(value))
    return new
