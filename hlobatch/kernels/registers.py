"""The emitter of a lane that has many registers, as a thread of a GPU has: arrays of few elements become registers.

LLVM makes registers of an array if each access to it is at a known place. So loops over its elements are unrolled, and
an element at a place that only the lane knows is selected from all of them, if they are very few.

::

    loop i < 10:                            v[0] = v[0] + w[0]
      v[i] = v[i] + w[i]          ==>       …
    … = v[j]                                v[9] = v[9] + w[9]

Whether a loop indexes such arrays, and how long it is, is known when it is written. It is then written anew if it is to
be unrolled, so the code of an iteration is generated several times.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from hlobatch.kernels.lane import LaneEmitter
from hlobatch.kernels.processors import Processor
from hlobatch.kernels.text import Index
from hlobatch.kernels.types import kind, size
from hlobatch.kernels.values import Value
from hlobatch.typing import DType

MOST_IN_A_LOOP: Final = 5000
"""Largest number of instructions of an unrolled loop. Chosen by judgement (2026-11), not measured."""
MOST_IN_LOOPS: Final = 1 << 15
"""Largest number of instructions of all unrolled loops of a lane, which LLVM and the driver have to compile before the
first run. Chosen by judgement (2026-11), not measured."""
MOST_SELECTED: Final = 4
"""Largest number of elements from which one is selected. Chosen by judgement (2026-11), not measured: a load from the
thread's memory takes some thirty cycles, and each selection two instructions."""


class RegisterEmitter(LaneEmitter):
    """Emits the code of a lane whose arrays of few elements become registers."""

    def __init__(self, processor: Processor, captured: dict[int, str], *, checked: bool) -> None:
        super().__init__(processor, captured, checked=checked)
        self._small: set[str] = set()  # pointers to arrays that may become registers, and to parts of them
        self._selected: dict[str, int] = {}  # sizes of the arrays of which elements are selected
        self._counters: set[str] = set()  # registers that are known once loops are unrolled
        self._indexed = 0  # places of small arrays that are known once loops are unrolled
        self._left = 0  # loops that are not unrolled
        self._unrolled = 0  # instructions of unrolled loops

    # Memory

    def new_memory(self, dtype: DType, elements: int) -> str:
        name = super().new_memory(dtype, elements)
        if elements <= self.processor.registers and name not in self.lasting:
            self._small.add(name)
            if 1 < elements <= MOST_SELECTED:
                self._selected[name] = elements
        return name

    def address(self, pointer: str, dtype: DType, i: Index) -> str:
        found = super().address(pointer, dtype, i)
        if pointer in self._small:
            self._small.add(found)
            self._indexed += i in self._counters
        return found

    def load(self, pointer: str, dtype: DType, i: Index = 0, *, within: int | None = None) -> str:
        if not self._is_selected(pointer, i):
            return super().load(pointer, dtype, i, within=within)
        self.check(i, within)
        *others, found = (super(RegisterEmitter, self).load(pointer, dtype, k) for k in range(self._selected[pointer]))
        for k, other in enumerate(others):
            found = self._chosen(i, k, dtype, other, found)
        return found

    def store(self, x: str, pointer: str, dtype: DType, i: Index = 0, *, within: int | None = None) -> None:
        if not self._is_selected(pointer, i):
            super().store(x, pointer, dtype, i, within=within)
            return
        self.check(i, within)
        for k in range(self._selected[pointer]):
            old = super().load(pointer, dtype, k)
            super().store(self._chosen(i, k, dtype, x, old), pointer, dtype, k)

    def element(self, value: Value, i: Index) -> str:
        self._index(value, i)
        return super().element(value, i)

    def put(self, x: str, array: Value, i: Index) -> None:
        self._index(array, i)
        super().put(x, array, i)

    def _index(self, array: Value, i: Index) -> None:
        """Leave the loop that indexes an array of more elements: LLVM would read them all before an outer loop."""
        self._left += i in self._counters and size(array.shape) > self.processor.registers

    def copy(self, source: str, target: str, dtype: DType, count: int) -> None:
        if count <= self.processor.registers and not self._small.isdisjoint((source, target)):
            self.each_of(count, lambda i: self.store(self.load(source, dtype, i), target, dtype, i))
        else:
            super().copy(source, target, dtype, count)

    def _is_selected(self, pointer: str, i: Index) -> bool:
        """Whether an element is selected: of an array of very few, at a place that only the lane knows."""
        return pointer in self._selected and isinstance(i, str) and i not in self._counters

    def _chosen(self, i: Index, k: int, dtype: DType, x: str, otherwise: str) -> str:
        of = kind(dtype)
        return self.op(f"select i1 {self.op(f'icmp eq i64 {i}, {k}')}, {of} {x}, {of} {otherwise}")

    def window(self, x: Value, place: Index, shape: tuple[int, ...]) -> Value:
        if not self._is_selected(x.ref, place):
            return super().window(x, place, shape)
        return replace(
            x, shape=shape, ref="", root=None, reads=x.roots, element=lambda i: self.element(x, self.plus(place, i))
        )

    # Indices that are known once loops are unrolled

    def plus(self, a: Index, b: Index) -> Index:
        return self._known_with(super().plus(a, b), a, b)

    def times(self, a: Index, factor: int) -> Index:
        return self._known_with(super().times(a, factor), a)

    def minus(self, a: Index, b: Index) -> Index:
        return self._known_with(super().minus(a, b), a, b)

    def _known_with(self, found: Index, *operands: Index) -> Index:
        if isinstance(found, str) and all(isinstance(x, int) or x in self._counters for x in operands):
            self._counters.add(found)
        return found

    # Loops

    def loop(self, count: Index, body: Callable[[Index], None]) -> None:
        if not isinstance(count, int) or count <= 1:
            self._left += not isinstance(count, int)
            super().loop(count, body)
            return
        begin, state, indexed, left = len(self.lines), self._state(), self._indexed, self._left

        def turn(i: Index) -> None:
            self._counters.add(str(i))
            body(i)

        super().loop(count, turn)
        length = count * (len(self.lines) - begin)
        fits = length <= min(MOST_IN_A_LOOP, MOST_IN_LOOPS - self._unrolled) and count <= self.processor.registers
        if fits and self._indexed > indexed and self._left == left:
            self._go_back_to(state)
            before = self._unrolled
            for k in range(count):
                body(k)
            self._unrolled = before + len(self.lines) - begin
        else:
            self._left += 1

    def loop_while(self, test: Callable[[], str], body: Callable[[], None]) -> None:
        self._left += 1
        super().loop_while(test, body)

    def _state(self) -> tuple[Any, ...]:
        """What has been written and allocated so far."""
        unused = {bytes_: list(names) for bytes_, names in self._unused.items()}
        counts = self.own_bytes, self.local_bytes, self._unrolled
        return len(self.lines), len(self.heads), counts, list(self.asked), unused, set(self.lasting)

    def _go_back_to(self, state: tuple[Any, ...]) -> None:
        """Forget what has been written and allocated since a state."""
        lines, heads, counts, self.asked, self._unused, self.lasting = state
        self.own_bytes, self.local_bytes, self._unrolled = counts
        del self.lines[lines:], self.heads[heads:]
