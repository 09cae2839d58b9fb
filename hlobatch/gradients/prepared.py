"""Prepares a typed program for derivatives: inlines functions, and reads inputs of main directly.

::

    def main(%main.x):                           def main(%main.x):
      %main.$result = call @f(%main.x)     ==>     %f.y = prim "x * x" (%main.x)
    def f(%f.x):                                   %f.$result = prim "y + x" (%f.y, %main.x)
      %f.y = prim "x * x" (%f.x)                   %main.$result = prim "move" (%f.$result)
      %f.$result = prim "y + x" (%f.y, %f.x)

A function that is called from a single place and does not recurse is inlined. A parameter that is the same input of
main at every call (weights that a recursion passes on, a table) is replaced by that input, and so are copies of an
input. Inputs never change, so the way back reads them directly and needs no tape for them, and their cotangents are
summed in one place.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator, Mapping
from typing import Final

from hlobatch.analysis.call_graph import CallGraph, CallSite
from hlobatch.ir.code import MOVE
from hlobatch.ir.ops import HALT, FunctionCallOp, GotoOp, Op, PrimOp, renaming
from hlobatch.ir.program import Block, ControlFlowGraph, Function, Program
from hlobatch.transforms.simplify_cfg import simplify_cfg


def prepared(program: Program) -> Program:
    """The program, prepared for derivatives."""
    return with_inputs_read_directly(inlined(program))


def inlined(program: Program) -> Program:
    """The program with functions inlined that have a single call site and do not recurse."""
    while (site := _only_entrance(program)) is not None:
        callee = program.function(site.op.function)
        caller = program.with_functions({site.function.name: _with_callee(program, site, callee)})
        program = caller.replace(functions=tuple(f for f in caller.functions if f.name != callee.name))
    return simplify_cfg(program)


def _only_entrance(program: Program) -> CallSite | None:
    """The only call site of a function that does not recurse; None if there is no such function."""
    graph = CallGraph(program)
    calls = collections.Counter(site.op.function for site in graph.sites)
    single = (site for site in graph.sites if calls[site.op.function] == 1 and not site.op.again)
    return next((site for site in single if not graph.is_recursive(site.op.function)), None)


def _with_callee(program: Program, site: CallSite, callee: Function) -> Function:
    """The calling function with the callee's body in place of the call."""
    back = f"{site.block.name}.returned"

    def inside(name: str) -> str:
        return back if name == HALT else f"{callee.name}.{name}"

    def blocks(block: Block) -> Iterator[Block]:
        if block.name != site.block.name:
            yield block
            return
        op = site.op
        given = _moves(program, callee.vars_in, op.vars_in, op)
        entry = GotoOp(inside(callee.graph.enter_block().name), location=op.location)
        yield block.replace(instructions=(*block.instructions[:-1], *given), terminator=entry)
        for own in callee.graph:
            yield own.replace(name=inside(own.name)).retarget(inside)
        results = _moves(program, op.vars_out, callee.vars_out, op)
        yield Block(back, results, block.terminator, op.location)

    return site.function.replace(graph=site.function.graph.expand_blocks(blocks))


def _moves(program: Program, targets: tuple[str, ...], sources: tuple[str, ...], like: Op) -> tuple[Op, ...]:
    """A copy of sources to targets, without copies to itself and without Python objects; empty if none is left."""
    pairs = [(t, s) for t, s in zip(targets, sources, strict=True) if t != s and not program.var_defs[t].is_static]
    if not pairs:
        return ()
    written, read = zip(*pairs, strict=True)
    return (PrimOp(read, written, MOVE, "move", location=like.location),)


def with_inputs_read_directly(program: Program) -> Program:
    """The program with reads of main's inputs in place of copies, and without parameters that pass inputs on."""
    roots = unchanging(program)
    aliases = {v: root for v, root in roots.items() if v != root}
    if not aliases:
        return program
    rename = renaming(aliases)

    def kept(op: Op) -> Iterator[Op]:
        if isinstance(op, PrimOp) and op.code.is_copy and any(v in aliases for v in op.vars_out):
            pairs = [(t, s) for t, s in zip(op.vars_out, op.vars_in, strict=True) if t not in aliases]
            if not pairs:
                return
            written, read = zip(*pairs, strict=True)
            op = op.replace(vars_in=read, vars_out=written, function=MOVE)
        elif isinstance(op, FunctionCallOp):
            parameters = program.function(op.function).vars_in
            given = zip(parameters, op.vars_in, strict=True)
            op = op.replace(vars_in=tuple(a for p, a in given if p not in aliases))
        yield op.rename(rename, lambda name: name)

    def function(old: Function) -> Function:
        blocks = ControlFlowGraph(
            tuple(
                block.expand_instructions(kept).replace(terminator=block.terminator.rename(rename, lambda name: name))
                for block in old.graph
            )
        )
        return old.replace(graph=blocks, vars_in=tuple(v for v in old.vars_in if v not in aliases))

    changed = program.map_functions(function)
    return changed.replace(var_defs={v: t for v, t in program.var_defs.items() if v not in aliases})


_SEVERAL: Final = ""
"""Stands for a variable that may hold something other than one input."""


def unchanging(program: Program) -> Mapping[str, str]:
    """For each variable that always holds the value of one of main's inputs, that input; the inputs are included.

    A variable is assumed to hold the input that it is given until it is found to be given something else. So variables
    that functions pass to each other are found, too.
    """
    definitions = collections.Counter(v for op in program.ops for v in op.defs)
    results = {v for f in program.all_functions for v in f.vars_out}
    roots = {v: v for v in program.vars_in if not definitions[v] and v not in results}
    given = {v: origins for v, origins in _given(program, definitions).items() if v not in results}
    changed = True
    while changed:
        changed = False
        for variable, origins in given.items():
            held = {_held(origin, roots, given) for origin in origins} - {None}
            if not held:
                continue
            only = held.pop() if len(held) == 1 else _SEVERAL
            if only and program.var_defs[variable] != program.var_defs[only]:
                only = _SEVERAL
            changed |= roots.get(variable) != only
            roots[variable] = only or _SEVERAL
    return {v: root for v, root in roots.items() if root}


def _held(variable: str, roots: Mapping[str, str], given: Mapping[str, object]) -> str | None:
    """The input that a variable is known to hold; None if nothing is known yet."""
    return roots.get(variable, None if variable in given else _SEVERAL)


def _given(program: Program, definitions: Mapping[str, int]) -> dict[str, set[str]]:
    """For each parameter its arguments, and for each variable that is written once, by a copy, the source."""
    given: dict[str, set[str]] = collections.defaultdict(set)
    for site in CallGraph(program).sites:
        callee = program.function(site.op.function)
        for parameter, argument in zip(callee.vars_in, site.op.vars_in, strict=True):
            if not definitions[parameter]:
                given[parameter].add(argument)
    for op in program.ops:
        if isinstance(op, PrimOp) and op.code.is_copy:
            for target, source in zip(op.vars_out, op.vars_in, strict=True):
                if definitions[target] == 1:
                    given[target].add(source)
    return given
