"""A program -> how each variable is stored: the cheapest ``VariableAllocation`` for which a proof is found.

* ``NULL``: it holds no tensor, or nothing reads it.
* ``SHARED``: an input that all lanes share, or a value that the entry block computes from shared values alone.
* ``TEMPORARY``: every read comes after a write in the same block.
* ``FULL``: it lives across a call during which its function may be entered again.
* ``REGISTER``: everything else.

Reference: paper section 3.2, optimizations 2 and 3; TFP's ``VariableAllocation``, whose entries mean "a proof has been
found that this strategy suffices".
"""

from __future__ import annotations

import collections
from collections.abc import Iterator, Mapping

from hlobatch.analysis.call_graph import CallGraph, CallSite
from hlobatch.analysis.liveness import Names, liveness
from hlobatch.ir.names import is_of_a_lane
from hlobatch.ir.ops import IndirectGotoOp, PopOp, PrimOp, PushGotoOp, PushOp
from hlobatch.ir.program import Program
from hlobatch.ir.program import VariableAllocation as Alloc


def saved_across(program: Program) -> dict[tuple[str, str], Names]:
    """The variables that a caller has to save in each block that ends in a call, by the names of function and block.

    A variable is saved if it is live after the call and may be overwritten during it, that is, if its function may be
    entered again before the call returns. Parameters that every call on the way passes on unchanged are not saved. Tail
    calls save nothing.
    """
    graph = CallGraph(program)
    live = {f.name: liveness(f) for f in program.all_functions}
    stored = {v for v, t in program.var_defs.items() if not t.is_static}
    saved: dict[tuple[str, str], Names] = {}
    for site in graph.sites:
        names: Names = frozenset()
        if is_recursive_call(graph, site):
            after = live[site.function.name].after[site.block.name] - frozenset(site.op.vars_out)
            changed = after & stored & overwritten_during(graph, site)
            own = (v for v in changed if not is_of_a_lane(v))
            names = frozenset(v for v in own if program.var_alloc.get(v) is not Alloc.SHARED)
        saved[site.function.name, site.block.name] = names
    return saved


def overwritten_during(graph: CallGraph, site: CallSite) -> Names:
    """Variables that a call may overwrite: those its callees compute, and parameters that get new values on the way."""
    entered = {site.op.function, *graph.reachable[site.op.function]}
    functions = [graph.program.function(name) for name in entered]
    inside = [s for s in graph.sites if s.function.name in entered]
    computed = {v for function in functions for block in function.graph for op in block.ops for v in op.defs}
    return frozenset(computed | {v for s in (site, *inside) for v in _given(graph, s)})


def _given(graph: CallGraph, site: CallSite) -> Iterator[str]:
    """The parameters to which a call passes another variable than the parameter itself."""
    parameters = graph.program.function(site.op.function).vars_in
    return (p for p, argument in zip(parameters, site.op.vars_in, strict=True) if p != argument)


def is_recursive_call(graph: CallGraph, site: CallSite) -> bool:
    """Whether the caller may be entered again before this call returns to it."""
    caller, callee = site.function.name, site.op.function
    return not site.is_tail and (caller == callee or caller in graph.reachable[callee])


def allocate(program: Program) -> Program:
    """The program with ``var_alloc`` filled in; before or after calls are lowered."""
    shared = _shared(program)
    full = set().union(*saved_across(program).values()) if program.functions else set()
    full |= {v for op in program.ops if isinstance(op, (PushOp, PopOp)) for v in op.vars}
    counters = {op.counter for op in program.ops if isinstance(op, (PushGotoOp, IndirectGotoOp))}
    reads = _reads(program)
    exposed = _exposed(program)
    allocation: dict[str, Alloc] = {}
    for name, type_ in program.var_defs.items():
        if name in shared:
            allocation[name] = Alloc.NULL if type_.is_static else Alloc.SHARED
        elif name in counters:
            allocation[name] = program.alloc(name)
        elif type_.is_static or not reads[name]:
            allocation[name] = Alloc.NULL
        elif name in full:
            allocation[name] = Alloc.FULL
        else:
            allocation[name] = Alloc.REGISTER if name in exposed else Alloc.TEMPORARY
    return program.replace(var_alloc=allocation)


RETURN_ADDRESS = ".$return"
"""Suffix of variables that hold return addresses; ``lower_calls`` allocates them."""


def _reads(program: Program) -> Mapping[str, int]:
    """How often each variable is read; function results and outputs count."""
    reads = collections.Counter(v for op in program.ops for v in op.uses)
    reads.update(v for block in program.graph for op in block.asks for v in op.uses)
    reads.update(v for f in program.all_functions for v in f.vars_out)
    return reads


def _shared(program: Program) -> set[str]:
    """Shared inputs, and what the entry block computes of shared values; the failure code is always the lane's."""
    which_failure = program.vars_out[-2:-1] if program.failures else ()
    written = collections.Counter(v for op in program.ops for v in op.defs)
    shared = {v for v in program.vars_in if program.var_alloc.get(v) is Alloc.SHARED}
    static = {v for v, t in program.var_defs.items() if t.is_static and not written[v]}
    for op in program.graph.enter_block().instructions:
        if not isinstance(op, PrimOp):
            break
        once = all(written[v] == 1 and v not in (*program.vars_in, *which_failure) for v in op.vars_out)
        if once and all(v in shared or v in static for v in op.vars_in):
            shared |= set(op.vars_out)
    return shared


def _exposed(program: Program) -> set[str]:
    """Variables that live across blocks."""
    exposed = {v for f in program.all_functions for v in (*f.vars_in, *f.vars_out)}
    for function in program.all_functions:
        for block in function.graph:
            written: set[str] = set()
            for op in block.ops:
                exposed.update(v for v in op.uses if v not in written)
                written.update(op.defs)
    return exposed
