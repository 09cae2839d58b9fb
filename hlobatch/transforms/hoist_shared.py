"""Moves primitives whose results are the same in every lane to the entry of the main function, out of calls and loops.

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

from collections.abc import Callable, Iterator, Mapping

from hlobatch.analysis.sharing import shared_roots
from hlobatch.ir.ops import FunctionCallOp, Op, PrimOp, renaming
from hlobatch.ir.program import Function, Program


def hoist_shared(program: Program) -> Program:
    """The program with shared values computed once."""
    roots = shared_roots(program)
    if not roots:
        return program
    hoisted: list[PrimOp] = []
    aliases = {v: root for v, root in roots.items() if v != root}

    rename = renaming(aliases)
    changed = program.map_functions(lambda f: _without(f, program, roots, aliases, rename, hoisted))
    changed = changed.map_graphs(lambda graph: graph.map_blocks(lambda block: block.rename(rename, rename)))
    moved = tuple(op.rename(rename, rename) for op in _in_order(hoisted))
    kept = {v: t for v, t in program.var_defs.items() if v not in aliases}
    return changed.replace(graph=changed.graph.starting_with(moved), var_defs=kept)


def _without(
    function: Function,
    program: Program,
    roots: Mapping[str, str],
    aliases: Mapping[str, str],
    rename: Callable[[str], str],
    hoisted: list[PrimOp],
) -> Function:
    """A function without its shared primitives, which are added to ``hoisted``, and without shared parameters.

    A shared parameter that it gives back, as one whose value it may change, is given back by its other name.
    """

    def kept(op: Op) -> Iterator[Op]:
        if isinstance(op, PrimOp) and op.vars_out and all(roots.get(v) == v for v in op.vars_out):
            hoisted.append(op)
        elif isinstance(op, FunctionCallOp):
            pairs = zip(program.function(op.function).vars_in, op.vars_in, strict=True)
            yield op.replace(vars_in=tuple(a for p, a in pairs if p not in aliases))
        else:
            yield op

    graph = function.graph.map_blocks(lambda block: block.expand_instructions(kept))
    kept_parameters = tuple(v for v in function.vars_in if v not in aliases)
    return function.replace(graph=graph, vars_in=kept_parameters, vars_out=tuple(map(rename, function.vars_out)))


def _in_order(ops: list[PrimOp]) -> list[PrimOp]:
    """Primitives sorted so that each comes after those that compute its operands."""
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
