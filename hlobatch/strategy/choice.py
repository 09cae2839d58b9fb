"""A program and the user's options -> how it runs: dispatch form, schedule, lanes in flight, and why.

What ``"auto"`` chooses, by measurement (``docs/design.md``):

* every block cheap: all of them in turn, masked with no test, and many rounds between tests of whether anyone is left
  where a test is dear;
* the same in a single kernel, where a test costs nothing, with stacks, which are pushed and popped lane by lane, or
  with blocks of which a lane passes most by: the block with the most lanes;
* otherwise: the block whose lanes have waited the longest for the time it takes, each behind a test; on a GPU, where
  the host waits for a test's answer, all blocks in turn as long as lanes are few enough for that to take less;
* more inputs than it takes to keep the machine busy: a queue that streams them through as many lanes as stay in the
  cache, so that lanes that are done take new work;
* a loop or recursion on a CPU, and enough inputs: one thread per core, each with its share of them, unless a library is
  called that two threads must not call at once.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final

from hlobatch.analysis.block_groups import Groups, alone, small_together
from hlobatch.analysis.constants import never_assigned, tables
from hlobatch.analysis.cost import block_cost, bytes_of, largest_array, primitives_time
from hlobatch.analysis.definedness import user_name
from hlobatch.analysis.libraries import library_calls
from hlobatch.analysis.machine_flow import repeated_blocks
from hlobatch.analysis.trip_counts import turns_of_all
from hlobatch.analysis.updates import taken_as_a_whole
from hlobatch.ir.physical import array_bytes, elements, physical
from hlobatch.ir.program import STORED, Program
from hlobatch.ir.program import VariableAllocation as Alloc
from hlobatch.jax_primitives import LOOPS
from hlobatch.lowering.blocks.compaction import Widths
from hlobatch.lowering.state.layout import Layout
from hlobatch.lowering.turns.dispatch import SWEEPS
from hlobatch.lowering.turns.schedule import Schedule, earliest, least_idle, most_lanes
from hlobatch.strategy.options import Options
from hlobatch.strategy.widths import times
from hlobatch.targets.machine import cores, vector
from hlobatch.targets.target import target_of
from hlobatch.transforms.block_order import excess_of_a_sweep

CHEAP_PROGRAM: Final = 400.0
"""Operations and stored elements per lane, all blocks together, up to which running all of them is cheapest."""
EXCESS: Final = 3.0
"""Times as much as its lanes need that a sweep computes, from which finding the block with the most lanes pays where a
run is one kernel."""
SWEPT_LANES: Final = 1024
"""Lanes of a cheap program in flight at once: their state stays in the cache."""
KERNEL_LANES: Final = (128, 64)
"""The same where a run is one kernel, which has no kernels to start: fewer lanes end more nearly together. Those below
which a queue does not pay: what it takes to hand over is then no less than what idle lanes take."""
SWEPT_STACKS: Final = (512, 192)
"""Lanes of a cheap program with stacks in flight at once, and those below which a queue does not pay. XLA pushes and
pops them one by one, so that a lane costs nearly as much among few as among many."""
KERNEL_STACKS: Final = (96, 96)
"""The same where a run is one kernel, which has no kernels to start, and whose loops LLVM unrolls up to so many."""
KERNEL_MOST: Final = {8: (96, 64), 16: (128, 64)}
"""The same of one that runs the block with the most lanes, by the numbers in a vector."""
NEAREST: Final = 3 * 2**14
"""Bytes of the largest array of all lanes in flight there; with more, the smallest cache does not hold what each lane
reads and writes elements of, and that takes longer than fewer lanes do."""
KERNEL_DEAR: Final = (64, 64)
"""The same of any other program: enough to use vectors well, and few enough for products to stay in the smallest cache.
More had better wait for their turn even where they are few."""
KERNEL_TURNS: Final = 1.25
"""Inputs per lane from which a queue pays there."""
ALIKE: Final = 50
"""Turns that every lane makes of a loop around all others from which lanes take about as long. They had better take new
inputs all at once then, and stay together; with ten turns that is no gain, or takes twice as long."""
VECTORS: Final = 4
"""Lanes in flight there are a multiple of so many vectors: what is left over is worked on one by one, or by halves."""
LANES: Final = 256
"""Lanes of another program in flight at once; many fewer leave the vector units and the calls of kernels badly used."""
ENOUGH: Final = 64
"""Lanes below which a queue does not pay where blocks are tested; where they are not, each lane costs so little that
it does not pay with fewer than a step is worth."""
ACCELERATED_LANES: Final = 65536
"""Lanes in flight at once where thousands run at a time."""
FITTING: Final = 2**28
"""Bytes of the largest array of all lanes, where each input goes through every block once, and all of them together."""
ROUNDS: Final = 16
"""Rounds of a sweep between two tests of whether anyone has something left to do, where such a test is dear: not in a
single kernel, nor where a block goes on to itself, which is tested in every round."""
STEP: Final = 40_000.0
"""What it takes to find a group of blocks and start its kernels, as operations of all lanes together."""
KERNEL_STEP: Final = 4_000.0
"""The same where a run is one kernel, which has none to start."""
LOOPING, RECURSIVE = (16, 30_000.0), (1, 1_000.0)
"""What is worth a thread: so many inputs, and so many operations and stored elements with all blocks run once for all
of them. It is little where there is recursion, which runs them many times; a loop may turn but a few."""
MATRIX: Final = (2**20, 16)
"""Bytes from which a core fetches a matrix anew for each product, and inputs that are worth fetching all of it. One
product for all of them XLA divides among cores, so that each fetches its part."""
HANDED_OVER: Final = 2.0
"""Elements of an argument that no lane assigns, for each operation of a turn on elements, from which XLA had better
divide its kernels: to copy what a thread is to have takes as long as several turns."""
CHEAP_SHARE: Final = 8
SHARE: Final = 32
"""One in so many lanes has to be done before those that are take new inputs: more where idle lanes cost more."""


@dataclass(frozen=True)
class Choice:
    """How a program runs.

    Attributes:
        form: Dispatch form, one of ``lowering.dispatch.FORMS``.
        schedule: ``"earliest"``, ``"most_lanes"``, ``"cost"`` or ``"sweep"``.
        lanes: Inputs in flight at once, or None for all.
        enough: Lanes that keep the machine busy. Of ``lanes``, a quarter of the inputs are in flight at most, so that
            each lane takes several in turn, but never fewer than ``enough``.
        multiple: Lanes are so many times a whole number then, which vectors are filled by.
        turns: Inputs per lane from which a queue pays.
        rounds: Turns between two tests of whether anyone has something left to do.
        share: One in so many lanes has to be done before those that are take new inputs. Where it is all of them, lanes
            are as many in each round.
        threads: Parts of a batch that run side by side, at most.
        portion: Inputs that are worth a thread.
        reason: Why, in words.
        undivided: Why a batch is never divided among threads, in words, or nothing.
        with_few: What holds instead up to how many lanes in flight; None where the number of lanes changes nothing.
    """

    form: str
    schedule: str
    lanes: int | None
    enough: int
    multiple: int
    turns: float
    rounds: int
    share: int
    threads: int
    portion: int
    reason: str
    undivided: str = ""
    with_few: tuple[int, Choice] | None = None

    def at(self, lanes: Any) -> Choice:
        """How a run of so many lanes in flight goes; a number that is not known yet counts as many."""
        if self.with_few is None or not isinstance(lanes, int) or lanes > self.with_few[0]:
            return self
        return self.with_few[1]

    def explained(self, layout: Layout) -> str:
        """What was chosen for a run, and why, in words."""
        kernels = "a single kernel" if layout.one_kernel else "several kernels"
        axis = "last" if layout.lane_axis else "first"
        queue = "taking inputs from a queue" + (", all at once" if self.share == 1 else "")
        takes = queue if layout.queue else "one for each input"
        return (
            f"dispatch {self.form!r}, schedule {self.schedule!r}: {self.reason}\n"
            f"{kernels}, lanes are the {axis} axis of arrays, {takes}"
            + (f"\none thread: {self.undivided}" if self.undivided else "")
        )

    def lanes_for(self, inputs: int) -> int:
        """Lanes in flight for a batch of ``inputs``."""
        if self.lanes is None:
            return inputs
        lanes = min(self.lanes, max(self.enough, inputs // 4 // self.multiple * self.multiple))
        if inputs < self.turns * lanes:
            return inputs
        return -(-inputs // -(-inputs // lanes)) if self.share == 1 else lanes

    def threads_for(self, inputs: int) -> int:
        """Parts into which a batch of ``inputs`` is divided."""
        return max(1, min(self.threads, inputs // self.portion))

    def groups(self, program: Program) -> Groups:
        """The blocks that run in one step."""
        return small_together(program) if self.form == "chain" and self.schedule == "cost" else alone(program)

    def schedule_of(self, program: Program, groups: Groups, layout: Layout, widths: Widths) -> Schedule:
        """What finds the next of the groups, given where few lanes take less time than all."""
        if layout.lanes == 1:
            return earliest(groups)
        if self.schedule == "most_lanes":
            return most_lanes(groups)
        if self.schedule != "cost" or is_one_loop(program, groups, layout):
            return earliest(groups)
        blocks = program.graph.blocks
        lanes = layout.lanes if isinstance(layout.lanes, int) else LANES
        step = KERNEL_STEP if layout.one_kernel else STEP
        taken = [times(layout.calls, group, lanes, step / lanes, widths) for group in groups]
        return least_idle(groups, taken, [any(blocks[i].sync for i in group) for group in groups])


def choose(program: Program, options: Options, platform: str, *, one_kernel: bool = False) -> Choice:
    """How a lowered program runs.

    Args:
        program: Its blocks in program order.
        options: What the user asked for; what is ``"auto"`` or None is chosen.
        platform: What it runs on, in JAX's words.
        one_kernel: Whether it is for a run that is one kernel on a CPU.
    """
    options = options.in_loop
    work = work_per_lane(program)
    has_stacks = Alloc.FULL in program.var_alloc.values()
    repeated = bool(repeated_blocks(program))
    judgement = _judged(program, work, has_stacks=has_stacks, one_kernel=one_kernel)
    cheap = judgement is not Judgement.DEAR
    if not repeated and options.lanes is None:
        judgement = Judgement.ONCE if cheap or len(program.graph.blocks) == 1 else Judgement.ONCE_IF_WANTED
    form, schedule = _dispatched(options, judgement)
    lanes, enough = _in_flight(form, schedule, work, cheap=cheap, has_stacks=has_stacks, one_kernel=one_kernel)
    found = tables(program) if options.optimizations.tables else frozenset[str]()
    if one_kernel and schedule == "most_lanes" and lanes * largest_kept(program, found) > NEAREST:
        lanes = enough
    if platform != "cpu":
        enough = ACCELERATED_LANES
    most = max(lanes, enough) if options.dispatch == "auto" else None
    if options.dispatch == "auto" and not repeated:
        most = enough = max(LANES, FITTING // max(1, *map(largest_array, program.graph)))
    if options.lanes is not None:
        most = enough = options.lanes
    least, worth = RECURSIVE if has_stacks else LOOPING
    if largest_matrix(program) >= MATRIX[0]:
        least = max(least, MATRIX[1])
    turns_around = repeated or has_inner_loops(program)
    undivided = (_library_called(program) or _much_handed_over(program, options)) if platform == "cpu" else ""
    threads = 1 if undivided else options.threads or (cores() if platform == "cpu" and turns_around else 1)
    is_free = one_kernel and not cheap and options.lanes is None
    are_alike = is_free and (turns_of_all(program) or 0) >= ALIKE
    tests_are_dear = repeated and not one_kernel and not any(block.goes_on_to_itself for block in program.graph)
    is_auto = options.dispatch == options.schedule == "auto"
    chosen = Choice(
        form=form,
        schedule=schedule,
        lanes=most,
        enough=enough,
        multiple=VECTORS * vector() if one_kernel else 1,
        turns=1 if options.lanes else KERNEL_TURNS if one_kernel and not (cheap or are_alike) else 2,
        rounds=ROUNDS if form == "sweep" and tests_are_dear else 1,
        share=1 if are_alike else CHEAP_SHARE if cheap else SHARE,
        threads=min(threads, options.lanes or threads),
        portion=1 if options.threads else max(least, round(worth / max(work, 1.0))),
        reason=f"{work:.0f} operations and elements per lane: {judgement.value}" if is_auto else "as asked for",
        undivided=undivided,
    )
    swept = target_of(platform).swept
    if form == "sweep" or not (is_auto and swept and repeated) or has_inner_loops(program):
        return chosen
    most_swept = int(swept / max(work, 1.0))
    reason = (
        f"{work:.0f} operations and elements per lane: up to {most_swept:,} lanes run all blocks sooner than one test"
    )
    rounds = ROUNDS if tests_are_dear else 1
    sweep = replace(chosen, form="sweep", schedule="sweep", rounds=rounds, share=CHEAP_SHARE, reason=reason)
    return replace(chosen, with_few=(most_swept, sweep))


def _library_called(program: Program) -> str:
    """Why a batch has to stay in one thread on a CPU, if it has to."""
    called = library_calls(program)
    if not called:
        return ""
    library = next(iter(called.values()))
    names = ", ".join(f"`{name}`" for name, other in called.items() if other == library)
    return f"{names} calls {library}, where two threads may wait for each other for ever"


def _much_handed_over(program: Program, options: Options) -> str:
    """Why it had better, if it had: a part is a copy of its inputs' arguments."""
    if options.threads or Alloc.FULL in program.var_alloc.values():
        return ""
    repeated = repeated_blocks(program)
    turn = sum(primitives_time(program, block) for block in program.graph if block.name in repeated)
    large = [v for v in never_assigned(program) if elements(program.var_defs[v]) > HANDED_OVER * turn]
    if not large or not repeated:
        return ""
    return f"`{user_name(large[0])}` takes longer to hand over than what a turn computes"


