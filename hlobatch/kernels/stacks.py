"""The stacks of a lane: memory that the host hands in, with a pointer for what is pushed and popped together.

What the calls of a recursion save is one frame, so that one test finds that there is no room and one number counts
frames (``analysis/call_frames.py``). Where all lanes run at once, elements that have the same place lie side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from hlobatch.analysis.call_frames import CallFrames
from hlobatch.ir.program import Block, Program
from hlobatch.ir.program import VariableAllocation as Alloc
from hlobatch.ir.types import TensorType
from hlobatch.kernels.emitter import Emitter
from hlobatch.kernels.text import Index
from hlobatch.kernels.types import size, stored
from hlobatch.kernels.values import Value

Place = Callable[[Index], str]
"""Finds an element of a frame of an array."""


@dataclass
class Stacks:
    """The stacks of a program.

    Attributes:
        emitter: Writes the lane's code.
        program: The program.
        leaves: For each variable, the types of its arrays.
        tops: For each variable, the memory of its arrays.
        current: What lies in such memory.
        frame_bytes: For each array of a stack, in order, what a frame takes.
        stack_of: For each of these arrays, which stack it belongs to.
    """

    emitter: Emitter
    program: Program
    leaves: Mapping[str, Sequence[TensorType]]
    tops: Mapping[str, Sequence[str]]
    current: Callable[[str, TensorType], Value]
    frame_bytes: list[int] = field(default_factory=list)
    stack_of: list[int] = field(default_factory=list)
    _entries: dict[str, int] = field(default_factory=dict)
    _rows: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for v in self._stacked:
            self._entries[v] = len(self.frame_bytes)
            for leaf in self.leaves[v]:
                self.frame_bytes.append(max(size(leaf.shape), 1) * leaf.dtype.itemsize)
                self.stack_of.append(self._numbers[self.calls.pointers[v]])

    @cached_property
    def calls(self) -> CallFrames:
        """What calls save in one frame."""
        return CallFrames(self.program)

    @cached_property
    def _stacked(self) -> list[str]:
        full = (v for v in self.program.var_defs if self.program.alloc(v) is Alloc.FULL)
        return [v for v in full if self.leaves[v]]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """For each pointer, by what it is named after, the number of its stack."""
        return {name: k for k, name in enumerate(dict.fromkeys(self.calls.pointers[v] for v in self._stacked))}

    @cached_property
    def _pointers(self) -> dict[str, str]:
        """For each pointer the memory of how many frames there are."""
        return {name: self.emitter.cell("i64") for name in self._numbers}

    @property
    def overflows(self) -> list[str]:
        """Where a lane goes for which a stack is too small, in the order of the stacks."""
        return [f"%overflow{k}" for k in self._numbers.values()]

    def begin(self) -> None:
        """Nothing is saved when a lane starts."""
        for pointer in self._pointers.values():
            self.emitter.do(f"store i64 0, ptr {pointer}")

    def arrive(self, block: Block) -> None:
        """Go to the row of the frame that a block restores, saves, or does both with."""
        self._rows = {}
        released, up = self.calls.released(block), self.calls.moved_up(block)
        if released is not None:
            name = self.calls.pointers[released]
            self._rows[name] = row = self.emitter.op(f"sub i64 {self._used(name)}, 1")
            if self.calls.moved_down(block) is not None:
                self._set(name, row)
        if up is not None:
            name = self.calls.pointers[up]
            self._rows[name] = row = self._with_room(name)
            self._set(name, self.emitter.op(f"add i64 {row}, 1"))

    def push(self, variables: Sequence[str]) -> None:
        """Save what variables hold. One without a stack keeps nothing: its old value is not needed."""
        for name, together in self._by_pointer(variables):
            row = self._rows.get(name) or self._with_room(name)
            for v in together:
                for cell, leaf, place in self._frame(v, row):
                    self._save(self.current(cell, leaf), place)
            if name not in self._rows:
                self._set(name, self.emitter.op(f"add i64 {row}, 1"))

    def pop(self, variables: Sequence[str]) -> None:
        """Restore what was saved last; below the bottom there is nothing to restore, and nothing that is read."""
        e = self.emitter
        for name, together in self._by_pointer(variables):
            row = self._rows.get(name, "")
            if not row:
                below = e.op(f"sub i64 {self._used(name)}, 1")
                row = e.op(f"call i64 @{e.external('llvm.smax.i64', 'i64', 'i64', 'i64')}(i64 {below}, i64 0)")
                self._set(name, row)
            for v in together:
                for cell, leaf, place in self._frame(v, row):
                    self._restore(cell, leaf, place)

    def _by_pointer(self, variables: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
        """Variables with a stack, those that move together at once; one that is named twice moves twice."""
        waiting = [v for v in variables if v in self._entries]
        while waiting:
            name = self.calls.pointers[waiting[0]]
            together = list(dict.fromkeys(v for v in waiting if self.calls.pointers[v] == name))
            for v in together:
                waiting.remove(v)
            yield name, together

    # Pointers

    def _used(self, name: str) -> str:
        """How many frames there are."""
        return self.emitter.op(f"load i64, ptr {self._pointers[name]}")

    def _set(self, name: str, count: str) -> None:
        self.emitter.do(f"store i64 {count}, ptr {self._pointers[name]}")

    def _with_room(self, name: str) -> str:
        """How many frames there are, which are fewer than there is room for."""
        e, number = self.emitter, self._numbers[name]
        used = self._used(name)
        depth = e.op(f"load i64, ptr {self._of_frames(2 * self.stack_of.index(number) + 1)}")
        e.guard(e.op(f"icmp ult i64 {used}, {depth}"), f"%overflow{number}")
        return used

    def _of_frames(self, position: int) -> str:
        return self.emitter.op(f"getelementptr i64, ptr %frames, i64 {position}")

    # Frames

    def _frame(self, v: str, row: str) -> Iterator[tuple[str, TensorType, Place]]:
        """A variable's arrays: where each has its top, its type, and where it lies in a frame."""
        for k, (cell, leaf) in enumerate(zip(self.tops[v], self.leaves[v], strict=True)):
            yield cell, leaf, self._place(self._entries[v] + k, leaf, row)

    def _place(self, entry: int, leaf: TensorType, row: str) -> Place:
        """What finds an element; where lanes have stacks of their own, only the first."""
        e = self.emitter
        begin = e.op(f"load i64, ptr {self._of_frames(2 * entry)}")
        if not e.processor.side_by_side:
            base = e.op(f"getelementptr i8, ptr %stacks, i64 {begin}")
            at = e.op(f"getelementptr i8, ptr {base}, i64 {e.times(row, self.frame_bytes[entry])}")
            return lambda _: at
        base = e.op(f"getelementptr i8, ptr %stacks, i64 {e.op(f'mul i64 %rows, {begin}')}")

        def place(i: Index) -> str:
            element = e.plus(e.times(row, max(size(leaf.shape), 1)), i)
            at = e.op(f"add i64 {e.op(f'mul i64 %rows, {element}')}, %row")
            return e.op(f"getelementptr {stored(leaf.dtype)}, ptr {base}, i64 {at}")

        return place

    def _save(self, value: Value, place: Place) -> None:
        e = self.emitter
        if not e.processor.side_by_side:
            e.copy_to(value, place(0))
            return

        def one(index: list[Index]) -> None:
            i = e.position(index, value.shape)
            e.store(e.element(value, i), place(i), value.dtype)

        e.for_each(value.shape, one)

    def _restore(self, cell: str, leaf: TensorType, place: Place) -> None:
        e = self.emitter
        if not e.processor.side_by_side:
            at = place(0)
            e.copy_to(Value(leaf.dtype, leaf.shape, at if leaf.shape else e.load(at, leaf.dtype)), cell)
            return

        def one(index: list[Index]) -> None:
            i = e.position(index, leaf.shape)
            e.store(e.load(place(i), leaf.dtype), cell, leaf.dtype, i)

        e.for_each(leaf.shape, one)
