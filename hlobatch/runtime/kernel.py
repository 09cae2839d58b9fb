"""Runs a kernel on a batch, with threads that each run one lane (or one gang) after the other.

The calling thread runs lanes itself for some hundredths of a second, since most runs are shorter. After that it leaves
the inputs to other threads and waits for them, so that a signal such as Ctrl-C reaches it; a word in memory tells the
other threads to stop. A lane that the calling thread has not finished is started again by one of them.

A lane that needs more frames than a stack has is run again once that stack is larger; all others keep their results.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Final

import numpy as np

from hlobatch import config
from hlobatch.ir.fate import FATES, NUMBER, Fate
from hlobatch.kernels.interface import FAULT, Call
from hlobatch.kernels.jit import Code
from hlobatch.kernels.module import KernelModule
from hlobatch.runtime.interrupts import noting
from hlobatch.runtime.leaving import may_stay
from hlobatch.runtime.memory import BYTES_SURELY_THERE, available
from hlobatch.runtime.threads import lanes
from hlobatch.runtime.watch import Watch

ALIGNED_BYTES: Final = 64
"""Alignment in bytes of the memory that the host passes in."""
GROWTH_OF_DEPTH: Final = 4
"""Factor on a stack's frames when it was too small."""
OWN_SECONDS: Final = 0.03
"""Seconds that the calling thread runs lanes itself: as long as a signal may wait."""
LEAST_SECONDS_FOR_A_THREAD: Final = 2e-4
"""Seconds of work that are worth waking another thread."""
FIRST_TURNS: Final = 1 << 10
"""Turns that the calling thread runs at first, before it is known how long they take."""
MOST_TURNS: Final = 1 << 40
MEASURABLE_SECONDS: Final = 1e-4
"""Seconds from which a measurement tells how long turns take …"""
MOST_GROWTH: Final = 16
"""… and the largest factor between the turns of one measurement and the next."""
PATIENCE: Final = 0.5
"""Seconds between two looks for a Ctrl-C that Python has lost."""
TURNS_BETWEEN_LOOKS: Final = 1 << 10
"""Turns of other threads between two tests of whether to stop."""
CHUNKS: Final = 16
"""Number of times that each thread takes inputs, if there are enough of them."""
MOST_INPUTS_AT_ONCE: Final = 64

_ON_THEIR_WAY: Final = (Fate.RUNNING, Fate.UNSTARTED, Fate.PARKED)


class _TimeOverError(Exception):
    """The time limit of a run was reached."""


Table = Any
"""Pointers to the arrays of a kernel, as a C array."""


def table(pointers: Sequence[int]) -> Table:
    """Pointers in the form in which a kernel takes them."""
    return (ctypes.c_void_p * max(len(pointers), 1))(*pointers)


