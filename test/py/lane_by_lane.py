"""A stand-in for hlobatch that gives Python's meaning of a program: it runs one lane after the other."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

_is_inside = False


def batch(function: Callable[..., Any] | None = None, **_options: Any) -> Any:
    """A function that Python runs for one lane after the other; nested calls run the function itself."""
    if function is None:
        return lambda function: batch(function)

    @functools.wraps(function)
    def batched(*args: Any, **static: Any) -> Any:
        global _is_inside
        if _is_inside:
            return function(*args, **static)
        _is_inside = True
        try:
            lanes = len(jax.tree.leaves(args)[0])
            own = (jax.tree.map(lambda leaf: np.asarray(leaf)[lane], args) for lane in range(lanes))  # noqa: B023
            results = [function(*lane, **static) for lane in own]
        finally:
            _is_inside = False
        return jax.tree.map(lambda *parts: np.stack([np.asarray(part) for part in parts]), *results)

    return batched


def capacity(items: Any, _most: int) -> Any:
    """Returns the items unchanged."""
    return items


def sync() -> None:
    """Does nothing."""
