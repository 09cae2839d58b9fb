"""A comparison -> its value as in Python, whatever the dtypes of the numbers; a side may be None in some lanes."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from hlobatch.frontend.own_methods import by_methods
from hlobatch.frontend.wide_numbers import with_wide
from hlobatch.values import whole_numbers
from hlobatch.values.optional import optional


def compare(comparison: str, left: Any, right: Any) -> Any:
    """A comparison, named as in ``operator``.

    Args:
        comparison: ``lt``, ``le``, ``gt``, ``ge``, ``eq`` or ``ne``.
        left: Anything.
        right: Anything.

    Returns:
        The result of the comparison in Python; for arrays, an array of booleans.
    """
    there = [known.is_there for known in map(optional, (left, right)) if known is not None]
    if there and comparison in ("eq", "ne"):
        equal = _equal(there, _compared("eq", left, right))
        return equal if comparison == "eq" else jnp.logical_not(equal)
    return _compared(comparison, left, right)


def _equal(there: list[Any], equal: Any) -> Any:
    """Whether two values are equal, at least one of which may be None, which equals only None."""
    if len(there) == 1:
        return there[0] & equal
    return jnp.where(there[0] & there[1], equal, there[0] == there[1])


def _compared(comparison: str, left: Any, right: Any) -> Any:
    if (result := by_methods(comparison, left, right)) is not NotImplemented:
        return result
    of_whole_numbers = whole_numbers.compare(comparison, left, right)
    return with_wide(comparison, left, right) if of_whole_numbers is None else of_whole_numbers
