"""A Python object that a variable would hold -> an error if it is an iterator, or refers to arrays of the traced code.

The value of a variable is a pytree of arrays, and of objects that are known when the program is built. A statement is
traced once, however often it runs. So an object that refers to an array of a lane, as a closure may, would keep the
array of that one time.
"""

from __future__ import annotations

import collections
import gc
import itertools
import types
from collections.abc import ItemsView, Iterable, Iterator, KeysView, ValuesView
from typing import Any, Final

import jax
import numpy as np

from hlobatch._jax import is_of_this_trace, is_tracer
from hlobatch.analysis.carriers import in_words
from hlobatch.diagnostics import UnsupportedSyntaxError

MOST_OBJECTS_SEARCHED: Final = 10_000
"""Objects looked at, of those that an object refers to, the nearest first."""
ATOMS: Final = (str, bytes, int, float, complex, types.NoneType, type, types.ModuleType, types.CodeType, np.ndarray)
"""What refers to no object that matters here."""
EMPTY: Final = types.CellType()
"""A variable around a function that has no value yet."""


def gives_values(value: Any) -> bool:
    """Whether an object is an iterator or a view of a dict, which JAX is about to take for containers or for errors."""
    return isinstance(value, (Iterator, KeysView, ValuesView, ItemsView))


def refuse_kept(value: Any) -> None:
    """Refuse to keep an object in a variable that is an iterator, or refers to a value of the traced statement.

    Raises:
        UnsupportedSyntaxError: The object is of that kind.
    """
    if isinstance(value, Iterator):
        raise UnsupportedSyntaxError(
            f"an iterator kept in a variable, a {_kind(value)}, is used up as the program is built, not as it runs",
            help="write it where it is used, or keep a tuple of what it gives.",
        )
    if not reaches_value(value):
        return
    if not callable(value):
        raise UnsupportedSyntaxError(
            f"an object kept in a variable, a {_kind(value)}, holds what differs between lanes, and is no pytree",
            help="use a tuple, a dict or a NamedTuple, or make its class one with @jax.tree_util.register_dataclass.",
        )
    if isinstance(value, types.MethodType):
        raise UnsupportedSyntaxError(
            f"a method kept in a variable, {value.__name__!r}, is of an object that holds a value of the program",
            help="call it by its object where it is used, under a test of its own, or pass the value to it.",
        )
    raise UnsupportedSyntaxError(
        "a function kept in a variable uses a value of the program",
        help="write the lambda where it is used, or pass the value to it.",
    )


def reaches_value(value: Any) -> bool:
    """Whether an object refers to a value of the statement that is being traced."""
    pending, seen = collections.deque([value]), set[int]()
    for _ in range(MOST_OBJECTS_SEARCHED):
        if not pending:
            break
        item = pending.popleft()
        if is_tracer(item):
            if is_of_this_trace(item):
                return True
        elif id(item) not in seen and not isinstance(item, (*ATOMS, jax.Array)):
            seen.add(id(item))
            pending.extend(itertools.islice(_parts(item), MOST_OBJECTS_SEARCHED))
    return False


def _parts(item: Any) -> Iterable[Any]:
    """What an object refers to; of a function not the names of its module."""
    if not isinstance(item, types.FunctionType):
        return gc.get_referents(item)
    cells = (cell.cell_contents for cell in item.__closure__ or () if cell != EMPTY)
    return [*cells, item.__defaults__, item.__kwdefaults__, vars(item)]


def _kind(value: Any) -> str:
    return in_words(type(value).__name__)
