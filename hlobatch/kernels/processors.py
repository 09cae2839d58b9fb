"""A kind of processor (CPU, GPU), by the properties that the code of a lane depends on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, final


class Entry(Enum):
    """What starts the threads that run lanes."""

    CALL = "call"
    """The host calls a function for each."""
    KERNEL = "kernel"
    """A GPU starts all of them at once."""
    LOOP = "loop"
    """The same, one after the other in one thread of a CPU, as tests run it."""


@final
@dataclass(frozen=True)
class Processor:
    """A kind of processor.

    Attributes:
        name: In LLVM's words.
        platform: In JAX's.
        triple: What LLVM compiles for; that of this machine if it is empty.
        math_prefix: What the names of mathematical functions begin with: nothing for libm, ``__nv_`` for libdevice.
        has_vectors: Whether a lane runs on a processor with vectors of its own; the threads of a GPU have none.
        side_by_side: Whether all lanes run at once. Then elements of their stacks that have the same place lie side by
            side, so that lanes at the same depth read them in one access.
        width: Lanes that one thread runs at once, each in an element of its vectors.
        vector_bits: Bits of these vectors.
        looks: Whether its threads look, now and then, whether the run is to stop.
        entry: What starts them: each thread is a call by the host, or all are a grid, which is started at once.
        near_bytes: Of frames that a thread has at hand, on its own stack; those above lie in the host's memory.
        threads_per_lane: That run a lane together, each some elements of its arrays.
        lanes_that_meet: Of so many lanes, threads wait for each other before blocks that are dear, and run one of them
            at a time.
        own_bytes: Of arrays of a lane, that may lie on the stack of its thread; of arrays of few elements, of which
            LLVM makes registers, four times as many. Chosen by judgement (2026-11): a sixteenth of a stack of ours; and
            on a GPU, which keeps as much for every thread that it might run, so that all of them take some gigabytes.
    """

    name: str
    platform: str
    triple: str = ""
    math_prefix: str = ""
    has_vectors: bool = True
    side_by_side: bool = False
    width: int = 1
    vector_bits: int = 0
    looks: bool = True
    entry: Entry = Entry.CALL
    near_bytes: int = 0
    threads_per_lane: int = 1
    lanes_that_meet: int = 1
    own_bytes: int = 1 << 17

    @property
    def is_grid(self) -> bool:
        """Whether all threads are started at once."""
        return self.entry is not Entry.CALL

    @property
    def threads_that_meet(self) -> int:
        """Threads that wait for each other: those of one lane, or of several."""
        return self.threads_per_lane * self.lanes_that_meet


CPU: Final = Processor("cpu", "cpu")


def gang(width: int, vector_bits: int) -> Processor:
    """A CPU that runs several lanes in each thread; then no vectors are left for what one lane does.

    Args:
        width: Lanes in each thread.
        vector_bits: Bits of its vectors, of which it has several for each number of all lanes.
    """
    return Processor("gang", "cpu", has_vectors=False, side_by_side=True, width=width, vector_bits=vector_bits)


NVPTX: Final = Processor(
    "nvptx",
    "cuda",
    "nvptx64-nvidia-cuda",
    "__nv_",
    has_vectors=False,
    side_by_side=True,
    looks=False,
    entry=Entry.KERNEL,
    near_bytes=2 << 10,
    own_bytes=8 << 10,
)
"""An NVIDIA GPU with a thread to each lane."""

MEETING: Final = replace(NVPTX, lanes_that_meet=32)
"""The same, of which the threads of a warp meet before dear blocks."""
WARP: Final = replace(NVPTX, side_by_side=False, threads_per_lane=32, near_bytes=0, own_bytes=16 << 10)
"""The same with a warp to each lane: 32 threads, which run the same instructions at the same time. Arrays of the lane
lie in memory that they share, those that are its own first: of which a multiprocessor has some 200 kB."""
