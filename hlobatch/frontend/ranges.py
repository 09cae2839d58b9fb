"""What the frontend puts in place of ``for … in range(…)``: the number of turns, whether there is one left, its item.

Each works on Python's numbers at trace time and on traced scalars. The errors raised here have no place; whoever traces
the code adds it.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from hlobatch.diagnostics import BatchTypeError
from hlobatch.frontend.builtins import is_array, scalar, truth


def range_count(start: Any, stop: Any, step: Any) -> Any:
    """Number of turns of ``for … in range(start, stop, step)``.

    The span is taken only where it is positive, so that unsigned bounds do not wrap. From below zero to above it may
    take one bit more than a signed number has: the count is unsigned then. The turns count up to it all the same; what
    wraps around as a signed number is the right one as an unsigned one.
    """
    if is_array(step):
        raise BatchTypeError(
            "the step of a range has to be known when the program is built",
            help="write a number, pass it through static_argnames, or write a `while`.",
        )
    if step == 0:
        raise BatchTypeError("the step of a range must not be zero", help="count by 1 or -1.")
    if not is_array(start) and not is_array(stop):
        return len(range(start, stop, step))
    for value in (start, stop):
        _check_bound(jnp.result_type(value))
    low, high = (start, stop) if step > 0 else (stop, start)
    low, high = (_at_least_32_bits(scalar(v, "the bound of a range")) for v in (low, high))
    span = high - low
    if is_array(low) or low < 0:
        span = jax.lax.bitcast_convert_type(span, f"uint{8 * span.dtype.itemsize}")
    turns = span if abs(step) == 1 else (span - 1) // abs(step) + 1
    return jnp.where(high > low, turns, 0)


def _check_bound(dtype: Any) -> None:
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


def range_goes_on(turn: Any, turns: Any) -> Any:
    """Whether there is a turn left. Of a range without one that is known when the program is built."""
    return False if type(turns) is int and turns == 0 else truth(turn < turns)


def range_item(turn: Any, start: Any, step: Any) -> Any:
    """The loop variable in a given turn; a Python number there, it does not wrap as a byte would."""
    item = turn if not is_array(step) and step == 1 else turn * step
    return item if not is_array(start) and start == 0 else item + _at_least_32_bits(start)
