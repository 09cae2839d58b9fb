"""The emitter of a lane that the threads of a warp run together, for GPU programs whose lanes work on arrays.

All threads run the same code. Control flow and numbers are the same in each: every thread computes them. An array of
more than a few elements lies in memory that the threads share, and each thread does its part of the work on it: thread
``t`` of 32 has the elements ``t``, ``t + 32``, and so on. Parts of a sum are joined by exchanging numbers between
threads. Work that has to be done in order is done by one thread.

::

    x = a + b, of 100 elements      ==>      meet; for i = t, t + 32, … < 100: x[i] = a[i] + b[i]; meet
    s = sum(x)                      ==>      p = x[t] + x[t + 32] + …; s = p of all threads

Threads **meet** (a barrier) so that between two meetings no thread accesses what another one writes: before a read of
an array that was written since the last meeting, or a write to one that was read or written since. For each array the
emitter knows whether it was accessed since; and whether element ``i`` was accessed only by thread ``i`` modulo 32,
which may access it again without a meeting, as in a chain of operations on vectors. At a join point nothing is known.

While each thread works on elements of its own, threads are **apart**: their numbers differ, and they do not meet.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, Final

import numpy as np

from hlobatch.kernels.lane import LaneEmitter
from hlobatch.kernels.processors import Processor
from hlobatch.kernels.text import MOST_ELEMENTS_UNROLLED, Cells, Index, Text
from hlobatch.kernels.types import INT64, NoKernelError, kind, size
from hlobatch.kernels.values import Value
from hlobatch.typing import DType

THREAD: Final = "%t"
"""The register with the number of a thread within its lane."""
NEAR: Final = "%near"
"""The pointer to the fast memory that the threads of a lane share."""
PARAMETERS: Final = (f"ptr {NEAR}", f"i64 {THREAD}")
_FIRST: Final = "%is_first"
_ALIGNED_BYTES: Final = 16
_WORD: Final = 32
_ADDRESS: Final = re.compile(r"getelementptr \S+, ptr ([^,]+),")
_FACTS: Final = 1_000_000
"""The first number of this emitter's metadata."""
MOST_TERMS_AT_ONCE: Final = 16
"""Terms of a thread's sums that are unrolled together, so that it waits for memory once for all of them. `ptxas`
unrolls a short loop completely for newer cards, and then takes 255 registers. Chosen by judgement (2026-11)."""
_ONLY_READ: Final = ("%in", "%captured", "%shared", "%own", "@")
"""Prefixes of the names of pointers to read-only memory."""


class Touched:
    """The memory that threads have read and written since they met last.

    Attributes:
        read: For each piece of memory, how it was read: 0 if by any thread; else the bytes of an element, if each
            element ``i`` was read by the thread that has ``i``.
        written: For each piece of memory, how it was written, in the same form.
    """

    def __init__(self) -> None:
        self.read: dict[str, set[int]] = {}
        self.written: dict[str, set[int]] = {}

    def __bool__(self) -> bool:
        return bool(self.read or self.written)

    def note(self, memory: str, how: int, *, writes: bool) -> None:
        """Record a read or write of some memory."""
        (self.written if writes else self.read).setdefault(memory, set()).add(how)

    def add(self, later: Touched) -> None:
        """Add the accesses that follow without a meeting."""
        for mine, other in ((self.read, later.read), (self.written, later.written)):
            for memory, how in other.items():
                mine.setdefault(memory, set()).update(how)

    def waits_for(self, before: Touched) -> bool:
        """Whether a meeting is needed after ``before``: of two accesses by different threads, one is a write."""
        pairs = (self.read, before.written), (self.written, before.read), (self.written, before.written)
        return any(_by_others(now[m], then[m]) for now, then in pairs for m in now.keys() & then.keys())


def _by_others(now: set[int], then: set[int]) -> bool:
    return len(now | then) > 1 or 0 in now


