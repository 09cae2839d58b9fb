"""The arrays of a result -> the value that the caller of a batched function gets.

::

    i32[batch], f32[batch]  of the type  Boxed(Point, x, y)           ==>  a Point whose x and y are these arrays
    i32[batch, 64], i32[batch]  of the type  GrowingList(items, size)  ==>  a Ragged of these arrays
"""

from __future__ import annotations

from typing import Any

import jax

from hlobatch.ir.boxed import Boxed, as_python, in_python, unboxed
from hlobatch.ir.growing import is_growing
from hlobatch.ir.physical import rebuild
from hlobatch.ir.types import Type
from hlobatch.values.ragged import Ragged


def user_value(arrays: list[Any], type_: Type) -> Any:
    """The value of a type that is stored in ``arrays``, without our own kinds of value in it.

    Args:
        arrays: Arrays ``[batch, *event]``, as they are stored.
        type_: The type of one lane's value.
    """
    return without_own_kinds(rebuild(arrays, type_), type_)


def without_own_kinds(value: Any, type_: Type) -> Any:
    """A value of a type, with what the caller knows in place of our own kinds of value."""
    return unboxed(jax.tree.map(_returned, value, is_leaf=_is_ragged) if type_.grows else value, as_python)


def _is_ragged(part: Any) -> bool:
    """Whether a part is a container of another length in each lane, or an object with one in it."""
    return is_growing(part) or (isinstance(part, Boxed) and is_growing(part.hb_content))


def _returned(part: Any) -> Any:
    if not _is_ragged(part):
        return part
    arrays, structure = jax.tree.flatten(part)
    return Ragged(arrays, structure) if arrays else in_python(part)  # without arrays it is empty in all lanes
