"""The region of a ``stablehlo.reduce`` or ``stablehlo.scatter`` -> the binary function that it combines elements by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import jax

COMBINATIONS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "add": jax.lax.add,
    "subtract": jax.lax.sub,
    "multiply": jax.lax.mul,
    "minimum": jax.lax.min,
    "maximum": jax.lax.max,
    "and": jax.lax.bitwise_and,
    "or": jax.lax.bitwise_or,
    "xor": jax.lax.bitwise_xor,
    "return": lambda _, new: new,
}
"""By the name of the region's only operation; ``return`` if it has none, and the new element replaces the old one."""


def combination_of(operation: Any) -> str | None:
    """How a ``stablehlo.scatter`` or ``stablehlo.reduce`` of one array combines; None if not in one of these ways."""
    block = operation.regions[0].blocks[0]
    first = block.operations[0].operation
    name = str(first.name.removeprefix("stablehlo."))
    returns = name == "return"
    plain = len(block.operations) == (1 if returns else 2)  # the other is the return
    given = list(block.arguments)
    operands = given[1:] if returns else given
    return name if plain and name in COMBINATIONS and list(first.operands) == operands else None
