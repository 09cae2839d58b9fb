"""The emitter of a gang: each lane is an element of the vectors of one thread, and a mask says which lanes take part.

A number of a lane is an element of a vector with as many elements as the gang has lanes; LLVM splits it into registers
of the processor. An array has the lanes of the gang side by side: element ``i`` of all lanes is one vector in memory.
A complex number of each lane is one vector too, of all real parts and then all imaginary parts.
A value that is the same in all lanes, such as a constant or the counter of a loop, stays a scalar.

A store is masked if lanes outside the mask may have a value in that memory. Memory that was allocated under the present
mask holds nothing of other lanes, so a store to it needs no mask until the mask gets narrower.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from hlobatch.kernels.interface import BYTES_ON_ANY_STACK
from hlobatch.kernels.lane import LaneEmitter
from hlobatch.kernels.processors import Processor
from hlobatch.kernels.text import MOST_ELEMENTS_UNROLLED, OUT_OF_BOUNDS, Index, Text
from hlobatch.kernels.types import (
    BOOL,
    SUFFIXES,
    alignment,
    is_complex,
    is_narrow,
    is_signed,
    kind,
    part_of,
    part_type,
    stored,
)
from hlobatch.kernels.vector_functions import VectorFunction
from hlobatch.kernels.widening import Called, complex_select, loaded, operands_of, stored_to, vector, widened
from hlobatch.typing import DType

LANE: Final = "%row"
"""The vector register with the index of each lane in its gang."""
OF_NOBODY: Final = "nobody"
"""In place of a mask: memory whose values the lanes outside of the present mask do not read again, so it is never
masked."""
_BYTES: Final = {"ptr": 8, "i1": 1, "half": 2, "float": 4, "double": 8, "<2 x double>": 16}
_ALIGNED_BYTES: Final = 64


class GangEmitter(LaneEmitter):
    """Emits the code of a gang.

    Attributes:
        width: Lanes in a gang.
        mask: The register with a boolean for each lane: whether it takes part. Empty if all do.
        stop: ``stop(lanes, label)`` ends the lanes of a mask, as a jump to the label ends a single lane.
    """

    def __init__(self, processor: Processor, captured: Mapping[int, str], *, checked: bool) -> None:
        super().__init__(processor, dict(captured), checked=checked)
        self.width = processor.width
        self.mask = ""
        self.stop: Callable[[str, str], None] = lambda _lanes, _label: None
        self._varying = {LANE}
        self._own: dict[str, str] = {}
        self._splats: dict[tuple[str, str], str] = {}

    # Registers

    def varies(self, x: Index) -> bool:
        """Whether a register is a vector with an element for each lane, rather than a scalar."""
        return x in self._varying

    def op(self, text: str) -> str:
        """Append an instruction, given its text for one lane.

        It becomes one on vectors if an operand differs between lanes.
        """
        if (found := loaded(text)) is not None and found[1] in self._own:
            return self.of_lanes(f"load {vector(found[0], self.width)}, ptr {found[1]}, align {_ALIGNED_BYTES}")
        if not any(map(self.varies, operands_of(text))):
            return super().op(text)
        if (chosen := complex_select(text)) is not None:
            return self._select_parts(*chosen)
        if (call := Called.read(text)) is None:
            return self.of_lanes(widened(text, self.width, self.spread))
        return self._intrinsic(call) if call.is_intrinsic else self._function(call)

    def do(self, text: str) -> None:
        """Append an instruction without a result; a store to memory of the lanes becomes one of a vector."""
        if (found := stored_to(text)) is not None and found[2] in self._own:
            self._write(*found)
            return
        assert not any(x.rstrip(",") in self._varying for x in text.split(" ")), text
        super().do(text)

    def of_lanes(self, text: str) -> str:
        """Append an instruction on vectors whose result has an element for each lane."""
        name = Text.op(self, text)
        self._varying.add(name)
        return name

    def plain(self, text: str) -> str:
        """Append an instruction unchanged whose result is a scalar."""
        return Text.op(self, text)

    def plain_do(self, text: str) -> None:
        """Append an instruction unchanged that has no result."""
        Text.do(self, text)

    def spread(self, llvm_type: str, x: str) -> str:
        """Broadcast a scalar to a vector; constants are broadcast once, at the function's entry."""
        if self.varies(x):
            return x
        if not x.startswith("%"):
            known = self._splats.get((llvm_type, x))
            if known is None:
                known = self._splats[llvm_type, x] = self._broadcast(llvm_type, x, self._at_entry)
                self._varying.add(known)
            return known
        found = self._broadcast(llvm_type, x, self.plain)
        self._varying.add(found)
        return found

    def _at_entry(self, text: str) -> str:
        name = self.new("s")
        self.heads.append(f"  {name} = {text}")
        return name

    def _broadcast(self, llvm_type: str, x: str, emit: Callable[[str], str]) -> str:
        if part_of(llvm_type) is not None:
            order = ", ".join(["i32 0"] * self.width + ["i32 1"] * self.width)
            return emit(f"shufflevector {llvm_type} {x}, {llvm_type} poison, <{2 * self.width} x i32> <{order}>")
        of_all = vector(llvm_type, self.width)
        first = emit(f"insertelement {of_all} poison, {llvm_type} {x}, i32 0")
        return emit(f"shufflevector {of_all} {first}, {of_all} poison, <{self.width} x i32> zeroinitializer")

    def any(self, lanes: str) -> str:
        """Register of one boolean: whether any element of a mask is true."""
        name = self.external(f"llvm.vector.reduce.or.v{self.width}i1", "i1", vector("i1", self.width))
        return self.plain(f"call i1 @{name}({vector('i1', self.width)} {lanes})")

    def count(self, lanes: str) -> str:
        """Register with the number of true elements of a mask, as an ``i64``."""
        k = f"i{self.width}"
        name = self.external(f"llvm.ctpop.{k}", k, k)
        bits = self.plain(f"bitcast {vector('i1', self.width)} {lanes} to {k}")
        counted = self.plain(f"call {k} @{name}({k} {bits})")
        return counted if k == "i64" else self.plain(f"{'zext' if self.width < 64 else 'trunc'} {k} {counted} to i64")

    # Complex numbers

    def part(self, x: str, dtype: DType, k: int) -> str:
        return self._half(kind(part_type(dtype)), x, k) if self.varies(x) else super().part(x, dtype, k)

    def pair(self, real: str, imaginary: str, dtype: DType) -> str:
        if not self.varies(real) and not self.varies(imaginary):
            return super().pair(real, imaginary, dtype)
        k = kind(part_type(dtype))
        return self._joined(k, [self.spread(k, real), self.spread(k, imaginary)], self.width)

    def _half(self, k: str, x: str, which: int) -> str:
        """The vector of the real (0) or imaginary (1) parts of a vector of complex numbers."""
        of_all, order = f"<{2 * self.width} x {k}>", range(which * self.width, (which + 1) * self.width)
        elements = ", ".join(f"i32 {i}" for i in order)
        return self.of_lanes(f"shufflevector {of_all} {x}, {of_all} poison, <{self.width} x i32> <{elements}>")

    def _select_parts(self, condition: str, k: str, x: str, y: str) -> str:
        """A select of complex numbers, by parts, since the condition has one element for each lane."""
        x, y = (self.spread(f"<2 x {k}>", operand) for operand in (x, y))
        halves = [(self._half(k, x, which), self._half(k, y, which)) for which in range(2)]
        return self._joined(k, [self.op(f"select i1 {condition}, {k} {a}, {k} {b}") for a, b in halves], self.width)

    # Calls

    def _intrinsic(self, call: Called) -> str:
        flags = {k for k, (kind_, x) in enumerate(call.operands) if kind_ == "i1" and not self.varies(x)}
        types = [k if at in flags else vector(k, self.width) for at, (k, _) in enumerate(call.operands)]
        given = [x if at in flags else self.spread(k, x) for at, (k, x) in enumerate(call.operands)]
        result = vector(call.result, self.width)
        name = self.external(call.of_vectors(self.width), result, *types)
        return self.of_lanes(f"call {result} @{name}({', '.join(map(' '.join, zip(types, given, strict=True)))})")

    def _function(self, call: Called) -> str:
        """A call of a libm function: its vector version where the system has one, else a loop over the lanes."""
        found = VectorFunction.find(call.name, [k for k, _ in call.operands], call.result, self.processor.vector_bits)
        if found is None or self.width % found.lanes:
            return self._one_by_one(call)
        result, parts = vector(call.result, found.lanes), []
        types = [vector(k, found.lanes) for k, _ in call.operands]
        self.external(found.name, result, *types)
        wide = [(vector(k, self.width), self.spread(k, x)) for k, x in call.operands]
        for first in range(0, self.width, found.lanes):
            order = ", ".join(f"i32 {i}" for i in range(first, first + found.lanes))
            given = [self.plain(f"shufflevector {k} {x}, {k} poison, <{found.lanes} x i32> <{order}>") for k, x in wide]
            operands = ", ".join(map(" ".join, zip(types, given, strict=True)))
            parts.append(self.plain(f"call {result} @{found.name}({operands})"))
        return self._joined(call.result, parts, found.lanes)

    def _joined(self, llvm_type: str, parts: Sequence[str], lanes: int) -> str:
        """Concatenate vectors of ``lanes`` elements each to the vector of the whole gang."""
        while len(parts) > 1:
            k, order = vector(llvm_type, lanes), ", ".join(f"i32 {i}" for i in range(2 * lanes))
            pairs = zip(parts[::2], parts[1::2], strict=True)
            parts = [self.plain(f"shufflevector {k} {a}, {k} {b}, <{2 * lanes} x i32> <{order}>") for a, b in pairs]
            lanes *= 2
        self._varying.add(parts[0])
        return parts[0]

    def _one_by_one(self, call: Called) -> str:
        cells = [self.cell(k) for k, _ in call.operands]
        result = self.cell(call.result)
        for cell, (k, x) in zip(cells, call.operands, strict=True):
            self.do(f"store {k} {x}, ptr {cell}")

        def one(lane: Index) -> None:
            def element(k: str, cell: str) -> str:
                return self.plain(f"getelementptr {k}, ptr {cell}, i64 {lane}")

            given = [
                (k, self.plain(f"load {k}, ptr {element(k, cell)}"))
                for cell, (k, _) in zip(cells, call.operands, strict=True)
            ]
            y = self.plain(f"call {call.result} @{call.name}({', '.join(map(' '.join, given))})")
            Text.do(self, f"store {call.result} {y}, ptr {element(call.result, result)}")

        self.loop(self.width, one)
        return self.op(f"load {call.result}, ptr {result}")

    # Memory

    def cell(self, llvm_type: str) -> str:
        """Memory for one number of each lane."""
        name = self.new("c")
        self.heads.append(f"  {name} = alloca {vector(llvm_type, self.width)}, align {_ALIGNED_BYTES}")
        self.own_bytes += self.width * _BYTES.get(llvm_type, 8)
        self._own[name] = self.mask
        return name

    def forget(self, memory: str) -> None:
        """Declare that values in some memory are always written before they are read, so stores to it need no mask."""
        self._own[memory] = OF_NOBODY

    def counter(self) -> str:
        return Text.cell(self, "i64")

    def memory(self, dtype: DType, elements: int) -> str:
        name = super().memory(dtype, elements)
        self._own[name] = self.mask
        return name

    def new_memory(self, dtype: DType, elements: int) -> str:
        taken = max(elements, 1) * self.width * dtype.itemsize
        name = self.new("m")
        if elements <= MOST_ELEMENTS_UNROLLED and self.own_bytes + taken <= BYTES_ON_ANY_STACK:
            self.own_bytes += taken
            of_one = vector(stored(dtype), self.width)
            self.heads.append(f"  {name} = alloca {of_one}, i64 {max(elements, 1)}, align {_ALIGNED_BYTES}")
        else:
            self.heads.append(f"  {name} = getelementptr i8, ptr %local, i64 {self.local_bytes}")
            self.local_bytes += taken + -taken % _ALIGNED_BYTES
        return name

    def address(self, pointer: str, dtype: DType, i: Index) -> str:
        is_own, of_lanes = pointer in self._own, vector(stored(dtype), self.width)
        if not self.varies(pointer) and not self.varies(i):
            if i == 0:
                return pointer
            text = f"getelementptr {of_lanes if is_own else stored(dtype)}, ptr {pointer}, i64 {i}"
            found = super().op(text) if not is_own else self.plain(text)
        elif i == 0:
            return pointer
        else:
            k, at = stored(dtype), i
            if is_own:
                part = part_of(k)
                k, at = part or k, self.times(i, 2 * self.width if part else self.width)
                at = at if self.varies(pointer) else self.plus(at, LANE)
            found = self.op(f"getelementptr {k}, ptr {pointer}, i64 {at}")
        if is_own:
            self._own[found] = self._own[pointer]
        return found

    def of_all_lanes(self, pointer: str, dtype: DType, i: Index) -> str:
        found = self.plain(f"getelementptr {vector(stored(dtype), self.width)}, ptr {pointer}, i64 {i}")
        self._own[found] = ""
        return found

    def load(self, pointer: str, dtype: DType, i: Index = 0, *, within: int | None = None) -> str:
        self.check(i, within)
        at, k = self.address(pointer, dtype, i), stored(dtype)
        if self.varies(at):
            got = self._gathered(at, dtype)
        elif at in self._own:
            got = self.of_lanes(f"load {vector(k, self.width)}, ptr {at}, align {self._alignment(dtype)}")
        else:
            return super().load(at, dtype)
        return self.op(f"trunc i8 {got} to {kind(dtype)}") if is_narrow(dtype) else got

    def store(self, x: str, pointer: str, dtype: DType, i: Index = 0, *, within: int | None = None) -> None:
        self.check(i, within)
        at = self.address(pointer, dtype, i)
        if is_narrow(dtype):
            x = self.op(f"{'sext' if is_signed(dtype) else 'zext'} {kind(dtype)} {x} to i8")
        if self.varies(at):
            self.scatter(stored(dtype), x, at, alignment(dtype))
        else:
            assert at in self._own, "what lanes share is only read"
            self._write(stored(dtype), x, at, self._alignment(dtype))

    def copy(self, source: str, target: str, dtype: DType, count: int) -> None:
        self.loop(count, lambda i: self.store(self.load(source, dtype, i), target, dtype, i))

    def _alignment(self, dtype: DType) -> int:
        return min(_ALIGNED_BYTES, self.width * int(dtype.itemsize))

    def _write(self, k: str, x: str, cell: str, align: int = _ALIGNED_BYTES) -> None:
        """Store a vector; under the mask if lanes outside of it may have a value in that memory."""
        of_lanes, x = vector(k, self.width), self.spread(k, x)
        if self._own[cell] not in (self.mask, OF_NOBODY):
            before = self.of_lanes(f"load {of_lanes}, ptr {cell}, align {align}")
            x = self.op(f"select i1 {self.mask}, {k} {x}, {k} {before}")
        Text.do(self, f"store {of_lanes} {x}, ptr {cell}, align {align}")

    def _parts(self, places: str, k: str) -> list[str]:
        """The addresses of the real and of the imaginary parts, given those of complex numbers."""
        return [places, self.op(f"getelementptr {k}, ptr {places}, i64 {self.width if places in self._own else 1}")]

    def _gathered(self, places: str, dtype: DType) -> str:
        if is_complex(dtype):
            own = part_type(dtype)
            found = [self._gathered(place, own) for place in self._parts(places, kind(own))]
            return self._joined(kind(own), found, self.width)
        k, w = stored(dtype), self.width
        name = f"llvm.masked.gather.v{w}{SUFFIXES.get(k, k)}.v{w}p0"
        types = vector("ptr", w), "i32", vector("i1", w), vector(k, w)
        self.external(name, vector(k, w), *types)
        given = f"{types[0]} {places}, i32 {alignment(dtype)}, {types[2]} {self.mask}, {types[3]} zeroinitializer"
        return self.of_lanes(f"call {vector(k, w)} @{name}({given})")

    def scatter(self, k: str, x: str, places: str, align: int) -> None:
        """Store the elements of the lanes under the mask, each to its own address (a masked scatter)."""
        if (part := part_of(k)) is not None:
            x = self.spread(k, x)
            for which, place in enumerate(self._parts(places, part)):
                self.scatter(part, self._half(part, x, which), place, align)
            return
        w = self.width
        name = f"llvm.masked.scatter.v{w}{SUFFIXES.get(k, k)}.v{w}p0"
        types = vector(k, w), vector("ptr", w), "i32", vector("i1", w)
        self.external(name, "void", *types)
        given = f"{types[0]} {self.spread(k, x)}, {types[1]} {places}, i32 {align}, {types[3]} {self.mask}"
        Text.do(self, f"call void @{name}({given})")

    # Control

    def branch(self, condition: str, if_true: str, if_false: str) -> None:
        assert not self.varies(condition), "lanes go different ways"
        super().branch(condition, if_true, if_false)

    def guard(self, condition: str, otherwise: str) -> None:
        """Stop the lanes for which a condition is false, and take them out of the mask."""
        holds = self.spread("i1", condition)
        self.stop(self.op(f"and i1 {self.mask}, {self.op(f'xor i1 {holds}, true')}"), otherwise)
        self.mask = self.op(f"and i1 {self.mask}, {holds}")

    def check(self, i: Index, within: int | None) -> None:
        if self.checked and within is not None and self.varies(i):
            self.guard(self.op(f"icmp ult i64 {i}, {within}"), OUT_OF_BOUNDS)

    def loop(self, count: Index, body: Callable[[Index], None]) -> None:
        """A loop after which the mask is that before it.

        Lanes that were stopped inside run on, but their fate is recorded.
        """
        outer = self.mask
        super().loop(count, body)
        self.mask = outer

    def loop_while(self, test: Callable[[], str], body: Callable[[], None]) -> None:
        """A loop until the test is false for every lane; lanes for which it is false earlier are masked out."""
        outer, going = self.mask, self.cell("i1")
        head, inside, end = self.new("test"), self.new("turn"), self.new("after")
        self.do(f"store i1 {outer}, ptr {going}")
        self.jump(head)
        self.label(head)
        self.mask = self.op(f"load i1, ptr {going}")
        goes_on = self.spread("i1", test())
        self.mask = self.op(f"and i1 {self.mask}, {goes_on}")
        self.branch(self.any(self.mask), inside, end)
        self.label(inside)
        Text.do(self, f"store {vector('i1', self.width)} {self.mask}, ptr {going}, align {_ALIGNED_BYTES}")
        body()
        self.jump(head)
        self.label(end)
        self.mask = outer

    def when(self, condition: str, body: Callable[[], None]) -> None:
        outer, inside, after = self.mask, self.new("write"), self.new("on")
        self.mask = self.op(f"and i1 {outer}, {self.spread('i1', condition)}")
        self.branch(self.any(self.mask), inside, after)
        self.label(inside)
        body()
        self.jump(after)
        self.label(after)
        self.mask = outer

    def together(self, x: str, body: Callable[[str], None]) -> None:
        """``body(x)`` once for each distinct value of ``x``, under the mask of the lanes that have it."""
        if not self.varies(x):
            body(x)
            return
        outer, waiting = self.mask, self.cell("i1")
        flags, bits = vector("i1", self.width), f"i{self.width}"
        head, inside, end = self.new("test"), self.new("turn"), self.new("after")
        first_of = self.external(f"llvm.cttz.{bits}", bits, bits, "i1")
        self.do(f"store i1 {outer}, ptr {waiting}")
        self.jump(head)
        self.label(head)
        left = self.op(f"load i1, ptr {waiting}")
        self.branch(self.any(left), inside, end)
        self.label(inside)
        number = self.plain(
            f"call {bits} @{first_of}({bits} {self.plain(f'bitcast {flags} {left} to {bits}')}, i1 true)"
        )
        one = self.plain(f"extractelement {vector('i64', self.width)} {x}, {bits} {number}")
        self.mask = self.op(f"and i1 {left}, {self.op(f'icmp eq i64 {x}, {one}')}")
        others = self.op(f"xor i1 {left}, {self.mask}")
        Text.do(self, f"store {flags} {others}, ptr {waiting}, align {_ALIGNED_BYTES}")
        body(one)
        self.jump(head)
        self.label(end)
        self.mask = outer

    def one_of(self, which: str, dtype: DType, bodies: Sequence[Callable[[], None]]) -> None:
        if not self.varies(which):
            outer = self.mask

            def under_mask(body: Callable[[], None]) -> None:
                self.mask = outer
                body()

            super().one_of(which, dtype, [partial(under_mask, body) for body in bodies])
            self.mask = outer
        elif dtype == BOOL:
            self.when(self.op(f"xor i1 {which}, true"), bodies[0])
            self.when(which, bodies[1])
        else:
            which = self.within(which, dtype, len(bodies))
            for n, body in enumerate(bodies):
                self.when(self.op(f"icmp eq {kind(dtype)} {which}, {n}"), body)
