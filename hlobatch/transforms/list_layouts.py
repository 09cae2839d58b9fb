"""Maps the type of a variable to one in which each list of numbers is one array.

::

    {"best": f32[], "counts": [i32[], … fifty of them]}
    ==>  {"best": f32[], "counts": i32[50]}     counts of items: (None, 50)

Only a list of at least ``LEAST_NUMBERS_JOINED`` scalars of one type is merged; a list of lists or tuples is merged as a
whole, row by row. The leaves of both types are in the same order, so a value of one is converted to the other by
walking over both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax

from hlobatch.ir.growing import Growing
from hlobatch.ir.joined import LEAST_NUMBERS_JOINED
from hlobatch.ir.patterns import INSIDE, remade
from hlobatch.ir.types import Leaf, TensorType, Type, is_leaf


@dataclass(frozen=True)
class ListLayout:
    """How the lists in a type are merged.

    Attributes:
        whole: The type as the user's code has it.
        merged: The type in which lists of numbers are arrays.
        items: For each leaf of ``merged``, the number of items in its array; None if it is a leaf of ``whole``,
            unchanged.
    """

    whole: Type
    merged: Type
    items: tuple[int | None, ...]

    @classmethod
    def of(cls, type_: Type) -> ListLayout:
        """The layout of a type."""
        if len(type_.leaves) < LEAST_NUMBERS_JOINED:
            return cls(type_, type_, (None,) * len(type_.leaves))
        items = list[int | None]()
        merged = Type(remade(partial(_merged, items), type_.tensors))
        return cls(type_, merged, tuple(items))

    @property
    def is_trivial(self) -> bool:
        """Whether the type has no list to merge."""
        return self.merged == self.whole

    def leaves(self) -> Iterator[MergedLeaf]:
        """The leaves of the merged type, in order."""
        supply = iter(self.whole.leaves)
        for leaf, count in zip(self.merged.leaves, self.items, strict=True):
            yield MergedLeaf(leaf, [next(supply) for _ in range(count or 1)], count is not None)


@dataclass(frozen=True)
class MergedLeaf:
    """A leaf of a merged type.

    Attributes:
        leaf: The leaf.
        items: The leaves of the user's type that it stands for.
        is_list: Whether it is an array of these items; if not, it is the only item itself.
    """

    leaf: Leaf
    items: Sequence[Leaf]
    is_list: bool


def _merged(items: list[int | None], tree: Any) -> Any:
    """The array for a list of numbers in a pytree of leaves; appends to ``items`` for each leaf of the result."""
    if is_leaf(tree):
        items.append(None)
        return tree
    leaves = _leaves(tree)
    if isinstance(tree, Growing):  # the items of a growing list are stored in an array already
        items += [None] * len(leaves)
        return tree
    if _is_list_of_numbers(tree, leaves):
        items.append(len(leaves))
        return replace(leaves[0], shape=(len(leaves),))
    return INSIDE


def _is_list_of_numbers(tree: Any, leaves: Sequence[Any]) -> bool:
    """Whether a pytree is a list worth an array: long enough, with only lists, tuples and scalars of one type in it."""
    is_long = type(tree) is list and len(leaves) >= LEAST_NUMBERS_JOINED
    return is_long and _are_alike(leaves) and _has_only_sequences(tree)


def _are_alike(leaves: Sequence[Any]) -> bool:
    first = leaves[0]
    return isinstance(first, TensorType) and first.shape == () and not first.is_key and all(x == first for x in leaves)


def _has_only_sequences(tree: Any) -> bool:
    """Whether all nodes are lists and tuples, so that the leaves are in the order of the items."""
    return isinstance(tree, TensorType) or (type(tree) in (list, tuple) and all(map(_has_only_sequences, tree)))


def _leaves(tree: Any) -> list[Any]:
    return jax.tree.leaves(tree, is_leaf=is_leaf)
