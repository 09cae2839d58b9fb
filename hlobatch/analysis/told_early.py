"""Code with operands that have no type in this round -> the facts it tells all the same, to save rounds.

::

    t = t + a.area(n)        tells that ``Square.area`` has to be followed, and ``t`` has no type in this round
    t = t + b.area(n)        tells that ``Circle.area`` has to be, before the type of ``t`` is needed

A stand-in takes the place of an operand without a type, and raises at any use. Code that uses it tells no more facts in
this round.
"""

from __future__ import annotations

import types
from typing import Any, Final

import jax

from hlobatch.ir.types import Static, Type
from hlobatch.ir.walk import around
from hlobatch.values.facts import Site


class AskedTooEarlyError(Exception):
    """Raised while code is traced: it uses an operand that has no type in this round."""


class NoTypeYet:
    """The stand-in for a value that has no type in this round."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __getattr__(self, name: str) -> Any:
        raise AskedTooEarlyError(name)


def _refuse(*_: Any) -> Any:
    raise AskedTooEarlyError


_OF_EVERY_OBJECT: Final = ("new", "init", "getattribute", "hash", "doc", "getnewargs", "sizeof", "class_getitem")
for _name in {name for kind in (int, float, complex, list) for name in vars(kind)} | {"__call__", "__enter__"}:
    if _name.startswith("__") and _name.strip("_") not in _OF_EVERY_OBJECT:
        setattr(NoTypeYet, _name, _refuse)

NO_TYPE_YET: Final = Type(Static(NoTypeYet()))
"""The type of the stand-in."""


def may_tell_early(function: Any) -> bool:
    """Whether code may tell a fact about a place in it."""
    return isinstance(function, types.FunctionType) and any(isinstance(v, Site) for v in around(function).values())


def check_types(values: Any) -> None:
    """Check that no value in a pytree is the stand-in.

    Raises:
        AskedTooEarlyError: One is.
    """
    if any(isinstance(leaf, NoTypeYet) for leaf in jax.tree.leaves(values)):
        raise AskedTooEarlyError
