"""Program -> Program, unchanged: raises ``VerificationError`` where a numbered rule of the IR is broken.

| Rule | What must hold |
|---|---|
| ``program_c1`` | block names are unique in their graph, and none is ``halt`` |
| ``program_c2`` | every graph has at least one block |
| ``program_c3`` | every successor is a block of the same graph or ``halt`` |
| ``program_c4`` | function names are unique, and none is ``main`` |
| ``program_c5`` | once types are known, every variable mentioned has one |
| ``program_c6`` | no two functions write or receive the same variable, but for the lane's (before calls are lowered) |
| ``call_c1`` | the callee is a function of the program |
| ``call_c2`` | as many arguments as the callee has parameters |
| ``call_c3`` | as many results as the callee has |
| ``branch_c1`` | the condition is a scalar boolean |
| ``failure_c1`` | the failure number of a call is read, or returned, before it is overwritten |
| ``push_jump_c1`` | ``push_block`` is a block of the same graph |
| ``push_jump_c2`` | no function is left to call in a program with lowered calls |
| ``push_jump_c3`` | a return address is a 32-bit integer, allocated ``FULL`` or ``REGISTER`` |
| ``push_c1`` | only variables with a stack (``FULL``) are pushed or popped |
| ``prim_c1`` | results go to distinct variables |
| ``alloc_c1`` | a ``TEMPORARY`` is not used in a block before that block gives it a value |
| ``alloc_c2`` | a ``NULL`` variable that holds tensors is never read |
| ``alloc_c3`` | a ``SHARED`` variable is an input, or written once, in the entry block, from ``SHARED`` variables |
| ``alloc_c4`` | where one result of an operation is ``SHARED``, the others are ``SHARED`` or ``NULL`` |
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Final

import numpy as np

from hlobatch.diagnostics import Location, Note, VerificationError
from hlobatch.ir.failures import FAILURE
from hlobatch.ir.names import is_of_a_lane, unsplit
from hlobatch.ir.ops import (
    HALT,
    BranchOp,
    FunctionCallOp,
    IndirectGotoOp,
    Op,
    PopOp,
    PrimOp,
    PushGotoOp,
    PushOp,
)
from hlobatch.ir.printer import print_block
from hlobatch.ir.program import COMPUTED_ONCE, MAIN, Block, Function, Program
from hlobatch.ir.program import VariableAllocation as Alloc
from hlobatch.ir.types import tensor

Fault = tuple[str, str, Location]

_ADDRESS: Final = tensor(np.int32)

RULES: Final = tuple(line.split("``")[1] for line in (__doc__ or "").splitlines() if line.startswith("| ``"))
"""The labels of the rules, in order."""


def verify(program: Program) -> Program:
    """Check a program, and return it unchanged.

    Raises:
        VerificationError: A rule is broken; the message prints the block with the faulty operation marked.
    """
    for rule, message, location in _program_faults(program):
        raise VerificationError(rule, message, location)
    for function in program.all_functions:
        for block in function.graph:
            written: set[str] = set()
            for index, op in enumerate(block.ops):
                for rule, message in (
                    *_op_faults(program, function, block, op, written),
                    *_failure_faults(program, function, block, index),
                ):
                    raise VerificationError(rule, message, op.location, notes=[Note(_marked(function, block, index))])
                written.update(op.defs)
    return program


def _marked(function: Function, block: Block, index: int) -> str:
    """The block as text, with the faulty operation marked."""
    lines = print_block(block)
    lines[index + 1] += "    <-- here"
    return "\n".join([f"in {function.name}:", *lines])


def _program_faults(program: Program) -> Iterator[Fault]:
    seen: set[str] = {MAIN}
    for function in program.functions:
        if function.name in seen:
            yield "program_c4", f"there are two functions called {function.name!r}", function.location
        seen.add(function.name)
    owner: dict[str, str] = {}
    for function in program.all_functions:
        yield from _graph_faults(function)
        for name in _written(function):
            if owner.setdefault(name, function.name) != function.name and not is_of_a_lane(name):
                message = f"{owner[name]} and {function.name} both write %{name}"
                yield "program_c6", message, function.location


def _written(function: Function) -> set[str]:
    written = set(function.vars_in)
    for block in function.graph:
        for op in block.ops:
            written.update(op.defs)
    return written


def _graph_faults(function: Function) -> Iterator[Fault]:
    graph = function.graph
    if not graph.blocks:
        yield "program_c2", f"{function.name} has no block", function.location
    block_names = [block.name for block in graph]
    for name in block_names:
        if name == HALT or block_names.count(name) > 1:
            yield "program_c1", f"block name {name!r} of {function.name} is taken", function.location
    for block in graph:
        for successor in block.successors:
            if successor != HALT and successor not in graph:
                message = f"{block.name} goes to {successor!r}, which is no block of {function.name}"
                yield "program_c3", message, block.location


def _op_faults(
    program: Program, function: Function, block: Block, op: Op, written: AbstractSet[str]
) -> Iterator[tuple[str, str]]:
    """The faults of an operation; ``written`` are the variables that earlier operations of the block have written."""
    for name in (*op.uses, *op.defs):
        if program.var_defs and name not in program.var_defs:
            yield "program_c5", f"%{name} has no type"
    yield from _kind_faults(program, function, op)
    if program.var_alloc:
        yield from _allocation_faults(program, function, block, op, written)


def _kind_faults(program: Program, function: Function, op: Op) -> Iterator[tuple[str, str]]:
    match op:
        case FunctionCallOp():
            yield from _call_faults(program, op)
        case BranchOp() if op.cond_var in program.var_defs:
            type_ = program.var_defs[op.cond_var]
            leaf = type_.tensor_leaves[0] if type_.tensor_leaves else None
            if leaf is not None and (len(type_.leaves) != 1 or leaf.shape != () or leaf.dtype != np.bool_):
                yield "branch_c1", f"the condition %{op.cond_var} is {type_}, not a scalar boolean"
        case PushGotoOp():
            if op.push_block not in function.graph:
                yield "push_jump_c1", f"{op.push_block!r} is no block of {function.name}"
            if program.functions:
                yield "push_jump_c2", "calls are lowered here but functions are left"
            yield from _counter_faults(program, op.counter)
        case IndirectGotoOp():
            yield from _counter_faults(program, op.counter)
        case _:
            pass
    if isinstance(op, (PrimOp, FunctionCallOp)) and len(set(op.vars_out)) < len(op.vars_out):
        yield "prim_c1", "two results go to the same variable"


def _counter_faults(program: Program, counter: str) -> Iterator[tuple[str, str]]:
    type_ = program.var_defs.get(counter, _ADDRESS)
    if type_ != _ADDRESS:
        yield "push_jump_c3", f"the return address %{counter} is {type_}, not {_ADDRESS}"
    if program.alloc(counter) not in (Alloc.FULL, Alloc.REGISTER):
        yield "push_jump_c3", f"the return address %{counter} is {program.alloc(counter).name}"


def _call_faults(program: Program, op: FunctionCallOp) -> Iterator[tuple[str, str]]:
    callee = next((f for f in program.functions if f.name == op.function), None)
    if callee is None:
        yield "call_c1", f"there is no function {op.function!r}"
        return
    if len(op.vars_in) != len(callee.vars_in):
        yield "call_c2", f"{op.function} takes {len(callee.vars_in)} arguments, {len(op.vars_in)} are given"
    if len(op.vars_out) != len(callee.vars_out):
        yield "call_c3", f"{op.function} has {len(callee.vars_out)} results, {len(op.vars_out)} are taken"


def _failure_faults(program: Program, function: Function, block: Block, index: int) -> Iterator[tuple[str, str]]:
    """The fault of a call whose failure number is not read: the lane would go on with a result that does not exist."""
    call = block.ops[index]
    for name in call.defs if isinstance(call, FunctionCallOp) else ():
        is_failure = unsplit(name.rsplit(".", 1)[-1]) == FAILURE
        is_known = name in program.var_defs and program.var_defs[name].is_static
        if is_failure and not is_known and not _is_surely_read(function, block, index + 1, name):
            yield "failure_c1", f"%{name} may be overwritten before anything has read it"


def _is_surely_read(function: Function, block: Block, first: int, name: str) -> bool:
    """Whether each path from a position in a block reads or returns a variable before writing it again."""
    pending, seen = [(block, first)], set[str]()
    while pending:
        block, first = pending.pop()
        op = next((op for op in block.ops[first:] if name in (*op.uses, *op.defs)), None)
        if op is not None:
            if name not in op.uses:
                return False
            continue
        for successor in block.successors:
            if successor == HALT and name not in function.vars_out:
                return False
            if successor != HALT and successor not in seen:
                seen.add(successor)
                pending.append((function.graph.block(successor), 0))
    return True


def _allocation_faults(
    program: Program, function: Function, block: Block, op: Op, written: AbstractSet[str]
) -> Iterator[tuple[str, str]]:
    if isinstance(op, (PushOp, PopOp)):
        for name in op.vars:
            if program.alloc(name) not in (Alloc.FULL, Alloc.NULL):
                yield "push_c1", f"%{name} is {program.alloc(name).name} and has no stack"
    for name in op.uses:
        if isinstance(op, (PushGotoOp, IndirectGotoOp)):
            break
        if program.alloc(name) is Alloc.TEMPORARY and name not in written:
            yield "alloc_c1", f"%{name} is TEMPORARY but has no value here"
        if program.alloc(name) is Alloc.NULL and program.var_defs[name].tensor_leaves:
            yield "alloc_c2", f"%{name} is NULL but is read"
    for name in op.defs:
        if program.alloc(name) is Alloc.SHARED and not _defines_shared(program, function, block, op):
            yield "alloc_c3", f"%{name} is SHARED but is written here"
    kinds = {program.alloc(name): name for name in op.defs}
    others = [name for kind, name in kinds.items() if kind not in COMPUTED_ONCE]
    if Alloc.SHARED in kinds and others:
        yield "alloc_c4", f"%{kinds[Alloc.SHARED]} is SHARED but %{others[0]} is {program.alloc(others[0]).name}"


def _defines_shared(program: Program, function: Function, block: Block, op: Op) -> bool:
    return (
        isinstance(op, PrimOp)
        and block is function.graph.enter_block()
        and all(program.alloc(name) in COMPUTED_ONCE for name in op.uses)
    )
