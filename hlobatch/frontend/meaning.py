"""``Meaning``: the entry of a function in a table of meanings on values that differ between lanes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Function = Callable[..., Any]


@dataclass(frozen=True)
class Meaning:
    """The meaning of a function on values that differ between lanes.

    Attributes:
        function: The function on traced values.
        converts: Whether it turns numbers into Python numbers, so that it is also needed for known JAX arrays.
        uses_items: Whether it iterates over all items of an argument.
    """

    function: Function
    converts: bool = False
    uses_items: bool = False


def entries(table: Mapping[Any, Function], *, converts: bool = False, uses_items: bool = False) -> dict[Any, Meaning]:
    """A table of meanings that share their attributes; see ``Meaning``."""
    return {key: Meaning(function, converts, uses_items) for key, function in table.items()}
