"""``for … in range(…)`` on values that differ between lanes -> the number of turns, whether one is left, and its item.

The functions take Python's numbers and traced scalars. Their errors have no place, which the tracing of the code adds.

Bounds are compared and subtracted exactly, whatever their dtypes. JAX would turn -1 into 4294967295 beside a
``uint32``, and an ``int64`` into a float beside a ``uint64``.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch.diagnostics import BatchTypeError
from hlobatch.frontend.builtins import is_array, scalar, truth
from hlobatch.typing import DType
from hlobatch.values.lane_failures import fails
from hlobatch.values.whole_numbers import default


def range_count(start: Any, stop: Any, step: Any) -> Any:
    """Number of turns of ``for … in range(start, stop, step)``.

    The span is computed only where it is positive, so that unsigned bounds do not wrap. From a negative to a positive
    bound it may need one bit more than a signed number has, so the count is unsigned. The turns count up to it all the
    same: a turn that has wrapped as a signed number is right as an unsigned one.
    """
    if is_array(step):
        return _count_of_steps(start, stop, step)
    if step == 0:
        raise BatchTypeError("the step of a range must not be zero", help="count by 1 or -1.")
    if not is_array(start) and not is_array(stop):
        return len(range(start, stop, step))
    for value in (start, stop):
        _check_bound(jnp.result_type(value))
    low, high = (start, stop) if step > 0 else (stop, start)
    low, high = (_at_least_32_bits(scalar(v, "the bound of a range")) for v in (low, high))
    if any(map(_is_unsigned, (low, high))) and any(map(_may_be_negative, (low, high))):
        return _mixed_count(low, high, abs(step))
    low, high = _of_equal_bits(low, high)
    span = high - low
    if is_array(low) or low < 0:  # the span may have overflowed into the sign bit
        span = jax.lax.bitcast_convert_type(span, f"uint{8 * span.dtype.itemsize}")
    turns = span if abs(step) == 1 else (span - 1) // abs(step) + 1
    return jnp.where(high > low, turns, 0)


def _count_of_steps(start: Any, stop: Any, step: Any) -> Any:
    """Number of turns where the step differs between lanes: those of steps of one, up or down, divided by the step."""
    dtypes = [jnp.result_type(scalar(value, "the bound of a range")) for value in (start, stop)]
    for dtype in (*dtypes, jnp.result_type(step)):
        _check_bound(dtype)
    if any(jnp.issubdtype(dtype, jnp.unsignedinteger) and dtype.itemsize >= 4 for dtype in dtypes):
        raise BatchTypeError(
            "a range whose step differs between lanes has a bound without a sign",
            help="convert the bound, as in `range(0, n.astype(int), k)`.",
        )
    fails(ValueError, "range() arg 3 must not be zero", step == 0)
    ways = [jnp.asarray(range_count(start, stop, way)) for way in (1, -1)]
    span = jnp.where(step > 0, ways[0], ways[1])
    return jnp.where(span > 0, (span - 1) // _size(step, span.dtype) + 1, 0)


def _size(step: Any, dtype: DType) -> Any:
    """The absolute value of a step that differs between lanes, 1 in place of 0."""
    return jnp.abs(jnp.where(step == 0, 1, _at_least_32_bits(step))).astype(dtype)


def _mixed_count(low: Any, high: Any, step: int) -> Any:
    """Number of turns between two bounds, one of which is never negative and the other may be.

    Args:
        low: The lesser bound, if there is a turn.
        high: The greater one.
        step: The positive step.

    Returns:
        The count, unsigned; the greatest number of the dtype where the count needs one bit more.
    """
    bits = max(32, *(8 * jnp.result_type(v).itemsize for v in (low, high) if is_array(v)))
    dtype = jnp.dtype(f"uint{bits}")
    is_below, is_none = jnp.asarray(low < 0), jnp.asarray(high < 0)
    low, high = (_as_unsigned(value, dtype) for value in (low, high))
    span = high - low
    is_more = is_below & (span < high)  # the span is greater by 2 ** bits
    is_turning = ~is_none & (is_below | (high > low))
    if step == 1:
        turns = jnp.where(is_more, jnp.asarray(np.iinfo(dtype).max, dtype), span)
    else:
        more, left = (jnp.asarray(part, dtype) for part in divmod(1 << bits, step))
        rest = span + jnp.where(is_more, left, 0)
        turns = jnp.where(is_more, more, 0) + rest // step + (rest % step > 0)
    return jnp.where(is_turning, turns, 0)


def _is_unsigned(bound: Any) -> bool:
    """Whether a bound is an array of an unsigned dtype."""
    return is_array(bound) and bool(jnp.issubdtype(bound.dtype, jnp.unsignedinteger))


def _may_be_negative(bound: Any) -> bool:
    return not _is_unsigned(bound) if is_array(bound) else bound < 0


def _as_unsigned(bound: Any, dtype: DType) -> Any:
    """A bound as an unsigned number with the same bits; a signed one is sign-extended first."""
    if not is_array(bound):
        return jnp.asarray(bound % (1 << 8 * dtype.itemsize), dtype)
    own = f"{'u' * _is_unsigned(bound)}int{8 * dtype.itemsize}"
    return jnp.asarray(bound, own).astype(dtype)


def _of_equal_bits(low: Any, high: Any) -> tuple[Any, Any]:
    """Two bounds of one dtype: the narrower array is converted to the wider one's; Python numbers stay as they are."""
    if not (is_array(low) and is_array(high)):
        return low, high
    dtype = max(low.dtype, high.dtype, key=lambda dtype: dtype.itemsize)
    return (low, high) if low.dtype == high.dtype else (low.astype(dtype), high.astype(dtype))


