"""A program with explicit stacks -> one LLVM function that runs one lane.

A block of the program is a basic block of LLVM's. A variable is memory, of which LLVM makes registers. A stack is
memory that the host hands in, with a pointer; its top is a variable beside it. A return is a ``switch`` on the return
address that was pushed last. A lane branches by itself, so there is no mask, no schedule and no masked write.

::

    i32 @lane(i64 index, ptr captured …, ptr in …, ptr shared …, ptr begun …, ptr out …, ptr call, ptr local,
              ptr stacks, ptr frames, ptr counts, i64 row, i64 rows)

runs the input ``index`` and returns its fate: a ``Fate`` in the lowest ``NUMBER`` bits, and above them the number of
the failure or of the stack that was too small, counting from 1. It writes results only if the input is finished or has
failed. If XLA computes some primitives in turn with the kernel (``errands.py``), there is a last parameter, the lane's
status so far, and a lane that waits for such a primitive has its number above the fate.

``frames`` has two numbers for each area of frames: its offset in ``stacks``, in bytes, and its capacity in frames. If
some frames lie near the thread, two more numbers follow for each stack: the frames that do not, and 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final

from hlobatch.analysis.cost import block_time
from hlobatch.analysis.machine_flow import turning_points
from hlobatch.ir.fate import FATES, NUMBER, Fate
from hlobatch.ir.ops import HALT, BranchOp, GotoOp, IndirectGotoOp, PushGotoOp
from hlobatch.ir.program import Block, Program
from hlobatch.ir.types import TensorType
from hlobatch.kernels.body import INTERRUPTED, STEPPED_OUT, Body
from hlobatch.kernels.errands import Errand
from hlobatch.kernels.interface import FAULT, Call, Operands, Options
from hlobatch.kernels.lane import LaneEmitter
from hlobatch.kernels.registers import RegisterEmitter
from hlobatch.kernels.text import OUT_OF_BOUNDS
from hlobatch.kernels.types import BOOL, INT64, NoKernelError, kind, size
from hlobatch.kernels.values import Value
from hlobatch.kernels.warp import PARAMETERS, WarpEmitter

LEAST_COST_OF_MEETING: Final = 100
"""Cost of a block (``analysis.cost.block_time``) from which the threads of a warp wait for each other before it: a
barrier takes some sixty cycles of a GPU. Chosen by judgement (2026-11), not measured."""
_BLOCK_BITS: Final = 16
"""Bits of a block's number; above them is the number of lanes that wait elsewhere."""
_IDLE: Final = (
    "  %is_idle = icmp slt i64 %input, 0",
    "  %index = select i1 %is_idle, i64 0, i64 %input",
)
"""Where lanes meet, a lane without an input has the index -1: it reads the first input, and ends before it writes."""