class Judgement(Enum):
    """What decides how a program runs."""

    DEAR = "too dear to run every block each time"
    CHEAP = "cheap enough to run every block each time"
    WITH_STACKS = "cheap, but with stacks, which are pushed and popped lane by lane"
    PASSING_BY = "cheap, but a lane passes most blocks by"
    ONCE = "no lane goes back to a block, so that each runs once"
    ONCE_IF_WANTED = "no lane goes back to a block, so that each runs once, if any lane comes there"


def _judged(program: Program, work: float, *, has_stacks: bool, one_kernel: bool) -> Judgement:
    if work > CHEAP_PROGRAM or has_inner_loops(program):
        return Judgement.DEAR
    if one_kernel and has_stacks:
        return Judgement.WITH_STACKS
    if one_kernel and excess_of_a_sweep(program) >= EXCESS:
        return Judgement.PASSING_BY
    return Judgement.CHEAP


def _dispatched(options: Options, judgement: Judgement) -> tuple[str, str]:
    """Dispatch form and schedule: those asked for, and what goes with them."""
    form, schedule = options.dispatch, options.schedule
    if form == "auto" and judgement is Judgement.ONCE_IF_WANTED and schedule in ("auto", "sweep"):
        form = "guarded"
    elif form == "auto" and schedule == "sweep":
        form = "guarded" if judgement is Judgement.DEAR else "sweep"
    elif form == "auto":
        form = "sweep" if schedule == "auto" and judgement in (Judgement.CHEAP, Judgement.ONCE) else "chain"
    if schedule != "auto":
        return form, schedule
    if form in SWEEPS:
        return form, "sweep"
    if options.dispatch != "auto":
        return form, "earliest"
    return form, "cost" if judgement is Judgement.DEAR else "most_lanes"


