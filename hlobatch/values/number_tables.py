"""Numbers of several kinds -> numbers or an array of one dtype that holds all of them.

::

    [1, 2.5]           float32[2]
    n if t else 2.5    two float32, of which a lane takes one
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, Final

import jax.numpy as jnp
import numpy as np

from hlobatch._jax import weakly
from hlobatch.diagnostics import BatchTypeError
from hlobatch.typing import DType
from hlobatch.values import number_classes
from hlobatch.values.whole_numbers import default, fits, holding_all

_DTYPES_OF: Final = {bool: np.bool_, int: np.integer, float: np.floating, complex: np.complexfloating}
"""Python's classes of numbers, the narrowest first, each with the NumPy class of the dtypes of its numbers."""
NUMBERS: Final = tuple(_DTYPES_OF)
"""Python's classes of numbers, the narrowest first."""


def class_of(dtype: DType) -> type:
    """Python's class of the numbers of a dtype, which may have any number of bits."""
    return next(own for own, dtypes in _DTYPES_OF.items() if jnp.issubdtype(dtype, dtypes))


def is_integer(value: Any) -> bool:
    """Whether a number is an integer or a bool."""
    dtype = jnp.result_type(value)
    return dtype == jnp.bool_ or bool(jnp.issubdtype(dtype, jnp.integer))


def is_wide(value: Any) -> bool:
    """Whether a value is a Python integer that does not fit JAX's signed integers."""
    return type(value) is int and not fits(value, default(int))


def together(values: Any) -> list[Any]:
    """Numbers or arrays, converted to a dtype that can hold all of them.

    Raises:
        BatchTypeError: There is no such dtype, as for an ``int32`` and a ``uint32``.
    """
    _note_members(values)
    if any(map(is_wide, values)) and any(not is_wide(value) and not is_integer(value) for value in values):
        values = [float(value) if is_wide(value) else value for value in values]
    of_all = holding_all(values)
    dtype = jnp.result_type(*of_all)
    for value in of_all:
        own = jnp.result_type(value)
        loses_sign = jnp.issubdtype(own, jnp.unsignedinteger) and jnp.issubdtype(dtype, jnp.signedinteger)
        if loses_sign and own.itemsize >= dtype.itemsize:
            raise BatchTypeError(
                f"one number is {own}, another is signed, and no dtype holds both",
                help=f"convert one of them, as in `jnp.{own}(n)` where it is never below zero.",
            )
    return of_all


def numbers(values: Sequence[Any]) -> np.ndarray:
    """Python's numbers as an array of the dtype that JAX gives them, unsigned if one needs all bits."""
    _note_members(values)
    kinds = {next(kind for kind in NUMBERS if issubclass(own, kind)) for own in set(map(type, values))}
    kind = next(iter(kinds)) if len(kinds) == 1 else type(sum(kind() for kind in kinds))
    dtype = default(kind)
    if kind is int and max(values) > np.iinfo(dtype).max and min(values) >= 0:
        dtype = np.dtype(f"u{dtype}")
    return np.array(values, dtype)


def _note_members(values: Sequence[Any]) -> None:
    if any(issubclass(own, enum.IntEnum) for own in set(map(type, values))):
        number_classes.member_is_number()


def table_of(values: Sequence[Any]) -> np.ndarray | None:
    """Python's numbers of one class as an array; None if they are not such, or one of them is too large.

    It takes some hundredths of a second for a million numbers.
    """
    kinds = set(map(type, values))
    if len(kinds) != 1 or not kinds <= set(NUMBERS):
        return None
    if kinds == {int} and any(map(is_wide, (min(values), max(values)))):
        return None
    return numbers(values)


def from_table(value: Any, table: np.ndarray) -> Any:
    """A number read from a table, with the weak type of a Python number unless it is unsigned."""
    return value if table.dtype.kind == "u" else weakly(value, table.dtype)
