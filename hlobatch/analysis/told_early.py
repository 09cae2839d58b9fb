"""Code that is given what has no type in this round -> what it tells all the same, so that a round tells all at once.

::

    t = t + a.area(n)        tells that ``Square.area`` has to be followed, and ``t`` has no type in this round
    t = t + b.area(n)        tells that ``Circle.area`` has to be, before anything asks what ``t`` is

An object stands for what has no type, of which nothing can be asked. Code that asks tells nothing in this round.
"""

from __future__ import annotations

import types
from typing import Any, Final

import jax

from hlobatch.analysis.facts import Site
from hlobatch.ir.types import Static, Type
from hlobatch.ir.walk import around


class AskedTooEarlyError(Exception):
    """Raised in code that is being traced: it asks something of what has no type in this round."""


class NoTypeYet:
    """What stands for a value that has no type in this round."""

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
"""The type of what has none."""


def may_tell_early(function: Any) -> bool:
    """Whether code may tell a fact about a place in it."""
    return isinstance(function, types.FunctionType) and any(isinstance(v, Site) for v in around(function).values())


def check_types(values: Any) -> None:
    """Look whether all of some values have types.

    Raises:
        AskedTooEarlyError: One has none in this round.
    """
    if any(isinstance(leaf, NoTypeYet) for leaf in jax.tree.leaves(values)):
        raise AskedTooEarlyError
