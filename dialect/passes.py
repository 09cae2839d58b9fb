"""The passes of ``hlobatch-opt`` by name: each turns a program into a program, or says something about one.

What is said is written into the module that is printed, as attributes of the dialect's own: ``autobatch.live_in`` on a
label, ``autobatch.inferred`` on a variable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from hlobatch._jax import ir
from hlobatch.analysis.allocation import allocate
from hlobatch.analysis.dataflow import Solution
from hlobatch.analysis.definedness import check_definedness
from hlobatch.analysis.liveness import Names, liveness, through
from hlobatch.analysis.machine_liveness import live_out
from hlobatch.analysis.type_inference import infer_types
from hlobatch.dialect import ops
from hlobatch.dialect.op_base import Symbols
from hlobatch.dialect.patterns import from_type
from hlobatch.ir.program import MAIN, Program, VariableAllocation
from hlobatch.transforms.block_order import seldom_backward
from hlobatch.transforms.coalesce import coalesce_copies
from hlobatch.transforms.dead_code import eliminate_dead_code
from hlobatch.transforms.hoist_shared import hoist_shared
from hlobatch.transforms.if_conversion import convert_ifs
from hlobatch.transforms.lower_calls import lower_calls
from hlobatch.transforms.pop_push_elimination import eliminate_pop_push
from hlobatch.transforms.rotate_loops import rotate_loops
from hlobatch.transforms.simplify_cfg import simplify_cfg

Transform = Callable[[Program], Program]
Annotate = Callable[[Program, Any], None]
"""Writes what is known of a program into its module."""


@dataclass(frozen=True)
class Pass:
    """One pass.

    Attributes:
        summary: What it does, in one line.
        transform: What it makes of a program.
        annotate: What it says about the program.
    """

    summary: str
    transform: Transform = field(default=lambda program: program)
    annotate: Annotate | None = None


def _defined(program: Program) -> Program:
    check_definedness(program)
    return program


def _unallocated(transform: Transform) -> Transform:
    """A transform of programs that are not allocated yet: it may move what was proved of a variable's life."""

    def run(program: Program) -> Program:
        shared = {v: a for v, a in program.var_alloc.items() if v in program.vars_in and a is VariableAllocation.SHARED}
        return transform(program.replace(var_alloc=shared))

    return run


def _live(program: Program, module: Any) -> None:
    """Name the variables whose values may be read later, at the start and at the end of each block."""
    live = _lowered(program) if program.is_lowered else {f.name: liveness(f) for f in program.all_functions}
    with module.context:
        for function in (op for op in module.body.operations if isinstance(op, ops.FuncOp)):
            labels = [block.operations[0] for block in function.regions[0].blocks]
            for label in (op for op in labels if isinstance(op, ops.LabelOp)):
                found = live[function.sym_name]
                for word, sets in (("in", found.before), ("out", found.after)):
                    label.operation.attributes[f"autobatch.live_{word}"] = Symbols().write(sorted(sets[label.name]))


def _lowered(program: Program) -> dict[str, Solution[Names]]:
    """Live sets across calls."""
    after = live_out(program)
    return {MAIN: Solution({b.name: through(b, after[b.name]) for b in program.graph}, after)}


def _inferred(program: Program, module: Any) -> None:
    """Write the type of each variable that follows from those of the inputs."""
    found = infer_types(program, {v: program.var_defs[v] for v in program.vars_in})
    if found.conflict is not None:
        raise found.conflict
    with module.context, ir.Location.unknown():
        for variable in (op for op in module.body.operations if isinstance(op, ops.VarOp)):
            if variable.sym_name in found.types:
                type_ = from_type(found.types[variable.sym_name])
                variable.operation.attributes["autobatch.inferred"] = type_


PASSES: Final[Mapping[str, Pass]] = {
    "allocation": Pass("give each variable the least storage for which there is a proof", allocate),
    "block-order": Pass("put blocks in an order in which lanes seldom go back", seldom_backward),
    "check-definedness": Pass("refuse a program that may read a variable before it has a value", _defined),
    "coalesce-copies": Pass("let the two sides of a copy share storage (lowered programs)", coalesce_copies),
    "dead-code": Pass("drop primitives whose results nothing reads", _unallocated(eliminate_dead_code)),
    "hoist-shared": Pass("move what is the same in every lane to the entry", _unallocated(hoist_shared)),
    "if-conversion": Pass("turn cheap branches into selects", _unallocated(convert_ifs)),
    "infer-types": Pass("say for each variable what type follows from those of the inputs", annotate=_inferred),
    "liveness": Pass("say for each block which variables are live where it starts and ends", annotate=_live),
    "lower-calls": Pass("replace calls by pushes, pops and jumps", lower_calls),
    "pop-push-elimination": Pass("cancel a pop and the push that follows it (lowered programs)", eliminate_pop_push),
    "rotate-loops": Pass("test a loop's condition where a turn ends", _unallocated(rotate_loops)),
    "round-trip": Pass("do nothing: what is printed has been a program"),
    "simplify-cfg": Pass("merge straight lines, thread jumps, drop what no control reaches", simplify_cfg),
}
"""By name, in alphabetical order."""
