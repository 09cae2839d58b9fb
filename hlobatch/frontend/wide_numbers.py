"""Operations with a Python integer that needs more bits than JAX's integers have -> Python's result, if that fits.

::

    (crc >> 1) ^ 0xEDB88320     of a ``uint32``: the integer gets this dtype
    h & 0xFFFFFFFF              of any integer: the lower 32 bits, unsigned
    x // 300, x >> 300          of a ``uint8``: with 32 bits; sums and products wrap around as in a ``uint8``
    n / 2**32, x * 10**10       of floats, or with a float for a result: the integer becomes a float
"""

from __future__ import annotations

import operator
from typing import Any, Final

import jax
import jax.numpy as jnp

from hlobatch.frontend.builtins import is_array
from hlobatch.typing import DType
from hlobatch.values.direct_operations import operated
from hlobatch.values.number_tables import is_wide
from hlobatch.values.whole_numbers import default, holding_all, is_small

_WRAPPING: Final = frozenset({"add", "mul", "or", "xor"})
"""Operations on signed numbers whose result is seldom negative if one operand is that large."""

_DIVISIONS: Final = frozenset({"floordiv", "mod"})
_SHIFTS: Final = frozenset({"lshift", "rshift"})
_BITWISE: Final = frozenset({"and", "or", "xor"})


def with_wide(operation: str, left: Any, right: Any) -> Any:
    """The result of a binary operation; an operand may be an integer with too many bits.

    Args:
        operation: The operation, named as in ``operator`` but without underscores.
        left: Anything.
        right: Anything.
    """
    function = getattr(operator, operation, None) or getattr(operator, f"{operation}_")
    plain = operation.removeprefix("i")
    number, other = (left, right) if is_wide(left) else (right, left)
    if not is_wide(number) or not is_array(other):
        return operated(operation, *_fitting(plain, left, right))
    is_integer = jnp.issubdtype(other.dtype, jnp.integer)
    if not is_integer or plain == "truediv":
        return function(*(float(side) if side is number else side for side in (left, right)))
    other = jnp.asarray(other)
    bits = 8 * max(other.dtype.itemsize, default(int).itemsize)
    dtype, size = jnp.dtype(f"uint{bits}"), 1 << bits
    unsigned = bool(jnp.issubdtype(other.dtype, jnp.unsignedinteger))
    match plain:
        case "and" if number >= 0:
            return other.astype(dtype) & jnp.asarray(number % size, dtype)
        case "mod" if number is right and number > 0:
            return _modulo(other, number, dtype, size)
        case _ if 0 <= number < size and (unsigned or plain in _WRAPPING or (plain == "sub" and number is left)):
            fitting = jnp.asarray(number, dtype)
            return function(*(fitting if side is number else other.astype(dtype) for side in (left, right)))
    return function(left, right)


def _fitting(operation: str, left: Any, right: Any) -> tuple[Any, Any]:
    """The operands, converted to more bits if JAX would change one of them in a way that changes the result."""
    if operation in _BITWISE:
        return _of_one_sign(left, right)
    arrays = [side for side in (left, right) if is_array(side)]
    of_few_bits = any(is_small(side.dtype) for side in arrays)
    if (operation in _DIVISIONS and arrays) or (operation in _SHIFTS and of_few_bits):
        left, right = holding_all([left, right], computed=True)
    return left, right


def _of_one_sign(left: Any, right: Any) -> tuple[Any, Any]:
    """Two integer arrays, both unsigned if one is and JAX lacks a wider dtype: it would read the top bit as a sign."""
    if not (is_array(left) and is_array(right)) or left.dtype == right.dtype:
        return left, right
    both = [jax.dtypes.canonicalize_dtype(side.dtype) for side in (left, right)]
    if not all(jnp.issubdtype(dtype, jnp.integer) for dtype in both):
        return left, right
    common = jnp.result_type(left, right)
    lost = [d for d in both if jnp.issubdtype(d, jnp.unsignedinteger) and d.itemsize >= common.itemsize and d != common]
    return (left.astype(lost[0]), right.astype(lost[0])) if lost else (left, right)


def _modulo(value: Any, number: int, dtype: DType, size: int) -> Any:
    """The remainder by an integer that exceeds the dtype; if the number is negative, that is the sum of both."""
    whole = value.astype(dtype)
    if jnp.issubdtype(value.dtype, jnp.unsignedinteger):
        return whole % jnp.asarray(number, dtype) if number < size else whole
    if number > size:
        return value % number
    return jnp.where(value < 0, whole + jnp.asarray(number % size, dtype), whole)
