"""``Meaning``: an entry of a table from a function to what it means on values that differ between lanes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Function = Callable[..., Any]


@dataclass(frozen=True)
class Meaning:
    """What a function means on values that differ between lanes.

    Attributes:
        function: The same on traced values.
        converts: Whether it makes a Python number of a number, and so does of a JAX array that is known.
        uses_items: Whether it goes over all items of what it is given.
    """

    function: Function
    converts: bool = False
    uses_items: bool = False


def entries(table: Mapping[Any, Function], *, converts: bool = False, uses_items: bool = False) -> dict[Any, Meaning]:
    """A table with the same said of each of its functions; see ``Meaning``."""
    return {key: Meaning(function, converts, uses_items) for key, function in table.items()}
