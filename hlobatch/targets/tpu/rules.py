"""The name of a JAX primitive -> the rule that computes it on tiles: the table that the modules of rules fill in.

A lane's array has the axes of the lane first, then those of a tile. So what works along axes of a lane works along the
same axes of its tiles, and has no rule. A rule is given an equation and its operands as tiles.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from hlobatch.kernels.types import NoKernelError, layout
from hlobatch.targets.tpu.tile import Tile

MOST_UNROLLED: Final = 64
"""Largest number of elements that are read or changed one by one, and of turns of a loop that are written one after the
other. Chosen by judgement (2026-11), not measured."""

Rule = Callable[[Any, Sequence[Tile]], "Tile | list[Tile]"]
RULES: Final[dict[str, Rule]] = {}
"""Primitives of which tiles need other parameters, or other operations."""


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Registers a rule for primitives."""

    def register(found: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, found))
        return found

    return register


def shape_of(variable: Any) -> tuple[int, ...]:
    """The shape of a lane's array; a key has an axis of two words."""
    return layout(variable.aval)[1]


def size_of(variable: Any) -> int:
    """The number of elements of a lane's array."""
    return math.prod(shape_of(variable))


def all_indices(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All indices of a shape, for code that is written once for each.

    Raises:
        NoKernelError: There are too many.
    """
    if math.prod(shape) > MOST_UNROLLED:
        raise NoKernelError(f"more than {MOST_UNROLLED} elements are computed one by one, for which tiles have no code")
    return itertools.product(*map(range, shape))
