"""Names of variables and functions: new ones that nothing else has, and what a variable was called at first."""

from __future__ import annotations

from collections.abc import Container
from itertools import count


def unused(name: str, taken: Container[str], separator: str = ":") -> str:
    """The name itself if nothing has it, else with the first number that makes it one of its own: ``x``, ``x:2``."""
    if name not in taken:
        return name
    return next(other for i in count(2) if (other := f"{name}{separator}{i}") not in taken)


def unsplit(variable: str) -> str:
    """The frontend's variable that one is a live range of: ``f.x`` of ``f.x:2``."""
    return variable.split(":", 1)[0]
