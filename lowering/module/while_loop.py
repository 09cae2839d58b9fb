"""A condition and a body, each a function on MLIR values -> a ``stablehlo.while`` at MLIR's insertion point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from hlobatch._jax import ir, stablehlo

Values = Sequence[Any]
WHILE: Final = "stablehlo.while"


def loop(entering: Values, wanted: Callable[[Values], Any], turn: Callable[[Values], Values]) -> list[Any]:
    """Build a loop at the current insertion point; both regions may use values from around it.

    Args:
        entering: What it carries in its first turn.
        wanted: From what it carries to whether it turns, a boolean scalar.
        turn: From what it carries to what it carries after a turn.

    Returns:
        What it carries in the end.
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
