"""Python's operators on arrays that stand for its numbers -> Python's results, where JAX's differ.

::

    n // k        rounded down for negative numbers too; raises ZeroDivisionError if the program catches it
    2 ** -n       refused: whether the result is an integer or a float depends on the lane

``meanings.py`` puts these functions in place of the user's operators. They run while the code is traced. Their errors
have no place, which the tracing of the code adds.
"""

from __future__ import annotations

import copy
import enum
import functools
import math
import operator
import sys
import types
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch._jax import is_tracer
from hlobatch.analysis.tracing import doubt
from hlobatch.diagnostics import BatchTypeError, UnsupportedSyntaxError
from hlobatch.frontend import text_formats
from hlobatch.frontend.builtins import is_array, logical_not
from hlobatch.frontend.lane_numbers import as_number
from hlobatch.frontend.overflow import check_exponent, check_overflow, exact
from hlobatch.frontend.own_methods import by_methods
from hlobatch.frontend.wide_numbers import with_wide
from hlobatch.ir.carrier import Carrier
from hlobatch.ir.choice import MOST_CHOICES, Choice, objects_of
from hlobatch.ir.growing import Growing
from hlobatch.values import identity, lane_failures, number_classes
from hlobatch.values.boxes import is_boxable
from hlobatch.values.growing_kinds import growing
from hlobatch.values.held_classes import is_held
from hlobatch.values.held_classes import is_there as is_referred_to
from hlobatch.values.holders import is_holder, not_of_holders
from hlobatch.values.lane_arrays import LaneArray, elementwise
from hlobatch.values.lane_failures import is_there
from hlobatch.values.one_of import for_each
from hlobatch.values.optional import is_several
from hlobatch.values.own_containers import class_for, content, has_content, python_class
from hlobatch.values.rings import Ring
from hlobatch.values.texts import LaneText, as_texts, is_known_text, is_text
from hlobatch.values.whole_numbers import number

_BITWISE: Final = frozenset({"and", "or", "xor", "matmul", "iand", "ior", "ixor", "imatmul"})
"""Operations whose result on bools is a bool, as in Python, or that Python's numbers do not have."""


_BY_ZERO: Final = "division by zero"
_DIVISIONS: Final = frozenset({"truediv", "floordiv", "mod"})
_SHIFTS: Final = frozenset({"lshift", "rshift"})


def check_divisor(number: Any, divisor: Any) -> None:
    """Note the lanes in which Python would raise for a division by 0; arrays have NumPy's result."""
    if not lane_failures.is_wanted(ZeroDivisionError) or not np.shape(number) == np.shape(divisor) == ():
        return
    if is_tracer(divisor):
        lane_failures.fails(ZeroDivisionError, _BY_ZERO, divisor == 0)
    elif isinstance(divisor, (int, float)) and not divisor:
        lane_failures.surely_fails(ZeroDivisionError, _BY_ZERO)


def check_count(number: Any, count: Any) -> None:
    """Note the lanes in which Python would raise for a negative shift count."""
    if np.shape(number) == np.shape(count) == () and isinstance(count, (int, jax.Array)):
        lane_failures.fails_as_in_python(ValueError, "negative shift count", count < 0)


def operate(operation: str, *operands: Any) -> Any:
    """An operation, named as in ``operator``; bools are added, multiplied and so on as integers, as in Python.

    Only ``~`` differs from Python, where it is deprecated for bools: of a computed bool it is ``not``, as in JAX and
    NumPy.
    """
    for operand in operands:
        is_there(operand, f"`{operation}` of")
    operands = _as_lane_texts(operation, operands)
    if operation.removeprefix("i") == "mod" and type(operands[0]) is str:
        return text_formats.percent(*operands)
    if any(isinstance(operand, Choice) for operand in operands):
        return for_each(functools.partial(operate, operation), *operands)
    if (result := by_methods(operation, *operands)) is not NotImplemented:
        return result
    if any(isinstance(operand, LaneArray) for operand in operands):
        return of_lane_arrays(functools.partial(operate, operation), operation, *operands)
    operands = tuple(content(operand, f"__{operation}__") for operand in operands)
    if _repeats_a_list(operation, *operands):
        items, times = operands if is_tracer(operands[1]) else operands[::-1]
        operands = growing(items), times
    if operation.removeprefix("i") in _DIVISIONS:
        check_divisor(*operands)
    if operation.removeprefix("i") in _SHIFTS:
        check_count(*operands)
    if operation == "neg" and is_array(operands[0]) and jnp.issubdtype(operands[0].dtype, jnp.unsignedinteger):
        return -as_number(operands[0])
    if operation in _BITWISE or not all(map(_is_flag, operands)):
        binary = len(operands) == 2
        result = with_wide(operation, *operands) if binary else getattr(operator, operation)(*operands)
        check_overflow(operation.removeprefix("i") if binary else operation, result, *operands)
        return result
    if operation != "invert":
        return getattr(operator, operation)(*map(_as_number, operands))
    if getattr(operands[0], "weak_type", False):
        doubt(
            BatchTypeError(
                "`~` of a flag, which is a number in Python, and not in JAX",
                help="use `not`; or make a number of it, as in `~jnp.int32(a)`.",
            )
        )
    return ~operands[0]


