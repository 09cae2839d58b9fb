"""A program with explicit stacks -> LLVM IR of its operations on variables, for one lane or for a gang.

A variable is memory that LLVM promotes to registers. A stack is memory that the host passes, with a stack pointer; its
top is a variable beside it. Control flow is not here: ``machine.py`` has that of a single lane, ``gang.py`` that of a
gang.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Final

import jax
import numpy as np

from hlobatch._jax import ClosedJaxpr
from hlobatch.ir.fate import NUMBER, Fate
from hlobatch.ir.ops import HALT, IndirectGotoOp, LogOp, Op, PopOp, PrimOp, PushGotoOp, PushOp
from hlobatch.ir.physical import lane_function, physical
from hlobatch.ir.program import Program
from hlobatch.ir.program import VariableAllocation as Alloc
from hlobatch.ir.types import TensorType
from hlobatch.kernels import (  # noqa: F401  # imported for the rules that they register
    arithmetic,
    arrays,
    control,
    eigenvalues,
    factorizations,
    functions,
    keys,
    orthogonal,
    products,
    reductions,
    sorting,
    windows,
)
from hlobatch.kernels.errands import errands_of
from hlobatch.kernels.interface import Call, Operands, Options
from hlobatch.kernels.lane import LaneEmitter
from hlobatch.kernels.processors import Processor
from hlobatch.kernels.stacks import Stacks
from hlobatch.kernels.types import NoKernelError, layout, must_not_be_packed, size
from hlobatch.kernels.values import Value

STEPPED_OUT: Final = "%stepped_out"
"""Label that a lane jumps to when it has run ``max_steps`` blocks."""
INTERRUPTED: Final = "%interrupted"
"""Label that a lane jumps to when the host asks the run to stop."""


def has_code(jaxpr: ClosedJaxpr, processor: Processor) -> bool:
    """Whether there is code of a lane for a primitive, given its jaxpr."""
    e = LaneEmitter(processor, {id(array): f"%captured{k}" for k, array in enumerate(jaxpr.consts)}, checked=False)
    inputs: Any = jaxpr.jaxpr.invars
    try:
        e.closed(jaxpr, [e.resident(e.memory(*_counted(v.aval)), *layout(v.aval)) for v in inputs])
    except NoKernelError:
        return False
    return True


def _counted(aval: Any) -> tuple[Any, int]:
    dtype, shape = layout(aval)
    return dtype, size(shape)


class Body:
    """The operations of a program, and where its variables are.

    Attributes:
        program: The program.
        operands: The arrays that its function takes.
        options: What the code is made for.
        emitter: Writes the function.
        numbers: For each block, its number; the largest one stands for the end.
        leaves: For each variable, the types of the arrays that it is kept in.
        cells: For each variable, pointers to the memory of these arrays.
        of_host: Those of these pointers that point to read-only memory of the host.
        inputs: Types of the arrays that a lane is given.
        outputs: Types of the arrays that it gives back.
        errands: The primitives that XLA computes, in turn with the kernel.
        stacks: The stacks of a lane.
        fuel: Pointer to the number of turns until the next check whether to stop; empty if that is not checked.
        steps: Pointer to the number of blocks that a lane has run; empty if they are not limited.

    Raises:
        NoKernelError: Something in the program has no code.
    """

    def __init__(self, program: Program, operands: Operands, options: Options, emitter: LaneEmitter) -> None:
        self.program, self.operands, self.options, self.emitter = program, operands, options, emitter
        graph = program.graph
        self.numbers = {block.name: k for k, block in enumerate(graph)} | {HALT: len(graph.blocks)}
        self.leaves = {v: self._stored_types(v) for v in program.var_defs}
        self.inputs = [leaf for v in program.vars_in for leaf in self.types(v)]
        self.outputs = [leaf for v in program.vars_out for leaf in self.types(v)]
        self.errands = errands_of(program, options.errands)
        named = [*operands.computed, *(v for errand in self.errands for v in (*errand.wanted, *errand.told))]
        for leaf in (*self.inputs, *self.outputs, *(leaf for v in named for leaf in self.leaves[v])):
            must_not_be_packed(leaf.dtype)
        self.of_host: set[str] = set()
        self.cells = self._all_cells()
        emitter.protected.update({cell for cells in self.cells.values() for cell in cells})
        self.stacks = Stacks(emitter, program, self.leaves, self.cells, self.current)
        self.fuel = emitter.counter() if options.processor.looks else ""
        self.steps = emitter.cell("i64") if options.max_steps is not None else ""
        emitter.turned = self.turned

    def types(self, v: str) -> list[TensorType]:
        return [physical(leaf) for leaf in self.program.var_defs[v].tensor_leaves]

    def _stored_types(self, v: str) -> list[TensorType]:
        """Types of the arrays that a variable is kept in."""
        interface = v in self.program.vars_in or v in self.program.vars_out
        return self.types(v) if interface or self.program.alloc(v) is not Alloc.NULL else []

    # Where variables are

    def _all_cells(self) -> dict[str, list[str]]:
        """For each variable, the memory of each of its arrays."""
        e, cells = self.emitter, dict[str, list[str]]()
        computed = iter(f"%shared{k}" for k in range(self.computed_arrays))
        for v in self.operands.computed:
            cells[v] = [next(computed) for _ in self.leaves[v]]
            self.of_host.update(cells[v])
        written = {v for op in self.program.ops for v in (*op.defs, *op.moved)} - set(self.operands.computed)
        position = 0
        for v in self.program.vars_in:
            cells[v] = []
            for leaf in self.leaves[v]:
                left = self.left_with_host(position, leaf) if v not in written else None
                self.of_host.update([left] if left else ())
                cells[v].append(left or e.memory(leaf.dtype, size(leaf.shape)))
                position += 1
        cells |= self.sums
        of_blocks = self._of_one_block
        within = set[str]().union(*of_blocks)
        cells |= {v: self._asked_for(v) for v in self.leaves if v not in cells and v not in within}
        for variables in of_blocks:
            begin = len(e.asked)
            cells |= {v: self._asked_for(v) for v in variables if v not in cells}
            e.give_back(begin, frozenset())  # variables of the next block reuse this memory
        e.keep()
        return cells

    def _asked_for(self, v: str) -> list[str]:
        return [self.emitter.memory(leaf.dtype, size(leaf.shape)) for leaf in self.leaves[v]]

    @cached_property
    def _of_one_block(self) -> list[list[str]]:
        """For each block, its temporaries: the variables that no other block reads or writes."""
        named = [dict.fromkeys(v for op in block.ops for v in (*op.uses, *op.defs)) for block in self.program.graph]
        times = Counter(v for variables in named for v in variables)
        temporary = {v for v, n in times.items() if n == 1 and self.program.alloc(v) is Alloc.TEMPORARY}
        return [[v for v in variables if v in temporary] for variables in named]

    def left_with_host(self, position: int, leaf: TensorType) -> str | None:
        """The pointer to a read-only input array that stays in the host's memory; None if it is copied."""
        return f"%own{position}" if leaf.shape else None

    @cached_property
    def sums(self) -> dict[str, list[str]]:
        """For each variable that is a sum over all inputs of a thread, its memory: the thread's row of the results."""
        places = [(v, k) for v in self.program.vars_out for k in range(len(self.leaves[v]))]
        return {places[k][0]: [f"%sum{k}"] for k in self.operands.summed}

    @cached_property
    def computed_arrays(self) -> int:
        return sum(len(self.leaves[v]) for v in self.operands.computed)

    def stored(self, v: str) -> Iterator[tuple[str, TensorType]]:
        return zip(self.cells[v], self.leaves[v], strict=True)

    def pointer(self, cell: str) -> str:
        """The pointer to the memory of a variable."""
        return cell

    def current(self, cell: str, leaf: TensorType) -> Value:
        value = self.emitter.resident(self.pointer(cell), leaf.dtype, leaf.shape)
        return replace(value, root=None) if cell in self.of_host else value

    # Counts and checks

    def in_call(self, field: int) -> str:
        """Pointer to a field of the ``Call`` record."""
        return self.emitter.op(f"getelementptr i64, ptr %call, i64 {field}")

    def start(self) -> None:
        """Initialize a lane for a new input: empty stacks, no steps, and return addresses that lead to the end."""
        e = self.emitter
        self.stacks.begin()
        if self.steps:
            e.do(f"store i64 0, ptr {self.steps}")
        for op in self.program.ops:
            if isinstance(op, (PushGotoOp, IndirectGotoOp)):
                e.do(f"store i32 {self.numbers[HALT]}, ptr {self.cells[op.counter][0]}")

    def step(self) -> None:
        """Count a step, if ``max_steps`` limits them, and stop the lane that exceeds the limit."""
        if not self.steps:
            return
        e = self.emitter
        so_far = e.op(f"load i64, ptr {self.steps}")
        e.guard(e.op(f"icmp ult i64 {so_far}, {self.options.max_steps}"), STEPPED_OUT)
        e.do(f"store i64 {e.op(f'add i64 {so_far}, 1')}, ptr {self.steps}")

    def fuel_up(self) -> None:
        """Load the number of turns until the first check whether to stop."""
        e = self.emitter
        e.do(f"store i64 {e.op(f'load i64, ptr {self.in_call(Call.FUEL)}')}, ptr {self.fuel}")

    def tell_fuel(self) -> None:
        """Store the number of turns that are left, from which the host learns how long a turn takes."""
        e = self.emitter
        e.do(f"store i64 {e.op(f'load i64, ptr {self.fuel}')}, ptr {self.in_call(Call.FUEL)}")

    def use_up(self, turns: str) -> str:
        """Subtract some turns from the fuel; returns the register with the rest."""
        e = self.emitter
        left = e.op(f"sub i64 {e.op(f'load i64, ptr {self.fuel}')}, {turns}")
        e.do(f"store i64 {left}, ptr {self.fuel}")
        return left

    def turned(self) -> None:
        """Count a turn of each lane, and check whether to stop once the fuel is used up."""
        if not self.fuel:
            return
        e, look, after = self.emitter, self.emitter.new("look"), self.emitter.new("on")
        left = self.use_up(str(self.options.processor.width))
        e.branch(e.unlikely(e.op(f"icmp slt i64 {left}, 0")), look, after)
        e.label(look)
        stops = e.op("call i32 @look(ptr %call)")
        e.do(f"store i64 {e.op(f'load i64, ptr {self.in_call(Call.REFILL)}')}, ptr {self.fuel}")
        e.branch(e.op(f"icmp eq i32 {stops}, 0"), after, INTERRUPTED)
        e.label(after)

    # Operations

    def operation(self, op: Op) -> None:
        match op:
            case PrimOp():
                with self.emitter.at(op.location):
                    self._primitive(op)
            case PushOp():
                with self.emitter.at(op.location):
                    self.stacks.push(op.vars)
            case PopOp():
                with self.emitter.at(op.location):
                    self.stacks.pop(op.vars)
            case LogOp():
                raise NoKernelError(f"what lanes have Python do has no code: {op.text}")
            case _:
                raise NoKernelError(f"`{type(op).__name__}` has no code")

    def _primitive(self, op: PrimOp) -> None:
        """Emit a primitive, which updates operands in place where they are overwritten, and store its results."""
        e = self.emitter
        operands = [self.current(cell, leaf) for v in op.vars_in for cell, leaf in self._stored_or_typed(v)]
        overwritten = [cell for v in op.vars_out for cell in self.cells[v]]
        e.protected.subtract(overwritten)
        begin = len(e.asked)
        results = iter(e.closed(self._code(op), operands))
        e.protected.update(overwritten)
        places: list[str] = []
        values: list[Value] = []
        for v in op.vars_out:
            found = [e.converted(next(results), leaf.dtype) for leaf in self.types(v)]
            begins = v in self.sums and v not in op.vars_in  # a sum keeps its value from one input to the next
            if self.leaves[v] and not begins:
                places += self.cells[v]
                values += found
        e.settle(places, values)
        e.give_back(begin, frozenset())

    def _stored_or_typed(self, v: str) -> Iterator[tuple[str, TensorType]]:
        if not self.leaves[v] and self.types(v):
            raise NoKernelError(f"`{v}` is read and not kept")
        return self.stored(v)

    def _code(self, op: PrimOp) -> Any:
        """The jaxpr of a primitive, on arrays of the types in which they are stored."""
        types = self.program.var_defs
        ins, outs = ([types[v] for v in variables] for variables in (op.vars_in, op.vars_out))
        if (jaxpr := op.code.jaxpr_for(ins, outs)) is not None:
            return jaxpr
        arrays_ = [leaf for v in op.vars_in for leaf in self.types(v)]
        return jax.make_jaxpr(lane_function(op, types))(*[leaf.aval for leaf in arrays_])

    # The end

    def fate(self) -> str:
        """The fate of a lane that reached the end: finished, or failed with the number of its failure."""
        e = self.emitter
        if not self.program.failures:
            return str(int(Fate.FINISHED))
        ((cell, leaf),) = self.stored(self.program.vars_out[-2])
        failure = e.converted(self.current(cell, leaf), np.dtype(np.int32)).ref
        failed = e.op(f"or i32 {e.op(f'shl i32 {failure}, {NUMBER}')}, {int(Fate.FAILED)}")
        return e.op(f"select i1 {e.op(f'icmp eq i32 {failure}, 0')}, i32 {int(Fate.FINISHED)}, i32 {failed}")

    # The text

    @cached_property
    def arrays(self) -> list[str]:
        """The names of the pointers to arrays that the function takes, in order."""
        names = (
            ("captured", len(self.operands.captured)), ("in", len(self.inputs)), ("shared", self.computed_arrays),
            ("begun", len(self.operands.summed)), ("answer", self._of_errands("wanted")), ("before", self._kept_arrays),
            ("out", len(self.outputs)), ("told", self._of_errands("told")),
        )  # fmt: skip
        return [f"%{stem}{k}" for stem, count in names for k in range(count)]

    def _of_errands(self, which: str) -> int:
        """The number of arrays that all errands together are told, or that are wanted of them."""
        return sum(len(self.leaves[v]) for errand in self.errands for v in getattr(errand, which))

    @property
    def _kept_arrays(self) -> int:
        """The number of arrays that a kernel with errands writes, and finds again when it is started anew."""
        if not self.errands:
            return 0
        return len(self.outputs) + self._of_errands("told") + (3 if self.options.counts else 2)

    @property
    def parameters(self) -> list[str]:
        """The pointers of ``arrays`` as parameters, with the attributes that LLVM may rely on."""
        facts = {
            "captured": "noalias readonly",
            "in": "noalias readonly",
            "shared": "noalias readonly",
            "begun": "",  # zeroed memory for the results of sums, which the kernel writes
            "answer": "noalias readonly",
            "before": "",  # the results as they were before, in the memory of "out"
            "out": "noalias",
            "told": "noalias",
        }
        return [f"ptr {facts[array.strip('%0123456789')]} {array}" for array in self.arrays]

    def function(self, symbol: str, parameters: Sequence[str], heads: Sequence[str], name: str) -> str:
        """The function as LLVM IR, with its constants, declarations and metadata.

        Args:
            symbol: The name of the LLVM function.
            parameters: Its parameters, with their types.
            heads: Instructions before all others.
            name: The name of the user's function, for debug information.
        """
        e = self.emitter
        body = "\n".join([*heads, *e.heads, *e.lines])
        constants = "\n".join(f"@{known} = {text}" for text, known in e.constants.items())
        declarations = "\n".join(e.declared.values())
        facts = "\n".join(e.facts)
        metadata = e.places.metadata(name, self.program.location, is_grid=e.processor.is_grid)
        debug = " !dbg !5" if metadata else ""
        attributes = "convergent nounwind" if e.processor.threads_that_meet > 1 else "nounwind"
        head = f"define internal i32 @{symbol}({', '.join(parameters)}) alwaysinline {attributes}{debug} {{\nstart:"
        return f"{constants}\n{declarations}\n{head}\n{body}\n}}\n{metadata}\n{facts}\n"
