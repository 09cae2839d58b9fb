"""The pattern of a type -> its parts, or another one that a visitor makes of it: the one walk over types.

::

    [i32[], Maybe(bool[], f32[2])]      parts_of: i32[] and Maybe(…); those of the second are bool[] and f32[2]

A pattern is what ``Type.tensors`` is: a pytree whose leaves are ``TensorType`` and ``Static``. A visitor is a function
of a part and of what stands in its place in other pytrees. It says what it makes of the part, or ``INSIDE``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import jax

INSIDE: Final = object()
"""What a visitor gives for a part that it has nothing to say of but by what is in it."""


def opened(pattern: Any) -> tuple[list[Any], Any]:
    """The parts of a pytree one level down, and how it is made of them; a leaf is its own only part."""
    return jax.tree.flatten(pattern, is_leaf=lambda part: part is not pattern)


def parts_of(pattern: Any) -> list[Any]:
    """The parts of a pytree one level down; none of a leaf."""
    return [part for part in opened(pattern)[0] if part is not pattern]


def are_alike(pattern: Any, *others: Any) -> bool:
    """Whether pytrees are made of their parts in one way, so that each part of one has its place in the others."""
    try:
        structures = [opened(one)[1] for one in (pattern, *others)]
    except ValueError:  # a dict whose keys have no order, which no type has
        return False
    return all(structure == structures[0] for structure in structures)


def remade(visit: Callable[..., Any], pattern: Any, *others: Any) -> Any:
    """What a visitor makes of a pattern.

    Args:
        visit: The visitor, which is asked for the whole first.
        pattern: The pattern.
        *others: Pytrees with something in the place of each part of it that is visited.

    Raises:
        ValueError: Another one is not alike in a part of which the visitor says ``INSIDE``.
    """
    made = visit(pattern, *others)
    if made is not INSIDE:
        return made
    parts, structure = opened(pattern)
    columns = [structure.flatten_up_to(other) for other in others]
    return jax.tree.unflatten(structure, [remade(visit, *each) for each in zip(parts, *columns, strict=True)])
