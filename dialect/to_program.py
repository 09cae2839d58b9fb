"""Reads a module of the dialect into a ``Program``: the inverse of ``from_program``.

Code becomes the ``CodeFunction`` of a primitive, whose types are those of the variables. Operations without a source
location get their location in the text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import singledispatchmethod
from typing import Any, Final

from hlobatch._jax import ir
from hlobatch.diagnostics import Location, VerificationError
from hlobatch.dialect import ops
from hlobatch.dialect.code import Code, CodeFunction
from hlobatch.dialect.locations import start_of, to_location, to_read_at
from hlobatch.dialect.op_base import Op as DialectOp
from hlobatch.dialect.to_code import canonical
from hlobatch.dialect.verifier import ALLOCATIONS, Symbols, block_name, is_way_in, is_way_out, verify
from hlobatch.ir import verifier
from hlobatch.ir.code import MOVE
from hlobatch.ir.ops import (
    HALT,
    BranchOp,
    FunctionCallOp,
    GotoOp,
    IndirectGotoOp,
    Op,
    PopOp,
    PrimOp,
    PushGotoOp,
    PushOp,
    Terminator,
)
from hlobatch.ir.program import Block, ControlFlowGraph, Function, Program


def to_program(module: ir.Module, file: str = "-") -> Program:
    """The program of a module.

    Args:
        module: A module of the dialect.
        file: The name of text that came without a file name.

    Raises:
        VerificationError: The module or the program breaks a constraint.
    """
    verify(module, file)
    with module.context, ir.Location.unknown():
        program = _Reader(Symbols(module), module, file).program()
    try:
        return verifier.verify(program)
    except VerificationError as error:
        raise error if error.location.line else error.at(start_of(file)) from None


@dataclass(frozen=True)
class _Names:
    """The names of a function's blocks. MLIR's blocks cannot be hashed, so they are searched by equality."""

    names: Mapping[int, str]
    blocks: list[Any]

    def __getitem__(self, block: ir.Block) -> str:
        return self.names[self.blocks.index(block)]


@dataclass(frozen=True)
class _Reader:
    """Reads a module that has been verified."""

    symbols: Symbols
    module: ir.Module
    file: str
    codes: dict[str, Code] = field(default_factory=dict)

    def program(self) -> Program:
        functions = {name: self._function(op) for name, op in self.symbols.functions.items()}
        declared = next(op for op in self.module.body.operations if isinstance(op, ops.ProgramOp))
        main = functions.pop(declared.entry)
        allocated = {v: op.allocation for v, op in self.symbols.variables.items() if op.allocation is not None}
        return Program(
            graph=main.graph,
            functions=tuple(functions.values()),
            var_defs=self.symbols.types,
            vars_in=main.vars_in,
            vars_out=main.vars_out,
            var_alloc={v: ALLOCATIONS[word] for v, word in allocated.items()},
            location=self._location(declared),
        )

    def _location(self, operation: Any) -> Location:
        return to_location(operation.location, self.file)

    def _function(self, op: ops.FuncOp) -> Function:
        blocks = list(op.regions[0].blocks)
        names = _Names({i: HALT if i and is_way_out(b) else block_name(b, i) for i, b in enumerate(blocks)}, blocks)
        kept = [(names[b], b) for b in blocks if names[b] != HALT and not (b == blocks[0] and is_way_in(b))]
        graph = ControlFlowGraph(tuple(self._block(name, block, names) for name, block in kept))
        return Function(op.sym_name, graph, op.ins, op.outs, location=self._location(op))

    def _block(self, name: str, block: Any, names: _Names) -> Block:
        inside = list(block.operations)
        label = inside[0] if isinstance(inside[0], ops.LabelOp) else None
        read = [self._placed(op, names) for op in inside if not isinstance(op, ops.LabelOp)]
        *instructions, terminator = read
        assert isinstance(terminator, Terminator)
        sync = label is not None and label.sync
        return Block(name, tuple(instructions), terminator, self._location(inside[0]), sync)

    def _placed(self, op: DialectOp, names: _Names) -> Op:
        """The operation of a program, with its locations in the user's source."""
        read_at = to_read_at(op.location, self.file)
        return self._op(op, names).replace(location=self._location(op), read_at=read_at)

    @singledispatchmethod
    def _op(self, op: DialectOp, names: _Names) -> Op:
        """The operation of a program, without locations."""
        raise TypeError(f"a program has no {op.OPERATION_NAME}")

    @_op.register
    def _prim(self, op: ops.PrimOp, names: _Names) -> Op:
        types = self.symbols.types
        in_types, out_types = tuple(types[v] for v in op.ins), tuple(types[v] for v in op.outs)
        if op.callee not in self.codes:
            self.codes[op.callee] = _code(self.module, op.callee)
        function = CodeFunction.of(self.codes[op.callee], in_types, out_types)
        return PrimOp(op.ins, op.outs, function, op.text or "")

    @_op.register
    def _move(self, op: ops.MoveOp, names: _Names) -> Op:
        text = "move" if op.text is None else op.text
        return PrimOp(op.ins, op.outs, MOVE, text)

    @_op.register
    def _call(self, op: ops.CallOp, names: _Names) -> Op:
        return FunctionCallOp(op.callee, op.ins, op.outs)

    @_op.register
    def _push(self, op: ops.PushOp, names: _Names) -> Op:
        return PushOp(op.variables)

    @_op.register
    def _pop(self, op: ops.PopOp, names: _Names) -> Op:
        return PopOp(op.variables)

    @_op.register
    def _branch(self, op: ops.BranchOp, names: _Names) -> Op:
        yes, no = op.operation.successors
        return BranchOp(op.condition, names[yes], names[no])

    @_op.register
    def _jump(self, op: ops.JumpOp, names: _Names) -> Op:
        return GotoOp(names[op.operation.successors[0]])

    @_op.register
    def _push_jump(self, op: ops.PushJumpOp, names: _Names) -> Op:
        goto, back = op.operation.successors
        return PushGotoOp(names[back], names[goto], op.counter)

    @_op.register
    def _indirect(self, op: ops.IndirectJumpOp, names: _Names) -> Op:
        return IndirectGotoOp(op.counter)

    @_op.register
    def _return(self, op: ops.ReturnOp, names: _Names) -> Op:
        return GotoOp(HALT)