def of_lane_arrays(function: Any, operation: str, *operands: Any) -> Any:
    """An operator on arrays, one of which has another length in each lane."""
    if operation.startswith("i") and operation != "invert":
        raise UnsupportedSyntaxError(
            "an array is changed in place by an operator, and it or the other operand has another length in each lane",
            help="write it out, as in `y = y + 1` or `x[i:j] = x[i:j] + y`.",
        )
    if operation == "matmul":
        return elementwise(operator.mul, *operands).sum()
    return elementwise(function, *operands)


def _as_lane_texts(operation: str, operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """Operands, with lanes' texts in place of known ones where the result is a lane's text."""
    name = operation.removeprefix("i")
    if any(isinstance(operand, LaneText) for operand in operands):
        own = as_texts(operands)
        if operation == "add" and not all(map(is_text, own)):
            one, other = (type_of(operand).__name__ for operand in own)
            raise TypeError(f"unsupported operand type(s) for +: '{one}' and '{other}'")
        return own[::-1] if name == "mul" and isinstance(own[1], LaneText) else own  # JAX would make an array of it
    if name == "add" and any(isinstance(one, Choice) for one in operands) and all(map(is_known_text, operands)):
        combinations = math.prod(len(objects_of(operand)) for operand in operands)
        return operands if combinations <= MOST_CHOICES else tuple(map(LaneText.of, operands))
    if name == "mul" and any(map(is_tracer, operands)) and any(map(is_known_text, operands)):
        return tuple(LaneText.of(one) if is_known_text(one) else one for one in sorted(operands, key=is_tracer))
    return operands


def _repeats_a_list(operation: str, *operands: Any) -> bool:
    """Whether a list or a tuple is repeated a number of times that differs between lanes."""
    is_product = operation.removeprefix("i") == "mul"
    are_items = any(type(one) in (list, tuple) or isinstance(one, Ring) for one in operands)
    return is_product and are_items and any(map(is_tracer, operands))


def _is_flag(value: Any) -> bool:
    """Whether a value stands for a Python bool: a bool, or a scalar array of bools."""
    if isinstance(value, (jax.Array, np.ndarray, np.bool_)):
        return bool(value.dtype == jnp.bool_) and value.shape == ()
    return type(value) is bool


def _as_number(value: Any) -> Any:
    """A bool as the Python integer that it equals."""
    return number(value) if isinstance(value, jax.Array) else int(value)


def augment(operation: str, target: Any, value: Any) -> Any:
    """``target += value`` and the like, if the target is a name.

    A list or a dict becomes another object, which stands for the old one; ``identity.py`` notes that.
    """
    grows = isinstance(value, Growing) or _repeats_a_list(operation, target, value)
    if isinstance(target, (list, dict, set)) and grows:
        error = BatchTypeError(
            f"a {type(target).__name__} becomes one of another length in each lane",
            help="give it a name, and change it in a statement of its own.",
        )
        error.about = identity.places_of(target) or type(target)
        raise error
    if isinstance(target, (list, dict)):
        new = getattr(operator, f"i{operation}")(copy.copy(target), value)
        identity.has_changed(target)
        identity.is_now(new, target)
        return new
    return changed_in_place(target, operate(f"i{operation}", target, value))


def augment_in_place(operation: str, target: Any, value: Any) -> Any:
    """``target += value`` and the like in the code of a function, where Python changes lists and dicts itself."""
    _refuse_shared(target, value)
    return _renewed(target, changed_in_place(target, operate(f"i{operation}", target, value)), sys._getframe(1))


def _refuse_shared(target: Any, value: Any) -> None:
    """Raise JAX's error where an array of NumPy's, which something else refers to, changes by a lane's value.

    The function that changes it is then followed, so that all names of the array are known.
    """
    if type(target) is np.ndarray and target.ndim and is_tracer(value):
        others = sys.getrefcount(target) - _REFERENCES
        if others > 0 or (target.base is not None and sys.getrefcount(target.base) > _REFERENCES_OF_BASE):
            raise jax.errors.TracerArrayConversionError(value)


def _references() -> int:
    """The number of references to an array of a function's variable that ``_refuse_shared`` counts."""

    def augmented(_: str, target: Any, value: Any) -> int:
        return counted(target, value)

    def counted(target: Any, _: Any) -> int:
        return sys.getrefcount(target)

    array = np.zeros(1)
    return augmented("add", array, None)


_REFERENCES: Final = _references()
_REFERENCES_OF_BASE: Final = 2
"""That of the view, and that of ``sys.getrefcount`` itself."""


def changed_in_place(target: Any, new: Any) -> Any:
    """The new object for an array that an augmented assignment changes in place; any other object has a new value."""
    if is_array(target) and np.ndim(target):
        identity.has_changed(target)
        identity.is_now(new, target)
    return new


def changed_in_function(target: Any, new: Any) -> Any:
    """``changed_in_place`` in the code of a function."""
    return _renewed(target, changed_in_place(target, new), sys._getframe(1))


def _renewed(target: Any, new: Any, frame: types.FrameType) -> Any:
    if is_array(target) and np.ndim(target):
        identity.is_renewed(target, new, frame)
    return new


def power(base: Any, exponent: Any, may_be_negative: bool) -> Any:
    """``base ** exponent``; for integers, the result is an integer or a float, depending on the sign of the exponent.

    Args:
        base: The base.
        exponent: The exponent.
        may_be_negative: Whether the exponent is a negated expression, or a variable that is assigned one.
    """
    for operand in (base, exponent):
        is_there(operand, "a power of")
    if isinstance(base, Choice) or isinstance(exponent, Choice):
        return for_each(lambda one, other: power(one, other, may_be_negative), base, exponent)
    if (result := by_methods("pow", base, exponent)) is not NotImplemented:
        return result
    if isinstance(base, LaneArray) or isinstance(exponent, LaneArray):
        return elementwise(lambda one, other: power(one, other, may_be_negative), base, exponent)
    base, exponent = (_as_number(value) if _is_flag(value) else value for value in (base, exponent))
    _check_power_of_zero(base, exponent)
    if not (is_tracer(base) or is_tracer(exponent)) or not all(map(_is_integer, (base, exponent))):
        return _checked_power(base, exponent)
    if is_tracer(exponent) and may_be_negative:
        doubt(
            BatchTypeError(
                "an integer to a power that may be negative: of which kind the result is depends on the lane",
                help="make the base a float, as in `2.0 ** i`; JAX gives 0 for negative powers of integers.",
            )
        )
    if type(exponent) is not int or exponent >= 0:
        check_exponent(base, exponent)
        return exact("pow", base, exponent)
    if base.weak_type:
        return (1.0 * base) ** exponent
    raise BatchTypeError(
        "an array of integers to a negative power",
        help="make it one of floats, as in `x.astype(float) ** -2`, or divide: `1 / x**2`.",
    )


def _check_power_of_zero(base: Any, exponent: Any) -> None:
    """Note the lanes in which Python would raise since 0 has a negative exponent."""
    if not lane_failures.is_wanted(ZeroDivisionError) or not np.shape(base) == np.shape(exponent) == ():
        return
    if is_tracer(base) or is_tracer(exponent):
        lane_failures.fails(ZeroDivisionError, "0.0 cannot be raised to a negative power", (base == 0) & (exponent < 0))


def _checked_power(base: Any, exponent: Any) -> Any:
    """A power; notes the lanes in which Python would raise since a float overflows."""
    result = base**exponent
    if not is_tracer(result) or result.shape or not jnp.issubdtype(result.dtype, jnp.floating):
        return result
    base, exponent = jnp.asarray(base), jnp.asarray(exponent)
    is_large = jnp.isinf(result) & jnp.isfinite(base) & jnp.isfinite(exponent) & (base != 0)
    lane_failures.fails_as_in_python(OverflowError, "Numerical result out of range", is_large)
    return result


def as_python(value: Any) -> Any:
    """A Python number of the type of a number that differs between lanes; any other value unchanged.

    A number with a dtype of its own may be a Python number of the caller's, since a batch of them is an array.
    """
    is_number = is_tracer(value) and value.shape == () and not jnp.issubdtype(value.dtype, jax.dtypes.extended)
    if is_number:
        number_classes.ask()
    return value.dtype.type(0).item() if is_number else value


def is_instance(value: Any, kind: Any) -> Any:
    """``isinstance``; a number with a dtype of its own is an instance of Python's, NumPy's and JAX's classes.

    An array with dimensions is an instance of NumPy's and JAX's.
    """
    if is_several(value) or isinstance(kind, Choice):
        return for_each(is_instance, value, kind)
    if isinstance(value, (Growing, Carrier)):
        kinds = tuple(one for one in (kind if isinstance(kind, tuple) else (kind,)) if isinstance(one, type))
        is_one = issubclass(value.python, kinds)
        if value.python is list and not is_one and issubclass(tuple, kinds):
            raise BatchTypeError(
                "whether this is a tuple is not known: a list whose length differs between lanes may stand for one, as "
                "those that `*` and `zip(*rows)` give",
                help="ask whether it is a list before that, as in `isinstance(x, (list, tuple))`.",
            )
        return is_one
    if is_held(value):
        if is_holder(type(value)):
            raise not_of_holders()
        kinds = kind if isinstance(kind, tuple) else (kind,)
        of_none = type(None) in kinds
        if isinstance(value, tuple(one for one in kinds if one is not type(None))):
            return True if of_none else is_referred_to(value)
        return logical_not(is_referred_to(value)) if of_none else False
    if is_boxable(value):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if has_content(value):
            return issubclass(python_class(type(value)), kinds)
        return isinstance(value, (*kinds, *map(class_for, kinds)))
    number = as_python(value)
    if getattr(value, "weak_type", False) and type(number) is int and _is_integer_enum(kind):
        raise BatchTypeError(
            "whether a number is a member of an `IntEnum` is not known: those that differ between lanes are numbers",
            help="compare it with the members, as in `n == Color.RED`, or ask before lanes have several.",
        )
    if is_tracer(value) and number is value:
        return any(isinstance(one, kind) for one in (value, *_of_numpy(value)))
    if number is value or getattr(value, "weak_type", False):
        return isinstance(number, kind)
    return any(isinstance(one, kind) for one in (number, value.dtype.type(0), value))


def _is_integer_enum(kind: Any) -> bool:
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return any(isinstance(one, type) and issubclass(one, enum.IntEnum) for one in kinds)


def _of_numpy(value: Any) -> tuple[np.ndarray, ...]:
    """An empty NumPy array with the dtype and number of axes of a JAX array that may stand for one; none for keys."""
    is_key = jnp.issubdtype(value.dtype, jax.dtypes.extended)
    return () if is_key else (np.empty((0,) * value.ndim, value.dtype),)


def type_of(value: Any) -> Any:
    """``type`` with one argument; the type of an array with dimensions is NumPy's."""
    if is_several(value):
        return for_each(type_of, value)
    if is_held(value):
        raise BatchTypeError(
            f"the class of a {type(value).__name__!r} is asked for, which may be None",
            help="write `isinstance(x, C)`.",
        ).of_references()
    if isinstance(value, (Growing, Carrier)):
        return value.python
    if has_content(value):
        return python_class(type(value))
    known = as_python(value)
    if known is not value and type(known) is int:
        number_classes.ask_for_member()
    return type(next(iter(_of_numpy(value)), value) if is_tracer(known) else known)


def has_attribute(value: Any, name: str) -> Any:
    """``hasattr``."""
    if is_several(value):
        return for_each(has_attribute, value, name)
    if isinstance(value, (Growing, Carrier)):
        return hasattr(value.python, name)
    known = as_python(value)
    is_number = known is not value  # of Python, of NumPy, or an array, but for what no number has
    return hasattr(known, name) or (
        not getattr(value, "weak_type", False) and hasattr(value, name) and not (is_number and name in _OF_ITEMS)
    )


_OF_ITEMS: Final = frozenset({"__len__", "__iter__", "__contains__", "__setitem__"})
"""Special methods of arrays with dimensions."""


def _is_integer(value: Any) -> bool:
    return bool(jnp.issubdtype(jnp.result_type(value), jnp.integer))
