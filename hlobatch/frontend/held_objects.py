"""A function -> the classes of which it may make objects that can be held in columns, with their attributes.

::

    class Node:
        def __init__(self, v, next=None):
            self.v = v                              Node: v, next
            self.next = next

The classes are those that the code of the function names, and the code of functions that it names.
"""

from __future__ import annotations

import abc
import enum
import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any, Final

from hlobatch.diagnostics import HloBatchError
from hlobatch.frontend.dataclass_init import init_of
from hlobatch.frontend.files import is_users
from hlobatch.frontend.rewriting.inner_classes import with_classes
from hlobatch.frontend.source import source_of
from hlobatch.frontend.sure_attributes import sure_attributes
from hlobatch.ir.walk import around, walked
from hlobatch.values.draws import is_users_class, names_of
from hlobatch.values.held_classes import HeldInColumns, held, held_class


def initializer(kind: Any) -> types.FunctionType | None:
    """The ``__init__`` of a class that is held in columns; None for any other object."""
    return None if held_class(kind) is None else init_of(kind)


def is_initializer(function: Any) -> bool:
    """Whether a function is the ``__init__`` of a class that is held in columns."""
    known = held()
    return known is not None and any(init_of(kind) is function for kind, _ in known.kinds)


def candidates(function: Callable[..., Any]) -> HeldInColumns | None:
    """The classes that a function may make objects of, and that can be held in columns; None if there are none.

    Args:
        function: The batched function.
    """
    found = dict.fromkeys(one for one in _reached(function) if isinstance(one, type) and _is_plain(one))
    kinds = ((kind, sure_attributes(kind)) for kind in found)
    known = tuple((kind, tuple(sorted(names))) for kind, names in kinds if names)
    return HeldInColumns(known) if known else None


def _reached(function: Callable[..., Any]) -> Iterator[Any]:
    """The user's functions and classes that code of a function names, and those that these name."""
    return walked([inspect.unwrap(function)], lambda one: list(_named(one)))


def _named(one: Any) -> Iterator[Any]:
    match one:
        case types.FunctionType() if is_users(one):
            values = [one.__globals__[name] for name in names_of(one) if name in one.__globals__]
            yield from filter(_is_users, map(_plain, (*values, *around(one).values(), *_inside(one))))
        case type() if is_users_class(one):
            members = [vars(base).values() for base in one.__mro__ if is_users_class(base)]
            functions = (part for member in members for value in member for part in _functions(value))
            yield from (part for part in functions if is_users(part))


def _plain(value: Any) -> Any:
    """A function without what wraps it, such as ``hb.batch``; any other object unchanged."""
    while hasattr(value, "__wrapped__") and not isinstance(value, (types.FunctionType, type)):
        value = value.__wrapped__
    return getattr(value, "__hlobatch_function__", value)


def _is_users(value: Any) -> bool:
    return isinstance(value, types.FunctionType) or (isinstance(value, type) and is_users_class(value))


def _inside(function: types.FunctionType) -> Iterator[type]:
    """The classes that are defined inside of a function."""
    try:
        yield from with_classes(source_of(function)).classes.values()
    except HloBatchError:
        return


def _functions(value: Any) -> Iterator[types.FunctionType]:
    """The functions of a member of a class."""
    for part in (value.fget, value.fset) if isinstance(value, property) else (getattr(value, "__func__", value),):
        if isinstance(part, types.FunctionType):
            yield part


_STRANGE: Final = ("__new__", "__setattr__", "__getattr__", "__getattribute__", "__delattr__", "__init_subclass__")
"""Methods with which objects are made, or have attributes, in a way of their own."""


def _is_plain(kind: type) -> bool:
    """Whether objects of a class are made as usual, and all their state is in attributes."""
    own = [base for base in kind.__mro__ if is_users_class(base)]
    others = {base for base in kind.__mro__ if base not in own}
    if type(kind) not in (type, abc.ABCMeta) or not others <= {object, abc.ABC} or issubclass(kind, enum.Enum):
        return False
    is_frozen = getattr(getattr(kind, "__dataclass_params__", None), "frozen", False)
    has_rules = any(name in vars(base) for base in own for name in _STRANGE)
    return not (is_frozen or has_rules or hasattr(kind, "__enter__") or hasattr(kind, "__next__"))
