"""A program and the user's options -> how it runs: dispatch form, order of blocks, lanes in flight, and why.

What ``"auto"`` chooses, by measurement (``docs/design.md``):

* every block cheap: all of them in turn, behind a conditional each if there are stacks, else masked with no conditional
  and many rounds between tests; and a queue that streams the inputs through as many lanes as stay in the cache;
* otherwise: the earliest block first, expensive ones last, each behind a conditional.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

from hlobatch.analysis.cost import block_cost
from hlobatch.analysis.tracing import TracedFunction
from hlobatch.ir.ops import PrimOp
from hlobatch.ir.physical import physical
from hlobatch.ir.program import Program
from hlobatch.ir.program import VariableAllocation as Alloc
from hlobatch.lowering.dispatch import EARLIEST, SWEEPS
from hlobatch.transforms.pipeline import ALL, Optimizations

SCHEDULES: Final = ("auto", "earliest", "cost", "sweep")
DISPATCHES: Final = ("auto", *EARLIEST, *SWEEPS)

CHEAP_PROGRAM: Final = 400.0
"""Operations and stored elements per lane, all blocks together, up to which running all of them is cheapest."""
CACHED_LANES: Final = 1024
"""Lanes of a cheap program in flight at once: their state stays in the cache."""
ROUNDS: Final = 16
"""Rounds of a sweep between two tests of whether anyone has something left to do."""


@dataclass(frozen=True)
class Options:
    """How a batched function runs; none changes what it computes.

    Attributes:
        max_stack_depth: Frames per stack to begin with.
        max_steps: Blocks that one input may run, or None.
        lanes: Inputs in flight at once, or None to choose.
        schedule: Which block runs next: ``"earliest"`` in program order (the paper), ``"cost"`` (earliest, with
            expensive blocks last), ``"sweep"`` (all in turn), ``"auto"``.
        dispatch: How the loop picks blocks; see ``lowering.dispatch``. ``"auto"`` chooses.
        optimizations: Which passes run.
    """

    max_stack_depth: int = 32
    max_steps: int | None = None
    lanes: int | None = None
    schedule: str = "auto"
    dispatch: str = "auto"
    optimizations: Optimizations = field(default=ALL)


@dataclass(frozen=True)
class Choice:
    """How a program runs.

    Attributes:
        form: Dispatch form, one of ``lowering.dispatch.FORMS``.
        expensive_last: Whether expensive blocks are moved to the end.
        lanes: Inputs in flight at once, or None for all.
        rounds: Turns between two tests of whether anyone has something left to do.
        reason: Why, in words.
    """

    form: str
    expensive_last: bool
    lanes: int | None
    rounds: int
    reason: str


def choose(program: Program, options: Options) -> Choice:
    """How a lowered program runs.

    Args:
        program: Its blocks in program order.
        options: What the user asked for; what is ``"auto"`` or None is chosen.
    """
    work = work_per_lane(program)
    cheap = work <= CHEAP_PROGRAM and not has_inner_loops(program)
    form = options.dispatch
    if form == "auto":
        stackless = Alloc.FULL not in program.var_alloc.values()
        swept = "sweep" if cheap and stackless else "guarded"
        form = swept if options.schedule == "sweep" or (options.schedule == "auto" and cheap) else "chain"
    asked_in_order = options.schedule == "earliest" or (options.schedule == "auto" and options.dispatch != "auto")
    lanes = options.lanes
    if lanes is None and options.dispatch == "auto" and form in SWEEPS and cheap:
        lanes = CACHED_LANES
    rounds = ROUNDS if form == "sweep" else 1
    judgement = "cheap enough" if cheap else "too dear"
    reason = f"{work:.0f} operations and elements per lane: {judgement} to run every block each time"
    return Choice(form, form in EARLIEST and not asked_in_order, lanes, rounds, reason)


def work_per_lane(program: Program) -> float:
    """Operations of all blocks, and elements that a round reads and writes, per lane."""
    elements = 0
    for name, type_ in program.var_defs.items():
        if program.alloc(name) in (Alloc.REGISTER, Alloc.FULL):
            elements += sum(math.prod(physical(leaf).shape) for leaf in type_.tensor_leaves)
    return sum(map(block_cost, program.graph)) + elements


def has_inner_loops(program: Program) -> bool:
    """Whether any primitive has a loop of its own."""
    primitives = [op.function for op in program.ops if isinstance(op, PrimOp)]
    return any(isinstance(f, TracedFunction) and f.primitives() & {"while", "scan"} for f in primitives)
