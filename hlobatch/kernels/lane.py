"""The emitter of a lane: arrays lie on the thread's stack while they fit there, others in memory that the host passes.

Bytes on the stack are counted, since an overflow of the stack ends the process. Registers that LLVM spills, and the
frames of the thread's callers, take more of the stack and are not counted.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from hlobatch.kernels.emitter import Emitter
from hlobatch.kernels.processors import Processor
from hlobatch.kernels.text import MOST_ELEMENTS_UNROLLED
from hlobatch.kernels.types import size
from hlobatch.typing import DType

_ALIGNED_BYTES: Final = 16


class LaneEmitter(Emitter):
    """Emits the code of a lane, and counts the memory of its arrays.

    Attributes:
        own_bytes: Bytes on the thread's stack.
        near_bytes: Bytes of the arrays in memory that the threads of a lane share and reach fast.
        local_bytes: Bytes of the arrays in memory that the host hands in.
        lasting: Pointers to memory of the host, which is as it was when a kernel is started again.
    """

    def __init__(self, processor: Processor, captured: dict[int, str], *, checked: bool) -> None:
        super().__init__(processor, captured, checked=checked)
        self.own_bytes = self.near_bytes = self.local_bytes = 0
        self.lasting: set[str] = set()
        self._bytes: dict[str, int] = {}
        self._unused: dict[int, list[str]] = {}

    def cell(self, llvm_type: str) -> str:
        self.own_bytes += 8
        return super().cell(llvm_type)

    def near(self, dtype: DType, elements: int) -> str:
        """A pointer to memory on the thread's stack for the near frames of an array."""
        self.own_bytes += elements * np.dtype(dtype).itemsize + _ALIGNED_BYTES
        return super().memory(dtype, elements)

    def memory(self, dtype: DType, elements: int) -> str:
        """A pointer to memory for an array: memory of the same size that was given back, or new memory."""
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

    def new_memory(self, dtype: DType, elements: int) -> str:
        """New memory: on the thread's stack if it fits, else in the host's memory at a multiple of 64 bytes."""
        taken = size((max(elements, 1),)) * np.dtype(dtype).itemsize
        is_promoted = elements <= max(MOST_ELEMENTS_UNROLLED, self.processor.registers)
        most = self.processor.own_bytes * (4 if is_promoted else 1)
        if self.own_bytes + taken <= most:
            self.own_bytes += taken + -taken % _ALIGNED_BYTES
            return super().memory(dtype, elements)
        return self.of_host(taken)

    def of_host(self, bytes_: int) -> str:
        """A pointer to new memory of the host, at a multiple of 64 bytes."""
        name = self.new("m")
        self.heads.append(f"  {name} = getelementptr i8, ptr %local, i64 {self.local_bytes}")
        self.local_bytes += bytes_ + -bytes_ % 64
        self.lasting.add(name)
        return name
