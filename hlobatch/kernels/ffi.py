"""The kernels of this process by their keys, the table in which XLA's handler looks them up.

A call in a program that XLA compiled names its kernel by a key, a hash of the kernel's code, and not by an address. So
the compiled program is valid in other processes, too, which may get it from JAX's persistent cache.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np


class Directory:
    """The kernels of this process by their keys: a hash table with open addressing, which the handler reads.

    The handler only looks for keys that were added before XLA compiled the call. Later additions fill empty places of
    the same table or make a larger one, so a concurrent reader finds its key in either.

    Attributes:
        address: The address of the cell with the table's address.
        stops: One number: how many calls have left an input unfinished, or failed.
    """

    def __init__(self) -> None:
        self._cell = np.zeros(1, np.int64)
        self._records: dict[int, int] = {}
        self._tables: list[np.ndarray[Any, Any]] = []  # old tables are kept: a handler may still be reading one
        self.address: int = self._cell.ctypes.data
        self.stops = np.zeros(1, np.int64)
        self._make(2)

    def add(self, key: int, record: int) -> None:
        """Add the address of a kernel's record under a key other than 0."""
        self._records[key] = record
        if 4 * len(self._records) > len(self._tables[-1]):
            self._make(len(self._tables[-1]) - 1)  # a table of twice the size
        else:
            self._place(self._tables[-1], key, record)

    def _make(self, places: int) -> None:
        """Make a table with all keys; its first word is the number of places less one, a mask."""
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
    """The record of a kernel: numbers of 64 bits, by their positions."""

    RUN: Final = 0
    """The address of the kernel's ``@run``."""
    FRAMES: Final = 1
    """The address of the offsets and capacities of its areas of frames."""
    MEMORY: Final = 2
    """Bytes of memory of each thread, for its arrays and, behind them, its stacks."""
    LOCAL: Final = 3
    """Bytes of a thread's arrays."""
    THREADS: Final = 4
    """The largest number of threads that run lanes at the same time."""
    CHUNKS: Final = 5
    """The smallest number of chunks of inputs for each thread."""
    FIRST: Final = 6
    """The first job that gets a thread of its own: 1 if the calling thread's stack is large enough for a lane, else
    0."""
    PATIENCE: Final = 7
    """Nanoseconds after which a call stops and leaves the remaining inputs; 0 for no limit."""
    FIELDS: Final = 8
