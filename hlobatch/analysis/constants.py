"""A lowered program -> the arguments that no lane assigns, and those of them that are tables, read only in parts.

::

    while lo < hi:
        if table[(lo + hi) // 2] < x: …      `table` is a table; `x` is never assigned either, but is read as a whole
"""

from __future__ import annotations

from hlobatch.analysis.updates import is_looked_up_in, tensors
from hlobatch.ir.ops import Op
from hlobatch.ir.program import Program
from hlobatch.ir.program import VariableAllocation as Alloc


def never_assigned(program: Program) -> list[str]:
    """Arguments that differ between lanes and that no operation writes."""
    assigned = {v for op in program.ops for v in op.defs}
    return [v for v in program.vars_in if v not in assigned and program.alloc(v) is Alloc.REGISTER]


def constants(program: Program) -> frozenset[str]:
    """The arguments that no operation writes, that some operation reads, and that are no result of the program."""
    read = {v for op in program.ops for v in op.uses}
    return frozenset(read.intersection(never_assigned(program)).difference(program.vars_out))


def tables(program: Program) -> frozenset[str]:
    """The arguments that no operation writes and of which slices and gathers read only some elements at a time."""
    found = {v for v in constants(program) if not any(t.is_key for t in program.var_defs[v].tensor_leaves)}
    taken = {v for op in program.ops for v in found.intersection(op.uses) if not _is_looked_up_by(op, v, program)}
    return frozenset(found - taken)


def _is_looked_up_by(op: Op, variable: str, program: Program) -> bool:
    """Whether an operation reads a variable by slices and gathers alone."""
    code = op.code.typed
    types = program.var_defs
    if code is None or code.jaxpr_for([types[v] for v in op.uses], [types[v] for v in op.defs]) is None:
        return False
    jaxpr = code.inlined.jaxpr
    given = zip(tensors(op.uses, code.in_types), jaxpr.invars, strict=True)
    return all(is_looked_up_in(jaxpr, x) for v, x in given if v == variable)
