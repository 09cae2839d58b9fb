"""Verifies a module: raises ``VerificationError`` where it breaks a numbered constraint of ``Autobatch.td``.

The constraints here are those that a module needs to be read as a program; constraints on the program are checked
afterwards by ``ir.verifier`` (see ``to_program``), with labels from the same definition.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, singledispatchmethod
from typing import Any, Final

import numpy as np

from hlobatch._jax import func, ir
from hlobatch.diagnostics import VerificationError
from hlobatch.dialect import ops
from hlobatch.dialect.code import COST
from hlobatch.dialect.locations import place_of
from hlobatch.dialect.op_base import OPS, Op
from hlobatch.dialect.patterns import tensor_type, to_type
from hlobatch.dialect.values import PatternError
from hlobatch.ir.ops import HALT
from hlobatch.ir.program import VariableAllocation
from hlobatch.ir.types import TensorType, Type

Fault = tuple[str, str, Any]
"""A label, a message, and the operation at fault."""
ALLOCATIONS: Final = {a.name.lower(): a for a in VariableAllocation}


def verify(module: ir.Module, file: str = "-") -> Any:
    """The same module, unchanged.

    Args:
        module: A module, in whose context operations of the dialect are allowed.
        file: The name of text that came without a file name.

    Raises:
        VerificationError: A constraint is broken.
    """
    with module.context, ir.Location.unknown():
        for check in (_location_faults, _declaration_faults, _symbol_faults, _block_faults, _op_faults):
            for label, message, operation in check(module):
                raise VerificationError(label, message, place_of(operation, file))
    return module


def operations(module: ir.Module) -> Iterator[Any]:
    """Every operation of the module itself and of the dialect's functions, but not those in the code of primitives."""
    for operation in module.body.operations:
        yield operation
        if isinstance(operation, ops.FuncOp):
            yield from (inner for block in operation.regions[0].blocks for inner in block.operations)


# Declarations: ods_c1


_LOCATION: Final = re.compile(r"(?<![@\w.$-])loc\(")
_STRING: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"')


def _location_faults(module: ir.Module) -> Iterator[Fault]:
    """Attributes that are locations, found in printed text, since MLIR's Python bindings may crash on them."""

    def holds_one(operation: Any, **options: Any) -> bool:
        text = operation.get_asm(print_generic_op_form=True, assume_verified=True, large_elements_limit=1, **options)
        return _LOCATION.search(_STRING.sub("", text)) is not None

    found: list[Any] = []

    def collect(operation: Any) -> Any:
        if holds_one(operation, skip_regions=True):
            found.append(operation)
        return ir.WalkResult.ADVANCE

    if holds_one(module.operation):
        module.operation.walk(collect, ir.WalkOrder.PRE_ORDER)
    yield from (("ods_c1", f"'{op.name}' has an attribute that is a location", op) for op in found)


def _declaration_faults(module: ir.Module) -> Iterator[Fault]:
    for operation in operations(module):
        name = operation.operation.name
        is_code = name == "func.func" and operation.operation.parent == module.operation
        if name not in OPS and not is_code:
            yield "ods_c1", f"'{name}' is no operation of a program", operation
        elif name in OPS:
            yield from (("ods_c1", f"'{name}' {text}", operation) for text in _misfits(operation, OPS[name]))
        elif is_code:
            yield from _strangers(operation)
            if COST in operation.attributes and not isinstance(operation.attributes[COST], ir.FloatAttr):
                yield "ods_c1", f"attribute '{COST}' is not a number", operation


def _strangers(code: Any) -> Iterator[Fault]:
    """Operations of the dialect in the code of a primitive, at any depth."""
    found: list[Any] = []

    def collect(operation: Any) -> Any:
        if operation.name.startswith("autobatch."):
            found.append(operation)
        return ir.WalkResult.ADVANCE

    code.operation.walk(collect, ir.WalkOrder.PRE_ORDER)
    name = code.operation.attributes["sym_name"].value
    yield from (("ods_c1", f"'{op.name}' stands in @{name}, the code of a primitive", op) for op in found)


def _misfits(operation: Any, kind: type[Op]) -> Iterator[str]:
    """The ways in which an operation differs from the declaration of its class, as ends of sentences."""
    raw = operation.operation
    parent = raw.parent.name
    if parent != kind.PARENT:
        yield f"stands in '{parent}', not in '{kind.PARENT}'"
    counts = {"operands": 0, "results": 0, "regions": kind._ODS_REGIONS[0], "successors": len(kind.SUCCESSORS)}
    for what, count in counts.items():
        if len(getattr(raw, what)) != count:
            yield f"has {len(getattr(raw, what))} {what}, not {count}"
    for name, attribute in kind.ATTRIBUTES.items():
        if name not in raw.attributes:
            if not attribute.optional:
                yield f"requires attribute '{name}'"
        elif not attribute.accepts(raw.attributes[name]):
            yield f"attribute '{name}' is no {type(attribute).__doc__ or ''}".rstrip(".").replace("no A ", "not a ")
    for name in raw.attributes:
        if name not in kind.ATTRIBUTES and "." not in name:
            yield f"has no attribute '{name}'"


