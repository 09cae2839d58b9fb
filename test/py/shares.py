"""Which of many forms of a run a program gets in the usual run of the tests; at night each program gets all of them."""

import zlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def share(name: str, among: Sequence[T], count: int = 1) -> tuple[T, ...]:
    """As many of them as asked for, by the program's name: programs divide them between each other evenly."""
    first = zlib.crc32(name.encode()) % len(among)
    apart = len(among) / count
    return tuple(among[(first + round(i * apart)) % len(among)] for i in range(count))
