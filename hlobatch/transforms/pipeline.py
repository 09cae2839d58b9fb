"""The order of the passes: function -> program with calls -> lowered program.

Between passes the verifier runs, and with ``HLOBATCH_DUMP_IR=folder`` the numbered IR after each is written there.
"""

from __future__ import annotations

import contextlib
import contextvars
import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce

from hlobatch import config
from hlobatch.analysis.allocation import allocate
from hlobatch.analysis.facts import NONE_KNOWN, Facts, MayBeNone
from hlobatch.ir.program import Program, VariableAllocation
from hlobatch.ir.types import Type
from hlobatch.ir.verifier import verify
from hlobatch.transforms.ask_ahead import ask_ahead
from hlobatch.transforms.coalesce import coalesce_copies
from hlobatch.transforms.dead_code import eliminate_dead_code
from hlobatch.transforms.fold_constants import fold_constants
from hlobatch.transforms.hoist_shared import hoist_shared
from hlobatch.transforms.if_conversion import convert_ifs
from hlobatch.transforms.lower_calls import lower_calls
from hlobatch.transforms.merge_lists import merge_lists
from hlobatch.transforms.pop_push_elimination import eliminate_pop_push
from hlobatch.transforms.reduce_strength import reduce_strength
from hlobatch.transforms.results_in_parts import results_in_parts
from hlobatch.transforms.rotate_loops import rotate_loops
from hlobatch.transforms.separate_narrowed import separate_narrowed
from hlobatch.transforms.simplify_cfg import simplify_cfg
from hlobatch.transforms.specialize import specialize
from hlobatch.transforms.split_aggregates import split_aggregates
from hlobatch.transforms.split_live_ranges import split_live_ranges
from hlobatch.transforms.split_shared import split_shared
from hlobatch.transforms.uniform_loops import convert_uniform_loops

Pass = Callable[[Program], Program]
Observer = Callable[[str, Program], None]


@dataclass(frozen=True)
class Optimizations:
    """What makes runs faster; each may be switched off, and the meaning stays.

    Attributes:
        write_out_loops: Write out the turns of short loops over what is known when the program is built; not a pass,
            but how the program is made.
        merge_lists: Keep the numbers of a list that lanes index in one array.
        reduce_strength: Shift and mask whole numbers that are divided by powers of two.
        hoist_shared: Compute what is the same in every lane once.
        split_shared: Do so where it is a part of a primitive that computes what differs.
        fold_constants: Compute what depends on captured arrays alone once for all runs.
        if_conversion: Turn cheap branches into selects.
        rotate_loops: Test loop conditions where turns end.
        uniform_loops: Make one primitive of a loop that turns equally often in every lane.
        dead_code: Drop what nothing reads.
        split_aggregates: Give each array of a variable that holds several a variable of its own.
        pop_push: Cancel pops against pushes (paper section 3.2, optimization 5).
        coalesce: Let both sides of a copy share storage.
        results_in_parts: Give back the arrays of a result from where they are.
        ask_ahead: Ask in a block what the next one would ask, or return for it, if that is all it does.
        compaction: Compute an expensive block on arrays of only the lanes that wait there, where those are few; not a
            pass, but how what they made is run.
        in_place: Update arrays of which a statement changes a part where they are, instead of choosing between the old
            and the new for each lane; likewise.
        light_ties: Keep XLA from moving code out of a block by a choice of as little as will do, not of all that the
            block reads; likewise.
        tables: Look things up in an argument that no lane assigns where it lies, instead of in a copy that each lane
            has, and read it there where lanes have one input each; likewise.
        few_lanes: Let the last lanes of a run go on by themselves, in a program of as few; likewise.
        kernels: Give lanes code of their own on a CPU, where the target says that this is the faster form; likewise.
        one_kernel: Let a small run on a CPU be one kernel, and of one lane in several what works on little; likewise.
    """

    write_out_loops: bool = True
    merge_lists: bool = True
    reduce_strength: bool = True
    hoist_shared: bool = True
    split_shared: bool = True
    fold_constants: bool = True
    if_conversion: bool = True
    rotate_loops: bool = True
    uniform_loops: bool = True
    dead_code: bool = True
    split_aggregates: bool = True
    pop_push: bool = True
    coalesce: bool = True
    results_in_parts: bool = True
    ask_ahead: bool = True
    compaction: bool = True
    in_place: bool = True
    light_ties: bool = True
    tables: bool = True
    few_lanes: bool = True
    kernels: bool = True
    one_kernel: bool = True


ALL = Optimizations()


def specialized_program(program: Program, in_types: Mapping[str, Type], facts: Facts = NONE_KNOWN) -> Program:
    """From the frontend's program to a typed one, whose primitives no longer run the user's Python.

    Args:
        program: The untyped program.
        in_types: Types of its inputs.
        facts: What is known about its variables.
    """
    passes: dict[str, Pass] = {
        "simplify-cfg": simplify_cfg,
        **({"separate-narrowed": separate_narrowed} if facts.all_of(MayBeNone) else {}),
        "split-live-ranges": split_live_ranges,
        "specialize": lambda p: specialize(p, in_types, facts),
    }
    return run(program, passes)