@dataclass(frozen=True)
class Frames:
    """The number of frames on each stack of a lane, and their place in memory.

    Attributes:
        module: The kernel that has the stacks.
        depths: Frames of each stack.
    """

    module: KernelModule
    depths: tuple[int, ...]

    @property
    def entries(self) -> tuple[np.ndarray[Any, Any], int]:
        """The table of frames that a kernel reads, ``i64[pieces + stacks, 2]``, and the bytes of its stacks in memory.

        For each piece of this memory, the table has its offset and the total number of frames, those near the thread
        included; then, for each stack, the number of frames that are not near the thread.
        """
        module, found, taken = self.module, [], 0
        far = [max(0, depth - near) for depth, near in zip(self.depths, module.near, strict=True)]
        for bytes_, stack in zip(module.frame_bytes, module.stack_of, strict=True):
            found.append((taken, self.depths[stack]))
            taken += -(-bytes_ * far[stack] // ALIGNED_BYTES) * ALIGNED_BYTES
        found += [(count, 0) for count in far]
        return np.asarray(found or [(0, 0)], np.int64), taken

    def grown(self, stacks: Sequence[int], limit: int) -> Frames:
        """Frames with some stacks grown, none beyond ``limit``."""
        depths = [min(d * GROWTH_OF_DEPTH, max(limit, d)) if k in stacks else d for k, d in enumerate(self.depths)]
        return Frames(self.module, tuple(depths))


@dataclass
class Kernel:
    """The compiled kernel of a program.

    Attributes:
        module: The module that the code was compiled from.
        code: The machine code.
        depth: Initial frames of each stack …
        tape_depth: … except tapes, which have this number.
        most_bytes: Bytes that stacks may grow to; None for no limit.
        frames: The frames that were enough for the runs so far.
        turns: Turns that the calling thread runs at a time.
        seconds: Seconds that an input takes, if known.
        records: By number of threads and so on, the record by which XLA calls the kernel.
    """

    module: KernelModule
    code: Code
    depth: int
    tape_depth: int
    most_bytes: int | None
    frames: Frames = field(init=False)
    turns: int = FIRST_TURNS
    seconds: float | None = None
    records: dict[Any, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.frames = self.declared_frames

    @property
    def declared_frames(self) -> Frames:
        """The frames before any stack has grown."""
        stacks = range(max(self.module.stack_of, default=-1) + 1)
        return Frames(self.module, tuple(self.tape_depth if k in self.module.tapes else self.depth for k in stacks))

    def takes_long(self, inputs: int, threads: int) -> bool:
        """Whether a batch is known to take longer than the calling thread may run it."""
        return self.seconds is not None and self.seconds * inputs > OWN_SECONDS * threads

    def threads_for(self, inputs: int, most: int) -> int:
        """Number of threads that a batch is worth."""
        worth = most if self.seconds is None else 1 + int(self.seconds * inputs / LEAST_SECONDS_FOR_A_THREAD)
        return max(1, min(most, inputs, worth))

    def note_turns(self, turns: int, seconds: float) -> None:
        """Adjust ``turns`` to a measurement."""
        wanted = int(turns * OWN_SECONDS / seconds) if seconds > MEASURABLE_SECONDS else MOST_GROWTH * turns
        if turns >= self.turns or wanted < self.turns:
            self.turns = max(1, min(wanted, MOST_GROWTH * self.turns, MOST_TURNS))

    def note_inputs(self, seconds: float) -> None:
        """Adjust ``seconds`` to a measurement."""
        self.seconds = seconds if self.seconds is None else (self.seconds + seconds) / 2

    @property
    def bytes_of_a_lane(self) -> int:
        """Bytes that a thread takes for a lane and its stacks when a run begins."""
        return self.module.local_bytes + self.frames.entries[1]

    def run(
        self, arrays: Table, owners: Any, status: np.ndarray[Any, Any], threads: int, watch: Watch | None = None
    ) -> Run:
        """Run a batch, or the inputs of it that are not finished.

        Args:
            arrays: Pointers to captured arrays, inputs, shared values and results, in this order.
            owners: The owners of the memory that the pointers point to.
            status: The status of each input so far.
            threads: Largest number of threads that run at the same time.
            watch: Reports progress and checks the time limit; None if nobody asked for either.
        """
        run = Run(self, arrays, owners, status, threads, self.frames, watch)
        run.finish()
        if not run.status.any():
            self.frames = run.frames
        return run


@dataclass
class Run:
    """A run of a batch.

    Attributes:
        kernel: The kernel.
        arrays: Pointers to the arrays.
        owners: The owners of the arrays' memory; a thread that runs lanes keeps them alive, even if the caller has
            left.
        status: The status of each input, ``i32[inputs]``; for a parked one, also which stack was too small.
        threads: Largest number of threads.
        frames: The frames on the stacks.
        watch: Reports progress and checks the time limit; None if nobody asked for either.
        counts: Number of executions of each block.
        growths: Number of times that stacks have grown.
        is_full: Whether there is no memory for larger stacks.
        is_interrupted: Whether the user interrupted the run.
        is_out_of_time: Whether the time limit was reached.
        is_long: Whether the calling thread no longer runs lanes itself.
        own_seconds: Seconds that the calling thread has run lanes.
    """

    kernel: Kernel
    arrays: Table
    owners: Any
    status: np.ndarray[Any, Any]
    threads: int
    frames: Frames
    watch: Watch | None = None
    counts: np.ndarray[Any, Any] = field(init=False)
    growths: int = 0
    is_full: bool = False
    is_interrupted: bool = False
    is_out_of_time: bool = False
    is_long: bool = field(init=False)
    own_seconds: float = 0.0

    def __post_init__(self) -> None:
        self.counts = np.zeros(self.kernel.module.blocks, np.int64)
        module = self.kernel.module  # a lane that is started again would count twice
        self.is_long = bool(module.blocks) or module.sums or not module.fits_any_stack

    @property
    def size(self) -> int:
        """Inputs in the batch."""
        return len(self.status)

    def finish(self) -> None:
        """Run all inputs that are not finished."""
        while (left := self._left()).size:
            self.status[left] = Fate.UNSTARTED
            self._pass(left.astype(np.int64) if left.size < self.size else None)
            if self.is_interrupted or self.is_out_of_time:
                return
        if self.watch:
            self.watch.end(self._done())
        if (self.status & FATES == FAULT).any():
            raise AssertionError("a lane would have left its arrays")

    def _left(self) -> np.ndarray[Any, Any]:
        """The inputs to run next: those not finished; if there are none, those that need larger stacks."""
        left = np.flatnonzero((self.status == Fate.UNSTARTED) | (self.status == Fate.RUNNING))
        left = left if left.size else self._deeper()
        return self._all_anew() if left.size and self.kernel.module.sums else left

    def _all_anew(self) -> np.ndarray[Any, Any]:
        """All inputs, with the sums set back to zero, since unfinished inputs may have added to them."""
        _, results = self.owners
        for array in results:
            array[...] = 0
        return np.arange(self.size)

    def _deeper(self) -> np.ndarray[Any, Any]:
        """The inputs that can run again because their stack could be grown, which it is."""
        parked = np.flatnonzero(self.status & FATES == Fate.PARKED)
        if not parked.size:
            return parked
        stacks = (self.status[parked] >> NUMBER) - 1
        limit = max(config.STACK_DEPTH_LIMIT, self.kernel.depth)
        frames = self.frames.grown(np.unique(stacks).tolist(), limit)
        if frames == self.frames:
            return parked[:0]
        taken = frames.entries[1] * self.threads
        most = self.kernel.most_bytes
        if taken > (most if most is not None else max(BYTES_SURELY_THERE, available() // 2)):
            self.is_full = True
            return parked[:0]
        deeper: np.ndarray[Any, Any] = np.asarray(frames.depths) > np.asarray(self.frames.depths)
        self.frames, self.growths = frames, self.growths + 1
        again: np.ndarray[Any, Any] = parked[deeper[stacks]]
        return again

    def _pass(self, todo: np.ndarray[Any, Any] | None) -> None:
        """Run some inputs once; ``None`` for all."""
        count = self.size if todo is None else len(todo)
        shared = np.zeros(2, np.int64)  # the next position to take, and the word that tells threads to stop
        threads = min(self.threads, count)
        calls: list[_Call] = []
        others: list[Future[Any]] = []

        def made(turns: int, *, is_last: bool) -> _Call:
            calls.append(_Call.of(self, shared, todo, count, threads, turns, is_last=is_last, row=len(calls)))
            return calls[-1]

        def leave_to_another() -> None:
            others.append(lanes().submit(made(TURNS_BETWEEN_LOOKS, is_last=False).run))

        try:
            for _ in range(threads - 1):
                leave_to_another()
            began = perf_counter()
            while not self.is_long and shared[0] < count:
                self._run_here(made(self.kernel.turns, is_last=True))
            if self.is_long and shared[0] < count:
                leave_to_another()
            with noting() if others else contextlib.nullcontext() as look:
                for other in others:
                    if shared[0] < count or not other.cancel():
                        self._await(other, look)
            self.kernel.note_inputs((perf_counter() - began) * threads / count)
        except KeyboardInterrupt:
            self.is_interrupted = True
        except _TimeOverError:
            self.is_out_of_time = True
        finally:
            shared[1] = self.is_interrupted or self.is_out_of_time
            for other in others:
                _wait(other)
        self.counts += sum(call.counts for call in calls)

    def _await(self, other: Future[Any], look: Any) -> None:
        """Wait for a thread; meanwhile report progress, check the time limit, and look for a Ctrl-C that was lost."""
        while True:
            try:
                other.result(self.watch.patience if self.watch else PATIENCE)
                return
            except TimeoutError:
                look()
                if self.watch and self.watch.look(self._done):
                    raise _TimeOverError from None

    def _done(self) -> int:
        """Number of inputs that have ended."""
        return int(np.isin(self.status & FATES, _ON_THEIR_WAY, invert=True).sum())

    def _run_here(self, call: _Call) -> None:
        """Run inputs in this thread, for as long as a signal may wait."""
        began = perf_counter()
        was_left_off = call.run()
        seconds = perf_counter() - began
        self.kernel.note_turns(call.turns_made, seconds)
        self.own_seconds += seconds
        self.is_long = bool(was_left_off) and self.own_seconds > OWN_SECONDS / 3


def _wait(other: Future[Any]) -> None:
    """Wait until a thread that was told to stop has ended, so that no part of a run outlives it."""
    while not other.done():
        with contextlib.suppress(KeyboardInterrupt, CancelledError):
            other.exception()


@dataclass
class _Call:
    """A call of the kernel by one thread: its operands, and the thread's memory for a lane.

    Attributes:
        fields: The fields of ``Call``.
        kernel: The kernel.
        arrays: Pointers to the arrays.
        counts: Number of executions of each block.
        kept: Objects whose memory the fields point to.
    """

    fields: np.ndarray[Any, Any]
    kernel: Kernel
    arrays: Table
    counts: np.ndarray[Any, Any]
    kept: tuple[Any, ...]

    @classmethod
    def of(
        cls, run: Run, shared: Any, todo: Any, count: int, threads: int, turns: int, *, is_last: bool, row: int
    ) -> _Call:
        """The call for one thread of a run."""
        module = run.kernel.module
        entries, stacks = run.frames.entries
        counts = np.zeros(module.blocks, np.int64)
        memory = np.empty(module.local_bytes + stacks + ALIGNED_BYTES, np.uint8)
        local = memory.ctypes.data + -memory.ctypes.data % ALIGNED_BYTES
        fields = np.zeros(Call.FIELDS, np.int64)
        fields[Call.STATUS] = run.status.ctypes.data
        fields[Call.NEXT] = shared.ctypes.data
        fields[Call.STOP] = shared.ctypes.data + 8
        fields[Call.TODO] = 0 if todo is None else todo.ctypes.data
        fields[Call.COUNT] = count
        fields[Call.CHUNK] = max(1, min(MOST_INPUTS_AT_ONCE, count // (threads * CHUNKS)))
        fields[Call.LOCAL] = local
        fields[Call.STACKS] = local + module.local_bytes
        fields[Call.FRAMES] = entries.ctypes.data
        fields[Call.IS_LAST] = int(is_last)
        fields[Call.FUEL], fields[Call.REFILL] = turns, turns
        fields[Call.COUNTS] = counts.ctypes.data
        fields[Call.ROW] = row
        return cls(fields, run.kernel, run.arrays, counts, (entries, memory, shared, todo, run))

    @may_stay
    def run(self) -> int:
        """Run inputs until none is left, and return 0; return 1 if told to stop or if the turns are used up."""
        return int(self.kernel.code.run(ctypes.addressof(self.arrays), self.fields.ctypes.data))

    @property
    def turns_made(self) -> int:
        """Number of turns that the thread made, of those in ``turns``."""
        return int(self.fields[Call.REFILL] - self.fields[Call.FUEL]) or int(self.fields[Call.REFILL])