# Symbols: program_c4, program_c5, program_c7, func_c4


@dataclass(frozen=True)
class Symbols:
    """The symbols of a module, by kind."""

    module: ir.Module

    def _named(self, kind: Any) -> dict[str, Any]:
        found = [op for op in self.module.body.operations if isinstance(op, kind)]
        return {op.operation.attributes["sym_name"].value: op for op in found}

    @cached_property
    def variables(self) -> dict[str, Any]:
        return self._named(ops.VarOp)

    @cached_property
    def functions(self) -> dict[str, Any]:
        return self._named(ops.FuncOp)

    @cached_property
    def code(self) -> dict[str, Any]:
        return self._named(func.FuncOp)

    @cached_property
    def types(self) -> dict[str, Type]:
        return {name: to_type(op.pattern) for name, op in self.variables.items()}

    def is_shared(self, name: str) -> bool:
        return bool(self.variables[name].allocation == "shared")


def _redefinitions(module: Any) -> Iterator[Fault]:
    """Symbols that are defined twice. New releases of MLIR refuse them only in operations that they know."""
    seen: set[str] = set()
    for operation in module.body.operations:
        if "sym_name" in operation.operation.attributes:
            name = operation.operation.attributes["sym_name"].value
            if name in seen:
                yield "program_c4", f"redefinition of symbol named '{name}'", operation
            seen.add(name)


def _symbol_faults(module: ir.Module) -> Iterator[Fault]:
    yield from _redefinitions(module)
    symbols = Symbols(module)
    programs = [op for op in module.body.operations if isinstance(op, ops.ProgramOp)]
    if len(programs) != 1:
        message = f"a module has one 'autobatch.program', this one has {len(programs)}"
        yield "program_c7", message, programs[1] if programs else module.operation
    for operation in operations(module):
        if isinstance(operation, ops.ProgramOp) and operation.entry not in symbols.functions:
            yield "program_c7", f"there is no function @{operation.entry} to start at", operation
        if not isinstance(operation, Op):
            continue
        for name in _variables(operation):
            if name not in symbols.variables:
                yield "program_c5", f"there is no variable @{name}", operation
        if isinstance(operation, ops.FuncOp) and len(set(operation.ins)) < len(operation.ins):
            yield "func_c4", f"@{operation.sym_name} has two parameters of the same name", operation


def _variables(operation: Op) -> Iterator[str]:
    """The variables that an operation refers to."""
    for name in ("ins", "outs", "variables"):
        yield from getattr(operation, name, ()) if name in operation.ATTRIBUTES else ()
    for name in ("condition", "counter"):
        if name in operation.ATTRIBUTES:
            yield getattr(operation, name)


# Blocks: func_c1 to func_c3, call_c5, label_c1, program_c1, program_c2


def _block_faults(module: ir.Module) -> Iterator[Fault]:
    for function in module.body.operations:
        if isinstance(function, ops.FuncOp):
            blocks = list(function.regions[0].blocks)
            if not blocks:
                yield "program_c2", f"@{function.sym_name} has no block", function
                return
            for block in blocks:
                yield from _one_block_faults(function, block)
            yield from _entry_faults(function, blocks)
            yield from _name_faults(blocks)


def _one_block_faults(function: Any, block: Any) -> Iterator[Fault]:
    inside = list(block.operations)
    if len(block.arguments):
        yield "func_c3", "a block has arguments", inside[0] if inside else function
    if not inside or not inside[-1].IS_TERMINATOR:
        yield "func_c2", "a block does not end in a terminator", inside[-1] if inside else function
    for operation in inside[:-1]:
        if operation.IS_TERMINATOR:
            yield "func_c2", f"'{operation.operation.name}' stands before the end of its block", operation
    for operation in inside[:-2]:
        if isinstance(operation, ops.CallOp):
            yield "call_c5", f"the call of @{operation.callee} does not stand right before the terminator", operation
    for operation in inside[1:]:
        if isinstance(operation, ops.LabelOp):
            yield "label_c1", f'label "{operation.name}" is not the first operation of its block', operation


def is_way_in(block: ir.Block) -> bool:
    """Whether an entry block is not a block of the program: it has no label and only jumps."""
    return len(block.operations) == 1 and isinstance(block.operations[0], ops.JumpOp)


def is_way_out(block: ir.Block) -> bool:
    """Whether a block other than the entry stands for the exit: it has no label and only returns."""
    return len(block.operations) == 1 and isinstance(block.operations[0], ops.ReturnOp)


def _entry_faults(function: Any, blocks: Sequence[Any]) -> Iterator[Fault]:
    if is_way_in(blocks[0]):
        jump = blocks[0].operations[0]
        if jump.operation.successors[0] != blocks[1] or is_way_out(blocks[1]):
            yield "func_c1", f"the way into @{function.sym_name} does not lead to its next block", jump


