"""The table of passes: the name of each, its summary, the switch that turns it off, and the order in which they run.

::

    TYPING    untyped program                   ->  typed program
    ONCE      typed program                     ->  typed program that computes values shared by lanes or runs once
    STORING   typed program                     ->  allocated program, its branches and loops as they are to run
    LOWERING  allocated program with calls      ->  program with explicit stacks
    ORDERING  program with explicit stacks      ->  its blocks in the order in which they are run
    FINISHING program with explicit stacks      ->  the program that is compiled

``pipeline.py`` runs them; ``hlobatch trace --print-after`` and ``hlobatch-opt`` know them by these names. A pass that
runs a second time, after another pass has given it something to do, has a second name, and is still one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import Final

from hlobatch.analysis.allocation import allocate
from hlobatch.ir.program import Program
from hlobatch.ir.types import Type
from hlobatch.transforms.ask_ahead import ask_ahead
from hlobatch.transforms.block_order import seldom_backward
from hlobatch.transforms.coalesce import coalesce_copies
from hlobatch.transforms.dead_code import eliminate_dead_code
from hlobatch.transforms.fold_constants import fold_constants
from hlobatch.transforms.hoist_shared import hoist_shared
from hlobatch.transforms.if_conversion import convert_ifs
from hlobatch.transforms.lower_calls import lower_calls
from hlobatch.transforms.merge_lists import merge_lists
from hlobatch.transforms.optimizations import ALL, Optimizations
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
from hlobatch.values.facts import NONE_KNOWN, Facts, MayBeNone, MayBeSeveral

Transform = Callable[[Program], Program]


@dataclass(frozen=True)
class Given:
    """The arguments of a pass besides the program.

    Attributes:
        optimizations: Which passes run.
        in_types: Types of the program's inputs; empty if the program is typed already.
        facts: Facts that earlier rounds of tracing found.
    """

    optimizations: Optimizations = ALL
    in_types: Mapping[str, Type] = field(default_factory=dict)
    facts: Facts = NONE_KNOWN


@dataclass(frozen=True)
class Pass:
    """One pass.

    Attributes:
        name: Its name in dumps and on the command line.
        summary: A line that says what it does; the same as in ``Optimizations`` for a pass with a switch of its
            own.
        made: Makes the transformation from the arguments.
        switches: The fields of ``Optimizations`` that all have to be on for it to run.
        repeats: The name of the pass of which this is another run; empty for most.
        opens_code: Whether it only works on primitives whose jaxpr is known, not on opaque code.
        is_wanted: Whether it can have anything to do, given the arguments.
    """

    name: str
    summary: str
    made: Callable[[Given], Transform]
    switches: tuple[str, ...] = ()
    repeats: str = ""
    opens_code: bool = False
    is_wanted: Callable[[Given], bool] = lambda _: True

    def runs(self, given: Given) -> bool:
        """Whether it runs with these arguments."""
        return self.is_wanted(given) and all(getattr(given.optimizations, switch) for switch in self.switches)

    def again(self, name: str, *switches: str) -> Pass:
        """Another run of this pass under another name, if the given switches are on as well."""
        return replace(self, name=name, repeats=self.name, switches=(*self.switches, *switches))


def _pass(name: str, transform: Transform, summary: str, switch: str = "", *, opens_code: bool = False) -> Pass:
    """A pass that needs no arguments."""
    return Pass(name, summary, lambda _: transform, (switch,) if switch else (), opens_code=opens_code)


def _uniform_loops_converted(given: Given) -> Transform:
    before_loops = [found.made(given) for found in (IF_CONVERSION, ROTATION) if found.runs(given)]

    def converted(program: Program) -> Program:
        """Converts uniform loops from the inside out: with an inner loop converted, an outer one may be one block."""
        while (inside := convert_uniform_loops(program)) is not program:
            program = reduce(lambda p, transform: transform(p), before_loops, inside)
        return program

    return converted


def _aggregates_split(given: Given) -> Transform:
    def split(program: Program) -> Program:
        """The allocated program with aggregates split, without parts that are not read."""
        parts = split_aggregates(program)
        if parts is program:
            return program
        return allocate(eliminate_dead_code(parts) if DEAD_CODE.runs(given) else parts)

    return split


SIMPLIFICATION: Final = _pass(
    "simplify-cfg", simplify_cfg, "merge straight lines, thread jumps, drop what no control reaches"
)
IF_CONVERSION: Final = _pass("if-conversion", convert_ifs, "turn cheap branches into selects", "if_conversion")
ROTATION: Final = _pass(
    "rotate-loops", rotate_loops, "test loop conditions where turns end (loop rotation)", "rotate_loops"
)
DEAD_CODE: Final = _pass("dead-code", eliminate_dead_code, "drop what nothing reads", "dead_code")
ALLOCATION: Final = _pass("allocate", allocate, "give each variable the least storage for which there is a proof")
POP_PUSH: Final = _pass("pop-push-elimination", eliminate_pop_push, "cancel pops against pushes", "pop_push")
COALESCING: Final = _pass("coalesce-copies", coalesce_copies, "let both sides of a copy share storage", "coalesce")

TYPING: Final = (
    SIMPLIFICATION,
    Pass(
        "separate-narrowed",
        "keep apart what a variable is where it turned out not to be None",
        lambda _: separate_narrowed,
        is_wanted=lambda given: any(map(given.facts.has, (MayBeNone, MayBeSeveral))),
    ),
    _pass("split-live-ranges", split_live_ranges, "give every independent use of a variable a name of its own"),
    Pass(
        "specialize",
        "give each variable a type, and each primitive what it computes",
        lambda given: partial(specialize, in_types=given.in_types, facts=given.facts),
    ),
)

ONCE: Final = (
    Pass(
        "merge-lists",
        "keep the numbers of a list that lanes index in one array",
        lambda given: partial(merge_lists, keeps=given.optimizations.merge_lists),
        opens_code=True,
    ),
    _pass(
        "reduce-strength",
        reduce_strength,
        "shift and mask integers that are divided by powers of two (strength reduction)",
        "reduce_strength",
        opens_code=True,
    ),
    _pass("hoist-shared", hoist_shared, "compute what is the same in every lane once", "hoist_shared"),
    _pass(
        "split-shared",
        split_shared,
        "move the part of a primitive that is the same in every lane out of it (invariant code motion)",
        "split_shared",
        opens_code=True,
    ),
    _pass(
        "fold-constants",
        fold_constants,
        "compute what depends on captured arrays alone once for all runs",
        "fold_constants",
        opens_code=True,
    ),
)

BRANCHES: Final = (IF_CONVERSION, ROTATION, IF_CONVERSION.again("if-conversion-rotated", "rotate_loops"))
"""The passes that decide which branches and loops remain."""

STORING: Final = (
    *BRANCHES,
    Pass(
        "uniform-loops",
        "make one primitive of a loop that turns equally often in every lane",
        _uniform_loops_converted,
        ("uniform_loops",),
        opens_code=True,
    ),
    DEAD_CODE,
    ALLOCATION,
)

LOWERING: Final = (
    Pass(
        "split-aggregates",
        "give each array of a variable a variable of its own (scalar replacement of aggregates)",
        _aggregates_split,
        ("split_aggregates",),
        opens_code=True,
    ),
    _pass("lower-calls", lower_calls, "replace calls by pushes, pops and jumps"),
    SIMPLIFICATION.again("simplify-lowered"),
    POP_PUSH,
    COALESCING,
    SIMPLIFICATION.again("simplify-coalesced", "coalesce"),
    ALLOCATION.again("allocate-lowered"),
)

ORDERING: Final = (_pass("block-order", seldom_backward, "put blocks in an order in which lanes seldom go back"),)

FINISHING: Final = (
    _pass(
        "results-in-parts",
        results_in_parts,
        "give back the arrays of a result from where they are",
        "results_in_parts",
        opens_code=True,
    ),
    _pass(
        "ask-ahead",
        ask_ahead,
        "copy the branches and returns of small blocks into the blocks that lead to them (tail duplication)",
        "ask_ahead",
    ),
)

STAGES: Final = (TYPING, ONCE, STORING, LOWERING, ORDERING, FINISHING)
"""All passes, in the order in which they run."""


def passes() -> Iterator[Pass]:
    """All passes, in the order in which they run."""
    for stage in STAGES:
        yield from stage
