"""A Python object to be kept in a variable -> an error if it is an iterator, or refers to arrays of the traced code.

The value of a variable is a pytree of arrays, and of objects that are known when the program is built. A statement is
traced once, however often it runs. So an object that refers to an array of a lane, as a closure may, would keep the
array of that one trace.
"""

from __future__ import annotations

import functools
import gc
import itertools
import types
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Sequence, ValuesView
from typing import Any, Final

import jax
import numpy as np

from hlobatch._jax import is_of_this_trace, is_tracer
from hlobatch.diagnostics import UnsupportedSyntaxError
from hlobatch.ir.walk import PLAIN, around, defaults, walked
from hlobatch.values.boxes import attributes_of, is_boxable
from hlobatch.values.carriers import in_words

MOST_OBJECTS_SEARCHED: Final = 10_000
"""Most objects searched for references to traced values, the nearest first."""
ATOMS: Final = (*PLAIN, type, types.ModuleType, types.CodeType, np.ndarray)
"""Classes of objects whose references need not be searched."""

_SOME: Final[Sequence[Iterable[Any]]] = ([], (), range(0), "", {}, set())
ITERATORS: Final[tuple[type, ...]] = (*(type(iter(some)) for some in _SOME), itertools.count, itertools.cycle)
"""Classes of Python's iterators that are mostly kept for calls of ``next``."""


def gives_values(value: Any) -> bool:
    """Whether an object is a library's iterator or a view of a dict, which JAX would take for a container or refuse."""
    kind: Any = type(value)
    return _are_of_values(kind) and not is_boxable(value)


@functools.lru_cache(maxsize=1024)
def _are_of_values(kind: type) -> bool:
    return issubclass(kind, (Iterator, KeysView, ValuesView, ItemsView))


def holds_iterator(value: Any) -> bool:
    """Whether a value is an iterator of Python's, or an object of the user's with one in an attribute."""
    held = [value, *attributes_of(value).values()] if is_boxable(value) else [value]
    return any(isinstance(one, ITERATORS) for one in held)


def refuse_kept(value: Any) -> None:
    """Refuse to keep an object in a variable if it is an iterator, or refers to a value of the traced statement.

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
    if (refuse := getattr(type(value), "hb_refuse_kept", None)) is not None:
        refuse(value)
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
    left = itertools.repeat(None, MOST_OBJECTS_SEARCHED)
    reached = walked([value], lambda item: (part for part, _ in zip(_parts(item), left, strict=False)))
    return any(is_tracer(item) and is_of_this_trace(item) for item in reached)


def _parts(item: Any) -> Iterable[Any]:
    """The objects that an object refers to; of a function, globals are left out."""
    if isinstance(item, (*ATOMS, jax.Array)) or is_tracer(item):
        return ()
    if not isinstance(item, types.FunctionType):
        return gc.get_referents(item)
    return [*around(item).values(), *defaults(item).values(), *vars(item).values()]


def _kind(value: Any) -> str:
    return in_words(type(value).__name__)