def block_name(block: ir.Block, index: int) -> str:
    """The name of a block: that of its label, or one made from its position."""
    first = block.operations[0]
    return first.name if isinstance(first, ops.LabelOp) else f"bb{index}"


def _name_faults(blocks: Sequence[Any]) -> Iterator[Fault]:
    seen: set[str] = {HALT}
    for index, block in enumerate(blocks):
        if is_way_out(block) if index else is_way_in(block):
            continue
        name = block_name(block, index)
        if name in seen:
            yield "program_c1", f"block name {name!r} is taken", block.operations[0]
        seen.add(name)


# Operations: var_c1, var_c2, prim_c2 to prim_c4, move_c1, move_c2, branch_c1, call_c4


def _op_faults(module: ir.Module) -> Iterator[Fault]:
    checks = _OpChecks(Symbols(module))
    for kind in (ops.VarOp, Op):
        for operation in operations(module):
            if isinstance(operation, kind):
                yield from ((label, message, operation) for label, message in checks.faults(operation))


@dataclass(frozen=True)
class _OpChecks:
    """Checks single operations; variables come first, since other checks use their types."""

    symbols: Symbols

    @singledispatchmethod
    def faults(self, operation: Op) -> Iterator[tuple[str, str]]:
        """Labels and messages of what is wrong with an operation."""
        return iter(())

    @faults.register
    def _var(self, operation: ops.VarOp) -> Iterator[tuple[str, str]]:
        try:
            to_type(operation.pattern)
        except PatternError as error:
            yield "var_c1", str(error)
        if operation.allocation is not None and operation.allocation not in ALLOCATIONS:
            yield "var_c2", f"there is no allocation {operation.allocation!r}"

    @faults.register
    def _prim(self, operation: ops.PrimOp) -> Iterator[tuple[str, str]]:
        code = self.symbols.code.get(operation.callee)
        if code is None or not len(code.regions[0].blocks):
            yield "prim_c2", f"there is no func.func @{operation.callee} with a body"
            return
        kind = ir.FunctionType(ir.TypeAttr(code.attributes["function_type"]).value)
        batched = any(not self.symbols.is_shared(v) for v in operation.ins for _ in self._leaves(v))
        parameters = self._arrays(operation.ins, lambda v: not self.symbols.is_shared(v))
        yield from _mismatch("prim_c3", f"@{operation.callee} takes", kind.inputs, parameters)
        results = self._arrays(operation.outs, lambda _: batched)
        yield from _mismatch("prim_c4", f"@{operation.callee} gives", kind.results, results)

    def _leaves(self, variable: str) -> Sequence[Any]:
        return self.symbols.types[variable].tensor_leaves

    def _arrays(self, variables: Sequence[str], is_batched: Callable[[str], bool]) -> list[Any]:
        lanes = ir.ShapedType.get_dynamic_size()
        return [tensor_type(leaf, *([lanes] if is_batched(v) else [])) for v in variables for leaf in self._leaves(v)]

    @faults.register
    def _move(self, operation: ops.MoveOp) -> Iterator[tuple[str, str]]:
        if len(operation.ins) != len(operation.outs):
            yield "move_c1", f"{len(operation.ins)} variables are copied to {len(operation.outs)}"
            return
        yield from self._pairs("move_c2", operation.ins, operation.outs)

    @faults.register
    def _branch(self, operation: ops.BranchOp) -> Iterator[tuple[str, str]]:
        type_ = self.symbols.types[operation.condition]
        if type_.strong.leaves != (TensorType(np.dtype(np.bool_)),):
            yield "branch_c1", f"the condition %{operation.condition} is {type_}, not a scalar boolean"

    @faults.register
    def _call(self, operation: ops.CallOp) -> Iterator[tuple[str, str]]:
        callee = self.symbols.functions.get(operation.callee)
        if callee is not None:  # otherwise, or if the numbers differ, ir.verifier reports it
            yield from self._pairs("call_c4", operation.ins, callee.ins)
            yield from self._pairs("call_c4", callee.outs, operation.outs)

    def _pairs(self, label: str, sources: Sequence[str], targets: Sequence[str]) -> Iterator[tuple[str, str]]:
        for source, target in zip(sources, targets, strict=False):
            a, b = self.symbols.types[source], self.symbols.types[target]
            if a.treedef != b.treedef or not all(map(_fits, a.leaves, b.leaves)):
                yield label, f"@{source} holds {a}, which does not fit @{target}, which holds {b}"


def _fits(source: Any, target: Any) -> bool:
    """Whether a value of one leaf type can be stored in another."""
    shape = getattr(source, "shape", ())  # a Python number has the empty shape
    return bool(shape == getattr(target, "shape", shape))


def _mismatch(label: str, what: str, got: Sequence[Any], wanted: Sequence[Any]) -> Iterator[tuple[str, str]]:
    if list(got) != list(wanted):
        yield label, f"{what} ({', '.join(map(str, got))}), not ({', '.join(map(str, wanted))})"
