"""What makes programs of a user's function -> the same, which makes them once for all that the function reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

import hlobatch as hb

P = ParamSpec("P")
R = TypeVar("R")
MOST_KEPT: Final = 16


@dataclass
class _Kept:
    """What was made.

    Attributes:
        arguments: Of what: the user's function, and more.
        reads: What the function read outside of it, names, arrays and attributes of objects.
        made: What was made.
    """

    arguments: tuple[Any, ...]
    reads: hb.Surroundings
    made: Any


def kept(make: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """Have what is made of a function found again, as long as all that the function reads outside is equal.

    Args:
        make: Takes the function, and what can be hashed.
    """
    all_kept: list[_Kept] = []

    def found(function: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        arguments = (function, args, tuple(kwargs.items()))
        alike = [one for one in all_kept if one.arguments == arguments]
        one = next((one for one in alike if one.reads.are_as_before()), None)
        if one is None:
            now = hb.Surroundings([function])
            one = next((one for one in alike if one.reads.are_like(now)), None)
            one = one or _Kept(arguments, now, make(function, *args, **kwargs))
            one.reads = now
        all_kept[:] = [*(other for other in all_kept if other is not one), one][-MOST_KEPT:]
        made: R = one.made
        return made

    return found
