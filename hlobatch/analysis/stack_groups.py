"""A lowered program -> groups of variables that are always pushed and popped together, so that one pointer serves them.

::

    push %high, %low        in one block               {high, low}: each is pushed and popped wherever the other is
    push %low, %high        in another         ==>     {mid}
    pop  %low, %high; pop %mid

The variables that a call saves are such a group: one operation pushes them and one pops them. Each pointer is an array
that a block reads, tests and moves, so a call that saves eight variables costs far less with one pointer than with
eight.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from hlobatch.ir.program import Program
from hlobatch.ir.program import VariableAllocation as Alloc


def stack_groups(program: Program) -> dict[str, str]:
    """For each variable with a stack, the first variable of its group, in the order of ``var_defs``."""
    moves = _moves(program)
    groups: dict[Any, str] = {}
    stacked = [v for v in program.var_defs if program.alloc(v) is Alloc.FULL]
    return {v: groups.setdefault(moves.get(v), v) for v in stacked}


def _moves(program: Program) -> dict[str, tuple[Any, ...]]:
    """For each variable, the operations that push or pop it, and the variable itself if it cannot share a pointer."""
    found: dict[str, list[Any]] = defaultdict(list)
    for block in program.graph:
        for position, op in enumerate(block.ops):
            for variable, times in Counter(op.moved).items():
                found[variable].append((block.name, position))
                if times > 1:  # the others of a group would not move as often
                    found[variable].append(variable)
    return {variable: tuple(places) for variable, places in found.items()}
