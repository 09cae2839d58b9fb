"""A function that makes programs from a user's function -> one that caches them, by all that the latter reads."""

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
    """An entry of the cache.

    Attributes:
        arguments: The arguments of the call that made it: the user's function, and the others.
        reads: The names, arrays and attributes outside of the user's function that it reads, with their values.
        made: The result.
    """

    arguments: tuple[Any, ...]
    reads: hb.Surroundings
    made: Any


def kept(make: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """Cache the results of `make`, which are found again as long as all that the function reads outside is equal.

    Args:
        make: A function of the user's function and of hashable arguments.
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
