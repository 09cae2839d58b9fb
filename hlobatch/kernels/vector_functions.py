"""A function of libm -> the system's vector version of it, which computes several lanes at once, if there is one.

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
"""The letter for the vector extension in the names of functions, by machine and vector bits."""
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
        """The vector version of a function, or None if this system has none.

        Args:
            name: The libm function's name.
            operands: LLVM's types of its operands.
            result: LLVM's type of its result.
            bits: Bits of the processor's vectors.
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
    """The library of vector functions, loaded so that LLVM's engine finds its symbols; None if there is none."""
    try:
        return ctypes.CDLL("libmvec.so.1", mode=ctypes.RTLD_GLOBAL)
    except OSError:
        return None
