"""An untyped program -> the variables that may differ between lanes, as inputs do; others differ between turns at most.

A variable may if an operation computes it of one that may, or a call passes such a value to it as parameter or result.
It may also if it has several definitions, in a function with a branch, or a call site under a branch, that depends on
such a value: lanes differ in which definition ran last.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator

from hlobatch.ir.ops import BranchOp, FunctionCallOp
from hlobatch.ir.program import Function, Program


def that_may_differ(program: Program) -> set[str]:
    """The variables that may differ between lanes."""
    moves = [(f, uses, defs) for f in program.all_functions for uses, defs in _moves(program, f)]
    definitions = collections.Counter(name for _, _, defs in moves for name in defs)
    branches = {
        f.name: [b.terminator.uses for b in f.graph if isinstance(b.terminator, BranchOp)]
        for f in program.all_functions
    }
    found, before = {*program.vars_in}, -1
    apart = set[str]()
    while len(found) + len(apart) != before:
        before = len(found) + len(apart)
        apart |= {name for name, uses in branches.items() if any(found.intersection(names) for names in uses)}
        for function, uses, defs in moves:
            if found.intersection(uses):
                found.update(defs)
            elif function.name in apart:
                found.update(name for name in defs if definitions[name] > 1)
        apart |= {site for f in program.all_functions if f.name in apart for site in _called(f)}
    return found


def _moves(program: Program, function: Function) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Variables read and variables written by each operation; a call is copies to parameters and from results."""
    for block in function.graph:
        for op in block.instructions:
            if isinstance(op, FunctionCallOp):
                callee = program.function(op.function)
                pairs = [*zip(op.vars_in, callee.vars_in, strict=True), *zip(callee.vars_out, op.vars_out, strict=True)]
                yield from (((source,), (target,)) for source, target in pairs)
            else:
                yield op.uses, op.defs


def _called(function: Function) -> Iterator[str]:
    return (op.function for block in function.graph for op in block.instructions if isinstance(op, FunctionCallOp))
