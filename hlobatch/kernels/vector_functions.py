"""A function of libm -> the one of the system's library that computes it for several lanes at once, if it has one.

glibc's ``libmvec`` has them for the vectors of x86 and ARM; results differ from the exact ones by at most 4 units in
the last place.
"""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

_LETTERS: Final = {("x86_64", 512): "e", ("x86_64", 256): "d", ("x86_64", 128): "b", ("aarch64", 128): "n"}
"""What names have for the vectors of a processor, by their bits."""
_BITS: Final = {"float": 32, "double": 64}


@dataclass(frozen=True)
class VectorFunction:
    """A function of vectors.

    Attributes:
        name: Its symbol.
        lanes: Numbers in a vector.
    """

    name: str
    lanes: int

    @classmethod
    def find(cls, name: str, operands: Sequence[str], result: str, bits: int) -> VectorFunction | None:
        """The function of vectors, if this system has it.

        Args:
            name: That of libm for numbers.
            operands: LLVM's types of its operands.
            result: That of its result.
            bits: Of the processor's vectors.
        """
        letter = _LETTERS.get((platform.machine(), bits))
        if letter is None or {*operands, result} != {result} or result not in _BITS:
            return None
        lanes = bits // _BITS[result]
        symbol = f"_ZGV{letter}N{lanes}{'v' * len(operands)}_{name}"
        return cls(symbol, lanes) if has_library() and hasattr(_library(), symbol) else None


def has_library() -> bool:
    """Whether this system has a library of functions of vectors; without one, a gang calls libm for each lane."""
    return _library() is not None


@cache
def _library() -> Any:
    """The library with these functions, which stays open, so that code of this process finds them."""
    try:
        return ctypes.CDLL("libmvec.so.1", mode=ctypes.RTLD_GLOBAL)
    except OSError:
        return None