class Machine(Body):
    """The LLVM function of a program, for one lane.

    Raises:
        NoKernelError: Something in the program has no code.
    """

    def __init__(self, program: Program, operands: Operands, options: Options) -> None:
        captured = {known: f"%captured{k}" for k, known in enumerate(operands.captured)}
        super().__init__(program, operands, options, _emitter(options, captured))
        self._blocks = {block.name: f"%block{k}" for k, block in enumerate(program.graph)} | {HALT: "%finished"}
        self._meeting = self._all_meeting() if self._meets else []
        self._labels = self._blocks | {block: f"%to{k}" for k, block in enumerate(self._meeting)}
        self._at = self.emitter.cell("i32") if self._meeting else ""
        self._errands = {errand.block: errand for errand in self.errands}
        self._lasting = self._all_lasting()
        self._returns: dict[str, str] = {}
        self._write()

    # The function

    def _write(self) -> None:
        e = self.emitter
        self._begin()
        for block in self.program.graph:
            e.label(self._blocks[block.name])
            self._arrive(block)
            if block.name in self._errands:
                self._hand_over(self._errands[block.name])
                continue
            for op in self.stacks.calls.moving(block, self.program.ops_in_loop(block)):
                if op is not block.terminator:
                    self.operation(op)
            self._leave(block)
        for counter, label in self._returns.items():
            self._return(counter, label)
        self._end()

    def _begin(self) -> None:
        e = self.emitter
        self.stacks.find_bounds()
        if self.fuel:
            self.fuel_up()
        self._find_own()
        if self.errands:
            self._go_on()
        self.start()
        for k in self.operands.summed:
            leaf, row = self.outputs[k], e.op(f"load i64, ptr {self.in_call(Call.ROW)}")
            offset = e.times(row, size(leaf.shape) * leaf.dtype.itemsize)
            e.lines.append(f"  %sum{k} = getelementptr i8, ptr %out{k}, i64 {offset}")
        position = 0
        for v in self.program.vars_in:
            for cell, leaf in self.stored(v):
                if cell != f"%own{position}":
                    place = e.op(self._given(position, leaf))
                    value = Value(leaf.dtype, leaf.shape, place if leaf.shape else e.load(place, leaf.dtype))
                    e.copy_to(value, cell)
                position += 1
        if self._meets:
            e.do(f"store i32 {int(Fate.UNSTARTED)}, ptr %fate")
            e.branch("%is_idle", "%exit", "%begin")
            e.label("%begin")
        self.turned()
        e.jump(self._labels[self.program.graph.enter_block().name])

    def _find_own(self) -> None:
        """Compute the pointers to the input arrays that stay in the host's memory."""
        pairs = enumerate(pair for v in self.program.vars_in for pair in self.stored(v))
        for position, (cell, leaf) in pairs:
            if cell == f"%own{position}":
                self.emitter.lines.append(f"  {cell} = {self._given(position, leaf)}")

    def _given(self, position: int, leaf: TensorType) -> str:
        """The operation that gives the pointer to an input array of the lane."""
        bytes_ = size(leaf.shape) * leaf.dtype.itemsize
        offset = "0" if self.operands.shared[position] else self.emitter.times("%index", bytes_)
        return f"getelementptr i8, ptr %in{position}, i64 {offset}"

    def _end(self) -> None:
        e = self.emitter
        e.label("%finished")
        for k, (cell, leaf) in enumerate([pair for v in self.program.vars_out for pair in self.stored(v)]):
            if k in self.operands.summed:
                continue
            place = e.address(f"%out{k}", leaf.dtype, e.times("%index", size(leaf.shape)))
            e.copy_to(self.current(cell, leaf), place)
        e.do(f"store i32 {self.fate()}, ptr %fate")
        e.jump("%exit")
        for k, label in enumerate(self.stacks.overflows):
            self._stop(label, Fate.PARKED + (k + 1 << NUMBER))
        self._stop(STEPPED_OUT, Fate.STEPPED_OUT)
        self._stop(INTERRUPTED, Fate.RUNNING)
        self._stop(OUT_OF_BOUNDS, FAULT)
        e.label("%exit")
        if self._meeting:
            self._meet()
        if self.fuel:
            self.tell_fuel()
        e.do(f"ret i32 {e.op('load i32, ptr %fate')}")

    def _stop(self, label: str, fate: int) -> None:
        self.emitter.label(label)
        self.emitter.do(f"store i32 {int(fate)}, ptr %fate")
        self.emitter.jump("%exit")

    # Errands

    def _all_lasting(self) -> list[tuple[str, str, TensorType, str]]:
        """For each array that lives on after an errand: its variable, its pointer, its type, and memory of the host.

        Arrays that lie in memory of the host anyway are left out.
        """
        live = frozenset[str]().union(*(errand.live for errand in self.errands))
        arrays = ((v, cell, leaf) for v in self.cells if v in live for cell, leaf in self.stored(v))
        return [
            (v, cell, leaf, self._in_host(leaf))
            for v, cell, leaf in arrays
            if cell not in self.of_host and cell not in self.emitter.lasting
        ]

    def _in_host(self, leaf: TensorType) -> str:
        return self.emitter.of_host(max(size(leaf.shape), 1) * leaf.dtype.itemsize)

    @cached_property
    def _counters(self) -> list[tuple[str, str]]:
        """The cells of stack pointers and of the number of steps, and for each the memory of the host."""
        cells = [*self.stacks.pointers, *([self.steps] if self.steps else [])]
        return [(cell, self.emitter.of_host(INT64.itemsize)) for cell in cells]

    def _hand_over(self, errand: Errand) -> None:
        """Tell the operands of an errand, keep the lane's variables, and leave the kernel."""
        e = self.emitter
        with e.at_once():
            for place, cell, leaf in self._places("told", errand, errand.told):
                e.copy_to(self.current(cell, leaf), place)
            for v, cell, leaf, lasting in self._lasting:
                if v in errand.live:
                    e.copy_to(self.current(cell, leaf), lasting)
            for cell, lasting in self._counters:
                e.store(e.op(f"load i64, ptr {cell}"), lasting, INT64)
        e.do(f"store i32 {errand.fate}, ptr %fate")
        e.jump("%exit")

    def _go_on(self) -> None:
        """The code with which a lane that waits for an errand goes on behind it; others begin."""
        e = self.emitter
        waits = e.op(f"icmp eq i32 {e.op(f'and i32 %so_far, {FATES}')}, {int(Fate.RUNNING)}")
        e.branch(waits, "%again", "%anew")
        e.label("%again")
        cases = " ".join(f"i32 {errand.fate}, label %again{k}" for k, errand in enumerate(self.errands))
        e.do(f"switch i32 %so_far, label %anew [ {cases} ]")
        for k, errand in enumerate(self.errands):
            e.label(f"%again{k}")
            with e.at_once():
                for cell, lasting in self._counters:
                    e.do(f"store i64 {e.load(lasting, INT64)}, ptr {cell}")
                for v, cell, leaf, lasting in self._lasting:
                    if v in errand.live:
                        self._copy_back(lasting, cell, leaf)
                for place, cell, leaf in self._places("answer", errand, errand.wanted):
                    self._copy_back(place, cell, leaf)
            self._leave(self.program.graph.block(errand.block))
        e.label("%anew")

    def _copy_back(self, place: str, cell: str, leaf: TensorType) -> None:
        e = self.emitter
        e.copy_to(Value(leaf.dtype, leaf.shape, place if leaf.shape else e.load(place, leaf.dtype)), cell)

    def _places(self, stem: str, errand: Errand, names: Sequence[str]) -> Iterator[tuple[str, str, TensorType]]:
        """For each array that an errand is told or gives: its place, the pointer to the variable's, and its type."""
        before = self.errands[: self.errands.index(errand)]
        position = sum(
            len(self.leaves[v]) for other in before for v in (other.told if stem == "told" else other.wanted)
        )
        for v in names:
            for cell, leaf in self.stored(v):
                array = f"%{stem}{position}"
                yield (
                    self.emitter.address(array, leaf.dtype, self.emitter.times("%index", size(leaf.shape))),
                    cell,
                    leaf,
                )
                position += 1

    # Blocks before which lanes meet

    def _all_meeting(self) -> list[str]:
        """Names of the dear blocks, before which lanes of several threads meet, in program order."""
        calls = self.stacks.calls
        return [block.name for block in self.program.graph if block_time(calls, block) >= LEAST_COST_OF_MEETING]

    def _meet(self) -> None:
        """The code at which lanes wait before a dear block, or once they have ended, and the choice of the next block.

        The lanes at that block run it, and go on until they are at another dear block or have ended. The loop is left
        when all lanes have ended.
        """
        e, over = self.emitter, len(self._meeting)
        self._wait_for(over)
        for k, block in enumerate(self._meeting):
            e.label(self._labels[block])
            self._wait_for(k)
        e.label("%meeting")
        at = e.op(f"load i32, ptr {self._at}")
        least = self._next(at) if self.options.processor.most_lanes_first else self._least(at)
        e.branch(e.op(f"icmp eq i32 {least}, {over}"), "%leave", "%some")
        e.label("%some")
        e.branch(e.op(f"icmp eq i32 {at}, {least}"), "%together", "%meeting")
        e.label("%together")
        cases = " ".join(f"i32 {k}, label {self._blocks[block]}" for k, block in enumerate(self._meeting))
        e.do(f"switch i32 {least}, label %leave [ {cases} ]")
        e.label("%leave")

    def _least(self, x: str) -> str:
        """The least of a number of all lanes: of the blocks at which they wait, the earliest."""
        return self.emitter.op(f"call i32 @least(i32 {x}, i64 0) convergent")

    def _next(self, at: str) -> str:
        """The block at which most lanes wait, the earliest of several; lanes that have ended do not count."""
        e, over = self.emitter, len(self._meeting)
        fellows = e.op(f"call i32 @fellows(i32 {at}, i64 1) convergent")
        others = e.op(f"sub i32 {self.options.processor.lanes_that_meet}, {fellows}")
        rank = e.op(f"or i32 {e.op(f'shl i32 {others}, {_BLOCK_BITS}')}, {at}")
        has_ended = e.op(f"icmp eq i32 {at}, {over}")
        last = self.options.processor.lanes_that_meet << _BLOCK_BITS | over
        first = self._least(e.op(f"select i1 {has_ended}, i32 {last}, i32 {rank}"))
        return e.op(f"and i32 {first}, {(1 << _BLOCK_BITS) - 1}")

    def _wait_for(self, number: int) -> None:
        self.emitter.do(f"store i32 {number}, ptr {self._at}")
        self.emitter.jump("%meeting")

    # Counts and checks

    def _arrive(self, block: Block) -> None:
        e = self.emitter
        with e.at(block.location):
            if self.options.counts:
                e.once(lambda: self._count(block))
            self.step()
            if block.name in self._turning_points:
                self.turned()
            self.stacks.arrive(block)

    def _count(self, block: Block) -> None:
        e = self.emitter
        place = e.op(f"getelementptr i64, ptr %counts, i64 {self.numbers[block.name]}")
        count = e.op(f"load i64, ptr {place}")
        e.do(f"store i64 {e.op(f'add i64 {count}, 1')}, ptr {place}")

    @cached_property
    def _turning_points(self) -> frozenset[str]:
        return turning_points(self.program)

    # Control

    def _leave(self, block: Block) -> None:
        e, end = self.emitter, block.terminator
        with e.at(block.location):
            match end:
                case GotoOp():
                    e.jump(self._labels[end.block])
                case BranchOp():
                    ((cell, leaf),) = self.stored(end.cond_var)
                    condition = e.converted(self.current(cell, leaf), BOOL)
                    e.branch(e.element(condition, 0), self._labels[end.true_block], self._labels[end.false_block])
                case PushGotoOp():
                    self.stacks.push(self.stacks.calls.moves(end))
                    e.do(f"store i32 {self.numbers[end.push_block]}, ptr {self.cells[end.counter][0]}")
                    e.jump(self._labels[end.goto_block])
                case IndirectGotoOp():
                    e.jump(self._returns.setdefault(end.counter, e.new("return")))
                case _:
                    raise NoKernelError(f"`{type(end).__name__}` has no code")

    def _return(self, counter: str, label: str) -> None:
        """The code that all returns by one return address jump to: restore the frame, and switch on the address."""
        e = self.emitter
        e.label(label)
        ((cell, leaf),) = self.stored(counter)
        to = e.element(self.current(cell, leaf), 0)
        self.stacks.pop(self.stacks.calls.moves(IndirectGotoOp(counter)))
        calls = (b.terminator for b in self.program.graph if isinstance(b.terminator, PushGotoOp))
        backs = sorted({c.push_block for c in calls if c.counter == counter and c.push_block != HALT})
        k = kind(leaf.dtype)
        cases = " ".join(f"{k} {self.numbers[b]}, label {self._labels[b]}" for b in backs)
        e.do(f"switch {k} {to}, label %finished [ {cases} ]")

    # The text

    def text(self, name: str) -> str:
        """The function as LLVM IR; ``name`` is the name of the user's function, for debug information."""
        # `noalias` does not hold for several threads: they write to one memory.
        own = "ptr" if self._is_of_several else "ptr noalias"
        rest = ["ptr %call", f"{own} %local", f"{own} %stacks", "ptr noalias readonly %frames", "ptr %counts"]
        index = "i64 %input" if self._meets else "i64 %index"
        parameters = [index, *self.parameters, *rest, "i64 %row", "i64 %rows"]
        parameters += PARAMETERS if self._is_of_several else ()
        parameters += ["i32 %so_far"] if self.errands else []
        return self.function("lane", parameters, ["  %fate = alloca i32", *(_IDLE if self._meets else [])], name)

    @property
    def _meets(self) -> bool:
        """Whether lanes wait for each other before dear blocks.

        Lanes without an input then take part, with index -1.
        """
        return self.options.processor.lanes_that_meet > 1

    @property
    def _is_of_several(self) -> bool:
        """Whether several threads run one lane together."""
        return self.options.processor.threads_per_lane > 1

    def call(self, pointers: Sequence[str], index: str, rest: Sequence[str], row: str, rows: str) -> str:
        """A call of the function, given the arrays and the five pointers after them.

        With errands, the register ``%so_far`` has the lane's status so far.
        """
        given = ", ".join(f"ptr {p}" for p in (*pointers, *rest))
        more = ", ".join(("", *PARAMETERS)) if self._is_of_several else ""
        more += ", i32 %so_far" if self.errands else ""
        return f"call i32 @lane(i64 {index}, {given}, i64 {row}, i64 {rows}{more})"


def _emitter(options: Options, captured: dict[int, str]) -> LaneEmitter:
    processor = options.processor
    kind_ = WarpEmitter if processor.threads_per_lane > 1 else RegisterEmitter if processor.registers else LaneEmitter
    return kind_(processor, captured, checked=options.checked)
