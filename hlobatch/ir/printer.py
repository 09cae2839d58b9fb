"""Program -> text. Total: it prints half-built and broken programs too, since those are the ones looked at.

::

    def fibonacci(%n) -> (%result):
      entry:
        %cond = prim "n <= 1" (%n)
        branch %cond, base, rest
"""

from __future__ import annotations

from functools import singledispatch

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
from hlobatch.ir.program import Block, Function, Program


def names(variables: tuple[str, ...]) -> str:
    """``%a, %b``."""
    return ", ".join(f"%{v}" for v in variables)


@singledispatch
def print_op(op: Op) -> str:
    """One operation on one line."""
    return repr(op)


@print_op.register
def _prim(op: PrimOp) -> str:
    text = op.text or getattr(op.function, "__name__", "?")
    left = f"{names(op.vars_out)} = " if op.vars_out else ""
    return f'{left}prim "{" ".join(text.split())}" ({names(op.vars_in)})'


@print_op.register
def _call(op: FunctionCallOp) -> str:
    left = f"{names(op.vars_out)} = " if op.vars_out else ""
    return f"{left}call @{op.function}({names(op.vars_in)}){', again on the way back' if op.again else ''}"


@print_op.register
def _log(op: LogOp) -> str:
    return f'log "{" ".join(op.text.split())}" ({names(op.vars_in)})'


@print_op.register
def _push(op: PushOp) -> str:
    return f"push {names(op.vars)}"


@print_op.register
def _pop(op: PopOp) -> str:
    return f"pop {names(op.vars)}"


@print_op.register
def _branch(op: BranchOp) -> str:
    return f"branch %{op.cond_var}, {op.true_block}, {op.false_block}"


@print_op.register
def _goto(op: GotoOp) -> str:
    return HALT if op.block == HALT else f"jump {op.block}"


@print_op.register
def _push_goto(op: PushGotoOp) -> str:
    return f"push_jump {op.goto_block}, return to {op.push_block} by %{op.counter}"


@print_op.register
def _indirect(op: IndirectGotoOp) -> str:
    return f"return by %{op.counter}"


def print_block(block: Block) -> list[str]:
    """A block's header and its operations."""
    header = f"  {block.name}:{'  // sync' if block.sync else ''}"
    asked = [f"    // past {name}: {print_op(op)}" for name, op in block.asked]
    return [header, *(f"    {print_op(op)}" for op in block.ops), *asked]


def print_function(function: Function) -> list[str]:
    """A function's header and its blocks."""
    header = f"def {function.name}({names(function.vars_in)}) -> ({names(function.vars_out)}):"
    return [header, *(line for block in function.graph for line in print_block(block))]


def print_variables(program: Program) -> list[str]:
    """One line per variable: its allocation, where decided, and its type."""
    lines = []
    for name, type_ in program.var_defs.items():
        allocation = program.var_alloc.get(name)
        word = f"{allocation.name.lower():9s} " if allocation is not None else ""
        lines.append(f"var {word}%{name}: {type_}")
    return lines


def print_program(program: Program) -> str:
    """The whole program, its variables first."""
    parts = [print_variables(program)] if program.var_defs else []
    parts += [print_function(function) for function in program.all_functions]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"