class WarpEmitter(LaneEmitter):
    """Emits the code of a lane for several threads.

    Attributes:
        threads: The number of threads that run the lane.
    """

    def __init__(self, processor: Processor, captured: dict[int, str], *, checked: bool) -> None:
        super().__init__(processor, captured, checked=checked)
        self.threads = processor.threads_per_lane
        self.heads.append(f"  {_FIRST} = icmp eq i64 {THREAD}, 0")
        self._of_each: set[str] = set()
        self._places = 0
        self._roots: dict[str, str] = {}
        self._apart = False
        self._element: Index = ""
        self.branches_alone = False  # at a join point, accesses of threads are unknown
        self._terms_at_once = 0
        self._before: Touched | None = None
        self._now: Touched | None = None

    # Meetings

    def label(self, name: str) -> None:
        if self._now is None:
            self._before = None
        super().label(name)

    def _meeting(self) -> str:
        return f"  call void @meet(i64 {self._place()}) convergent"

    def _place(self) -> int:
        """A new number for a place in the code where threads meet or exchange numbers."""
        self._places += 1
        return self._places

    @contextmanager
    def at_once(self) -> Iterator[None]:
        if self._now is not None:
            yield
            return
        begin, self._now = len(self.lines), Touched()
        yield
        now, self._now = self._now, None
        if self._before is not None and not now.waits_for(self._before):
            self._before.add(now)
        elif now:
            self.lines.insert(begin, self._meeting())
            self._before = now

    def once(self, body: Callable[[], None]) -> None:
        if self._apart:
            body()
        else:
            self.when(_FIRST, body)

    # Memory

    def new_memory(self, dtype: DType, elements: int) -> str:
        """New memory.

        An array of few elements lies in each thread by itself, as numbers do; one of more elements lies in memory that
        the threads share.
        """
        taken = max(elements, 1) * np.dtype(dtype).itemsize
        taken += -taken % _ALIGNED_BYTES
        if elements <= MOST_ELEMENTS_UNROLLED:
            self.own_bytes += taken
            name = Text.memory(self, dtype, elements)
            self._of_each.add(name)
            return name
        if self._apart:
            raise NoKernelError("what one thread does of what a warp does wants an array of its own")
        if self.near_bytes + taken > self.processor.own_bytes:
            return self.of_host(taken)
        name = self.new("m")
        self.heads.append(f"  {name} = getelementptr i8, ptr {NEAR}, i64 {self.near_bytes}")
        self.near_bytes += taken
        return name

    def op(self, text: str) -> str:
        found = super().op(text)
        if address := _ADDRESS.match(text):
            self._roots[found] = self._root(address[1])
        return found

    def _root(self, pointer: str) -> str:
        """The name of the memory that a pointer points into."""
        return self._roots.get(pointer, pointer)

    def _is_own(self, pointer: str) -> bool:
        """Whether a pointer points to memory that each thread has by itself."""
        return self._root(pointer) in self._of_each

    def load(self, pointer: str, dtype: DType, i: Index = 0, *, within: int | None = None) -> str:
        if not self._is_own(pointer) and not self._root(pointer).startswith(_ONLY_READ):
            with self.at_once() if not self._apart else nullcontext():
                self._touch(pointer, dtype, i, writes=False)
        return super().load(pointer, dtype, i, within=within)

    def store(self, x: str, pointer: str, dtype: DType, i: Index = 0, *, within: int | None = None) -> None:
        if self._is_own(pointer):
            super().store(x, pointer, dtype, i, within=within)
            return
        if self._apart:
            self._touch(pointer, dtype, i, writes=True)
            super().store(x, pointer, dtype, i, within=within)
            return
        self.check(i, within)
        with self.at_once():
            self._touch(pointer, dtype, i, writes=True)
            self.when(_FIRST, lambda: super(WarpEmitter, self).store(x, pointer, dtype, i))

    def _touch(self, pointer: str, dtype: DType, i: Index, *, writes: bool) -> None:
        """Record the read or write of an element."""
        assert self._now is not None
        is_of_thread = self._apart and pointer == self._root(pointer) and i == self._element
        self._now.note(self._root(pointer), np.dtype(dtype).itemsize if is_of_thread else 0, writes=writes)

    def copy_to(self, value: Value, pointer: str) -> None:
        if self._is_own(pointer):
            for i in range(size(value.shape)) if value.element is None else ():
                self.store(self.element(value, i), pointer, value.dtype, i)
            if value.element is not None:
                super().copy_to(value, pointer)
            return

        def one(i: Index) -> None:
            self.store(self.element(value, i), pointer, value.dtype, i)

        self.each_of(size(value.shape), one, pointer)

    # Work that threads share

    def each(self, shape: Sequence[int], body: Callable[[list[Index]], None], *targets: str) -> None:
        if self._is_for_all(targets):
            super().each(shape, body, *targets)
        else:
            self.each_of(size(shape), lambda i: body(self.unravelled(i, shape)), *targets)

    def each_of(self, count: Index, body: Callable[[Index], None], *targets: str) -> None:
        if self._is_for_all(targets):
            super().each_of(count, body, *targets)
            return
        with self.at_once():
            self._divided(count, body)

    def in_turn(
        self, shape: Sequence[int], apart: Sequence[int], body: Callable[[list[Index]], None], *targets: str
    ) -> None:
        """``body(index)`` for each index, in order except along the axes ``apart``.

        The threads share the work along these axes if they have many elements; else one thread does all.
        """
        if self._is_for_all(targets):
            super().in_turn(shape, apart, body, *targets)
            return
        window = [shape[axis] for axis in apart]
        if size(window) <= MOST_ELEMENTS_UNROLLED:
            self.each((), lambda _: self.for_each(shape, body), *targets)
            return
        others = [axis for axis in range(len(shape)) if axis not in apart]

        def whole(known: list[Index]) -> None:
            def one(inside: list[Index]) -> None:
                at = dict(zip(others, known, strict=True)) | dict(zip(apart, inside, strict=True))
                body([at[axis] for axis in range(len(shape))])

            self.each(window, one, *targets)

        self.for_each([shape[axis] for axis in others], whole)

    def jump_back(self, label: str) -> None:
        """Jump back in a loop.

        The jump of a long sum says how many iterations LLVM is to unroll, so that `ptxas` does not unroll more.
        """
        if not self._terms_at_once:
            super().jump_back(label)
            return
        number = _FACTS + 2 * len(self.facts)
        how = f'!{number + 1} = !{{!"llvm.loop.unroll.count", i32 {self._terms_at_once}}}'
        self.facts.append(f"!{number} = distinct !{{!{number}, !{number + 1}}}\n{how}")
        self.do(f"br label {label}, !llvm.loop !{number}")

    def _is_for_all(self, targets: Sequence[str]) -> bool:
        """Whether every thread runs all iterations, since the code writes memory that each thread has by itself."""
        return self._apart or not targets or any(map(self._is_own, targets))

    def _divided(self, count: Index, body: Callable[[Index], None]) -> None:
        """``body(i)`` for each i below ``count``, each in one of the threads."""
        self._apart = True
        if isinstance(count, int) and count <= self.threads:
            self._below(count, THREAD if count > 1 else 0, body)
        else:
            steps: Index = (
                -(-count // self.threads)
                if isinstance(count, int)
                else self.op(f"sdiv i64 {self.op(f'add i64 {count}, {self.threads - 1}')}, {self.threads}")
            )
            self.loop(steps, lambda step: self._below(count, self.plus(self.times(step, self.threads), THREAD), body))
        self._apart = False

    def _below(self, count: Index, i: Index, body: Callable[[Index], None]) -> None:
        if count == 0:
            return
        self._element = i
        if isinstance(count, int) and count % self.threads == 0:
            body(i)
        else:
            self.when(_FIRST if i == 0 else self.op(f"icmp slt i64 {i}, {count}"), lambda: body(i))

    # Sums

    def fold_several(
        self,
        shape: Sequence[int],
        dtypes: Sequence[Any],
        first: Sequence[str],
        step: Callable[[list[str], list[Index]], list[str]],
        joined: Callable[[list[str], list[str]], list[str]] | None = None,
    ) -> list[str]:
        if self._apart:
            before, self._terms_at_once = self._terms_at_once, MOST_TERMS_AT_ONCE // len(first)
            found = super().fold_several(shape, dtypes, first, step, joined)
            self._terms_at_once = before
            return found
        if joined is None or size(shape) <= MOST_ELEMENTS_UNROLLED:
            return super().fold_several(shape, dtypes, first, step, joined)
        parts = Cells(self, dtypes)
        parts.keep(first)
        with self.at_once():
            self._divided(size(shape), lambda i: parts.keep(step(parts.now(), self.unravelled(i, shape))))
        return self._joined(dtypes, parts.now(), joined)

    def _joined(
        self, dtypes: Sequence[Any], xs: list[str], joined: Callable[[list[str], list[str]], list[str]]
    ) -> list[str]:
        """The combination of all threads' parts, by exchanges between threads at halving distances."""
        far = self.threads // 2
        while far:
            other = self.op(f"xor i64 {THREAD}, {far}")
            xs = joined(xs, [self._of_thread(x, dtype, other) for x, dtype in zip(xs, dtypes, strict=True)])
            far //= 2
        return [self._of_thread(x, dtype, "0") for x, dtype in zip(xs, dtypes, strict=True)]

    def running(
        self,
        dtype: DType,
        count: int,
        value: Callable[[Index], str],
        joined: Callable[[str, str], str],
        write: Callable[[Index, str], None],
    ) -> None:
        """Prefix sums of 32 elements at a time, one in each thread, in five steps of doubling distance.

        Reference: Hillis and Steele (1986), "Data parallel algorithms".
        """
        if self._apart or count <= MOST_ELEMENTS_UNROLLED:
            super().running(dtype, count, value, joined, write)
            return
        k, before = kind(dtype), Cells(self, [dtype])

        def part(first: Index, *, is_first: bool) -> None:
            i = self.plus(first, THREAD)
            within = self.intrinsic("smin", INT64, str(i), str(count - 1))
            x, far = value(within), 1
            while far < self.threads:
                other = self.intrinsic("smax", INT64, self.op(f"sub i64 {THREAD}, {far}"), "0")
                both = joined(self._of_thread(x, dtype, other), x)
                x = self.op(f"select i1 {self.op(f'icmp sge i64 {THREAD}, {far}')}, {k} {both}, {k} {x}")
                far *= 2
            x = x if is_first else joined(before.now()[0], x)
            self.when(self.op(f"icmp slt i64 {i}, {count}"), lambda: write(i, x))
            before.keep([self._of_thread(x, dtype, str(self.threads - 1))])

        with self.at_once():
            self._apart = True
            part(0, is_first=True)
            steps = -(-count // self.threads) - 1
            self.loop(steps, lambda s: part(self.plus(self.times(s, self.threads), self.threads), is_first=False))
            self._apart = False

    def sum_of(
        self,
        dtype: DType,
        first: str,
        zero: str,
        count: Index,
        step: Callable[[str, Index], str],
        joined: Callable[[str, str], str],
    ) -> str:
        if self._apart or (isinstance(count, int) and count <= MOST_ELEMENTS_UNROLLED):
            return super().sum_of(dtype, first, zero, count, step, joined)
        part = Cells(self, [dtype])
        part.keep([zero])
        with self.at_once():
            self._divided(count, lambda i: part.keep([step(part.now()[0], i)]))
        (total,) = self._joined([dtype], part.now(), lambda xs, ys: [joined(xs[0], ys[0])])
        return joined(first, total)

    def _of_thread(self, x: str, dtype: DType, thread: str) -> str:
        """The value that a register has in another thread.

        All threads of the lane call it together (a warp shuffle).
        """
        k = kind(dtype)
        bits = int(k[1:]) if k[0] == "i" else 8 * np.dtype(dtype).itemsize
        whole = x if k == f"i{bits}" else self.op(f"bitcast {k} {x} to i{bits}")
        if bits <= _WORD:
            got = self._of_word(self._resized(whole, bits, _WORD), thread)
            found = self._resized(got, _WORD, bits)
        else:
            found = "0"
            for first in range(0, bits, _WORD):
                part = self._resized(self.op(f"lshr i{bits} {whole}, {first}"), bits, _WORD)
                got = self._resized(self._of_word(part, thread), _WORD, bits)
                found = self.op(f"or i{bits} {found}, {self.op(f'shl i{bits} {got}, {first}')}")
        return found if k == f"i{bits}" else self.op(f"bitcast i{bits} {found} to {k}")

    def _resized(self, x: str, bits: int, to: int) -> str:
        """An integer extended with zeros, or truncated, to a number of bits."""
        return x if bits == to else self.op(f"{'zext' if bits < to else 'trunc'} i{bits} {x} to i{to}")

    def _of_word(self, x: str, thread: str) -> str:
        return self.op(f"call i32 @of_thread(i32 {x}, i64 {thread}, i64 {self._place()}) convergent")
