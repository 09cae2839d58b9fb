"""A comparison of two whole numbers -> whether it holds of the numbers, whatever dtypes they have, as in Python.

JAX first converts both sides to one dtype. A number that is written out becomes what the array is, so that beside a
``uint8`` 300 becomes 44; a ``uint32`` and an ``int32`` both become ``int32``, if JAX has no integers of 64 bits. A
comparison that JAX makes as Python does is left to JAX.
"""

from __future__ import annotations

import operator
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch.analysis.optional import optional
from hlobatch.frontend.wide_numbers import with_wide

_TRUE_OF_LESS: Final = frozenset({"lt", "le", "ne"})
"""Comparisons that hold where the left side is less."""
_MIRRORED: Final = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


def compare(comparison: str, left: Any, right: Any) -> Any:
    """A comparison of the module ``operator``.

    Args:
        comparison: ``lt``, ``le``, ``gt``, ``ge``, ``eq`` or ``ne``.
        left: Anything.
        right: Anything.

    Returns:
        What Python gives; of arrays one of booleans.
    """
    there = [known.is_there for known in map(optional, (left, right)) if known is not None]
    if there and comparison in ("eq", "ne"):
        equal = _equal(there, _compared("eq", left, right))
        return equal if comparison == "eq" else jnp.logical_not(equal)
    return _compared(comparison, left, right)


def _equal(there: list[Any], equal: Any) -> Any:
    """Whether two values are equal that may be None, which equals None alone."""
    if len(there) == 1:
        return there[0] & equal
    return jnp.where(there[0] & there[1], equal, there[0] == there[1])


def _compared(comparison: str, left: Any, right: Any) -> Any:
    if _is_array(left) and _is_array(right):
        return _of_arrays(comparison, left, right)
    if _is_array(left) and _is_number(right):
        return _with_number(comparison, left, int(right))
    if _is_array(right) and _is_number(left):
        return _with_number(_MIRRORED[comparison], right, int(left))
    return with_wide(comparison, left, right)


def _is_array(value: Any) -> bool:
    """Whether a value is an array of whole numbers."""
    return isinstance(value, (jax.Array, np.ndarray)) and bool(jnp.issubdtype(value.dtype, jnp.integer))


def _is_number(value: Any) -> bool:
    """Whether a value is a whole number that is known."""
    return type(value) is int or isinstance(value, np.integer)


def _limits(dtype: Any) -> tuple[int, int]:
    limits = jnp.iinfo(dtype)  # type: ignore[no-untyped-call]
    return int(limits.min), int(limits.max)


def _with_number(comparison: str, array: Any, number: int) -> Any:
    """A comparison of an array with a number, which all elements are less than, or more, if their dtype lacks it."""
    compared = getattr(operator, comparison)
    least, most = _limits(_dtype(array))
    if least <= number <= most:
        return compared(array, number)
    return jnp.full(array.shape, compared(least, number))


def _of_arrays(comparison: str, left: Any, right: Any) -> Any:
    of_left, of_right = _dtype(left), _dtype(right)
    compared = getattr(operator, comparison)
    if of_left == of_right:
        return compared(left, right)
    common = jax.dtypes.canonicalize_dtype(jnp.promote_types(of_left, of_right))
    if jnp.issubdtype(common, jnp.integer):
        least, most = _limits(common)
        if all(least <= low and high <= most for low, high in map(_limits, (of_left, of_right))):
            return compared(jnp.asarray(left, common), jnp.asarray(right, common))
    if jnp.issubdtype(of_right, jnp.unsignedinteger):
        return _with_unsigned(comparison, left, right)
    return _with_unsigned(_MIRRORED[comparison], right, left)


def _with_unsigned(comparison: str, signed: Any, unsigned: Any) -> Any:
    """A comparison of numbers below zero or above with numbers above: those below are less than all of these."""
    dtype = jnp.dtype(f"uint{8 * max(_dtype(signed).itemsize, _dtype(unsigned).itemsize)}")
    result = getattr(operator, comparison)(signed.astype(dtype), unsigned.astype(dtype))
    return (signed < 0) | result if comparison in _TRUE_OF_LESS else (signed >= 0) & result


def _dtype(array: Any) -> Any:
    """The dtype that JAX takes an array for."""
    return jax.dtypes.canonicalize_dtype(array.dtype)
