"""A program with calls -> the variables that hold the same value in every lane (uniform), whenever they hold one.

A variable is shared if it is an input that all lanes share and nothing overwrites, if its one definition is a primitive
of shared variables, or if it is a parameter to which every call passes the same shared variable. Control flow does not
matter: a single definition from shared values gives the same value, however often a lane runs it. Results of functions
are never shared, since callers take them from a variable that the callee writes.

Such a value can be computed once, before the loop, and is never broadcast to the batch (DESIGN: shared operands stay
unbatched).
"""

from __future__ import annotations

import collections
from collections.abc import Mapping

from hlobatch._jax import Equation
from hlobatch.analysis.call_graph import CallGraph
from hlobatch.ir.code import equation_primitives
from hlobatch.ir.program import Program
from hlobatch.ir.program import VariableAllocation as Alloc


def shared_roots(program: Program) -> Mapping[str, str]:
    """For each shared variable, the variable that holds its value: itself, or the argument that a parameter always has.

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
            if op.code.is_total and all(v in roots for v in op.uses):
                fixed = all(definitions[v] == 1 and v not in crossing for v in op.defs)
                roots.update({v: v for v in op.defs} if fixed else {})
        roots.update(_parameter_roots(program, roots, definitions))
        changed = len(roots) != before
    return roots


def equation_surely_ends(equation: Equation) -> bool:
    """Whether an equation may run where the program might not have run it: it has no ``while`` that may not end."""
    return "while" not in equation_primitives(equation)


def _parameter_roots(program: Program, roots: Mapping[str, str], definitions: Mapping[str, int]) -> dict[str, str]:
    """The roots of parameters that are the same shared variable at every call, also if passed on from call to call."""
    given: dict[str, set[str]] = collections.defaultdict(set)
    for site in CallGraph(program).sites:
        callee = program.function(site.op.function)
        for parameter, argument in zip(callee.vars_in, site.op.vars_in, strict=True):
            given[parameter].add(argument)
    passed_on = {parameter: arguments for parameter, arguments in given.items() if not definitions[parameter]}
    found = {}
    for parameter in passed_on:
        sources = {roots.get(source) for source in _sources(parameter, passed_on)}
        root = next(iter(sources)) if len(sources) == 1 else None
        if root is not None and program.var_defs[parameter] == program.var_defs[root]:
            found[parameter] = root
    return found


def _sources(parameter: str, passed_on: Mapping[str, set[str]]) -> set[str]:
    """The variables, other than parameters, whose values a parameter may have."""
    seen = {parameter}
    pending = [parameter]
    while pending:
        fresh = passed_on[pending.pop()] - seen
        seen |= fresh
        pending += [name for name in fresh if name in passed_on]
    return seen - passed_on.keys()
