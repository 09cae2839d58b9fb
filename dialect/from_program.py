"""Writes a ``Program`` as a module of the dialect, without loss: the only way in which a program becomes MLIR.

Names, types, allocations, text, source locations and all orders are kept; primitives are kept as code.
``Function.type_inference`` is dropped, as it has been used once types are known. Primitives with the same code share
one ``func.func``.
"""

from __future__ import annotations

import itertools
from functools import singledispatchmethod
from typing import Any

from hlobatch._jax import PassManager, ir, make_context
from hlobatch.diagnostics import HloBatchError, UnsupportedSyntaxError
from hlobatch.dialect import ops
from hlobatch.dialect.code import Code
from hlobatch.dialect.locations import from_location
from hlobatch.dialect.patterns import from_type
from hlobatch.dialect.to_code import to_code
from hlobatch.ir.code import Move
from hlobatch.ir.ops import (
    HALT,
    BranchOp,
    FunctionCallOp,
    GotoOp,
    IndirectGotoOp,
    LogOp,
    Op,
    PopOp,
    PrimOp,
    PushGotoOp,
    PushOp,
)
from hlobatch.ir.program import Block, Function, Program, VariableAllocation


def from_program(program: Program, context: Any = None) -> Any:
    """The module of a program.

    Args:
        program: A typed program, with calls or with explicit stacks.
        context: From ``make_context``; a new one if None.

    Raises:
        HloBatchError: The program has no types yet, or a primitive cannot be lowered for any number of lanes.
    """
    if not program.var_defs:
        raise HloBatchError(
            "this program is still Python: its variables have no types",
            program.location,
            help="trace it for the types of its inputs first.",
        )
    with context or make_context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            _Writer(program, module).write()
        module.operation.verify()
    return module


class _Writer:
    """Writes a program into a module."""

    __hash__ = None  # type: ignore[assignment]  # Python 3.13.0's singledispatchmethod caches hashable objects forever

    def __init__(self, program: Program, module: ir.Module) -> None:
        self.program = program
        self.module = module
        self.codes: dict[Code, str] = {}
        self.blocks: dict[str, Any] = {}
        self.taken = {*program.var_defs, *(f.name for f in program.all_functions)}

    def write(self) -> None:
        ops.ProgramOp(self.program.main_function().name, loc=from_location(self.program.location))
        for name, type_ in self.program.var_defs.items():
            allocation = self.program.var_alloc.get(name)
            ops.VarOp(name, from_type(type_), None if allocation is None else allocation.name.lower())
        for function in self.program.all_functions:
            self._function(function)
        for code, name in self.codes.items():
            add_code(self.module, code, name)

    def _function(self, function: Function) -> None:
        written = ops.FuncOp(function.name, function.vars_in, function.vars_out, loc=from_location(function.location))
        region = written.regions[0]
        targets = {name for block in function.graph for name in block.terminator.targets}
        entry = function.graph.enter_block().name
        before = region.blocks.append() if entry in targets else None
        self.blocks = {block.name: region.blocks.append() for block in function.graph}
        if before is not None:
            with ir.InsertionPoint(before):
                ops.JumpOp(self.blocks[entry])
        if any(HALT in _branches(block) for block in function.graph):
            self.blocks[HALT] = region.blocks.append()
            with ir.InsertionPoint(self.blocks[HALT]):
                ops.ReturnOp()
        for block in function.graph:
            self._block(block)

    def _block(self, block: Block) -> None:
        with ir.InsertionPoint(self.blocks[block.name]):
            ops.LabelOp(block.name, sync=block.sync, loc=from_location(block.location))
            for op in block.ops:
                with from_location(op.location, op.read_at):
                    self.op(op)

    @singledispatchmethod
    def op(self, op: Op) -> None:
        """Write an operation at the current insertion point and location."""
        raise TypeError(f"the dialect has no {op!r}")

    @op.register
    def _prim(self, op: PrimOp) -> None:
        if isinstance(op.code, Move):
            ops.MoveOp(op.vars_in, op.vars_out, _text(op, "move"))
            return
        shared = [self.program.alloc(v) is VariableAllocation.SHARED for v in op.vars_in]
        code = to_code(op, self.program.var_defs, shared)
        ops.PrimOp(self._symbol(code), op.vars_in, op.vars_out, _text(op, ""))

    def _symbol(self, code: Code) -> str:
        if code not in self.codes:
            names = (f"code_{number}" for number in itertools.count(len(self.codes)))
            self.codes[code] = next(name for name in names if not any(_is_or_in(t, name) for t in self.taken))
            self.taken.add(self.codes[code])
        return self.codes[code]

    @op.register
    def _call(self, op: FunctionCallOp) -> None:
        ops.CallOp(op.function, op.vars_in, op.vars_out)

    @op.register
    def _log(self, op: LogOp) -> None:
        raise UnsupportedSyntaxError(
            f"{op.text!r} has Python do something, which a module of the dialect has no operation for",
            op.location,
            help="leave it out, as in `if verbose: print(…)` of a static argument that is False there.",
        )

    @op.register
    def _push(self, op: PushOp) -> None:
        ops.PushOp(op.vars)

    @op.register
    def _pop(self, op: PopOp) -> None:
        ops.PopOp(op.vars)

    @op.register
    def _branch(self, op: BranchOp) -> None:
        ops.BranchOp(op.cond_var, self.blocks[op.true_block], self.blocks[op.false_block])

    @op.register
    def _goto(self, op: GotoOp) -> None:
        if op.block == HALT:
            ops.ReturnOp()
        else:
            ops.JumpOp(self.blocks[op.block])

    @op.register
    def _push_goto(self, op: PushGotoOp) -> None:
        ops.PushJumpOp(op.counter, self.blocks[op.goto_block], self.blocks[op.push_block])

    @op.register
    def _indirect(self, op: IndirectGotoOp) -> None:
        ops.IndirectJumpOp(op.counter)


def _is_or_in(symbol: str, name: str) -> bool:
    """Whether a symbol is the name, or begins with the name and a dot."""
    return symbol == name or symbol.startswith(f"{name}.")


def _text(op: PrimOp, usual: str) -> str | None:
    return None if op.text == usual else op.text


def _branches(block: Block) -> tuple[str, ...]:
    """The blocks to which a block branches in MLIR; a jump to the exit is written as a return instead."""
    return () if isinstance(block.terminator, GotoOp) else block.terminator.targets


def add_code(module: ir.Module, code: Code, name: str) -> None:
    """Add code to a module as private functions: the main function as ``name``, and the others as ``name.…``."""
    part = code.as_module()
    PassManager.parse("builtin.module(strip-debuginfo)").run(part.operation)
    symbols = [f.attributes["sym_name"].value for f in part.body.operations]
    for symbol in symbols:
        renamed = name if symbol == "main" else f"{name}.{symbol}"
        ir.SymbolTable.replace_all_symbol_uses(symbol, renamed, part.operation)
        ir.SymbolTable.set_symbol_name(ir.SymbolTable(part.operation)[symbol], renamed)
    for function in part.body.operations:
        function.attributes["sym_visibility"] = ir.StringAttr.get("private")
        module.body.append(function.operation.clone())
