"""The stacked variables of a program -> memory for the frames of a lane, and LLVM IR to push and pop them.

All variables that a call saves form one frame, so one test shows that a stack is full, and one stack pointer says where
the next frame goes (``analysis/call_frames.py``). On a CPU, the arrays of a frame are contiguous in a lane's memory. On
a GPU and in a gang, where lanes run at once, each array has an area of its own, in which the same element of all lanes
is contiguous, so that lanes at the same depth read it in one access (coalesced). The first frames of a stack may lie
near the thread, on its own stack (``Processor.near_bytes``), since a recursion seldom touches others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Final

from hlobatch.analysis.call_frames import CallFrames
from hlobatch.ir.names import is_tape
from hlobatch.ir.program import Block, Program
from hlobatch.ir.program import VariableAllocation as Alloc
from hlobatch.ir.types import TensorType
from hlobatch.kernels.lane import LaneEmitter
from hlobatch.kernels.text import Index
from hlobatch.kernels.types import BOOL, INT64, size, stored
from hlobatch.kernels.values import Value

MOST_NEAR_FRAMES: Final = 32
"""Largest number of frames of a stack that lie near the thread: the number that was tried on a GPU, which made
recursions 1.6 to 1.9 times as fast (Fibonacci, Takeuchi, queens, k-d tree)."""
Place = Callable[[Index], str]
"""Gives the pointer to the element ``i`` of an array in a frame."""


@dataclass
class Stacks:
    """The stacks of a program.

    Attributes:
        emitter: Writes the lane's code.
        program: The program.
        leaves: For each variable, the types of its arrays.
        tops: For each variable, pointers to the memory of its arrays.
        current: Gives the value in such memory.
        frame_bytes: For each area of frames, the bytes of one frame in it. There is an area for each array of a stack
            where lanes run at once, else for each stack.
        stack_of: For each area, the number of the stack that it belongs to.
        near: For each stack, how many of its first frames lie near the thread.
    """

    emitter: LaneEmitter
    program: Program
    leaves: Mapping[str, Sequence[TensorType]]
    tops: Mapping[str, Sequence[str]]
    current: Callable[[str, TensorType], Value]
    frame_bytes: list[int] = field(default_factory=list)
    stack_of: list[int] = field(default_factory=list)
    near: list[int] = field(default_factory=list)
    _near_arrays: dict[tuple[str, int], str] = field(default_factory=dict)
    _all_near: dict[str, str] = field(default_factory=dict)
    _places: dict[str, list[int]] = field(default_factory=dict)
    _rows: dict[str, str] = field(default_factory=dict)
    _bounds: dict[str, tuple[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.emitter.processor.side_by_side:
            self._lay_out_by_arrays()
        else:
            self._lay_out_by_frames()
        self._lay_out_near()

    def _lay_out_near(self) -> None:
        """Place the same number of first frames of each stack near the thread; none of tapes, which are long."""
        taken = [0 for _ in self._numbers]
        for bytes_, stack in zip(self.frame_bytes, self.stack_of, strict=True):
            taken[stack] += bytes_
        of_all = sum(each for stack, each in enumerate(taken) if stack not in self.tapes)
        count = min(MOST_NEAR_FRAMES, self.emitter.processor.near_bytes // max(of_all, 1))
        self.near += [0 if stack in self.tapes else count for stack in range(len(taken))]
        for v in self._stacked:
            for k, leaf in enumerate(self.leaves[v]):
                if count := self.near[self._numbers[self.calls.pointers[v]]]:
                    self._near_arrays[v, k] = self.emitter.near(leaf.dtype, count * max(size(leaf.shape), 1))

    @property
    def tapes(self) -> frozenset[int]:
        """The numbers of the stacks that are tapes."""
        return frozenset(number for name, number in self._numbers.items() if is_tape(name))

    def _lay_out_by_arrays(self) -> None:
        for v in self._stacked:
            self._places[v] = []
            for leaf in self.leaves[v]:
                self._places[v].append(len(self.frame_bytes))
                self.frame_bytes.append(_bytes(leaf) * self.emitter.processor.width)
                self.stack_of.append(self._numbers[self.calls.pointers[v]])

    def _lay_out_by_frames(self) -> None:
        """Lay out the arrays of each frame by decreasing size of their elements, so that each is aligned."""
        self.stack_of += self._numbers.values()
        for name in self._numbers:
            taken, of_all = 0, 1
            arrays = [
                (v, k) for v in self._stacked if self.calls.pointers[v] == name for k in range(len(self.leaves[v]))
            ]
            for v, k in sorted(arrays, key=lambda array: -self.leaves[array[0]][array[1]].dtype.itemsize):
                self._places.setdefault(v, [0] * len(self.leaves[v]))[k] = taken
                taken += _bytes(self.leaves[v][k])
                of_all = max(of_all, self.leaves[v][k].dtype.itemsize)
            self.frame_bytes.append(taken + -taken % of_all)

    @cached_property
    def calls(self) -> CallFrames:
        """The analysis of what calls save in one frame."""
        return CallFrames(self.program)

    @cached_property
    def _stacked(self) -> list[str]:
        full = (v for v in self.program.var_defs if self.program.alloc(v) is Alloc.FULL)
        return [v for v in full if self.leaves[v]]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """For each stack pointer, by name, the number of its stack."""
        return {name: k for k, name in enumerate(dict.fromkeys(self.calls.pointers[v] for v in self._stacked))}

    @cached_property
    def _pointers(self) -> dict[str, str]:
        """For each stack pointer, the cell that holds it."""
        return {name: self.emitter.cell("i64") for name in self._numbers}

    @property
    def overflows(self) -> list[str]:
        """Labels that a lane jumps to when a stack is full, in the order of the stacks."""
        return [f"%overflow{k}" for k in self._numbers.values()]

    @property
    def pointers(self) -> list[str]:
        """The cells of all stack pointers."""
        return list(self._pointers.values())

    def begin(self) -> None:
        """Set all stack pointers to the bottom."""
        for name, pointer in self._pointers.items():
            self.emitter.do(f"store i64 {self._bounds[name][0]}, ptr {pointer}")

    def find_bounds(self) -> None:
        """Load the bounds of all stacks, before any lane starts."""
        e = self.emitter
        for name in self._pointers:
            entry = 2 * self.stack_of.index(self._numbers[name])
            begin, end = "0", self._of_frames(entry + 1)
            if not e.processor.side_by_side:
                begin = self._of_frames(entry)
                end = e.op(f"add i64 {begin}, {e.times(end, self._step(name))}")
            if self.near[number := self._numbers[name]]:
                far = self._of_frames(2 * (len(self.frame_bytes) + number))
                self._all_near[name] = e.op(f"icmp eq i64 {far}, 0")
            self._bounds[name] = begin, end

    def arrive(self, block: Block) -> None:
        """Find the frame that a block restores or saves, and move the stack pointer."""
        self._rows = {}
        released, up = self.calls.released(block), self.calls.moved_up(block)
        if released is not None:
            name = self.calls.pointers[released]
            self._rows[name] = row = self._below(name)
            if self.calls.moved_down(block) is not None:
                self._set(name, row)
        if up is not None:
            name = self.calls.pointers[up]
            self._rows[name] = row = self._with_room(name)
            self._set_above(name, row)

    def push(self, variables: Sequence[str]) -> None:
        """Push the values of variables; those without a stack are skipped, since their old values are not needed."""
        for name, together in self._by_pointer(variables):
            row = self._rows.get(name) or self._with_room(name)
            self._near_or_far(name, row, partial(self._save_all, together))
            if name not in self._rows:
                self._set_above(name, row)

    def pop(self, variables: Sequence[str]) -> None:
        """Pop the values of variables. Below the bottom, values are restored that nothing reads."""
        e = self.emitter
        for name, together in self._by_pointer(variables):
            row = self._rows.get(name, "")
            if not row:
                row = e.intrinsic("smax", INT64, self._below(name), self._bounds[name][0])
                self._set(name, row)
            self._near_or_far(name, row, partial(self._restore_all, together))

    def _near_or_far(self, name: str, row: str, move: Callable[[str, bool], None]) -> None:
        """``move(row, is_near)`` for a frame, by a branch if some frames lie near the thread."""
        e, near = self.emitter, self.near[self._numbers[name]]
        if not near:
            e.together(row, lambda row: move(row, False))
            return

        def far() -> None:
            move(e.op(f"sub i64 {row}, {near}"), False)

        is_near = e.op(f"or i1 {self._all_near[name]}, {e.op(f'icmp slt i64 {row}, {near}')}")
        e.one_of(is_near, BOOL, [far, lambda: move(row, True)])

    def _save_all(self, variables: Sequence[str], row: str, is_near: bool) -> None:
        with self.emitter.at_once():
            for v in variables:
                for cell, leaf, place in self._frame(v, row, is_near):
                    self._save(self.current(cell, leaf), place)

    def _restore_all(self, variables: Sequence[str], row: str, is_near: bool) -> None:
        with self.emitter.at_once():
            for v in variables:
                for cell, leaf, place in self._frame(v, row, is_near):
                    self._restore(cell, leaf, place)

    def _by_pointer(self, variables: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
        """The stacked variables, grouped by stack pointer; a variable that is named twice is in two groups."""
        waiting = [v for v in variables if v in self._places]
        while waiting:
            name = self.calls.pointers[waiting[0]]
            together = list(dict.fromkeys(v for v in waiting if self.calls.pointers[v] == name))
            for v in together:
                waiting.remove(v)
            yield name, together

    # Pointers

    def _step(self, name: str) -> int:
        """The distance between frames: bytes in a lane's own memory, or 1 where rows of all lanes are counted."""
        return 1 if self.emitter.processor.side_by_side else self.frame_bytes[self._numbers[name]]

    def _next(self, name: str) -> str:
        """The stack pointer: where the next frame goes."""
        return self.emitter.op(f"load i64, ptr {self._pointers[name]}")

    def _below(self, name: str) -> str:
        """The place of the last frame that was pushed."""
        return self.emitter.op(f"sub i64 {self._next(name)}, {self._step(name)}")

    def _set(self, name: str, place: str) -> None:
        self.emitter.do(f"store i64 {place}, ptr {self._pointers[name]}")

    def _set_above(self, name: str, row: str) -> None:
        self._set(name, self.emitter.op(f"add i64 {row}, {self._step(name)}"))

    def _with_room(self, name: str) -> str:
        """Where the next frame goes, after a check that the stack has room for it."""
        e, number = self.emitter, self._numbers[name]
        place = self._next(name)
        e.guard(e.op(f"icmp slt i64 {place}, {self._bounds[name][1]}"), f"%overflow{number}")
        return place

    def _of_frames(self, position: int) -> str:
        e = self.emitter
        return e.op(f"load i64, ptr {e.op(f'getelementptr i64, ptr %frames, i64 {position}')}")

    # Frames

    def _frame(self, v: str, row: str, is_near: bool) -> Iterator[tuple[str, TensorType, Place]]:
        """For each array of a variable: the cell of its top, its type, and its place in a frame."""
        for k, (place, cell, leaf) in enumerate(zip(self._places[v], self.tops[v], self.leaves[v], strict=True)):
            near = partial(self._near_place, self._near_arrays[v, k], leaf, row) if is_near else None
            yield cell, leaf, near or self._place(place, leaf, row)

    def _near_place(self, array: str, leaf: TensorType, row: str, i: Index) -> str:
        """The pointer to an element of an array in a near frame."""
        e = self.emitter
        return e.address(array, leaf.dtype, e.plus(e.times(row, max(size(leaf.shape), 1)), i))

    def _place(self, of_array: int, leaf: TensorType, row: str) -> Place:
        """The function that gives the pointer to an element.

        With a lane's own stacks it only gives the first element's.
        """
        e = self.emitter
        if not e.processor.side_by_side:
            frame = e.op(f"getelementptr i8, ptr %stacks, i64 {row}")
            at = e.op(f"getelementptr i8, ptr {frame}, i64 {of_array}")
            return lambda _: at
        begin = self._of_frames(2 * of_array)
        # For a gang, whose width the host knows, the offsets are those of all lanes; else they are those of one.
        begin = begin if e.processor.width > 1 else e.op(f"mul i64 %rows, {begin}")
        base = e.op(f"getelementptr i8, ptr %stacks, i64 {begin}")

        def place(i: Index) -> str:
            element = e.plus(e.times(row, max(size(leaf.shape), 1)), i)
            if e.processor.width > 1:
                return e.of_all_lanes(base, leaf.dtype, element)
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


def _bytes(leaf: TensorType) -> int:
    """Bytes of an array in a frame."""
    return max(size(leaf.shape), 1) * int(leaf.dtype.itemsize)
