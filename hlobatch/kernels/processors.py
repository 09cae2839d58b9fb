"""A kind of processor (CPU, GPU), by the properties that the code of a lane depends on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, final


class Entry(Enum):
    """How the threads that run lanes are started."""

    CALL = "call"
    """The host calls a function in each thread."""
    KERNEL = "kernel"
    """A kernel of a GPU starts all threads at once."""
    TILES = "tiles"
    """A kernel of a TPU, whose lanes are elements of its vector registers."""
    LOOP = "loop"
    """One thread of a CPU runs the threads of a grid one after the other, for tests."""


@final
@dataclass(frozen=True)
class Processor:
    """A kind of processor.

    Attributes:
        name: A name, for readers.
        platform: JAX's name of its platform.
        triple: LLVM's target triple; that of this machine if it is empty.
        math_prefix: Prefix of the names of mathematical functions: empty for libm, ``__nv_`` for libdevice.
        has_vectors: Whether a lane's code may use vectors; the threads of a GPU have none.
        side_by_side: Whether all lanes run at once. Then stacks are interleaved: the same element of all lanes is
            contiguous, so that lanes at the same depth read it in one access.
        width: Lanes that one thread runs at once, each in an element of its vectors.
        vector_bits: Bits of these vectors.
        looks: Whether its threads check, now and then, whether the run is to stop.
        entry: How its threads are started.
        near_bytes: Bytes of frames on the thread's own stack; deeper frames lie in the host's memory.
        threads_per_lane: Threads that run a lane together, each with a part of the elements of its arrays.
        lanes_that_meet: Number of lanes whose threads wait for each other before dear blocks, and run one such block
            at a time; 1 if none wait.
        most_lanes_first: Whether that is the block at which most lanes wait, and not the earliest.
        in_turn: Whether XLA computes some primitives, in turn with the kernel (``errands.py``).
        registers: Largest number of elements of an array that is to become registers (``registers.py``); 0 if that is
            left to LLVM.
        own_bytes: Bytes of a lane's arrays that may lie on the stack of its thread; four times as many for arrays of
            few elements, which LLVM promotes to registers. Chosen by judgement (2026-11): on a CPU a sixteenth of
            ``STACK_BYTES``; on a GPU, which reserves as much for every thread that may run, some gigabytes in total.
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
    most_lanes_first: bool = False
    in_turn: bool = False
    registers: int = 0
    own_bytes: int = 1 << 17

    @property
    def is_grid(self) -> bool:
        """Whether its threads form a grid, which is started at once."""
        return self.entry is not Entry.CALL

    @property
    def threads_that_meet(self) -> int:
        """The number of threads that wait for each other, of one lane or of several."""
        return self.threads_per_lane * self.lanes_that_meet


CPU: Final = Processor("cpu", "cpu")


def gang(width: int, vector_bits: int) -> Processor:
    """A CPU that runs several lanes in each thread; the code of a single lane then uses no vectors.

    Args:
        width: Lanes in each thread.
        vector_bits: Bits of its vectors; a number of all lanes takes several of them.
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
    registers=80,
    own_bytes=8 << 10,
)
"""An NVIDIA GPU with a thread to each lane."""

MEETING: Final = replace(NVPTX, lanes_that_meet=32)
"""An NVIDIA GPU with a thread to each lane, whose threads of a warp meet before dear blocks."""
CROWDED: Final = replace(MEETING, most_lanes_first=True)
"""The same, but the block at which most lanes wait runs first."""
WARP: Final = replace(NVPTX, side_by_side=False, threads_per_lane=32, near_bytes=0, registers=0, own_bytes=16 << 10)
"""An NVIDIA GPU with a warp to each lane: 32 threads, which run the same instructions at the same time. Arrays of the
lane lie in memory that they share, the first ones in the fast memory of the multiprocessor, which has some 200 kB."""
IN_TURN: Final = replace(NVPTX, in_turn=True, near_bytes=0)
"""An NVIDIA GPU with a thread to each lane, whose long products XLA computes. No frames lie near the thread, since its
lane leaves the kernel and comes back."""
WARP_IN_TURN: Final = replace(WARP, in_turn=True)
"""The same with a warp to each lane."""

MOSAIC: Final = Processor("mosaic", "tpu", side_by_side=True, width=1024, looks=False, entry=Entry.TILES)
"""A TPU, whose vector registers hold 8 x 128 numbers."""
