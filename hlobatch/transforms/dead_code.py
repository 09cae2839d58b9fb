"""Drops primitives whose results are not read.

::

    %a = prim "x + 1" (%x)
    %b = prim "x * 2" (%x)   ==>   %b = prim "x * 2" (%x)
    return b

Calls stay even if their results are not used: whether a call terminates is part of what the program means. Primitives
that ``hoist_shared`` has moved to main stay if any function reads their results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from hlobatch.analysis.liveness import Names, before, liveness
from hlobatch.ir.ops import Op, PrimOp
from hlobatch.ir.program import MAIN, Block, Function, Program


def eliminate_dead_code(program: Program) -> Program:
    """The program without dead primitives; calls not lowered."""
    elsewhere = frozenset(v for f in program.functions for block in f.graph for op in block.ops for v in op.uses)
    changed = program.map_functions(lambda f: _function(f, elsewhere))
    mentioned = {v for f in changed.all_functions for v in (*f.vars_in, *f.vars_out)}
    mentioned |= {v for op in changed.ops for v in (*op.uses, *op.defs)}
    changed = changed.replace(var_defs={v: t for v, t in changed.var_defs.items() if v in mentioned})
    return program if changed == program else changed


def _function(function: Function, elsewhere: frozenset[str]) -> Function:
    elsewhere = elsewhere if function.name == MAIN else frozenset()
    while True:
        live = liveness(function).after
        graph = function.graph.map_blocks(partial(_without_dead, live=live, elsewhere=elsewhere))
        if graph == function.graph:
            return function
        function = function.replace(graph=graph)


def _without_dead(block: Block, live: Mapping[str, Names], elsewhere: Names) -> Block:
    kept, _ = needed(block.instructions, before(block.terminator, live[block.name] | elsewhere))
    return block.replace(instructions=tuple(kept))


def needed(ops: Sequence[Op], live: Names) -> tuple[list[Op], Names]:
    """The operations without dead primitives, and the variables live before them, given those live after them."""
    kept: list[Op] = []
    for op in reversed(ops):
        if isinstance(op, PrimOp) and not live.intersection(op.vars_out):
            continue
        live = before(op, live)
        kept.append(op)
    return kept[::-1], live
