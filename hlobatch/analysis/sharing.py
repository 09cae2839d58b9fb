"""Which variables hold the same value in every lane, whenever they hold one.

A variable is shared if it is an input that all lanes share and nothing overwrites, if its one definition is a primitive
of shared variables, or if it is a parameter that every call gives the same shared variable. Counting on control is not
needed: a single definition from fixed values gives one value, however often and wherever a lane runs it. Results of
functions are left alone: callers take them from the variable that the callee writes.

Such a value can be computed once, before the loop, and is never broadcast to the batch (DESIGN: shared operands stay
unbatched).
"""

from __future__ import annotations

import collections
from collections.abc import Mapping

from hlobatch.analysis.call_graph import CallGraph
from hlobatch.analysis.tracing import TracedFunction
from hlobatch.ir.ops import PrimOp
from hlobatch.ir.program import Program
from hlobatch.ir.program import VariableAllocation as Alloc


def shared_roots(program: Program) -> Mapping[str, str]:
    """For each shared variable, the one that holds its value: itself, or what a parameter always is.

    Args:
        program: Typed, calls not lowered; inputs that all lanes share are marked ``SHARED`` in ``var_alloc``.
    """
    crossing = {v for f in program.functions for v in (*f.vars_in, *f.vars_out)}
    definitions = collections.Counter(v for op in program.ops for v in op.defs)
    roots = {v: v for v in program.vars_in if program.var_alloc.get(v) is Alloc.SHARED and not definitions[v]}
    changed = True
    while changed:
        before = len(roots)
        for op in program.ops:
            if isinstance(op, PrimOp) and all(v in roots for v in op.vars_in) and surely_ends(op):
                fixed = all(definitions[v] == 1 and v not in crossing for v in op.vars_out)
                roots.update({v: v for v in op.vars_out} if fixed else {})
        roots.update(_parameter_roots(program, roots, definitions))
        changed = len(roots) != before
    return roots


def surely_ends(op: PrimOp) -> bool:
    """Whether a primitive may be run where the program might not have run it: it holds no loop that could go on."""
    return isinstance(op.function, TracedFunction) and "while" not in op.function.primitives()


def _parameter_roots(program: Program, roots: Mapping[str, str], definitions: Mapping[str, int]) -> dict[str, str]:
    """Parameters whose every argument, their own value passed on aside, is the same shared variable."""
    given: dict[str, set[str | None]] = collections.defaultdict(set)
    for site in CallGraph(program).sites:
        callee = program.function(site.op.function)
        for parameter, argument in zip(callee.vars_in, site.op.vars_in, strict=True):
            if argument != parameter:
                given[parameter].add(roots.get(argument))
    found = {}
    for parameter, arguments in given.items():
        root = next(iter(arguments))
        if len(arguments) != 1 or root is None or definitions[parameter]:
            continue
        if program.var_defs[parameter] == program.var_defs[root]:
            found[parameter] = root
    return found
