"""A program with explicit stacks -> one LLVM function that runs one lane.

A block of the program is a basic block of LLVM's. A variable is memory, of which LLVM makes registers. A stack is
memory that the host hands in, with a pointer; its top is a variable beside it. A return is a ``switch`` on the return
address that was pushed last. A lane branches by itself, so there is no mask, no schedule and no masked write.

::

    i32 @lane(i64 index, ptr captured …, ptr in …, ptr shared …, ptr begun …, ptr out …, ptr call, ptr local,
              ptr stacks, ptr frames, ptr counts, i64 row, i64 rows)

runs the input ``index`` and returns its fate: a ``Fate``, and in the bits above its ``NUMBER``, counting from 1, which
failure it was or which stack was too small. It writes results only if the input is finished or has failed.

``frames`` has, for each piece of memory that frames are in, where these begin in ``stacks``, in bytes, and how many
there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import jax
import numpy as np

from hlobatch.analysis.machine_flow import turning_points
from hlobatch.ir.fate import NUMBER, Fate
from hlobatch.ir.ops import HALT, BranchOp, GotoOp, IndirectGotoOp, LogOp, Op, PopOp, PrimOp, PushGotoOp, PushOp
from hlobatch.ir.physical import lane_function, physical
from hlobatch.ir.program import Block, Program
from hlobatch.ir.program import VariableAllocation as Alloc
from hlobatch.ir.types import TensorType
from hlobatch.kernels import (  # noqa: F401  # those that only fill in the tables of rules
    arithmetic,
    arrays,
    control,
    functions,
    keys,
    products,
    reductions,
    sorting,
    windows,
)
from hlobatch.kernels.interface import FAULT, Call, Operands, Options
from hlobatch.kernels.lane import LaneEmitter
from hlobatch.kernels.stacks import Stacks
from hlobatch.kernels.text import OUT_OF_BOUNDS
from hlobatch.kernels.types import BOOL, NoKernelError, kind, size
from hlobatch.kernels.values import Value


class Machine:
    """The LLVM function of a program, for one lane.

    Attributes:
        program: The program.
        operands: The arrays that it takes.
        options: How it is made.
        stacks: Those of a lane.

    Raises:
        NoKernelError: Something in the program has no code.
    """

    def __init__(self, program: Program, operands: Operands, options: Options) -> None:
        self.program, self.operands, self.options = program, operands, options
        captured = {known: f"%captured{k}" for k, known in enumerate(operands.captured)}
        self.emitter = e = LaneEmitter(options.processor, captured, checked=options.checked)
        graph = program.graph
        self._numbers = {block.name: k for k, block in enumerate(graph)} | {HALT: len(graph.blocks)}
        self._labels = {block.name: f"%block{k}" for k, block in enumerate(graph)} | {HALT: "%finished"}
        self._leaves = {v: self._stored_types(v) for v in program.var_defs}
        self.inputs = [leaf for v in program.vars_in for leaf in self._types(v)]
        self.outputs = [leaf for v in program.vars_out for leaf in self._types(v)]
        self._of_host: set[str] = set()
        self._cells = self._all_cells()
        e.protected.update(cell for cells in self._cells.values() for cell in cells)
        self.stacks = Stacks(e, program, self._leaves, self._cells, self._current)
        self._returns: dict[str, str] = {}
        self._fuel = "" if options.processor.side_by_side else e.cell("i64")
        self._steps = e.cell("i64") if options.max_steps is not None else ""
        e.turned = self._turned
        self._write()

    def _types(self, v: str) -> list[TensorType]:
        return [physical(leaf) for leaf in self.program.var_defs[v].tensor_leaves]

    def _stored_types(self, v: str) -> list[TensorType]:
        """Types of the arrays that a variable is kept in."""
        interface = v in self.program.vars_in or v in self.program.vars_out
        return self._types(v) if interface or self.program.alloc(v) is not Alloc.NULL else []

    # Where variables are

    def _all_cells(self) -> dict[str, list[str]]:
        """For each variable, the memory of each of its arrays."""
        e, cells = self.emitter, dict[str, list[str]]()
        computed = iter(f"%shared{k}" for k in range(self._computed_arrays))
        for v in self.operands.computed:
            cells[v] = [next(computed) for _ in self._leaves[v]]
            self._of_host.update(cells[v])
        written = {v for op in self.program.ops for v in (*op.defs, *op.moved)} - set(self.operands.computed)
        position = 0
        for v in self.program.vars_in:
            places = []
            for leaf in self._leaves[v]:
                reads_only = leaf.shape and v not in written
                places.append(f"%own{position}" if reads_only else e.memory(leaf.dtype, size(leaf.shape)))
                self._of_host.update(places[-1:] if reads_only else ())
                position += 1
            cells[v] = places
        cells |= self._sums
        for v, leaves in self._leaves.items():
            if v not in cells:
                cells[v] = [e.memory(leaf.dtype, size(leaf.shape)) for leaf in leaves]
        return cells

    @cached_property
    def _sums(self) -> dict[str, list[str]]:
        """The memory of variables that are sums over all inputs of a thread: its rows of results."""
        places = [(v, k) for v in self.program.vars_out for k in range(len(self._leaves[v]))]
        return {places[k][0]: [f"%sum{k}"] for k in self.operands.summed}

    @cached_property
    def _computed_arrays(self) -> int:
        return sum(len(self._leaves[v]) for v in self.operands.computed)

    def _stored(self, v: str) -> Iterator[tuple[str, TensorType]]:
        return zip(self._cells[v], self._leaves[v], strict=True)

    def _current(self, cell: str, leaf: TensorType) -> Value:
        value = self.emitter.resident(cell, leaf.dtype, leaf.shape)
        return replace(value, root=None) if cell in self._of_host else value

    # The function

    def _write(self) -> None:
        e = self.emitter
        self._begin()
        for block in self.program.graph:
            e.label(self._labels[block.name])
            self._arrive(block)
            for op in self.stacks.calls.moving(block, self.program.ops_in_loop(block)):
                if op is not block.terminator:
                    self._operation(op)
            self._leave(block)
        for counter, label in self._returns.items():
            self._return(counter, label)
        self._end()

    def _begin(self) -> None:
        e = self.emitter
        self.stacks.begin()
        if self._steps:
            e.do(f"store i64 0, ptr {self._steps}")
        if self._fuel:
            e.do(f"store i64 {e.op(f'load i64, ptr {self._in_call(Call.FUEL)}')}, ptr {self._fuel}")
            self._turned()
        for op in self.program.ops:
            if isinstance(op, (PushGotoOp, IndirectGotoOp)):
                e.do(f"store i32 {self._numbers[HALT]}, ptr {self._cells[op.counter][0]}")
        for k in self.operands.summed:
            leaf, row = self.outputs[k], e.op(f"load i64, ptr {self._in_call(Call.ROW)}")
            offset = e.times(row, size(leaf.shape) * leaf.dtype.itemsize)
            e.lines.append(f"  %sum{k} = getelementptr i8, ptr %out{k}, i64 {offset}")
        position = 0
        for v in self.program.vars_in:
            for cell, leaf in self._stored(v):
                self._take(position, cell, leaf)
                position += 1
        e.jump(self._labels[self.program.graph.enter_block().name])

    def _take(self, position: int, cell: str, leaf: TensorType) -> None:
        """Bring an input to where it is kept, or let that be where the host has it."""
        e, given = self.emitter, f"%in{position}"
        bytes_ = size(leaf.shape) * leaf.dtype.itemsize
        offset = "0" if self.operands.shared[position] else e.times("%index", bytes_)
        if cell == f"%own{position}":
            e.lines.append(f"  {cell} = getelementptr i8, ptr {given}, i64 {offset}")
            return
        place = e.op(f"getelementptr i8, ptr {given}, i64 {offset}")
        value = Value(leaf.dtype, leaf.shape, place if leaf.shape else e.load(place, leaf.dtype))
        e.copy_to(value, cell)

    def _end(self) -> None:
        e = self.emitter
        e.label("%finished")
        for k, (cell, leaf) in enumerate([pair for v in self.program.vars_out for pair in self._stored(v)]):
            if k in self.operands.summed:
                continue
            place = e.address(f"%out{k}", leaf.dtype, e.times("%index", size(leaf.shape)))
            e.copy_to(self._current(cell, leaf), place)
        e.do(f"store i32 {self._fate()}, ptr %fate")
        e.jump("%exit")
        for k, label in enumerate(self.stacks.overflows):
            self._stop(label, Fate.PARKED + (k + 1 << NUMBER))
        self._stop("%stepped_out", Fate.STEPPED_OUT)
        self._stop("%interrupted", Fate.RUNNING)
        self._stop(OUT_OF_BOUNDS, FAULT)
        e.label("%exit")
        if self._fuel:
            e.do(f"store i64 {e.op(f'load i64, ptr {self._fuel}')}, ptr {self._in_call(Call.FUEL)}")
        e.do(f"ret i32 {e.op('load i32, ptr %fate')}")

    def _stop(self, label: str, fate: int) -> None:
        self.emitter.label(label)
        self.emitter.do(f"store i32 {int(fate)}, ptr %fate")
        self.emitter.jump("%exit")

    def _fate(self) -> str:
        """What became of a lane that came to the end."""
        e = self.emitter
        if not self.program.failures:
            return str(int(Fate.FINISHED))
        ((cell, leaf),) = self._stored(self.program.vars_out[-2])
        failure = e.converted(self._current(cell, leaf), np.dtype(np.int32)).ref
        failed = e.op(f"or i32 {e.op(f'shl i32 {failure}, {NUMBER}')}, {int(Fate.FAILED)}")
        return e.op(f"select i1 {e.op(f'icmp eq i32 {failure}, 0')}, i32 {int(Fate.FINISHED)}, i32 {failed}")

    # What is done on the way

    def _arrive(self, block: Block) -> None:
        e = self.emitter
        with e.at(block.location):
            if self.options.counts:
                place = e.op(f"getelementptr i64, ptr %counts, i64 {self._numbers[block.name]}")
                count = e.op(f"load i64, ptr {place}")
                e.do(f"store i64 {e.op(f'add i64 {count}, 1')}, ptr {place}")
            if self._steps:
                so_far = e.op(f"load i64, ptr {self._steps}")
                e.guard(e.op(f"icmp ult i64 {so_far}, {self.options.max_steps}"), "%stepped_out")
                e.do(f"store i64 {e.op(f'add i64 {so_far}, 1')}, ptr {self._steps}")
            if block.name in self._turning_points:
                self._turned()
            self.stacks.arrive(block)

    @cached_property
    def _turning_points(self) -> frozenset[str]:
        return turning_points(self.program)

    def _turned(self) -> None:
        """Use up some of what a lane may do before it looks whether it is to stop."""
        if not self._fuel:
            return
        e, look, after = self.emitter, self.emitter.new("look"), self.emitter.new("on")
        left = e.op(f"sub i64 {e.op(f'load i64, ptr {self._fuel}')}, 1")
        e.do(f"store i64 {left}, ptr {self._fuel}")
        e.branch(e.unlikely(e.op(f"icmp slt i64 {left}, 0")), look, after)
        e.label(look)
        stops = e.op("call i32 @look(ptr %call)")
        e.do(f"store i64 {e.op(f'load i64, ptr {self._in_call(Call.REFILL)}')}, ptr {self._fuel}")
        e.branch(e.op(f"icmp eq i32 {stops}, 0"), after, "%interrupted")
        e.label(after)

    def _in_call(self, field: int) -> str:
        return self.emitter.op(f"getelementptr i64, ptr %call, i64 {field}")

    # Operations

    def _operation(self, op: Op) -> None:
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
        """Computes where the operands are as far as these are overwritten, and moves the results to their variables."""
        e = self.emitter
        operands = [self._current(cell, leaf) for v in op.vars_in for cell, leaf in self._stored_or_typed(v)]
        overwritten = [cell for v in op.vars_out for cell in self._cells[v]]
        e.protected.subtract(overwritten)
        results = iter(e.closed(self._code(op), operands))
        e.protected.update(overwritten)
        places: list[str] = []
        values: list[Value] = []
        for v in op.vars_out:
            found = [e.converted(next(results), leaf.dtype) for leaf in self._types(v)]
            begins = v in self._sums and v not in op.vars_in  # a sum goes on from one input to the next
            if self._leaves[v] and not begins:
                places += self._cells[v]
                values += found
        e.settle(places, values)

    def _stored_or_typed(self, v: str) -> Iterator[tuple[str, TensorType]]:
        if not self._leaves[v] and self._types(v):
            raise NoKernelError(f"`{v}` is read and not kept")
        return self._stored(v)

    def _code(self, op: PrimOp) -> Any:
        """A primitive as a jaxpr on arrays as they are stored."""
        types = self.program.var_defs
        ins, outs = ([types[v] for v in variables] for variables in (op.vars_in, op.vars_out))
        if (jaxpr := op.code.jaxpr_for(ins, outs)) is not None:
            return jaxpr
        arrays_ = [leaf for v in op.vars_in for leaf in self._types(v)]
        return jax.make_jaxpr(lane_function(op, types))(*[leaf.aval for leaf in arrays_])

    # Control

    def _leave(self, block: Block) -> None:
        e, end = self.emitter, block.terminator
        with e.at(block.location):
            match end:
                case GotoOp():
                    e.jump(self._labels[end.block])
                case BranchOp():
                    ((cell, leaf),) = self._stored(end.cond_var)
                    condition = e.converted(self._current(cell, leaf), BOOL)
                    e.branch(e.element(condition, 0), self._labels[end.true_block], self._labels[end.false_block])
                case PushGotoOp():
                    self.stacks.push(self.stacks.calls.moves(end))
                    e.do(f"store i32 {self._numbers[end.push_block]}, ptr {self._cells[end.counter][0]}")
                    e.jump(self._labels[end.goto_block])
                case IndirectGotoOp():
                    e.jump(self._returns.setdefault(end.counter, e.new("return")))
                case _:
                    raise NoKernelError(f"`{type(end).__name__}` has no code")

    def _return(self, counter: str, label: str) -> None:
        """All returns by a counter meet here."""
        e = self.emitter
        e.label(label)
        ((cell, leaf),) = self._stored(counter)
        to = e.element(self._current(cell, leaf), 0)
        self.stacks.pop(self.stacks.calls.moves(IndirectGotoOp(counter)))
        calls = (b.terminator for b in self.program.graph if isinstance(b.terminator, PushGotoOp))
        backs = sorted({c.push_block for c in calls if c.counter == counter and c.push_block != HALT})
        k = kind(leaf.dtype)
        cases = " ".join(f"{k} {self._numbers[b]}, label {self._labels[b]}" for b in backs)
        e.do(f"switch {k} {to}, label %finished [ {cases} ]")

    # The text

    @cached_property
    def arrays(self) -> list[str]:
        """The names of the pointers to arrays that the function takes, in order."""
        names = (
            ("captured", len(self.operands.captured)), ("in", len(self.inputs)), ("shared", self._computed_arrays),
            ("begun", len(self.operands.summed)), ("out", len(self.outputs)),
        )  # fmt: skip
        return [f"%{stem}{k}" for stem, count in names for k in range(count)]

    def text(self, name: str) -> str:
        """The function, as LLVM IR; ``name`` is the user's for it."""
        e = self.emitter
        facts = {
            "captured": "noalias readonly",
            "in": "noalias readonly",
            "shared": "noalias readonly",
            "begun": "",  # zeros that the results of sums lie in
            "out": "noalias",
        }
        pointers = [f"ptr {facts[array.strip('%0123456789')]} {array}" for array in self.arrays]
        rest = ["ptr %call", "ptr noalias %local", "ptr noalias %stacks", "ptr noalias readonly %frames", "ptr %counts"]
        parameters = ", ".join(["i64 %index", *pointers, *rest, "i64 %row", "i64 %rows"])
        body = "\n".join(["  %fate = alloca i32", *e.heads, *e.lines])
        constants = "\n".join(f"@{known} = {text}" for text, known in e.constants.items())
        declarations = "\n".join(e.declared.values())
        metadata = e.places.metadata(name, self.program.location)
        debug = " !dbg !5" if metadata else ""
        head = f"define internal i32 @lane({parameters}) alwaysinline nounwind{debug} {{\nstart:"
        return f"{constants}\n{declarations}\n{head}\n{body}\n}}\n{metadata}\n"

    def call(self, pointers: Sequence[str], index: str, rest: Sequence[str], row: str, rows: str) -> str:
        """A call of the function, given the arrays and the five pointers after them."""
        given = ", ".join(f"ptr {p}" for p in (*pointers, *rest))
        return f"call i32 @lane(i64 {index}, {given}, i64 {row}, i64 {rows})"
