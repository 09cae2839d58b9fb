"""A name, and types of parameters and results -> a new ``func.func`` with an empty body, at MLIR's insertion point."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hlobatch._jax import func, ir


def new_function(name: str, takes: Iterable[Any], gives: Iterable[Any], *, is_public: bool = False) -> tuple[Any, Any]:
    """The function, and its block, which has an argument for each parameter.

    Args:
        name: Its symbol.
        takes: MLIR types of its parameters.
        gives: Those of its results.
        is_public: Whether code outside of the module may call it.
    """
    kind, visibility = ir.FunctionType.get(list(takes), list(gives)), "public" if is_public else "private"
    function: Any = func.FuncOp(name, kind, visibility=visibility)  # type: ignore[call-arg]
    return function, function.add_entry_block()