def _in_flight(
    form: str, schedule: str, work: float, *, cheap: bool, has_stacks: bool, one_kernel: bool
) -> tuple[int, int]:
    """Lanes in flight at once that stay in a CPU's cache, and lanes that keep it busy."""
    if schedule == "most_lanes" and one_kernel:
        return KERNEL_MOST[vector()]
    if form == "sweep" and has_stacks:
        return KERNEL_STACKS if one_kernel else SWEPT_STACKS
    if one_kernel and not cheap and form not in SWEEPS:
        return KERNEL_DEAR
    lanes = LANES
    if form in SWEEPS and cheap:
        if one_kernel:
            return KERNEL_LANES
        lanes = SWEPT_LANES
    return lanes, min(lanes, round(STEP / max(work, 1.0))) if form == "sweep" else ENOUGH


def is_one_loop(program: Program, groups: Groups, layout: Layout) -> bool:
    """Whether all lanes go through one group again and again until they leave it, and through any other once."""
    if layout.queue:
        return False
    repeated = repeated_blocks(program)
    turning = [group for group in groups if any(program.graph.blocks[i].name in repeated for i in group)]
    return len(turning) == 1


def work_per_lane(program: Program) -> float:
    """Operations of all blocks, and elements that a round reads and writes, per lane."""
    whole = taken_as_a_whole(program.graph)
    stored = [t for name, t in program.var_defs.items() if program.alloc(name) in STORED and name in whole]
    return sum(block_cost(program, block) for block in program.graph) + sum(map(elements, stored))


def largest_kept(program: Program, besides: Collection[str] = ()) -> int:
    """Bytes per lane of the largest array that a lane keeps from block to block."""
    kept = [t for name, t in program.var_defs.items() if program.alloc(name) in STORED and name not in besides]
    return max((array_bytes(physical(leaf)) for t in kept for leaf in t.tensor_leaves), default=0)


def largest_matrix(program: Program) -> int:
    """Bytes of the largest array, the same for all lanes, that code with a product of matrices is given in the loop."""
    sizes = [0]
    for op in (op for block in program.graph for op in program.primitives_in_loop(block)):
        code = op.code.typed
        if code is not None and "dot_general" in code.primitives:
            shared = (v for v in op.vars_in if program.alloc(v) is Alloc.SHARED)
            sizes += map(bytes_of, code.jaxpr.jaxpr.constvars)
            sizes += (array_bytes(physical(t)) for v in shared for t in program.var_defs[v].tensor_leaves)
    return max(sizes)


def has_inner_loops(program: Program) -> bool:
    """Whether any primitive that lanes come to has a loop of its own."""
    primitives = (op for block in program.graph for op in program.primitives_in_loop(block))
    return any(op.code.primitives & LOOPS for op in primitives)
