"""``math``: functions that go over a container whose length differs between lanes."""

from __future__ import annotations

import math
from typing import Any


def dist(p: Any, q: Any, /) -> Any:
    p, q = list(p), list(q)
    if len(p) != len(q):
        raise ValueError("both points must have the same number of dimensions")
    return _length([p[at] - q[at] for at in range(len(p))])


def fsum(seq: Any, /) -> Any:
    """A sum whose rounding errors are added up too, as in ``frontend/math_functions.py``."""
    total, lost = 0.0, 0.0
    for item in seq:
        number = float(item)
        new = total + number
        lost += (total - new) + number if abs(total) >= abs(number) else (number - new) + total
        total = new
    return total + lost if math.isfinite(total) else total


def gcd(*integers: Any) -> Any:
    greatest = 0
    for number in integers:
        greatest = math.gcd(greatest, number)
    return greatest


def hypot(*coordinates: Any) -> Any:
    return _length(coordinates)


def lcm(*integers: Any) -> Any:
    least = 1
    for number in integers:
        least = math.lcm(least, number)
    return least


def prod(iterable: Any, /, *, start: Any = 1) -> Any:
    product = start
    for item in iterable:
        product = product * item
    return product


def sumprod(p: Any, q: Any, /) -> Any:
    p, q = list(p), list(q)
    if len(p) != len(q):
        raise ValueError("Inputs are not the same length")
    total = 0
    for at in range(len(p)):
        total += p[at] * q[at]
    return total


def _length(coordinates: Any) -> Any:
    """The length of a vector; no square overflows."""
    sizes = [abs(float(coordinate)) for coordinate in coordinates]
    largest = max(sizes, default=0.0)
    scale = largest if 0 < largest < math.inf else 1.0
    return scale * math.sqrt(sum([(size / scale) ** 2 for size in sizes]))
