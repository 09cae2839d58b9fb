"""A condition and a body, each a function on MLIR values -> a ``stablehlo.while`` at MLIR's insertion point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hlobatch._jax import ir, stablehlo

Values = Sequence[Any]


def loop(entering: Values, wanted: Callable[[Values], Any], turn: Callable[[Values], Values]) -> list[Any]:
    """Build a loop at the current insertion point; both regions may use values from around it.

    Args:
        entering: The values that the loop carries in its first turn.
        wanted: From the carried values to whether the loop turns again, a boolean scalar.
        turn: From the carried values to those after a turn.

    Returns:
        The carried values in the end.
    """
    types = [value.type for value in entering]
    operation = stablehlo.WhileOp(types, list(entering))
    condition = operation.cond.blocks.append(*types)
    with ir.InsertionPoint(condition):
        stablehlo.return_([wanted(list(condition.arguments))])
    body = operation.body.blocks.append(*types)
    with ir.InsertionPoint(body):
        stablehlo.return_(list(turn(list(body.arguments))))
    return list(operation.results)
