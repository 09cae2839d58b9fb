"""A function -> the variables that are surely assigned at each block; an error at a read of one that may not be.

Raises for: ``if c: y = 1`` followed by ``return y``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hlobatch.analysis.dataflow import Dataflow, solve
from hlobatch.diagnostics import Note, UndefinedVariableError
from hlobatch.ir.names import as_written, unsplit
from hlobatch.ir.ops import Op
from hlobatch.ir.program import Block, Function, Program, VariableAllocation

Names = frozenset[str]
Read = tuple[str, Op]


def definitely_assigned(function: Function) -> dict[str, Names]:
    """For each block, the variables that have a value on every path to its entry."""
    everything = frozenset(function.vars_in).union(*(op.defs for block in function.graph for op in block.ops))

    def merge(sets: Iterable[Names]) -> Names:
        return everything.intersection(*sets)

    def transfer(block: Block, names: Names) -> Names:
        for op in block.ops:
            names = _after(op, names)
        return names

    problem = Dataflow(
        forward=True, boundary=frozenset(function.vars_in), initial=everything, merge=merge, transfer=transfer
    )
    return dict(solve(function.graph, problem).before)


def undefined_reads(function: Function) -> Iterator[Read]:
    """Reads of variables that may have no value, in program order."""
    assigned = definitely_assigned(function)
    for block in function.graph:
        names = assigned[block.name]
        for op in block.ops:
            yield from ((name, op) for name in op.uses if name not in names)
            names = _after(op, names)


def _after(op: Op, names: Names) -> Names:
    return names.difference(op.defs) if op.code.deletes else names.union(op.defs)


def check_definedness(program: Program) -> Program:
    """The program unchanged, if no variable can be read before it is assigned.

    Lowered programs are not checked, since the predecessors of their blocks are known only at run time.

    Raises:
        UndefinedVariableError: A variable may be read before it has a value.
    """
    if program.is_lowered:
        return program
    known = {v for v, a in program.var_alloc.items() if a is VariableAllocation.SHARED}
    known |= {v for v, t in program.var_defs.items() if t.is_static}
    for function in program.all_functions:
        for name, op in undefined_reads(function):
            if name not in known:
                raise _error(function, name, op)
    return program


def _error(function: Function, name: str, op: Op) -> UndefinedVariableError:
    short = as_written(user_name(name))
    written = [o for block in function.graph for o in block.ops if user_name(name) in map(user_name, o.defs)]
    notes = [Note(f"{short!r} is deleted here", o.location) for o in written if o.code.deletes]
    notes = notes or [Note(f"{short!r} is given a value here, but not on every path", o.location) for o in written]
    places = dict(zip(op.uses, op.read_at, strict=False))
    return UndefinedVariableError(
        f"{short!r} may be read before it has a value",
        places.get(name, op.location),
        notes=notes[:2],
        help=f"give {short!r} a value before the branch or loop.",
    )


def user_name(variable: str) -> str:
    """The name that the user gave a variable (``fib.n:2`` is ``n``)."""
    return unsplit(variable.rsplit(".", 1)[-1])
