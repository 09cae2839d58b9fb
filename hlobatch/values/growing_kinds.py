"""A Python container, or the type of one -> the growing container (``GrowingList``, …) that takes its place.

::

    []   a GrowingList        set()   a GrowingSet        collections.Counter()   a GrowingCounter
"""

from __future__ import annotations

import functools
from typing import Any

import jax

from hlobatch.ir.boxed import as_dict
from hlobatch.ir.growing import Growing, growing_for
from hlobatch.ir.patterns import opened
from hlobatch.ir.types import Static, is_leaf
from hlobatch.values import growing_lists, growing_tables, growing_tuples, texts  # noqa: F401  # whose classes are the kinds


def grown(tensors: Any, depth: int = 0) -> Any:
    """A type with growing containers in place of Python's at one nesting depth.

    Args:
        tensors: The type.
        depth: Nesting depth of the containers: 0 for the value itself. Items of a growing list have one type.
    """
    if depth == 0:
        held = as_dict(tensors)
        python = type(held.value) if isinstance(held, Static) else type(held)
        kind = growing_for(python)
        return tensors if kind is None or not kind.can_hold(held) else kind.type_of(held)
    if tensors is None or is_leaf(tensors):
        return tensors
    if isinstance(tensors, Growing):
        return tensors.with_items(lambda kind: grown(kind, depth - 1))
    parts, structure = opened(tensors)
    parts = [grown(part, depth - 1) for part in parts]
    if (
        isinstance(tensors, list)
        and parts
        and len({type(part) for part in parts}) == 1
        and isinstance(parts[0], Growing)
    ):
        parts = [functools.reduce(lambda one, other: one.together(other), parts)] * len(parts)
    return jax.tree.unflatten(structure, parts)


def growing(value: Any, bound: int | None = None) -> Any:
    """The growing container for a Python container, or the growing container itself with capacity ``bound``."""
    kind = growing_for(type(value))
    return value.with_capacity(bound) if kind is None else kind.of(value, bound)
