"""What the frontend puts in place of Python's own control on values: truth, ``not``, chained comparison, ``range``.

And in place of what means something else on the arrays that stand for Python's numbers (``meanings.py``). Each works on
Python objects at trace time, so that a static condition folds, and on traced scalars. The errors raised here have no
place; whoever traces the code adds it.
"""

from __future__ import annotations

import operator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch._jax import is_tracer
from hlobatch.analysis.tracing import doubt
from hlobatch.diagnostics import BatchTypeError, UnsupportedSyntaxError


def is_array(value: Any) -> bool:
    """Whether a value is a JAX or numpy array (or scalar of theirs) rather than a Python object."""
    return isinstance(value, (jax.Array, np.ndarray, np.generic))


def _scalar(value: Any, what: str) -> Any:
    if np.shape(value) != ():
        raise BatchTypeError(
            f"{what} has shape {list(np.shape(value))}, it has to be a scalar",
            help="reduce it, as jnp.any(…), jnp.all(…) or jnp.max(…) do; the code runs on one example.",
        )
    return value


def truth(value: Any) -> Any:
    """A condition as a scalar boolean array, or as a Python bool where it is known when the program is built."""
    if not is_array(value):
        return bool(value)
    return jnp.asarray(_scalar(value, "the condition")).astype(jnp.bool_)


def logical_not(value: Any) -> Any:
    """``not value``."""
    return jnp.logical_not(truth(value)) if is_array(value) else not value


def logical_and(*values: Any) -> Any:
    """The value of a chained comparison whose links are ``values``."""
    if not any(map(is_array, values)):
        return all(values)
    result = truth(values[0])
    for value in values[1:]:
        result = jnp.logical_and(result, truth(value))
    return result


def operate(operation: str, *operands: Any) -> Any:
    """An operation of the module ``operator`` that Python does on numbers if its operands are Python's bools."""
    result = getattr(operator, operation)(*operands)
    flags = [value for value in operands if is_tracer(value) and value.weak_type and value.dtype == jnp.bool_]
    if not flags or not all(type(value) is bool or any(value is flag for flag in flags) for value in operands):
        return result
    doubt(
        BatchTypeError(
            "arithmetic on flags, which are numbers in Python, and truth values in JAX",
            help="use `not`, `and` and `or`, or numbers instead of flags; jnp.int32(a) makes a number of one.",
        )
    )
    return flags[0] if result.dtype == jnp.bool_ else result  # a Python bool still, so that the doubt stays


def power(base: Any, exponent: Any, may_be_negative: bool) -> Any:
    """``base ** exponent``. Of integers that is an integer or not, as the exponent is negative or not.

    Args:
        base: What is multiplied.
        exponent: How often.
        may_be_negative: Whether the exponent is written with a minus, or comes of something that is.
    """
    if not (is_tracer(base) or is_tracer(exponent)) or not all(map(_is_integer, (base, exponent))):
        return base**exponent
    if is_tracer(exponent) and may_be_negative:
        doubt(
            BatchTypeError(
                "an integer to a power that may be negative: of which kind the result is depends on the lane",
                help="make the base a float, as in `2.0 ** -i`; JAX gives 0 for negative powers of integers.",
            )
        )
    if type(exponent) is not int or exponent >= 0:
        return base**exponent
    if base.weak_type:
        return (1.0 * base) ** exponent
    raise BatchTypeError(
        "an array of integers to a negative power",
        help="make it one of floats, as in `x.astype(float) ** -2`, or divide: `1 / x**2`.",
    )


def known(value: Any) -> Any:
    """A value that becomes text, which has to be known when the program is built."""
    if any(map(is_tracer, jax.tree.leaves(value))):
        raise BatchTypeError(
            "this code makes a text of a value that differs between lanes",
            help="compare and compute with the number itself; to look at it, run one example: `hb.disable_batching()`.",
        )
    return value


def kept(value: Any, name: str) -> Any:
    """A value that is assigned, of an expression with a lambda that reads what is assigned again later."""
    if any(callable(leaf) and not is_array(leaf) for leaf in jax.tree.leaves(value)):
        raise kept_error(name)
    return value


def kept_error(name: str) -> UnsupportedSyntaxError:
    """A kept lambda would not see what a name stands for later."""
    return UnsupportedSyntaxError(
        f"a lambda kept in a variable uses {name!r}, which is assigned again later",
        help="use another name for the later value.",
    )


def as_python(value: Any) -> Any:
    """A Python number of the type of one that differs between lanes; anything else as it is."""
    return value.dtype.type(0).item() if is_tracer(value) and getattr(value, "weak_type", False) else value


def is_instance(value: Any, kind: Any) -> bool:
    """``isinstance``."""
    return isinstance(as_python(value), kind)


def type_of(value: Any) -> type:
    """``type``, of one argument."""
    return type(as_python(value))


def has_attribute(value: Any, name: str) -> bool:
    """``hasattr``."""
    return hasattr(as_python(value), name)


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
    low, high = (_at_least_32_bits(_scalar(v, "the bound of a range")) for v in (low, high))
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


def _is_integer(value: Any) -> bool:
    return bool(jnp.issubdtype(jnp.result_type(value), jnp.integer))


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