def optimized_program(program: Program, shared: Collection[str] = (), optimizations: Optimizations = ALL) -> Program:
    """From a typed program to an allocated one; both with calls.

    Args:
        program: From ``specialized_program``.
        shared: Inputs that all lanes share.
        optimizations: Which passes run.
    """
    return allocated_program(computed_once(program, shared, optimizations), optimizations)


def computed_once(program: Program, shared: Collection[str], optimizations: Optimizations = ALL) -> Program:
    """From a typed program to the same without what need not be computed in each lane, or in each run."""
    program = program.replace(var_alloc=dict.fromkeys(shared, VariableAllocation.SHARED))
    passes: dict[str, Pass] = {"merge-lists": partial(merge_lists, keeps=optimizations.merge_lists)}
    if optimizations.reduce_strength:
        passes["reduce-strength"] = reduce_strength
    if optimizations.hoist_shared:
        passes["hoist-shared"] = hoist_shared
    if optimizations.split_shared:
        passes["split-shared"] = split_shared
    if optimizations.fold_constants:
        passes["fold-constants"] = fold_constants
    return run(program, passes)


def allocated_program(program: Program, optimizations: Optimizations = ALL) -> Program:
    """From there to the program with its branches and loops as they are to run, and with what each variable needs."""
    passes: dict[str, Pass] = {}
    before_loops: list[Pass] = []
    if optimizations.if_conversion:
        passes["if-conversion"] = convert_ifs
        before_loops.append(convert_ifs)
    if optimizations.rotate_loops:
        passes["rotate-loops"] = rotate_loops
        before_loops.append(rotate_loops)
        if optimizations.if_conversion:
            passes["if-conversion-rotated"] = convert_ifs
    if optimizations.uniform_loops:
        passes["uniform-loops"] = partial(_from_inside_out, before_loops)
    if optimizations.dead_code:
        passes["dead-code"] = eliminate_dead_code
    passes["allocate"] = allocate
    return run(program, passes)


def _from_inside_out(before_loops: Sequence[Pass], program: Program) -> Program:
    """The program without uniform loops, those around others included, which may have one block only then."""
    while (converted := convert_uniform_loops(program)) is not program:
        program = reduce(lambda p, transform: transform(p), before_loops, converted)
    return program


def _split(program: Program, *, dead_code: bool) -> Program:
    """The allocated program with aggregates split; parts that nothing reads are gone."""
    split = split_aggregates(program)
    if split is program:
        return program
    return allocate(eliminate_dead_code(split) if dead_code else split)


def lowered_program(program: Program, optimizations: Optimizations = ALL) -> Program:
    """From a typed program with calls to one with explicit stacks."""
    passes: dict[str, Pass] = {}
    if optimizations.split_aggregates:
        passes["split-aggregates"] = partial(_split, dead_code=optimizations.dead_code)
    passes |= {"lower-calls": lower_calls, "simplify-lowered": simplify_cfg}
    if optimizations.pop_push:
        passes["pop-push-elimination"] = eliminate_pop_push
    if optimizations.coalesce:
        passes["coalesce-copies"] = coalesce_copies
        passes["simplify-coalesced"] = simplify_cfg
    passes["allocate-lowered"] = allocate
    return run(program, passes)


def machine_program(program: Program, optimizations: Optimizations = ALL) -> Program:
    """From a program with explicit stacks to the same as it runs: its results are in parts."""
    passes: dict[str, Pass] = {}
    if optimizations.results_in_parts:
        passes["results-in-parts"] = results_in_parts
    if optimizations.ask_ahead:
        passes["ask-ahead"] = ask_ahead
    return run(program, passes)


def run(program: Program, passes: Mapping[str, Pass]) -> Program:
    """Run passes in order, verifying and dumping between them."""
    for name, transform in passes.items():
        program = transform(program)
        if config.verify_each():
            verify(program)
        dump(name, program)
        for observe in _observers.get():
            observe(name, program)
    return program


_observers: contextvars.ContextVar[tuple[Observer, ...]] = contextvars.ContextVar("hlobatch_observers", default=())


@contextlib.contextmanager
def observed(observer: Observer) -> Iterator[None]:
    """Within it, ``observer`` is told of every pass that has run, and of the program the pass made."""
    token = _observers.set((*_observers.get(), observer))
    try:
        yield
    finally:
        _observers.reset(token)


_dumped = itertools.count()


def dump(stage: str, code: object, suffix: str = ".txt") -> None:
    """Write a program, or a module, as it is after a stage, if dumping is on."""
    folder = config.dump_directory()
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{next(_dumped):03d}-{stage}{suffix}").write_text(str(code))
