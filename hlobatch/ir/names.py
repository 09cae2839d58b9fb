"""Names of variables and functions: new ones that nothing else has, and what a variable was called at first."""

from __future__ import annotations

import collections
from collections.abc import Container, Iterable, Iterator
from itertools import count


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
