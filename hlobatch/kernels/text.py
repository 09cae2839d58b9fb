"""Instructions, labels, loops and memory -> the text of one LLVM function, with places in the user's source.

A number that changes lies in memory on the function's own stack (``alloca``), which LLVM promotes to a register.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from hlobatch.diagnostics import UNKNOWN, Location
from hlobatch.kernels.debug import Places
from hlobatch.kernels.processors import Processor
from hlobatch.kernels.types import SUFFIXES, alignment, is_narrow, is_signed, kind, part_type, size, stored
from hlobatch.typing import DType

Index = int | str
"""An index: an ``int`` that is known, or the name of an ``i64`` register."""

MOST_ELEMENTS_UNROLLED: Final = 8
"""Largest number of elements for which a loop over an array is unrolled, so that LLVM can keep the array in registers.
Chosen by judgement (2026-11), not measured."""

OUT_OF_BOUNDS: Final = "%out_of_bounds"
"""Label that a lane jumps to before an access outside of an array, if accesses are checked."""


def strides(shape: Sequence[int]) -> list[int]:
    """For each axis, the distance in elements between neighbors along it (row-major)."""
    return [size(shape[k + 1 :]) for k in range(len(shape))]


class Text:
    """The text of one LLVM function, as it is written.

    Attributes:
        processor: The processor that is to run it.
        checked: Whether each access to memory is checked to be within its array.
        lines: The instructions so far.
        heads: Instructions at the function's entry, such as allocations.
        declared: Declarations of the external functions that it calls, by name.
        constants: Names of constant arrays, by their definitions.
        facts: Further lines of metadata of the module.
        branches_alone: Whether a branch of a lane makes no other lane wait.
        places: Places of the instructions in the user's source.
        labels: Number of labels so far. While it stays the same, what was computed is known.
    """

    def __init__(self, processor: Processor, *, checked: bool = False) -> None:
        self.processor, self.checked = processor, checked
        self.branches_alone = not processor.side_by_side
        self.lines: list[str] = []
        self.heads: list[str] = []
        self.declared: dict[str, str] = {}
        self.constants: dict[str, str] = {}
        self.facts: list[str] = []
        self.places = Places()
        self.labels = 0
        self._mark = ""
        self._count = 0

    # Instructions

    def new(self, stem: str = "v") -> str:
        """A register or label name that is not yet used."""
        self._count += 1
        return f"%{stem}{self._count}"

    def op(self, text: str) -> str:
        """Append an instruction; returns the register of its result."""
        name = self.new()
        self.lines.append(f"  {name} = {text}{self._mark}")
        return name

    def do(self, text: str) -> None:
        """Append an instruction without a result."""
        self.lines.append(f"  {text}{self._mark}")

    def label(self, name: str) -> None:
        self.labels += 1
        self.lines.append(f"{name[1:]}:")

    def jump(self, label: str) -> None:
        self.do(f"br label {label}")

    def jump_back(self, label: str) -> None:
        """Go to the next turn of a loop."""
        self.jump(label)

    def branch(self, condition: str, if_true: str, if_false: str) -> None:
        self.do(f"br i1 {condition}, label {if_true}, label {if_false}")

    def unlikely(self, condition: str) -> str:
        """Mark a condition as unlikely, so that LLVM moves the code behind it out of the way."""
        name = self.external("llvm.expect.i1", "i1", "i1", "i1")
        return self.op(f"call i1 @{name}(i1 {condition}, i1 false)")

    def guard(self, condition: str, otherwise: str) -> None:
        """Go on if a condition holds, else jump to a label."""
        after = self.new("on")
        self.branch(condition, after, otherwise)
        self.label(after)

    def together(self, x: str, body: Callable[[str], None]) -> None:
        """``body(x)``; a gang runs it once for each distinct number ``x`` of its lanes."""
        body(x)

    # Loops that the threads of a lane may share

    def each(self, shape: Sequence[int], body: Callable[[list[Index]], None], *targets: str) -> None:
        """``body(index)`` for each index of a shape, in any order: no iteration reads what another one writes.

        Args:
            shape: The shape.
            body: Emits the code for an index.
            *targets: Pointers to all arrays that the body writes.
        """
        del targets
        self.for_each(shape, body)

    def each_of(self, count: Index, body: Callable[[Index], None], *targets: str) -> None:
        """``body(i)`` for each i in ``range(count)``, in any order; ``targets`` as in ``each``."""
        del targets
        self.loop(count, body)

    def in_turn(
        self, shape: Sequence[int], apart: Sequence[int], body: Callable[[list[Index]], None], *targets: str
    ) -> None:
        """``body(index)`` for each index, in order.

        Indices that differ only along the axes ``apart`` may run in any order.
        """
        del apart, targets
        self.for_each(shape, body)

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """A context in which no code reads what other code in it has written."""
        yield

    def once(self, body: Callable[[], None]) -> None:
        """``body()``, run by one thread of a lane, since it writes what only the host reads."""
        body()

    @contextmanager
    def at(self, location: Location) -> Iterator[None]:
        """A context in which instructions have a debug location in the user's source."""
        before = self._mark
        self._mark = before if location is UNKNOWN else f", !dbg {self.places.mark(location)}"
        try:
            yield
        finally:
            self._mark = before

    def external(self, name: str, result: str, *parameters: str) -> str:
        """Declare an external function; returns its name."""
        self.declared[name] = f"declare {result} @{name}({', '.join(parameters)})"
        return name

    def call(self, stem: str, dtype: DType, *operands: str) -> str:
        """Call a function of libm or libdevice; returns the register of its result."""
        k = kind(dtype)
        name = self.external(self.processor.math_prefix + stem + ("f" if k == "float" else ""), k, *[k] * len(operands))
        return self.op(f"call {k} @{name}({', '.join(f'{k} {x}' for x in operands)})")

    def intrinsic(self, stem: str, dtype: DType, *operands: str, flag: str = "") -> str:
        """Call an intrinsic of LLVM; ``flag`` is the boolean that some take as their last operand."""
        k = kind(dtype)
        name = self.external(f"llvm.{stem}.{SUFFIXES.get(k, k)}", k, *[k] * len(operands), *(["i1"] if flag else []))
        given = [f"{k} {x}" for x in operands] + ([f"i1 {flag}"] if flag else [])
        return self.op(f"call {k} @{name}({', '.join(given)})")

    # Complex numbers

    def part(self, x: str, dtype: DType, k: int) -> str:
        """The real (0) or imaginary (1) part of a complex number."""
        return self.op(f"extractelement {kind(dtype)} {x}, i32 {k}")

    def pair(self, real: str, imaginary: str, dtype: DType) -> str:
        """The complex number with a real and an imaginary part."""
        k, p = kind(dtype), kind(part_type(dtype))
        half = self.op(f"insertelement {k} poison, {p} {real}, i32 0")
        return self.op(f"insertelement {k} {half}, {p} {imaginary}, i32 1")

    # Memory

    def memory(self, dtype: DType, elements: int) -> str:
        """Memory for an array, for as long as the function runs."""
        name = self.new("m")
        self.heads.append(f"  {name} = alloca {stored(dtype)}, i64 {max(elements, 1)}, align 16")
        return name

    def cell(self, llvm_type: str) -> str:
        """Memory for one number, which LLVM promotes to a register."""
        name = self.new("c")
        self.heads.append(f"  {name} = alloca {llvm_type}")
        return name

    def counter(self) -> str:
        """Memory for a counter that all lanes of a gang share."""
        return self.cell("i64")

    def address(self, pointer: str, dtype: DType, i: Index) -> str:
        return pointer if i == 0 else self.op(f"getelementptr {stored(dtype)}, ptr {pointer}, i64 {i}")

    def load(self, pointer: str, dtype: DType, i: Index = 0, *, within: int | None = None) -> str:
        """Load the element at position ``i``.

        ``within`` is the array's size, or None if the access need not be checked.
        """
        self.check(i, within)
        got = self.op(f"load {stored(dtype)}, ptr {self.address(pointer, dtype, i)}, align {alignment(dtype)}")
        return self.op(f"trunc i8 {got} to {kind(dtype)}") if is_narrow(dtype) else got

    def store(self, x: str, pointer: str, dtype: DType, i: Index = 0, *, within: int | None = None) -> None:
        """Store the element at position ``i``; ``within`` as in ``load``."""
        self.check(i, within)
        if is_narrow(dtype):
            x = self.op(f"{'sext' if is_signed(dtype) else 'zext'} {kind(dtype)} {x} to i8")
        self.do(f"store {stored(dtype)} {x}, ptr {self.address(pointer, dtype, i)}, align {alignment(dtype)}")

    def copy(self, source: str, target: str, dtype: DType, count: int) -> None:
        """Copy ``count`` elements from one array to another."""
        self.external("llvm.memcpy.p0.p0.i64", "void", "ptr", "ptr", "i64", "i1")
        bytes_ = count * np.dtype(dtype).itemsize
        self.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {bytes_}, i1 false)")

    def check(self, i: Index, within: int | None) -> None:
        """If accesses are checked, emit a guard that stops the lane if a position is outside of an array.

        Args:
            i: The position.
            within: The array's size; None if it need not be checked.
        """
        if not self.checked or within is None:
            return
        if isinstance(i, int):
            assert 0 <= i < max(within, 1), f"place {i} of {within}"
            return
        self.guard(self.op(f"icmp ult i64 {i}, {within}"), OUT_OF_BOUNDS)

    # Indices

    def plus(self, a: Index, b: Index) -> Index:
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        return b if a == 0 else a if b == 0 else self.op(f"add i64 {a}, {b}")

    def times(self, a: Index, factor: int) -> Index:
        if isinstance(a, int):
            return a * factor
        if factor == 1:
            return a
        return 0 if factor == 0 else self.op(f"mul i64 {a}, {factor}")

    def minus(self, a: Index, b: Index) -> Index:
        if isinstance(a, int) and isinstance(b, int):
            return a - b
        return a if b == 0 else self.op(f"sub i64 {a}, {b}")

    def position(self, index: Sequence[Index], shape: Sequence[int]) -> Index:
        """The row-major position of the element with an index."""
        total: Index = 0
        for i, stride in zip(index, strides(shape), strict=True):
            total = self.plus(total, self.times(i, stride))
        return total

    def unravelled(self, place: Index, shape: Sequence[int]) -> list[Index]:
        """The index of the element at a row-major position."""
        if isinstance(place, int):
            return [place // stride % n for n, stride in zip(shape, strides(shape), strict=True)]
        index: list[Index] = []
        for n, stride in zip(shape, strides(shape), strict=True):
            if n == 1:
                index.append(0)
                continue
            index.append(place if stride == 1 else self.op(f"udiv i64 {place}, {stride}"))
            place = place if stride == 1 else self.op(f"urem i64 {place}, {stride}")
        return index

    # Loops

    def loop(self, count: Index, body: Callable[[Index], None]) -> None:
        """``body(i)`` for each i in ``range(count)``; ``count`` is the same for all lanes of a gang."""
        if isinstance(count, int) and count <= 1:
            for known in range(count):
                body(known)
            return
        counter, head, inside, end = self.counter(), self.new("head"), self.new("body"), self.new("end")
        self.do(f"store i64 0, ptr {counter}")
        self.jump(head)
        self.label(head)
        i = self.op(f"load i64, ptr {counter}")
        self.branch(self.op(f"icmp slt i64 {i}, {count}"), inside, end)
        self.label(inside)
        body(i)
        self.do(f"store i64 {self.op(f'add i64 {i}, 1')}, ptr {counter}")
        self.jump_back(head)
        self.label(end)

    def for_each(self, shape: Sequence[int], body: Callable[[list[Index]], None]) -> None:
        """``body(index)`` for each index of a shape, in order.

        The loop is unrolled if there are at most ``MOST_ELEMENTS_UNROLLED`` indices.
        """
        if size(shape) <= MOST_ELEMENTS_UNROLLED:
            for index in itertools.product(*map(range, shape)):
                body(list(index))
        else:
            self.for_each_looped(shape, body)

    def for_each_looped(self, shape: Sequence[int], body: Callable[[list[Index]], None]) -> None:
        """``body(index)`` for each index of a shape, in order, never unrolled."""

        def nested(known: list[Index]) -> None:
            if len(known) == len(shape):
                body(known)
            else:
                self.loop(shape[len(known)], lambda i: nested([*known, i]))

        nested([])

    def loop_while(self, test: Callable[[], str], body: Callable[[], None]) -> None:
        """``body()`` while the condition in the register that ``test()`` returns holds."""
        head, inside, end = self.new("test"), self.new("turn"), self.new("after")
        self.jump(head)
        self.label(head)
        self.branch(test(), inside, end)
        self.label(inside)
        body()
        self.jump(head)
        self.label(end)

    def when(self, condition: str, body: Callable[[], None]) -> None:
        """``body()`` if a condition holds."""
        inside, after = self.new("write"), self.new("on")
        self.branch(condition, inside, after)
        self.label(inside)
        body()
        self.jump(after)
        self.label(after)

    def within(self, which: str, dtype: DType, count: int) -> str:
        """The number of a branch, clamped to ``range(count)``."""
        return self.intrinsic("smax", dtype, self.intrinsic("smin", dtype, which, str(count - 1)), "0")

    def one_of(self, which: str, dtype: DType, bodies: Sequence[Callable[[], None]]) -> None:
        """Run the body with the number ``which``, clamped to the number of bodies."""
        labels, end = [self.new("branch") for _ in bodies], self.new("joined")
        k = kind(dtype)
        if k == "i1":
            self.branch(which, labels[1], labels[0])
        else:
            which = self.within(which, dtype, len(bodies))
            cases = " ".join(f"{k} {n}, label {label}" for n, label in enumerate(labels[:-1]))
            self.do(f"switch {k} {which}, label {labels[-1]} [ {cases} ]")
        for body, label in zip(bodies, labels, strict=True):
            self.label(label)
            body()
            self.jump(end)
        self.label(end)

    def fold_several(
        self,
        shape: Sequence[int],
        dtypes: Sequence[Any],
        first: Sequence[str],
        step: Callable[[list[str], list[Index]], list[str]],
        joined: Callable[[list[str], list[str]], list[str]] | None = None,
    ) -> list[str]:
        """``xs = step(xs, index)`` for each index of a shape, beginning with ``first``; returns the last ``xs``.

        Args:
            shape: The shape.
            dtypes: Types of the numbers ``xs``.
            first: Their initial values.
            step: Emits the code for an index.
            joined: Combines the results of two parts of the indices, each of which began with ``first``; None if all
                indices have to be taken in order.
        """
        del joined
        totals = Cells(self, dtypes)
        totals.keep(first)
        self.for_each(shape, lambda index: totals.keep(step(totals.now(), index)))
        return totals.now()

    def running(
        self,
        dtype: DType,
        count: int,
        value: Callable[[Index], str],
        joined: Callable[[str, str], str],
        write: Callable[[Index, str], None],
    ) -> None:
        """``write(i, x)`` for each i below ``count``, where x combines the values at 0 to i (a prefix sum)."""
        k = kind(dtype)
        total = self.cell(k)
        self.do(f"store {k} zeroinitializer, ptr {total}")

        def one(at: list[Index]) -> None:
            x = value(at[0])
            if at[0] != 0:
                so_far = joined(self.op(f"load {k}, ptr {total}"), x)
                x = self.op(f"select i1 {self.op(f'icmp eq i64 {at[0]}, 0')}, {k} {x}, {k} {so_far}")
            self.do(f"store {k} {x}, ptr {total}")
            write(at[0], x)

        self.for_each([count], one)

    def sum_of(
        self,
        dtype: DType,
        first: str,
        zero: str,
        count: Index,
        step: Callable[[str, Index], str],
        joined: Callable[[str, str], str],
    ) -> str:
        """``x = step(x, i)`` for each i below ``count``, from ``first`` on, or in parts, each from ``zero`` on."""
        del zero, joined
        total = Cells(self, [dtype])
        total.keep([first])
        self.loop(count, lambda i: total.keep([step(total.now()[0], i)]))
        return total.now()[0]

    def fold(
        self,
        shape: Sequence[int],
        dtype: DType,
        first: str,
        step: Callable[[str, list[Index]], str],
        joined: Callable[[str, str], str] | None = None,
    ) -> str:
        """``x = step(x, index)`` for each index of a shape, from ``first`` on; ``joined`` as in ``fold_several``."""
        if size(shape) <= MOST_ELEMENTS_UNROLLED:
            for index in itertools.product(*map(range, shape)):
                first = step(first, list(index))
            return first
        both = None if joined is None else lambda xs, ys: [joined(xs[0], ys[0])]
        return self.fold_several(shape, [dtype], [first], lambda xs, index: [step(xs[0], index)], both)[0]


class Cells:
    """Mutable numbers, such as the running values of a sum."""

    def __init__(self, text: Text, dtypes: Sequence[Any]) -> None:
        self._text, self._kinds = text, [kind(dtype) for dtype in dtypes]
        self._cells = [text.cell(k) for k in self._kinds]

    def keep(self, xs: Sequence[str]) -> None:
        """Store all numbers."""
        for k, x, cell in zip(self._kinds, xs, self._cells, strict=True):
            self._text.do(f"store {k} {x}, ptr {cell}")

    def now(self) -> list[str]:
        """Load all numbers."""
        return [self._text.op(f"load {k}, ptr {cell}") for k, cell in zip(self._kinds, self._cells, strict=True)]
