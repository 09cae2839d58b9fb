"""The emitter of a lane: arrays lie on the stack of the thread as far as that may be, others in the host's memory.

What lies on the stack is counted, since one that is too small ends the process. Besides what is counted, a thread
has there what LLVM moves out of registers, and what it is in the middle of when it calls the code.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from hlobatch.kernels.emitter import Emitter
from hlobatch.kernels.processors import Processor
from hlobatch.kernels.text import MOST_ELEMENTS_UNROLLED
from hlobatch.kernels.types import size

_ALIGNED_BYTES: Final = 16


class LaneEmitter(Emitter):
    """Emits the code of a lane, and counts the memory of its arrays.

    Attributes:
        own_bytes: Bytes on the thread's stack.
        near_bytes: Bytes of the arrays in memory that the threads of a lane share and reach fast.
        local_bytes: Bytes of the arrays in memory that the host hands in.
    """

    def __init__(self, processor: Processor, captured: dict[int, str], *, checked: bool) -> None:
        super().__init__(processor, captured, checked=checked)
        self.own_bytes = self.near_bytes = self.local_bytes = 0
        self._bytes: dict[str, int] = {}
        self._unused: dict[int, list[str]] = {}

    def cell(self, llvm_type: str) -> str:
        self.own_bytes += 8
        return super().cell(llvm_type)

    def near(self, dtype: Any, elements: int) -> str:
        """A pointer to memory for frames of an array on the thread's stack."""
        self.own_bytes += elements * np.dtype(dtype).itemsize + _ALIGNED_BYTES
        return super().memory(dtype, elements)

    def memory(self, dtype: Any, elements: int) -> str:
        """A pointer to memory for an array: such as an earlier one had that is needed no more, or other."""
        bytes_ = size((max(elements, 1),)) * np.dtype(dtype).itemsize
        unused = self._unused.get(bytes_) if elements > MOST_ELEMENTS_UNROLLED else None
        name = unused.pop() if unused else self.new_memory(dtype, elements)
        self._bytes[name] = bytes_ if elements > MOST_ELEMENTS_UNROLLED else 0
        self.asked.append(name)
        return name

    def give_back(self, begin: int, needed: frozenset[str]) -> None:
        asked = self.asked[begin:]
        self.asked[begin:] = [name for name in asked if name in needed]
        for name in asked:
            if name not in needed and self._bytes[name]:
                self._unused.setdefault(self._bytes[name], []).append(name)

    def keep(self) -> None:
        self._unused.clear()

    def new_memory(self, dtype: Any, elements: int) -> str:
        """Memory that nothing was in; an array in the host's memory begins at a multiple of 64 bytes."""
        taken = size((max(elements, 1),)) * np.dtype(dtype).itemsize
        most = self.processor.own_bytes * (1 if elements > MOST_ELEMENTS_UNROLLED else 4)
        if self.own_bytes + taken <= most:
            self.own_bytes += taken + -taken % _ALIGNED_BYTES
            return super().memory(dtype, elements)
        name = self.new("m")
        self.heads.append(f"  {name} = getelementptr i8, ptr %local, i64 {self.local_bytes}")
        self.local_bytes += taken + -taken % 64
        return name