def _check_bound(dtype: DType) -> None:
    if jnp.issubdtype(dtype, jnp.integer):
        return
    rounded, how = ("jnp.floor(x)", "round it and convert it") if dtype != jnp.bool_ else ("x", "convert it")
    raise BatchTypeError(
        f"a bound of a range is {dtype}, it has to be an integer", help=f"{how}, as in `range({rounded}.astype(int))`."
    )


def _at_least_32_bits(value: Any) -> Any:
    dtype = jnp.result_type(value)
    if not is_array(value) or dtype.itemsize >= 4:
        return value
    return value.astype(jnp.int32)


def steps_to(item: Any, start: Any, step: Any) -> Any:
    """Whether a multiple of the step leads from the start of a range to a number that is not before the start."""
    if is_array(step):
        span = jnp.where(step > 0, _span(start, item), _span(item, start))
        return span % _size(step, span.dtype) == 0
    span = _span(start, item) if step > 0 else _span(item, start)
    return span % jnp.asarray(abs(step), span.dtype) == 0 if abs(step) < 1 << 8 * span.dtype.itemsize else span == 0


def _span(low: Any, high: Any) -> Any:
    """The difference of two numbers, the greater one second, as an unsigned number."""
    bits = max(32, *(8 * value.dtype.itemsize for value in (low, high) if is_array(value)))
    low, high = (_as_unsigned(value, jnp.dtype(f"uint{bits}")) for value in (low, high))
    return high - low


def range_goes_on(turn: Any, turns: Any) -> Any:
    """Whether there is a further turn; known to be false for a range that is known to be empty."""
    return False if type(turns) is int and turns == 0 else truth(turn < turns)


def range_item(turn: Any, start: Any, step: Any, stop: Any) -> Any:
    """The loop variable in a turn; as a Python number it does not wrap as a byte would.

    ``stop`` matters only for its dtype and, if known, its value: whether items may be negative, and how many bits they
    need.
    """
    item = turn if not is_array(step) and step == 1 else turn * _at_least_32_bits(step)
    if not is_array(start) and start == 0:
        return item
    start = _at_least_32_bits(start)
    return item + (_able_to_reach(stop, start, step) if is_array(start) else start)


def _able_to_reach(stop: Any, start: Any, step: Any) -> Any:
    """The start of a range, with a dtype that can hold all items; an ``int32`` below a ``uint32`` may need 64 bits."""
    largest = default(int)
    decides = is_array(stop) and not getattr(stop, "weak_type", False)
    size = max(start.dtype.itemsize, stop.dtype.itemsize if decides else 0)
    if not _is_unsigned(start):
        size = min(size * (1 + (decides and _is_unsigned(stop))), max(largest.itemsize, size))
        dtype = jnp.dtype(f"int{8 * size}")
    elif (not is_array(step) and step > 0) or not (_may_be_negative(stop) if is_array(stop) else stop < -1):
        dtype = jnp.dtype(f"uint{8 * size}")
    elif largest.itemsize > start.dtype.itemsize:
        dtype = largest
    else:
        raise BatchTypeError(
            f"a range from a {start.dtype} down to what may be below zero, and no dtype has all that it runs over",
            help=f"convert the bound, as in `range(n.astype(jnp.{largest}), …)`, if it is never that large.",
        )
    return start if start.dtype == dtype else start.astype(dtype)
