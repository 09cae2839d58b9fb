"""Names of variables and functions: new ones that nothing else has, and what a variable was called at first."""

from __future__ import annotations

import collections
from collections.abc import Container, Iterable, Iterator
from itertools import count
from typing import Final

OF_A_LANE: Final = "$lane."
"""How names of variables begin that belong to a lane, and not to a call of one of its functions: every function may
write them, and no call saves them. Sums that the lane adds to are such variables, and what it keeps on a tape."""
SUM: Final = f"{OF_A_LANE}sum:"
"""How names of such variables begin that outlive the function that writes them."""


def is_of_a_lane(variable: str) -> bool:
    """Whether a variable belongs to a lane, and not to a call of a function."""
    return variable.startswith(OF_A_LANE)


def is_sum(variable: str) -> bool:
    """Whether a variable is a sum that functions of a lane add to, and that is read when all of them have ended."""
    return variable.startswith(SUM)


def summed_for(variable: str) -> str:
    """The input of main whose cotangent a variable is the sum of."""
    return variable.removeprefix(SUM).split(":", 1)[0]


def is_tape(variable: str) -> bool:
    """Whether a variable is a stack of a lane, which no call leaves as it was."""
    return is_of_a_lane(variable) and not is_sum(variable)


def unused(name: str, taken: Container[str], separator: str = ":") -> str:
    """The name itself if nothing has it, else with the first number that makes it one of its own: ``x``, ``x:2``."""
    if name not in taken:
        return name
    return next(other for i in count(2) if (other := f"{name}{separator}{i}") not in taken)


class NewNames:
    """Gives names that nothing else has, one after the other; as ``unused``, but each in no time.

    Args:
        taken: Names that something has already.
    """

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)
        self._numbers: dict[str, Iterator[int]] = collections.defaultdict(lambda: count(2))

    def __call__(self, name: str) -> str:
        """The name itself if nothing has it, else with the first number that makes it one of its own."""
        if name in self._taken:
            name = next(other for i in self._numbers[name] if (other := f"{name}:{i}") not in self._taken)
        self._taken.add(name)
        return name


def unsplit(variable: str) -> str:
    """The frontend's variable that one is a live range of: ``f.x`` of ``f.x:2``."""
    return variable.split(":", 1)[0]
