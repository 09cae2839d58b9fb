"""Integers of several dtypes -> comparisons of them, and a dtype that holds all of them, as in Python.

::

    x < 300            of a ``uint8``: true, where JAX would make 44 of the 300
    x if t else 300    an ``int32``
    x == k             of a ``uint8`` and a computed Python number: compared as ``int32``

JAX first converts all sides to one dtype. A literal becomes that of the array, so that beside a ``uint8`` 300 becomes
44; a ``uint32`` and an ``int32`` both become ``int32``, if JAX has no integers of 64 bits. Cases in which JAX agrees
with Python are left to JAX.
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
from hlobatch.typing import DType
from hlobatch.values.direct_operations import operated

_TRUE_OF_LESS: Final = frozenset({"lt", "le", "ne"})
"""Comparisons that are true if the left side is less."""
_MIRRORED: Final = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


def equal(left: Any, right: Any) -> Any:
    """Whether arrays of numbers are equal, element by element."""
    of_whole_numbers = compare("eq", left, right)
    return left == right if of_whole_numbers is None else of_whole_numbers


def compare(comparison: str, left: Any, right: Any) -> Any:
    """A comparison, named as in ``operator``, of integers; None if neither side is an array of integers."""
    if _is_array(left) and _is_array(right):
        return _of_arrays(comparison, left, right)
    if _is_array(left) and _is_number(right):
        return _with_number(comparison, left, int(right))
    if _is_array(right) and _is_number(left):
        return _with_number(_MIRRORED[comparison], right, int(left))
    return None


def decided(comparison: str, left: Any, right: Any) -> bool | None:
    """The value of a comparison that holds for every number of an array's dtype; None if it depends on the number."""
    if _is_array(left) and not left.shape and _is_number(right):
        return None if fits(int(right), left.dtype) else _with_misfit(comparison, left, int(right))
    if _is_array(right) and not right.shape and _is_number(left):
        return decided(_MIRRORED[comparison], right, left)
    return None


def fits(number: int, dtype: DType) -> bool:
    """Whether an integer dtype can represent a number."""
    least, most = _limits(jax.dtypes.canonicalize_dtype(dtype))
    return least <= number <= most


def is_small(dtype: DType) -> bool:
    """Whether an integer dtype has fewer bits than Python's integers have in JAX; of signed ones, fewer than 32."""
    if not jnp.issubdtype(dtype, jnp.integer):
        return False
    is_unsigned = bool(jnp.issubdtype(dtype, jnp.unsignedinteger))
    return bool(dtype.itemsize < (default(int).itemsize if is_unsigned else 4))


def holding_all(values: Sequence[Any], *, computed: bool = False) -> list[Any]:
    """Values for JAX to convert to one dtype; integers that would overflow there are converted here.

    Args:
        values: Numbers or arrays.
        computed: Whether they are operands of a computation, whose result is then a Python number; else a literal that
            does not fit is stored with a strong dtype.

    Raises:
        BatchTypeError: No dtype holds all of them.
    """
    dtype = jnp.result_type(*values)
    if not any(map(_is_array, values)) or not jnp.issubdtype(dtype, jnp.integer):
        return list(values)
    misfit = next((v for v in values if _is_number(v) and not fits(int(v), dtype)), None)
    if misfit is None:
        wide = is_small(dtype) and any(jnp.result_type(v).itemsize > dtype.itemsize for v in values if _is_array(v))
        return [number(v) for v in values] if wide else list(values)
    if not all(fits(limit, default(int)) for limit in _limits(dtype)):
        raise no_dtype(misfit, dtype)
    return [number(v) if computed else jnp.asarray(v, default(int)) for v in values]


def no_dtype(number: Any, dtype: DType) -> BatchTypeError:
    """The error for a number and an array of integers that no dtype holds."""
    return BatchTypeError(
        f"one number is {dtype}, the other {number}, and no dtype holds both",
        help=f"convert the array, as in `x.astype(jnp.{default(int)})`, if its numbers are never that large.",
    )


def default(kind: type) -> Any:
    """The dtype of Python's numbers of a class in JAX."""
    return jax.dtypes.canonicalize_dtype(kind)


def number(value: Any) -> Any:
    """An integer, or an array of integers, with the weak type of a Python integer."""
    return weakly(value, default(int))


def _is_array(value: Any) -> bool:
    """Whether a value is an array of integers."""
    return isinstance(value, (jax.Array, np.ndarray)) and bool(jnp.issubdtype(value.dtype, jnp.integer))


def _is_number(value: Any) -> bool:
    """Whether a value is a known integer."""
    return (isinstance(value, int) and type(value) is not bool) or isinstance(value, np.integer)


def _limits(dtype: DType) -> tuple[int, int]:
    limits = jnp.iinfo(dtype)  # type: ignore[no-untyped-call]
    return int(limits.min), int(limits.max)


def _with_number(comparison: str, array: Any, number: int) -> Any:
    """A comparison of an array with a number; the same for all elements if the number is outside of their dtype."""
    if fits(number, array.dtype):
        return operated(comparison, array, number)
    return jnp.full(array.shape, _with_misfit(comparison, array, number))


def _with_misfit(comparison: str, array: Any, number: int) -> bool:
    return bool(getattr(operator, comparison)(_limits(_dtype(array))[0], number))


def _of_arrays(comparison: str, left: Any, right: Any) -> Any:
    of_left, of_right = _dtype(left), _dtype(right)
    if of_left == of_right:
        return operated(comparison, left, right)
    compared = getattr(operator, comparison)
    common = jax.dtypes.canonicalize_dtype(jnp.promote_types(of_left, of_right))
    if jnp.issubdtype(common, jnp.integer):
        least, most = _limits(common)
        if all(least <= low and high <= most for low, high in map(_limits, (of_left, of_right))):
            return compared(jnp.asarray(left, common), jnp.asarray(right, common))
    if jnp.issubdtype(of_right, jnp.unsignedinteger):
        return _with_unsigned(comparison, left, right)
    return _with_unsigned(_MIRRORED[comparison], right, left)


def _with_unsigned(comparison: str, signed: Any, unsigned: Any) -> Any:
    """A comparison of signed with unsigned numbers: negative ones are less, all others are compared as unsigned."""
    dtype = jnp.dtype(f"uint{8 * max(_dtype(signed).itemsize, _dtype(unsigned).itemsize)}")
    result = getattr(operator, comparison)(signed.astype(dtype), unsigned.astype(dtype))
    return (signed < 0) | result if comparison in _TRUE_OF_LESS else (signed >= 0) & result


def _dtype(array: Any) -> Any:
    """The dtype of an array in JAX."""
    return jax.dtypes.canonicalize_dtype(array.dtype)