# Code


def _code(module: ir.Module, name: str) -> Code:
    """The named function and all functions that it calls, as code of its own: the named one first, as ``@main``."""
    functions = {op.attributes["sym_name"].value: op for op in code_functions(module)}
    called = _reached(functions, name)
    reached = [name, *(f for f in functions if f in called and f != name)]
    part = ir.Module.create()
    for symbol in reached:
        part.body.append(functions[symbol].operation.clone())
    _rename(part, {symbol: f"{i} " for i, symbol in enumerate(reached)})  # unique names first, so that no two clash
    _rename(part, {f"{i} ": short for i, short in enumerate(_short_names(name, reached))})
    return canonical(part)


def _short_names(name: str, reached: Sequence[str]) -> list[str]:
    """The names of functions within code: ``main`` for the first, the others without the first one's name as prefix."""
    short: list[str] = ["main"]
    for symbol in reached[1:]:
        wanted = symbol.removeprefix(f"{name}.")
        while wanted in short:
            wanted += "_"
        short.append(wanted)
    return short


def _rename(module: ir.Module, names: Mapping[str, str]) -> None:
    for old, new in names.items():
        ir.SymbolTable.replace_all_symbol_uses(old, new, module.operation)
        ir.SymbolTable.set_symbol_name(ir.SymbolTable(module.operation)[old], new)


def code_functions(module: ir.Module) -> list[Any]:
    """The StableHLO functions of a module."""
    return [op for op in module.body.operations if op.operation.name == "func.func"]


def _reached(functions: Mapping[str, Any], name: str) -> set[str]:
    """The named function, and all functions that it calls, directly or not."""
    reached: set[str] = set()
    waiting = [name]

    def follow(operation: Any) -> Any:
        for name in _CALLS:
            waiting.extend(s for s in _symbols(operation.attributes.get(name)) if s in functions)
        return ir.WalkResult.ADVANCE

    while waiting:
        symbol = waiting.pop()
        if symbol not in reached:
            reached.add(symbol)
            functions[symbol].operation.walk(follow)
    return reached


_CALLS: Final = ("callee", "called_computations", "decomposition")
"""The attributes by which StableHLO operations refer to functions."""


def _symbols(attribute: ir.Attribute) -> list[str]:
    """The symbols in an attribute; empty if it has none."""
    items = attribute if isinstance(attribute, ir.ArrayAttr) else [attribute]
    return [str(item.value) for item in items if isinstance(item, ir.FlatSymbolRefAttr)]
