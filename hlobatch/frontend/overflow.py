"""Integer arithmetic on a lane's numbers -> the lanes whose result in Python has more bits than the dtype.

JAX's integers wrap around: ``2147483647 + 1`` of an ``int32`` is -2147483648. In a program of
``hb.batch(checked=True)``, each operation on single signed integers is tested, and the lanes concerned fail. Unsigned
integers are not tested, because code that computes with them, such as a hash, relies on their wrapping around; whole
arrays are not, because they wrap around in NumPy, too.

The tests need no wider dtype: each one reads the overflow off the wrapped result.

Reference: Warren (2012), "Hacker's Delight", section 2-13 (sums, differences, products).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

import jax.numpy as jnp
import numpy as np
from jax import lax

from hlobatch._jax import is_tracer
from hlobatch.diagnostics import IntegerOverflowError
from hlobatch.typing import DType
from hlobatch.values.lane_failures import fails, is_wanted

_WRITTEN: Final = {"add": "+", "sub": "-", "mul": "*", "lshift": "<<", "neg": "-", "abs": "abs", "pow": "**"}
"""The operations that may overflow: their names in the module ``operator``, and their spelling in messages."""


def check_overflow(operation: str, result: Any, *operands: Any) -> None:
    """Note that lanes fail in which the result of an operation has wrapped around.

    Args:
        operation: Name in the module ``operator``; operations that cannot overflow are not tested.
        result: The result as JAX computed it.
        *operands: The operation's one or two operands, before JAX gave them a common dtype.
    """
    if operation not in _WRITTEN or not is_wanted(IntegerOverflowError) or not _is_single_signed(result):
        return
    numbers = [jnp.asarray(operand).astype(result.dtype) for operand in operands]
    if all(number.shape == () for number in numbers):
        _fails(_WRITTEN[operation], result.dtype, _WRAPPED[operation](result, *numbers))


def exact(operation: str, left: Any, right: Any) -> Any:
    """The result of a binary operation of the module ``operator``; lanes in which it wraps around fail."""
    result = getattr(operator, operation)(left, right)
    check_overflow(operation, result, left, right)
    return result


def check_exponent(base: Any, exponent: Any) -> None:
    """Note that lanes fail in which a power of integers is a float in Python, since the exponent is negative."""
    if is_wanted(IntegerOverflowError) and _is_single_signed(exponent):
        fails(IntegerOverflowError, "an integer to a negative power is a float", (exponent < 0) & (abs(base) != 1))


def check_sum(total: Any, numbers: Any) -> None:
    """Note that lanes fail in which a sum of integers, ``[length]``, has wrapped around; at most 32,768 integers."""
    if not is_wanted(IntegerOverflowError) or not _is_single_signed(total) or not numbers.size:
        return
    numbers, half = numbers.astype(total.dtype), 4 * total.dtype.itemsize
    low = jnp.sum(numbers & ((1 << half) - 1), dtype=total.dtype)
    high = jnp.sum(numbers >> half, dtype=total.dtype) + (low >> half)
    _fails("sum", total.dtype, (high >> (half - 1)) != (total >> (2 * half - 1)))


def check_limit(what: str, result: Any, is_too_large: Any) -> None:
    """Note that lanes fail in which a function's result is known to be too large for its dtype."""
    if is_wanted(IntegerOverflowError) and _is_single_signed(result):
        _fails(what, result.dtype, is_too_large)


def _is_single_signed(value: Any) -> bool:
    return is_tracer(value) and value.shape == () and bool(jnp.issubdtype(value.dtype, jnp.signedinteger))


def _fails(what: str, dtype: DType, lanes: Any) -> None:
    fails(IntegerOverflowError, f"the result of `{what}` does not fit into {dtype}", lanes)


def _sum_wrapped(result: Any, left: Any, right: Any) -> Any:
    """Whether a sum differs in sign from both of its operands."""
    return ((left ^ result) & (right ^ result)) < 0


def _difference_wrapped(result: Any, left: Any, right: Any) -> Any:
    """Whether the operands of a difference differ in sign, and so do the left one and the result."""
    return ((left ^ right) & (left ^ result)) < 0


def _product_wrapped(result: Any, left: Any, right: Any) -> Any:
    """Whether a product divided by one operand is not the other; -1 times the least number is tested by itself."""
    least = np.iinfo(result.dtype).min
    is_of_least = ((left == -1) & (right == least)) | ((right == -1) & (left == least))
    divisor = jnp.where((left == 0) | is_of_least, 1, left)
    return is_of_least | ((left != 0) & (lax.div(result, divisor) != right))


def _shift_wrapped(result: Any, left: Any, right: Any) -> Any:
    """Whether a number shifted left and back is another number; a shift by all bits loses any but 0."""
    bits = np.iinfo(result.dtype).bits
    is_far = (right < 0) | (right >= bits)
    return jnp.where(is_far, (left != 0) & (right > 0), (result >> jnp.where(is_far, 0, right)) != left)


def _negative_wrapped(result: Any, operand: Any) -> Any:
    """Whether the operand is the least number, which is its own negative and absolute value."""
    return operand == np.iinfo(result.dtype).min


def _power_wrapped(result: Any, base: Any, exponent: Any) -> Any:
    """Whether a product wraps around when ``base ** exponent`` is computed bit by bit of the exponent."""
    exponent = jnp.maximum(exponent, 0)  # negative ones are another error
    wrapped, power, square, square_wrapped = jnp.bool_(False), jnp.ones_like(base), base, jnp.bool_(False)
    for bit in range(np.iinfo(result.dtype).bits.bit_length()):  # a larger exponent overflows for all but -1, 0, 1
        is_used = (exponent >> bit) % 2 == 1
        product = power * square
        wrapped |= is_used & (square_wrapped | _product_wrapped(product, power, square))
        power = jnp.where(is_used, product, power)
        next_square = square * square
        square_wrapped |= _product_wrapped(next_square, square, square)
        square = next_square
    is_small = (base >= -1) & (base <= 1)
    return ~is_small & (wrapped | (exponent >= np.iinfo(result.dtype).bits))


_WRAPPED: Final[Mapping[str, Callable[..., Any]]] = {
    "add": _sum_wrapped,
    "sub": _difference_wrapped,
    "mul": _product_wrapped,
    "lshift": _shift_wrapped,
    "neg": _negative_wrapped,
    "abs": _negative_wrapped,
    "pow": _power_wrapped,
}
"""By operation: the test, given a result and its operands of one dtype, whether the result wrapped around."""
