"""A program with explicit stacks -> one LLVM function that runs a gang of lanes, each of which takes further inputs.

Each lane has a program counter, the number of the block that it is at. In a turn, all cheap blocks run in program
order, each under the mask of the lanes that are at it. A block that branches to itself runs up to ``TURNS_OF_A_BLOCK``
times in a row. After the cheap blocks at most one dear block runs, which ``gang_schedule.py`` chooses. A lane that has
reached the end of the program waits until enough lanes have: then these write their results and take new inputs
together, so that few elements of a vector are idle.

::

    i32 @run(ptr arrays, ptr call)

is the function that a thread calls, with the same signature as that of a kernel for single lanes (``module.py``).

Reference: Laine, Karras and Aila (2013), "Megakernels considered harmful", on lanes that take new work.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hlobatch.analysis.cost import block_time
from hlobatch.ir.fate import NUMBER, Fate
from hlobatch.ir.ops import BranchOp, GotoOp, IndirectGotoOp, PushGotoOp
from hlobatch.ir.program import Block, Program
from hlobatch.ir.program import VariableAllocation as Alloc
from hlobatch.ir.types import TensorType
from hlobatch.kernels.body import INTERRUPTED, STEPPED_OUT, Body
from hlobatch.kernels.gang_emitter import LANE, GangEmitter
from hlobatch.kernels.gang_schedule import Choice
from hlobatch.kernels.interface import FAULT, Operands, Options
from hlobatch.kernels.text import OUT_OF_BOUNDS
from hlobatch.kernels.types import BOOL, INT64, NoKernelError, kind, size
from hlobatch.kernels.values import Value

MOST_ELEMENTS_COPIED: Final = 64
"""Largest number of elements with which a read-only input array is copied into the gang's interleaved layout (lanes
side by side). Chosen by judgement (2026-11), not measured."""
TURNS_OF_A_BLOCK: Final = 32
"""Largest number of times in a row that a block runs whose lanes branch back to it, before other blocks run. Chosen by
judgement (2026-11)."""
LANES_PER_DONE: Final = 8
"""The share of a gang, one lane in ``LANES_PER_DONE``, that has to be at the end before these lanes take new inputs,
and that has to leave a block that branches to itself before other blocks run. With 2, 4, 16, 32 Mandelbrot
(``benchmarks/kernels.py``) takes 1.06, 0.94, 1.2 and 1.4 times as long, on two cores with vectors of 512 bits
(2026-11); loops of other blocks want more than 4."""
DEAR: Final = 200
"""Cost of a block (``analysis.cost.block_time``) from which it counts as dear: it waits until enough lanes are at it.
With 1,000 chains of NUTS (``benchmarks/nuts``), a funnel (mostly small blocks) takes 1.6 times as long with a threshold
of 1,000 as with 200, and the same with 50; a Gaussian (one large block) takes the same with each threshold, and 1.9
times as long if no block waits (2026-11)."""


class Gang(Body):
    """The LLVM function of a program, for a gang of lanes.

    Raises:
        NoKernelError: Something in the program has no code.
    """

    def __init__(self, program: Program, operands: Operands, options: Options) -> None:
        if operands.summed:
            raise NoKernelError("sums over inputs have no code for several lanes")
        captured = {known: f"%captured{k}" for k, known in enumerate(operands.captured)}
        self.gang = GangEmitter(options.processor, captured, checked=options.checked)
        super().__init__(program, operands, options, self.gang)
        e = self.gang
        self.width, self._end = e.width, len(program.graph.blocks)
        for v in program.var_defs.keys() - {*program.vars_in, *program.vars_out}:
            if program.alloc(v) is Alloc.TEMPORARY:
                for cell in self.cells[v]:
                    e.forget(cell)
        self._going = e.cell("i1")
        e.forget(self._going)
        self._block, self._input, self._stopped = e.cell("i32"), e.cell("i64"), e.cell("i32")
        self._is_over, self._turns = e.counter(), e.counter()
        e.stop = self._stop
        stops = {STEPPED_OUT: int(Fate.STEPPED_OUT), OUT_OF_BOUNDS: FAULT}
        stops |= {label: int(Fate.PARKED) + (k + 1 << NUMBER) for k, label in enumerate(self.stacks.overflows)}
        self._fates = stops
        inputs = [cell for v in program.vars_in for cell in self.cells[v] if cell in self.of_host]
        self._pointers = {cell: e.cell("ptr") for cell in inputs if cell not in self.arrays}
        self._costs = {k: round(block_time(self.stacks.calls, block)) for k, block in enumerate(program.graph)}
        self._choice = Choice(e, {k: cost for k, cost in self._costs.items() if cost >= DEAR})
        self._write()

    @property
    def _idle(self) -> int:
        """The program counter of a lane without an input."""
        return self._end + 1

    def left_with_host(self, position: int, leaf: TensorType) -> str | None:
        """The pointer to an input array that stays in the host's memory; None if each lane gets a copy.

        Shared arrays stay there; arrays of few elements are copied so that lanes lie side by side.
        """
        if self.operands.shared[position]:
            return f"%in{position}"
        return f"%own{position}" if size(leaf.shape) > MOST_ELEMENTS_COPIED else None

    # Masks of lanes

    def _are_at(self, number: int) -> str:
        """The mask of the lanes whose program counter is ``number``: a block's, the end's or the idle one."""
        return self.gang.op(f"icmp eq i32 {self.gang.op(f'load i32, ptr {self._block}')}, {number}")

    def _are_running(self) -> str:
        return self.gang.op(f"icmp ult i32 {self.gang.op(f'load i32, ptr {self._block}')}, {self._end}")

    # The function

    def _write(self) -> None:
        e = self.gang
        self._begin()
        e.label("%turn")
        running, ended = self._are_running(), self._are_at(self._end)
        over = e.plain(f"load i64, ptr {self._is_over}")
        wanted = e.plain(f"select i1 {e.plain(f'icmp eq i64 {over}, 0')}, i64 {self._least_done}, i64 {self.width + 1}")
        enough = e.plain(f"icmp uge i64 {e.count(ended)}, {wanted}")
        nobody = e.plain(f"xor i1 {e.any(running)}, true")
        e.branch(e.plain(f"or i1 {enough}, {nobody}"), "%renew", "%sweep")
        e.label("%renew")
        self._give()
        self._take()
        e.label("%renewed")
        e.branch(e.any(self._are_running()), "%sweep", "%done")
        e.label("%sweep")
        self.turned()
        for block in self.program.graph:
            if self.numbers[block.name] not in self._choice.costs:
                self._run(block)
        self._run_a_dear_block()
        e.label(INTERRUPTED)
        self._leave_off()
        self._return(1)
        e.label("%done")
        self._return(0)

    @property
    def _least_done(self) -> int:
        """The number of lanes at the end that take new inputs together: 1 if others wait at dear blocks."""
        return 1 if self._choice.costs else max(1, self.width // LANES_PER_DONE)

    def _begin(self) -> None:
        """Initialize the gang: all lanes are idle, and inputs are left."""
        e = self.gang
        self.stacks.find_bounds()
        idle = e.spread("i32", str(self._idle))
        e.plain_do(f"store <{self.width} x i32> {idle}, ptr {self._block}, align 64")
        e.plain_do(f"store i64 0, ptr {self._is_over}")
        self._choice.begin()
        self.fuel_up()
        e.jump("%turn")

    def _take(self) -> None:
        """Give idle lanes the next inputs of the shared counter ``%next``, as long as there are any."""
        e, w = self.gang, self.width
        halts = e.plain("load atomic volatile i32, ptr %halt monotonic, align 4")
        e.branch(e.plain(f"icmp eq i32 {halts}, 0"), "%on", INTERRUPTED)
        e.label("%on")
        over = e.plain(f"load i64, ptr {self._is_over}")
        e.branch(e.plain(f"icmp eq i64 {over}, 0"), "%take", "%renewed")
        e.label("%take")
        idle = self._are_at(self._idle)
        wanted = e.count(idle)
        first = e.plain(f"atomicrmw add ptr %next, i64 {wanted} monotonic")
        end = e.plain(f"add i64 {first}, {wanted}")
        is_over = e.plain(f"zext i1 {e.plain(f'icmp sge i64 {end}, %count')} to i64")
        e.plain_do(f"store i64 {is_over}, ptr {self._is_over}")
        place = e.op(f"add i64 {self._rank(idle)}, {first}")
        fresh = e.op(f"and i1 {idle}, {e.op(f'icmp slt i64 {place}, %count')}")
        e.mask = fresh
        of_all = e.new("found")
        e.heads.append(f"  {of_all} = alloca <{w} x i64>, align 64")
        vector = f"<{w} x i64>"
        e.plain_do(f"store {vector} {place}, ptr {of_all}, align 64")
        e.branch("%in_order", "%taken", "%find")
        e.label("%find")
        found = e.load("%todo", INT64, place)
        e.plain_do(f"store {vector} {found}, ptr {of_all}, align 64")
        e.jump("%taken")
        e.label("%taken")
        index = e.of_lanes(f"load {vector}, ptr {of_all}, align 64")
        e.do(f"store i64 {index}, ptr {self._input}")
        e.do(f"store i32 0, ptr {self._block}")
        e.do(f"store i32 -1, ptr {self._stopped}")
        self._start(index)
        e.mask = ""
        e.jump("%renewed")

    def _rank(self, lanes: str) -> str:
        """For each lane of a mask, the number of lanes of the mask before it."""
        e, w = self.gang, self.width
        vector, flags = f"<{w} x i64>", f"<{w} x i1>"
        order = "@order"
        e.constants[
            f"private unnamed_addr constant [{w} x i64] [{', '.join(f'i64 {i}' for i in range(w))}], align 64"
        ] = order[1:]
        name = e.external(f"llvm.masked.expandload.v{w}i64", vector, "ptr", flags, vector)
        return e.of_lanes(f"call {vector} @{name}(ptr {order}, {flags} {lanes}, {vector} zeroinitializer)")

    def _start(self, index: str) -> None:
        """Copy inputs of the lanes under the mask into variables.

        For arrays that stay in the host's memory, the pointers are stored.
        """
        e = self.gang
        self.start()
        position = 0
        for v in self.program.vars_in:
            for cell, leaf in self.stored(v):
                place = self._place_of_input(position, leaf, index)
                if cell == place:
                    pass
                elif cell in self._pointers:
                    e.do(f"store ptr {place}, ptr {self._pointers[cell]}")
                else:
                    value = Value(leaf.dtype, leaf.shape, place if leaf.shape else e.load(place, leaf.dtype))
                    e.copy_to(value, cell)
                position += 1

    def _place_of_input(self, position: int, leaf: TensorType, index: str) -> str:
        e, given = self.gang, f"%in{position}"
        if self.operands.shared[position]:
            return given
        return e.op(f"getelementptr i8, ptr {given}, i64 {e.times(index, size(leaf.shape) * leaf.dtype.itemsize)}")

    def pointer(self, cell: str) -> str:
        if cell in self._pointers:
            return self.gang.op(f"load ptr, ptr {self._pointers[cell]}")
        return cell

    def _give(self) -> None:
        """Write the fate of each lane at the end, and its results unless it stopped early; then the lane is idle."""
        e = self.gang
        ended = self._are_at(self._end)
        stopped = e.op(f"load i32, ptr {self._stopped}")
        came = e.op(f"icmp eq i32 {stopped}, -1")
        index = e.op(f"load i64, ptr {self._input}")
        e.mask = e.op(f"and i1 {ended}, {came}")
        for k, (cell, leaf) in enumerate([pair for v in self.program.vars_out for pair in self.stored(v)]):
            place = e.address(f"%out{k}", leaf.dtype, e.times(index, size(leaf.shape)))
            e.copy_to(self.current(cell, leaf), place)
        fate = e.op(f"select i1 {came}, i32 {self.fate()}, i32 {stopped}")
        e.mask = ended
        self._say(index, fate)
        e.do(f"store i32 {self._idle}, ptr {self._block}")
        e.mask = ""

    def _say(self, index: str, fate: str) -> None:
        e = self.gang
        e.scatter("i32", fate, e.op(f"getelementptr i32, ptr %status, i64 {index}"), 4)

    def _leave_off(self) -> None:
        """On an interruption: mark the inputs in flight as ``Fate.RUNNING``, so that the host begins them again."""
        e = self.gang
        e.mask = e.op(f"icmp ule i32 {e.op(f'load i32, ptr {self._block}')}, {self._end}")
        self._say(e.op(f"load i64, ptr {self._input}"), str(int(Fate.RUNNING)))

    def _stop(self, lanes: str, label: str) -> None:
        """Move the lanes of a mask to the end, with the fate of the label that a single lane would jump to."""
        e = self.gang
        before, e.mask = e.mask, lanes
        e.do(f"store i32 {self._fates[label]}, ptr {self._stopped}")
        e.do(f"store i32 {self._end}, ptr {self._block}")
        e.mask = before

    def _return(self, answer: int) -> None:
        self.tell_fuel()
        self.gang.plain_do(f"ret i32 {answer}")

    # Blocks

    def _run_a_dear_block(self) -> None:
        """Run the dear block that ``Choice.pick`` names, if any, and jump to the next turn."""
        e, choice = self.gang, self._choice
        if not choice.costs:
            e.jump("%turn")
            return
        counts = {number: e.count(self._are_at(number)) for number in choice.costs}
        picked = choice.pick(counts, e.count(self._are_running()))
        ways = " ".join(f"i32 {number}, label %block{number}" for number in choice.costs)
        e.plain_do(f"switch i32 {picked}, label %turn [ {ways} ]")
        for block in self.program.graph:
            if (number := self.numbers[block.name]) in choice.costs:
                e.label(f"%block{number}")
                self._block_of_lanes(block)
                choice.ran(number)
                e.jump("%turn")

    def _block_of_lanes(self, block: Block) -> None:
        """The code of a block, under the mask of the lanes that are at it."""
        e = self.gang
        e.mask = self._are_at(self.numbers[block.name])
        self._operations(block)
        with e.at(block.location):
            self._leave(block)
        e.mask = ""

    def _run(self, block: Block) -> None:
        """The code of a block under the mask of the lanes at it, which is skipped if there are none."""
        e, number = self.gang, self.numbers[block.name]
        body, after = f"%block{number}", f"%after{number}"
        lanes = self._are_at(number)
        end = block.terminator
        if isinstance(end, BranchOp) and (end.true_block == block.name) != (end.false_block == block.name):
            self._run_again(block, end, lanes)
            return
        e.branch(e.any(lanes), body, after)
        e.label(body)
        self._block_of_lanes(block)
        self._choice.spend(self._costs[number])
        e.jump(after)
        e.label(after)

    def _operations(self, block: Block) -> None:
        with self.gang.at(block.location):
            self._arrive(self.numbers[block.name])
            self.stacks.arrive(block)
        for op in self.stacks.calls.moving(block, self.program.ops_in_loop(block)):
            if op is not block.terminator:
                self.operation(op)

    def _run_again(self, block: Block, end: BranchOp, lanes: str) -> None:
        """The code of a block that branches to itself: it repeats while most of the lanes that entered it stay."""
        e, number = self.gang, self.numbers[block.name]
        begin, body, left, after = (f"%{stem}{number}" for stem in ("begin", "block", "left", "after"))
        e.branch(e.any(lanes), begin, after)
        e.label(begin)
        fewest = e.intrinsic("smax", INT64, e.plain(f"sub i64 {e.count(lanes)}, {self.width // LANES_PER_DONE}"), "0")
        e.plain_do(f"store i64 0, ptr {self._turns}")
        e.do(f"store i1 {lanes}, ptr {self._going}")
        e.jump(body)
        e.label(body)
        e.mask = e.op(f"load i1, ptr {self._going}")
        self._operations(block)
        ((cell, leaf),) = self.stored(end.cond_var)
        comes_back = e.spread("i1", e.element(e.converted(self.current(cell, leaf), BOOL), 0))
        if end.true_block != block.name:
            comes_back = e.op(f"xor i1 {comes_back}, true")
        going = e.op(f"and i1 {e.mask}, {comes_back}")
        e.do(f"store i1 {going}, ptr {self._going}")
        turns = e.plain(f"add i64 {e.plain(f'load i64, ptr {self._turns}')}, 1")
        e.plain_do(f"store i64 {turns}, ptr {self._turns}")
        few = e.plain(f"icmp ult i64 {turns}, {TURNS_OF_A_BLOCK}")
        many = e.plain(f"icmp sgt i64 {e.count(going)}, {fewest}")
        e.branch(e.plain(f"and i1 {few}, {many}"), body, left)
        e.label(left)
        self.use_up(e.plain(f"mul i64 {turns}, {self.width}"))
        e.mask = e.op(f"and i1 {self._are_at(number)}, {e.op(f'xor i1 {going}, true')}")
        self._go(str(self.numbers[end.false_block if end.true_block == block.name else end.true_block]))
        e.mask = ""
        e.jump(after)
        e.label(after)

    def _arrive(self, number: int) -> None:
        e = self.gang
        if self.options.counts:
            for place, more in ((number, "1"), (self._end + number, e.count(e.mask))):
                at = e.plain(f"getelementptr i64, ptr %counts, i64 {place}")
                count = e.plain(f"add i64 {e.plain(f'load i64, ptr {at}')}, {more}")
                e.plain_do(f"store i64 {count}, ptr {at}")
        self.step()

    def _go(self, to: str) -> None:
        self.gang.do(f"store i32 {to}, ptr {self._block}")

    def _leave(self, block: Block) -> None:
        e, end = self.gang, block.terminator
        match end:
            case GotoOp():
                self._go(str(self.numbers[end.block]))
            case BranchOp():
                ((cell, leaf),) = self.stored(end.cond_var)
                condition = e.element(e.converted(self.current(cell, leaf), BOOL), 0)
                ways = self.numbers[end.true_block], self.numbers[end.false_block]
                self._go(e.op(f"select i1 {condition}, i32 {ways[0]}, i32 {ways[1]}"))
            case PushGotoOp():
                self.stacks.push(self.stacks.calls.moves(end))
                e.do(f"store i32 {self.numbers[end.push_block]}, ptr {self.cells[end.counter][0]}")
                self._go(str(self.numbers[end.goto_block]))
            case IndirectGotoOp():
                ((cell, leaf),) = self.stored(end.counter)
                to = e.element(self.current(cell, leaf), 0)
                self.stacks.pop(self.stacks.calls.moves(end))
                assert kind(leaf.dtype) == "i32"
                self._go(to)
            case _:
                raise NoKernelError(f"`{type(end).__name__}` has no code")

    # The text

    def text(self, name: str) -> str:
        """The function as LLVM IR; ``name`` is the name of the user's function, for debug information."""
        order = ", ".join(f"i64 {i}" for i in range(self.width))
        lanes = f"  {LANE} = add <{self.width} x i64> <{order}>, zeroinitializer"
        rows = f"  %rows = add i64 {self.width}, 0"
        return self.function("gang", [*self.parameters, *_PARAMETERS], [rows, lanes], name)

    def call(self, pointers: Sequence[str]) -> str:
        """A call of the function, given the pointers to arrays.

        Its other operands are registers named like its parameters.
        """
        return f"call i32 @gang({', '.join([*(f'ptr {p}' for p in pointers), *map(_given, _PARAMETERS)])})"


_PARAMETERS: Final = (
    "ptr %call", "ptr noalias %local", "ptr noalias %stacks", "ptr noalias readonly %frames", "ptr %counts",
    "ptr noalias %status", "ptr %next", "ptr readonly %todo", "ptr %halt", "i64 %count", "i1 %in_order",
)  # fmt: skip


def _given(parameter: str) -> str:
    words = parameter.split(" ")
    return f"{words[0]} {words[-1]}"
