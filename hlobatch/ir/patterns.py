"""A walk over the parts of a type, which a visitor inspects or replaces.

::

    [i32[], Maybe(bool[], f32[2])]      parts_of: i32[] and Maybe(…); parts_of the second: bool[] and f32[2]

A pattern is what ``Type.tensors`` is: a pytree whose leaves are ``TensorType`` and ``Static``. A visitor is a function
of a part and of the corresponding parts of other pytrees. It returns a replacement, or ``INSIDE`` to descend.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import jax

INSIDE: Final = object()
"""Returned by a visitor to have the parts of this part visited instead."""


def opened(pattern: Any) -> tuple[list[Any], Any]:
    """The parts of a pytree one level down, and the structure that holds them; a leaf is its own only part."""
    return jax.tree.flatten(pattern, is_leaf=lambda part: part is not pattern)


def parts_of(pattern: Any) -> list[Any]:
    """The parts of a pytree one level down; empty for a leaf."""
    return [part for part in opened(pattern)[0] if part is not pattern]


def are_alike(pattern: Any, *others: Any) -> bool:
    """Whether pytrees have the same structure one level down, so that their parts correspond."""
    try:
        structures = [opened(one)[1] for one in (pattern, *others)]
    except ValueError:  # a dict whose keys have no order is in no type
        return False
    return all(structure == structures[0] for structure in structures)


def remade(visit: Callable[..., Any], pattern: Any, *others: Any) -> Any:
    """A pattern with its parts replaced by a visitor.

    Args:
        visit: The visitor, which is called for the whole pattern first.
        pattern: The pattern.
        *others: Pytrees with a part in the place of each part of the pattern that is visited.

    Raises:
        ValueError: One of ``others`` has another structure where the visitor descends.
    """
    made = visit(pattern, *others)
    if made is not INSIDE:
        return made
    parts, structure = opened(pattern)
    columns = [structure.flatten_up_to(other) for other in others]
    return jax.tree.unflatten(structure, [remade(visit, *each) for each in zip(parts, *columns, strict=True)])
