"""The interface between the host and the code of a lane: options, operands, and the fields of a run's record.

The host compiles a program with ``Options`` for ``Operands``, and passes each call of the code a record with the fields
of ``Call``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hlobatch.kernels.processors import Processor

FAULT: Final = 32
"""The fate of a lane that would have accessed memory outside of an array, if that is checked; not a ``Fate``, since it
shows an error of this library."""
STACK_BYTES: Final = 2 << 20
"""Size in bytes of the stack of each thread that is started to run lanes."""
BYTES_ON_ANY_STACK: Final = 1 << 14
"""Bytes that a lane may use on the stack of a thread that this library did not start; some have 64 KiB in all."""


@dataclass(frozen=True)
class Options:
    """Options of a lane's code, none of which changes its results.

    Attributes:
        processor: The kind of processor that is to run it.
        max_steps: The number of blocks that a lane may run; None for no limit.
        counts: Whether it counts how often it ran each block.
        checked: Whether each access to memory is checked to be within its array.
        errands: Names of the blocks whose primitive XLA computes, in turn with the kernel (``errands.py``).
    """

    processor: Processor
    max_steps: int | None = None
    counts: bool = False
    checked: bool = False
    errands: tuple[str, ...] = ()


@dataclass(frozen=True)
class Operands:
    """The arrays that a kernel takes, before those of its results.

    Attributes:
        captured: The ``id`` of each array that the program's code captured.
        shared: For each array of the program's inputs, whether all lanes share it.
        computed: Shared variables that were computed before the lanes start.
        summed: Positions of the results that are sums over all inputs of a thread; each thread has a row of them.
    """

    captured: tuple[int, ...]
    shared: tuple[bool, ...]
    computed: tuple[str, ...]
    summed: tuple[int, ...] = ()


class Call:
    """The record of a run, which the host passes: fields of 64 bits, by their positions."""

    STATUS: Final = 0
    """``i32[inputs]``: the fate of each input."""
    NEXT: Final = 1
    """A counter that all threads share: the position in ``TODO`` of the next input."""
    TODO: Final = 2
    """The inputs to run, ``i64[count]``; null for all of them, in order."""
    COUNT: Final = 3
    CHUNK: Final = 4
    """Inputs that a thread takes at a time."""
    LOCAL: Final = 5
    STACKS: Final = 6
    FRAMES: Final = 7
    STOP: Final = 8
    """A word that is not 0 once the run is to stop."""
    IS_LAST: Final = 9
    """1 if the thread is to stop when the fuel is used up, else 0."""
    FUEL: Final = 10
    """Turns that are left until the thread checks whether the run is to stop."""
    REFILL: Final = 11
    """Turns between two such checks."""
    COUNTS: Final = 12
    """How often each block ran, ``i64[blocks]``."""
    ROW: Final = 13
    """The number of the thread's row in results that are sums."""
    LOOK: Final = 14
    """Null, or a function of the record that decides instead of ``IS_LAST`` whether to stop, and may change
    ``REFILL``."""
    FIELDS: Final = 15
