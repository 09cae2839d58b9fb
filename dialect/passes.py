"""The passes of ``hlobatch-opt`` by name: each transforms a program, or reports something about it.

Passes that transform programs are the compiler's own (``transforms/registry.py``). Reports are written into the printed
module as attributes of the dialect: ``autobatch.live_in`` on a label, ``autobatch.inferred`` on a variable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from hlobatch._jax import ir
from hlobatch.analysis.dataflow import Solution
from hlobatch.analysis.definedness import check_definedness
from hlobatch.analysis.liveness import Names, liveness, through
from hlobatch.analysis.machine_liveness import live_out
from hlobatch.analysis.type_inference import infer_types
from hlobatch.dialect import ops
from hlobatch.dialect.op_base import Symbols
from hlobatch.dialect.patterns import from_type
from hlobatch.ir.program import MAIN, Program, VariableAllocation
from hlobatch.transforms import registry

Transform = Callable[[Program], Program]
Annotate = Callable[[Program, Any], None]
"""Writes a report about a program into its module."""


@dataclass(frozen=True)
class Pass:
    """A pass.

    Attributes:
        summary: A line that says what it does.
        transform: Transforms the program; unchanged by default.
        annotate: Writes a report about the program; None if there is none.
    """

    summary: str
    transform: Transform = field(default=lambda program: program)
    annotate: Annotate | None = None


def _defined(program: Program) -> Program:
    check_definedness(program)
    return program


def _unallocated(transform: Transform) -> Transform:
    """A transform of a program whose allocations, except of shared inputs, are dropped, as they may no longer hold."""

    def run(program: Program) -> Program:
        shared = {v: a for v, a in program.var_alloc.items() if v in program.vars_in and a is VariableAllocation.SHARED}
        return transform(program.replace(var_alloc=shared))

    return run


def _live(program: Program, module: ir.Module) -> None:
    """Write the variables that are live at the start and at the end of each block."""
    live = _lowered(program) if program.is_lowered else {f.name: liveness(f) for f in program.all_functions}
    with module.context:
        for function in (op for op in module.body.operations if isinstance(op, ops.FuncOp)):
            labels = [block.operations[0] for block in function.regions[0].blocks]
            for label in (op for op in labels if isinstance(op, ops.LabelOp)):
                found = live[function.sym_name]
                for word, sets in (("in", found.before), ("out", found.after)):
                    label.operation.attributes[f"autobatch.live_{word}"] = Symbols().write(sorted(sets[label.name]))


def _lowered(program: Program) -> dict[str, Solution[Names]]:
    """The live sets of a lowered program, across calls."""
    after = live_out(program)
    return {MAIN: Solution({b.name: through(b, after[b.name]) for b in program.graph}, after)}


def _inferred(program: Program, module: ir.Module) -> None:
    """Write the type of each variable that follows from the types of the inputs."""
    found = infer_types(program, {v: program.var_defs[v] for v in program.vars_in})
    if found.conflict is not None:
        raise found.conflict
    with module.context, ir.Location.unknown():
        for variable in (op for op in module.body.operations if isinstance(op, ops.VarOp)):
            if variable.sym_name in found.types:
                type_ = from_type(found.types[variable.sym_name])
                variable.operation.attributes["autobatch.inferred"] = type_


_SAYING: Final = {
    "check-definedness": Pass("refuse a program that may read a variable before it has a value", _defined),
    "infer-types": Pass("say for each variable what type follows from those of the inputs", annotate=_inferred),
    "liveness": Pass("say for each block which variables are live where it starts and ends", annotate=_live),
    "round-trip": Pass("do nothing: what is printed has been a program"),
}
"""Passes that do not change programs."""
LOWERED: Final = frozenset({registry.POP_PUSH, registry.COALESCING})
"""Passes that only apply to programs with explicit stacks."""
_UNALLOCATED: Final = frozenset((*registry.ONCE, *registry.STORING)) - {registry.ALLOCATION}


def _is_of_modules(found: registry.Pass) -> bool:
    """Whether a pass can do something for a program that was read, and the dialect can express the result.

    Such a program is typed, and its primitives have no jaxpr to look into.
    """
    others = {*registry.TYPING, *registry.FINISHING} - {registry.SIMPLIFICATION}
    return not (found.opens_code or found.repeats or found in others)


def _as_on_modules(found: registry.Pass) -> Pass:
    transform = found.made(registry.Given())
    summary = found.summary + (" (lowered programs)" if found in LOWERED else "")
    return Pass(summary, _unallocated(transform) if found in _UNALLOCATED else transform)


_TRANSFORMING: Final = {found.name: _as_on_modules(found) for found in registry.passes() if _is_of_modules(found)}
PASSES: Final[Mapping[str, Pass]] = dict(sorted({**_TRANSFORMING, **_SAYING}.items()))
"""All passes, by name, in alphabetical order."""
