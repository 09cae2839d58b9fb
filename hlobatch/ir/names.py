"""Names of variables and functions: making unused ones, and reading what a name says."""

from __future__ import annotations

import collections
import re
from collections.abc import Container, Iterable, Iterator
from itertools import count
from typing import Final

OF_A_LANE: Final = "$lane."
"""Prefix of variables that belong to a lane and not to a call: every function may write them, and no call saves them.
They are sums that a lane accumulates, and tapes.
"""
SUM: Final = f"{OF_A_LANE}sum:"
"""Prefix of a lane's variables that are sums, read when the functions that add to them have ended."""


def is_of_a_lane(variable: str) -> bool:
    """Whether a variable belongs to a lane, and not to a call of a function."""
    return variable.startswith(OF_A_LANE)


def is_sum(variable: str) -> bool:
    """Whether a variable is a sum of the lane's, to which its functions add."""
    return variable.startswith(SUM)


def summed_for(variable: str) -> str:
    """The input of main whose cotangent the sum ``variable`` is."""
    return variable.removeprefix(SUM).split(":", 1)[0]


def is_tape(variable: str) -> bool:
    """Whether a variable is a tape: a stack of the lane, which a call may leave with another depth."""
    return is_of_a_lane(variable) and not is_sum(variable)


def unused(name: str, taken: Container[str], separator: str = ":") -> str:
    """The name if it is not taken, else the name with the lowest number that makes it unused: ``x``, ``x:2``."""
    if name not in taken:
        return name
    return next(other for i in count(2) if (other := f"{name}{separator}{i}") not in taken)


class NewNames:
    """Makes names as ``unused`` does, each in constant time, and takes them.

    Args:
        taken: Names that are in use.
    """

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)
        self._numbers: dict[str, Iterator[int]] = collections.defaultdict(lambda: count(2))

    def __call__(self, name: str) -> str:
        """The name if it is not taken, else the name with the lowest number that makes it unused."""
        if name in self._taken:
            name = next(other for i in self._numbers[name] if (other := f"{name}:{i}") not in self._taken)
        self._taken.add(name)
        return name


def at_a_loop(name: str, line: int, column: int, around: int) -> str:
    """A name for a variable of a generator whose statements stand in the place of a loop.

    Args:
        name: The variable.
        line: The line of the loop.
        column: Its column.
        around: The number of other loops around it that are written at this place.
    """
    return f"{name}_at_{line}_{column}{f'_{around}' if around else ''}"


AT_PLACE: Final = "at_"
"""Prefix, behind that of temporaries, of a variable for the value at a place in the user's code."""


def is_at_place(name: str) -> bool:
    """Whether a name, as in a program, is that of a value at a place in the user's code."""
    return name.startswith(f"${AT_PLACE}")


def of_one_kind(name: str, line: int, column: int, kind: int) -> str:
    """A name for a variable, in the statement at a place, in the lanes in which its object is of one kind."""
    place = f"{AT_PLACE}{line}_{column}_"
    known = _OF_ONE_KIND.match(name)
    if known is None or not name.startswith(place):
        return f"{place}{kind}_of_{as_written(name)}"
    return f"{known[0].removesuffix('of_')}{kind}_of_{name[known.end() :]}"


def is_of_one_kind(name: str) -> bool:
    """Whether a name was made by ``of_one_kind``."""
    return _OF_ONE_KIND.match(name) is not None


def as_written(name: str) -> str:
    """The name that the user gave a variable, for messages: without the place of a loop or of a statement."""
    return _OF_ONE_KIND.sub("", _PLACE.sub("", name))


_PLACE: Final = re.compile(r"_at_\d+_\d+$")
_OF_ONE_KIND: Final = re.compile(rf"^\$?{AT_PLACE}(\d+_)+of_")


def unsplit(variable: str) -> str:
    """The frontend's variable of which this one is a live range: ``f.x`` of ``f.x:2``."""
    return variable.split(":", 1)[0]
