"""Objects of the user's classes, and unsorted dicts -> ``Boxed`` pytrees of their attributes, which may hold arrays.

::

    p = Pop(n)                  %p = Pop(u=i32[])
    p.u += 1

JAX takes an object of a plain class for a leaf, and sorts the keys of a dict. A box makes the attributes of the object,
which may differ between lanes, parts of a variable's value. An object from outside of the function, or in a static
argument, is one Python object for all lanes, and is not boxed.
"""

from __future__ import annotations

import abc
import functools
import typing
from collections.abc import Callable, Collection
from typing import Any, Final

import jax

from hlobatch.diagnostics import UnsupportedSyntaxError
from hlobatch.ir.boxed import Boxed, in_own_order, is_in_own_order
from hlobatch.ir.reference import Nothing, to
from hlobatch.ir.walk import attributes
from hlobatch.prelude import bases, in_turn, is_registered
from hlobatch.values.draws import is_users_class
from hlobatch.values.held_classes import MARK, is_held

_BASES: Final = frozenset({object, abc.ABC, typing.Generic, typing.Protocol})
_OF_PRELUDE: Final = (bases.__name__, in_turn.__name__)
"""The modules with classes of objects that lanes hold in place of Python's."""
_METACLASSES: Final = (type, abc.ABCMeta, type(typing.Protocol))


def is_boxable(value: Any) -> bool:
    """Whether a value is an object of a class of the user's, all of whose state is in its attributes."""
    cls: Any = type(value)
    return _is_plain(cls) or cls is Nothing


@functools.lru_cache(maxsize=1024)
def _is_plain(cls: type) -> bool:
    if cls in _BASES or type(cls) not in _METACLASSES or hasattr(cls, "__hlobatch_function__"):
        return False
    own = [base for base in cls.__mro__ if base not in _BASES and not _is_plain_exception(base)]
    return all(
        (is_registered(base) or is_users_class(base) or base.__module__ in _OF_PRELUDE) and not _has_own_setting(base)
        for base in own
    )


def _is_plain_exception(cls: type) -> bool:
    """Whether a class is one of Python's exceptions, all of whose state is in ``args``."""
    is_pythons = issubclass(cls, BaseException) and cls.__module__ == "builtins"
    return is_pythons and cls.__basicsize__ == BaseException.__basicsize__


def _has_own_setting(cls: type) -> bool:
    """Whether assignment to an attribute runs code of the class, other than a frozen dataclass's refusal."""
    params = getattr(cls, "__dataclass_params__", None)
    is_frozen = params is not None and params.frozen
    return any(name in vars(cls) for name in ("__setattr__", "__delattr__")) and not is_frozen and MARK not in vars(cls)


def attributes_of(value: Any) -> dict[str, Any]:
    """The attributes of an object, sorted by name."""
    return dict(sorted(attributes(value).items()))


def boxed(value: Any, static: Collection[int], attribute: Callable[[Any], Any] = lambda value: value) -> Any:
    """The pytree with boxes in place of objects, and of dicts whose keys JAX would sort.

    Args:
        value: The pytree.
        static: Ids of the objects that are not boxed.
        attribute: A function applied to the value of each attribute before that is boxed.

    Raises:
        UnsupportedSyntaxError: An object refers to itself.
    """
    return _boxed(value, static, attribute, ())


def _boxed(value: Any, static: Collection[int], attribute: Callable[[Any], Any], around: tuple[int, ...]) -> Any:
    """The pytree with boxes, as a part of the objects whose ids are ``around``."""

    def box(leaf: Any) -> Any:
        if is_in_own_order(leaf):
            return in_own_order(leaf, lambda part: _boxed(part, static, attribute, around))
        if id(leaf) in static or not is_boxable(leaf):
            return leaf
        if id(leaf) in around:
            raise UnsupportedSyntaxError(
                f"an object of {type(leaf).__name__!r} refers to itself",
                help="keep its parts in arrays or lists, and refer to them by their index.",
            )
        if is_held(leaf):
            return to(type(leaf), leaf.hb_number)
        own, inside = attributes_of(leaf), (*around, id(leaf))
        return Boxed(
            type(leaf), tuple(own), tuple(_boxed(attribute(part), static, attribute, inside) for part in own.values())
        )

    return jax.tree.map(box, value, is_leaf=is_in_own_order)
