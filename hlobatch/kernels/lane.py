"""The emitter of a lane's code: small arrays lie on the stack of the thread, large ones in memory of the host's."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from hlobatch.kernels.emitter import Emitter
from hlobatch.kernels.processors import Processor
from hlobatch.kernels.types import size

MOST_BYTES_ON_THE_STACK: Final = 1 << 17
"""Bytes of arrays that a lane may have on the stack of the thread that runs it, arrays of less than
``LEAST_BYTES_PASSED`` aside. Chosen by judgement (2026-11), not measured."""
LEAST_BYTES_PASSED: Final = 1 << 12
"""Bytes of an array from which it may lie in memory that the host hands in. Chosen by judgement (2026-11), not
measured."""


class LaneEmitter(Emitter):
    """Emits the code of a lane, and counts the memory of its arrays.

    Attributes:
        own_bytes: Bytes of the arrays on the thread's stack.
        local_bytes: Bytes of the arrays in memory that the host hands in.
    """

    def __init__(self, processor: Processor, captured: dict[int, str], *, checked: bool) -> None:
        super().__init__(processor, captured, checked=checked)
        self.own_bytes = self.local_bytes = 0

    def memory(self, dtype: Any, elements: int) -> str:
        """A pointer to memory for an array, each of which begins at a multiple of 64 bytes in the host's memory."""
        taken = size((max(elements, 1),)) * np.dtype(dtype).itemsize
        if taken < LEAST_BYTES_PASSED or self.own_bytes + taken <= MOST_BYTES_ON_THE_STACK:
            self.own_bytes += taken
            return super().memory(dtype, elements)
        name = self.new("m")
        self.heads.append(f"  {name} = getelementptr i8, ptr %local, i64 {self.local_bytes}")
        self.local_bytes += taken + -taken % 64
        return name
