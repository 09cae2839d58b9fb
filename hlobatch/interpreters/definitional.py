"""The meaning of a program: runs one example by the definitions of the operations.

Every variable holds a list of values, the last one current. It accepts programs with calls (the paper's figure 2), with
explicit stacks (figure 4), or with both, typed or not. It is slow and has no batch; all executors are tested against
it.

Reference: TFP ``auto_batching.instructions.interpret``, "definitional interpreter".
"""

from __future__ import annotations

import collections
from typing import Any

import numpy as np

from hlobatch.ir import physical
from hlobatch.ir.boxed import in_python
from hlobatch.ir.names import is_of_a_lane
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
from hlobatch.ir.program import Function, Program, VariableAllocation
from hlobatch.typing import ArrayLike, Arrays

Stacks = dict[str, list[Any]]


def interpret(program: Program, *inputs: ArrayLike) -> Any:
    """Run a program on one example.

    Args:
        program: Any well-formed program.
        *inputs: Values of ``program.vars_in``, pytrees without a batch axis.

    Returns:
        The value of ``program.vars_out``: by itself if there is one, else a tuple; without failure number and details,
        if the program may raise.

    Raises:
        Exception: The user's own, if this example raises.
    """
    of_lane: Stacks = {name: [] for name in program.var_defs if is_of_a_lane(name)}
    results: Arrays = _call(program, program.main_function(), inputs, of_lane)
    if program.failures:
        *results, number, details = results
        failure = next((failure for failure in program.failures if failure.number == int(number)), None)
        if failure is not None:
            raise failure.exception(np.asarray(details))
    results = list(map(in_python, results))
    return results[0] if len(results) == 1 else tuple(results)


def _call(program: Program, function: Function, inputs: tuple[Any, ...], shared: Stacks) -> tuple[Any, ...]:
    stacks: Stacks = collections.defaultdict(list, shared)
    for name, value in zip(function.vars_in, inputs, strict=True):
        _write(program, stacks, name, value)
    name = function.graph.enter_block().name
    while name != HALT:
        block = function.graph.block(name)
        for op in block.instructions:
            _instruction(program, stacks, op)
        name = _next(stacks, block.terminator)
    return tuple(_read(program, stacks, name) for name in function.vars_out)


def _instruction(program: Program, stacks: Stacks, op: Op) -> None:
    match op:
        case PrimOp():
            results = op.function(*(_read(program, stacks, name) for name in op.vars_in))
            for name, value in zip(op.vars_out, results, strict=True):
                _write(program, stacks, name, value)
        case FunctionCallOp():
            arguments = tuple(_read(program, stacks, name) for name in op.vars_in)
            results = _call(program, program.function(op.function), arguments, _seen(program, stacks))
            for name, value in zip(op.vars_out, results, strict=True):
                _write(program, stacks, name, value)
        case LogOp():
            words = [_read(program, stacks, name) for name in op.vars_in]
            program.effects[op.number](words[0] if words else ())
        case PushOp():
            for name in op.vars:
                stacks[name].append(stacks[name][-1])
        case PopOp():
            for name in op.vars:
                stacks[name].pop()
        case _:
            raise TypeError(f"no meaning is given to {op!r}")


def _seen(program: Program, stacks: Stacks) -> Stacks:
    """The variables that a callee sees: the lane's own, which it may write, and current values of the others."""

    def is_one(name: str) -> bool:
        return is_of_a_lane(name) or program.alloc(name) is VariableAllocation.SHARED

    return {name: values if is_one(name) else values[-1:] for name, values in stacks.items()}


def _next(stacks: Stacks, terminator: Op) -> str:
    match terminator:
        case GotoOp():
            return terminator.block
        case BranchOp():
            return terminator.true_block if stacks[terminator.cond_var][-1] else terminator.false_block
        case PushGotoOp():
            stacks[terminator.counter].append(terminator.push_block)
            return terminator.goto_block
        case IndirectGotoOp():
            returns = stacks[terminator.counter]
            return str(returns.pop()) if returns else HALT
        case _:
            raise TypeError(f"no meaning is given to {terminator!r}")


def _read(program: Program, stacks: Stacks, name: str) -> Any:
    type_ = program.var_defs.get(name)
    if type_ is not None and type_.is_static:
        return type_.rebuild([])
    return stacks[name][-1]


def _write(program: Program, stacks: Stacks, name: str, value: Any) -> None:
    """Overwrite the current value, converted to the variable's type if that is known."""
    type_ = program.var_defs.get(name)
    if type_ is not None:
        value = physical.rebuild(physical.flatten(value, type_), type_)
    stacks[name][-1:] = [value]
