"""The values of a lane's code: numbers in registers, arrays in memory, and arrays computed where they are used."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hlobatch.kernels.text import Index


@dataclass(frozen=True)
class Value:
    """A number or an array of one lane.

    Attributes:
        dtype: The type of the elements.
        shape: ``()`` for a number.
        ref: The number itself, a register or a constant; or a pointer to the first element of an array.
        root: The memory of the function that the array lies in; None for numbers, and for memory that is only read.
        element: For an array that is not in memory, emits the code of the element at a row-major position; else None.
        reads: The memory of the function that such elements are computed from.
        is_cheap: Whether computing an element again costs no more than loading it.
    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    ref: str
    root: str | None = None
    element: Callable[[Index], str] | None = None
    reads: frozenset[str] = frozenset()
    is_cheap: bool = False

    @property
    def roots(self) -> frozenset[str]:
        """The memory of the function that the value is read or computed from."""
        return self.reads if self.root is None else self.reads | {self.root}


def roots_of(values: Iterable[Value]) -> frozenset[str]:
    """The memory of the function that some values are read or computed from."""
    return frozenset[str]().union(*(v.roots for v in values))
