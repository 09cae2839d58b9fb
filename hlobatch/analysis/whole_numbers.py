"""Whole numbers of several dtypes -> comparisons of them, and a dtype that holds all of them, as Python's integers.

::

    x < 300            of a ``uint8``: true, where JAX makes 44 of the 300
    x if t else 300    two numbers of 32 bits
    x == k             of a ``uint8`` and a Python number that was computed: of 32 bits

JAX first converts all sides to one dtype. A number that is written out becomes what the array is, so that beside a
``uint8`` 300 becomes 44; a ``uint32`` and an ``int32`` both become ``int32``, if JAX has no integers of 64 bits. What
JAX makes as Python does is left to JAX.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch._jax import weakly
from hlobatch.diagnostics import BatchTypeError

_TRUE_OF_LESS: Final = frozenset({"lt", "le", "ne"})
"""Comparisons that hold where the left side is less."""
_MIRRORED: Final = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


def equal(left: Any, right: Any) -> Any:
    """Whether arrays of numbers are equal, element by element."""
    of_whole_numbers = compare("eq", left, right)
    return left == right if of_whole_numbers is None else of_whole_numbers


def compare(comparison: str, left: Any, right: Any) -> Any:
    """A comparison of the module ``operator``; None if one side is no whole number, and no array of such."""
    if _is_array(left) and _is_array(right):
        return _of_arrays(comparison, left, right)
    if _is_array(left) and _is_number(right):
        return _with_number(comparison, left, int(right))
    if _is_array(right) and _is_number(left):
        return _with_number(_MIRRORED[comparison], right, int(left))
    return None


def decided(comparison: str, left: Any, right: Any) -> bool | None:
    """What a comparison comes to whichever number an array of one is; None if that is not known."""
    if _is_array(left) and not left.shape and _is_number(right):
        return None if fits(int(right), left.dtype) else _with_misfit(comparison, left, int(right))
    if _is_array(right) and not right.shape and _is_number(left):
        return decided(_MIRRORED[comparison], right, left)
    return None


def fits(number: int, dtype: Any) -> bool:
    """Whether a dtype of whole numbers has a number."""
    least, most = _limits(jax.dtypes.canonicalize_dtype(dtype))
    return least <= number <= most


def is_small(dtype: Any) -> bool:
    """Whether a dtype of whole numbers has few bits, or none for the sign, and Python's numbers have more in JAX."""
    if not jnp.issubdtype(dtype, jnp.integer):
        return False
    is_unsigned = bool(jnp.issubdtype(dtype, jnp.unsignedinteger))
    return bool(dtype.itemsize < (_signed().itemsize if is_unsigned else 4))


def holding_all(values: Sequence[Any], *, computed: bool = False) -> list[Any]:
    """Values that JAX is to bring to one dtype; whole numbers of which it would make others are brought to one here.

    Args:
        values: Numbers or arrays.
        computed: Whether something is computed of them, so that Python's numbers come of it; a number that is written
            out, and is one of them as it is, may be stored in no dtype that lacks it.

    Raises:
        BatchTypeError: No dtype holds all of them.
    """
    dtype = jnp.result_type(*values)
    if not any(map(_is_array, values)) or not jnp.issubdtype(dtype, jnp.integer):
        return list(values)
    misfit = next((v for v in values if _is_number(v) and not fits(int(v), dtype)), None)
    if misfit is None:
        wide = is_small(dtype) and any(jnp.result_type(v).itemsize > dtype.itemsize for v in values if _is_array(v))
        return [weakly(v, _signed()) for v in values] if wide else list(values)
    if not all(fits(limit, _signed()) for limit in _limits(dtype)):
        raise no_dtype(misfit, dtype)
    return [weakly(v, _signed()) if computed else jnp.asarray(v, _signed()) for v in values]


def no_dtype(number: Any, dtype: Any) -> BatchTypeError:
    """A number and an array of whole numbers that no dtype holds."""
    return BatchTypeError(
        f"one number is {dtype}, the other {number}, and no dtype holds both",
        help=f"convert the array, as in `x.astype(jnp.{_signed()})`, if its numbers are never that large.",
    )


def _signed() -> Any:
    """The dtype of Python's integers."""
    return jax.dtypes.canonicalize_dtype(int)


def _is_array(value: Any) -> bool:
    """Whether a value is an array of whole numbers."""
    return isinstance(value, (jax.Array, np.ndarray)) and bool(jnp.issubdtype(value.dtype, jnp.integer))


def _is_number(value: Any) -> bool:
    """Whether a value is a whole number that is known."""
    return (isinstance(value, int) and type(value) is not bool) or isinstance(value, np.integer)


def _limits(dtype: Any) -> tuple[int, int]:
    limits = jnp.iinfo(dtype)  # type: ignore[no-untyped-call]
    return int(limits.min), int(limits.max)


def _with_number(comparison: str, array: Any, number: int) -> Any:
    """A comparison of an array with a number, which all elements are less than, or more, if their dtype lacks it."""
    if fits(number, array.dtype):
        return getattr(operator, comparison)(array, number)
    return jnp.full(array.shape, _with_misfit(comparison, array, number))


def _with_misfit(comparison: str, array: Any, number: int) -> bool:
    return bool(getattr(operator, comparison)(_limits(_dtype(array))[0], number))


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
