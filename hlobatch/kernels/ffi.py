"""The kernels of this process, by the keys that calls name them by: what XLA's handler looks a kernel up in.

A call in a program that XLA compiled names its kernel by a key, a hash of the kernel's code. So what XLA compiled is
valid in other processes, too, which may get it from JAX's persistent cache.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np


class Directory:
    """The kernels of this process by their keys: a table with open addressing, which the handler reads.

    A handler that reads it looks for a key that has been there since before XLA compiled the call. What is added later
    fills places that were empty, or is in a table of its own, and the handler finds one or the other.

    Attributes:
        address: Where the table's address is.
    """

    def __init__(self) -> None:
        self._cell = np.zeros(1, np.int64)
        self._records: dict[int, int] = {}
        self._tables: list[np.ndarray[Any, Any]] = []  # old tables are kept: a handler may still be reading one
        self.address: int = self._cell.ctypes.data
        self._make(2)

    def add(self, key: int, record: int) -> None:
        """Let calls that name a key, which is not 0, find the record at an address."""
        self._records[key] = record
        if 4 * len(self._records) > len(self._tables[-1]):
            self._make(len(self._tables[-1]) - 1)  # twice as many
        else:
            self._place(self._tables[-1], key, record)

    def _make(self, places: int) -> None:
        """Make a larger table; of its numbers, the first is how many places there are, less one."""
        table = np.zeros(1 + 2 * places, np.int64)
        table[0] = places - 1
        for key, record in self._records.items():
            self._place(table, key, record)
        self._tables.append(table)
        self._cell[0] = table.ctypes.data

    @staticmethod
    def _place(table: np.ndarray[Any, Any], key: int, record: int) -> None:
        place = key & int(table[0])
        while table[1 + 2 * place] not in (0, key):
            place = (place + 1) & int(table[0])
        table[2 + 2 * place] = record
        table[1 + 2 * place] = key


class Record:
    """What a call's key stands for: numbers of 64 bits, by their positions."""

    RUN: Final = 0
    """``@run`` of a kernel."""
    FRAMES: Final = 1
    """What it is told of frames."""
    MEMORY: Final = 2
    """Bytes of memory that a thread takes, for its arrays and behind them its stacks."""
    LOCAL: Final = 3
    """Bytes of a thread's arrays."""
    THREADS: Final = 4
    """That run lanes at the same time, at most."""
    CHUNKS: Final = 5
    """Times that each thread takes inputs, at least."""
    FIRST: Final = 6
    """The first job for which a thread is started: 1 if the thread that calls has stack enough for one, else 0."""
    PATIENCE: Final = 7
    """Nanoseconds after which a call gives up what is left; 0 for never."""
    FIELDS: Final = 8
