"""Moves what is the same in every lane to the entry of the main function, and calls without it.

::

    def main(%main.x, %main.data):            def main(%main.x, %main.data):
      %r = call @f(%main.x, %main.data)         %f.norm = prim "norm(data)" (%main.data)
    def f(%f.x, %f.data):              ==>      %r = call @f(%main.x)
      %f.norm = prim "norm(data)" (%f.data)   def f(%f.x):
      …                                         …

Allocation then finds such values ``SHARED``: computed once before the loop, stored without a batch axis. Moving is safe
because primitives have no effects, and it is done only for variables with one definition.
"""

from __future__ import annotations

from collections.abc import Mapping

from hlobatch.analysis.sharing import shared_roots
from hlobatch.ir.ops import FunctionCallOp, Op, PrimOp, renaming
from hlobatch.ir.program import MAIN, Block, ControlFlowGraph, Function, Program


def hoist_shared(program: Program) -> Program:
    """The program with shared values computed once."""
    roots = shared_roots(program)
    if not roots:
        return program
    hoisted: list[PrimOp] = []
    aliases = {v: root for v, root in roots.items() if v != root}

    rename = renaming(aliases)
    functions = {f.name: _without(f, program, roots, aliases, hoisted) for f in program.all_functions}
    functions = {name: _renamed(f, rename) for name, f in functions.items()}
    main = functions[MAIN]
    entry, *rest = main.graph.blocks
    moved = tuple(op.rename(rename, rename) for op in _in_order(hoisted))
    entry = entry.replace(instructions=(*moved, *entry.instructions))
    functions[MAIN] = main.replace(graph=ControlFlowGraph((entry, *rest)))
    kept = {v: t for v, t in program.var_defs.items() if v not in aliases}
    return program.with_functions(functions).replace(var_defs=kept)


def _without(
    function: Function, program: Program, roots: Mapping[str, str], aliases: Mapping[str, str], hoisted: list[PrimOp]
) -> Function:
    """A function without its shared primitives, which go to ``hoisted``, and without parameters that never vary."""

    def kept(op: Op) -> Op | None:
        if isinstance(op, PrimOp) and op.vars_out and all(roots.get(v) == v for v in op.vars_out):
            hoisted.append(op)
            return None
        if isinstance(op, FunctionCallOp):
            pairs = zip(program.function(op.function).vars_in, op.vars_in, strict=True)
            return op.replace(vars_in=tuple(a for p, a in pairs if p not in aliases))
        return op

    def rewritten(block: Block) -> Block:
        return block.replace(instructions=tuple(o for op in block.instructions if (o := kept(op)) is not None))

    graph = function.graph.map_blocks(rewritten)
    return function.replace(graph=graph, vars_in=tuple(v for v in function.vars_in if v not in aliases))


def _renamed(function: Function, rename: object) -> Function:
    assert callable(rename)
    graph = function.graph.map_blocks(lambda block: block.rename(rename, rename))
    return function.replace(graph=graph)


def _in_order(ops: list[PrimOp]) -> list[PrimOp]:
    """Primitives sorted so that each comes after those it reads from."""
    written = {v for op in ops for v in op.vars_out}
    ready: set[str] = set()
    ordered: list[PrimOp] = []
    pending = list(ops)
    while pending:
        op = next(op for op in pending if all(v in ready or v not in written for v in op.vars_in))
        pending.remove(op)
        ordered.append(op)
        ready.update(op.vars_out)
    return ordered
