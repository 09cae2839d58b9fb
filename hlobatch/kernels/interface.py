"""What the host and the code of a lane know of each other: options, operands, and the fields of a run's record.

The host compiles a program with ``Options`` for ``Operands``, and hands each call of the code a record with the fields
of ``Call``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hlobatch.kernels.processors import Processor

FAULT: Final = 32
"""What becomes of a lane that would have left an array, where that is checked; no ``Fate``: it is a fault of ours."""
STACK_BYTES: Final = 2 << 20
"""Bytes on the stack of each thread that is started to run lanes."""
BYTES_ON_ANY_STACK: Final = 1 << 14
"""Bytes that a lane may have on the stack of a thread that others started: some have 64 KiB in all."""


@dataclass(frozen=True)
class Options:
    """How the code of a lane is made; none changes what it computes.

    Attributes:
        processor: What is to run it.
        max_steps: Blocks that a lane may run, or None.
        counts: Whether it counts how often it ran each block.
        checked: Whether each access to memory is checked to be within its array.
    """

    processor: Processor
    max_steps: int | None = None
    counts: bool = False
    checked: bool = False


@dataclass(frozen=True)
class Operands:
    """The arrays that a kernel takes, before those of its results.

    Attributes:
        captured: Arrays that the program's code captured, each by what it is known by there.
        shared: For each array of the program's inputs, whether all lanes share it.
        computed: Variables that are the same in every lane and were computed before.
        summed: Arrays of the results, by position, that are sums over all inputs of a thread, of which each has a row.
    """

    captured: tuple[int, ...]
    shared: tuple[bool, ...]
    computed: tuple[str, ...]
    summed: tuple[int, ...] = ()


class Call:
    """What the host tells of a run: fields of 64 bits, by their positions."""

    STATUS: Final = 0
    """``i32[inputs]``: what becomes of each."""
    NEXT: Final = 1
    """The place in ``TODO`` that is taken next, which all threads share."""
    TODO: Final = 2
    """The inputs to run, ``i64[count]``; null for all of them, in order."""
    COUNT: Final = 3
    CHUNK: Final = 4
    """So many are taken at a time."""
    LOCAL: Final = 5
    STACKS: Final = 6
    FRAMES: Final = 7
    STOP: Final = 8
    """A word that is not 0 once the run is to stop."""
    IS_LAST: Final = 9
    """Whether it is to stop when the fuel is used up."""
    FUEL: Final = 10
    """Turns that are left until the thread looks whether the run is to stop."""
    REFILL: Final = 11
    """Turns between two such looks."""
    COUNTS: Final = 12
    """How often each block ran, ``i64[blocks]``."""
    ROW: Final = 13
    """The thread's row of sums."""
    LOOK: Final = 14
    """A function of the record that answers in place of ``IS_LAST``, and may change ``REFILL``; or null."""
    FIELDS: Final = 15
