"""Joins the numbers of a list into one array and splits it again, in code that is being traced.

::

    counts[i] += 1        a = as_one(counts); counts = in_parts(a.at[i].add(1))

A list of fixed length is a Python object, and each of its numbers is a variable of the program. An operation that
indexes it by a lane's value works on one array. ``as_one`` and ``in_parts`` are functions that a jaxpr calls by name,
so that ``transforms/merge_lists.py`` sees where numbers become an array and an array numbers, and keeps the array.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import jax
import jax.numpy as jnp
from jax import lax

from hlobatch._jax import Equation, weakly

LEAST_NUMBERS_JOINED: Final = 16
"""Numbers from which a list is joined to an array; for fewer, selecting one of them costs less than an array. Chosen by
judgement (2026-11), not measured.
"""


def _numbers_as_one(*numbers: Any) -> Any:
    dtype, weak = numbers[0].dtype, all(number.weak_type for number in numbers)
    joined = lax.concatenate([lax.reshape(lax.convert_element_type(n, dtype), (1,)) for n in numbers], 0)
    return weakly(joined, dtype) if weak else joined


def _one_as_numbers(array: Any) -> tuple[Any, ...]:
    numbers = [lax.squeeze(lax.slice_in_dim(array, k, k + 1), (0,)) for k in range(array.shape[0])]
    return tuple(weakly(n, array.dtype) for n in numbers) if array.weak_type else tuple(numbers)


_as_one, _in_parts = jax.jit(_numbers_as_one), jax.jit(_one_as_numbers)


def as_one(numbers: Sequence[Any]) -> Any:
    """Scalars of one dtype as an array of one dimension; it is weak if all of them are."""
    return _as_one(*numbers)


def in_parts(array: Any) -> tuple[Any, ...]:
    """The elements of an array of one dimension, as scalars."""
    return _in_parts(array)  # type: ignore[no-any-return]


def makes_one(equation: Equation) -> bool:
    """Whether an equation of a jaxpr is a call of ``as_one``."""
    return bool(equation.params.get("name") == _numbers_as_one.__name__)


def makes_parts(equation: Equation) -> bool:
    """Whether an equation of a jaxpr is a call of ``in_parts``."""
    return bool(equation.params.get("name") == _one_as_numbers.__name__)


def are_of_one_dtype(values: Sequence[Any]) -> bool:
    """Whether values are scalar arrays of one dtype, and enough of them to be worth joining."""
    if len(values) < LEAST_NUMBERS_JOINED:
        return False
    kinds = {_kind(value) for value in values}
    return len(kinds) == 1 and _kind(values[0]) is not None


def _kind(value: Any) -> Any:
    return value.dtype if isinstance(value, jax.Array) and value.ndim == 0 else None


# Tables: nested lists, whose numbers lie in one array row by row


def nearest(indices: Sequence[Any], shape: Sequence[int]) -> Any:
    """The position of an element of a table in its array; an index out of range is clamped.

    Args:
        indices: Python integers, which are in range, or traced scalars.
        shape: The number of parts on each level, then the number of array elements in each innermost part.
    """
    sizes = zip(indices, shape, strict=False)
    return _flat([i if isinstance(i, int) else lax.clamp(0, _signed(i, n), n - 1) for i, n in sizes], shape)


def exact(indices: Sequence[Any], shape: Sequence[int]) -> Any:
    """The position of an element of a table in its array; -1, or past the array's end, for an index out of range.

    Args:
        indices: Python integers, which are in range, or traced scalars.
        shape: The number of parts on each level, then the number of array elements in each innermost part.
    """
    found = list[Any]()
    inside: Any = True
    for level, (index, size) in enumerate(zip(indices, shape, strict=False)):
        if isinstance(index, int):
            found.append(index)
            continue
        # Clamped, so that the position computed below cannot overflow.
        found.append(lax.clamp(-1, _signed(index, size), size))
        if level > 0:
            inside &= (found[-1] >= 0) & (found[-1] < size)
    place = _flat(found, shape)
    return place if inside is True else jnp.where(inside, place, -1)


def _flat(indices: Sequence[Any], shape: Sequence[int]) -> Any:
    """The position of an element's first number, from one index per level."""
    place = indices[0]
    for index, size in zip(indices[1:], shape[1:], strict=False):
        place = place * size + index
    return place if shape[-1] == 1 else place * shape[-1]


def read_at(array: Any, place: Any, count: int) -> Any:
    """``count`` elements of an array from a position in range."""
    return lax.dynamic_slice(array, (place,), (count,), allow_negative_indices=False)


def written_at(array: Any, place: Any, numbers: Any) -> Any:
    """The array with ``numbers`` written from a position; unchanged if the position is out of range."""
    return lax.scatter(
        array,
        lax.reshape(place, (1,)),
        numbers,
        lax.ScatterDimensionNumbers((0,), (), (0,)),
        indices_are_sorted=True,
        unique_indices=True,
        mode=lax.GatherScatterMode.FILL_OR_DROP,
    )


def _signed(index: Any, size: int) -> Any:
    """An index as the default integer type; one that is too large for it becomes the size, which is past the end."""
    signed = jax.dtypes.canonicalize_dtype(int)
    if jnp.issubdtype(index.dtype, jnp.unsignedinteger) and index.dtype.itemsize >= signed.itemsize:
        index = jnp.minimum(index, size)
    return index if index.dtype == signed else lax.convert_element_type(index, signed)
