"""The policy of a program, from its properties, the target and the user's options: how batches of any size run.

Three tables decide, in each of which the first rule whose condition holds applies: the kind of program (`JUDGEMENTS`),
the blocks that run next in such a program (`ORDERS`), and the number of lanes in flight (`FLIGHTS`). The user's options
take precedence. ``docs/design.md`` has the measurements.

References:
    Radul et al. (2020), section 2, on the earliest block and on "more refined heuristics".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, NamedTuple

from hlobatch.lowering.turns.dispatch import SWEEPS
from hlobatch.strategy.options import Options
from hlobatch.strategy.properties import Properties
from hlobatch.targets.loop import Flight
from hlobatch.targets.target import Target


@dataclass(frozen=True)
class Policy:
    """The decisions on how batches of a program run, whatever their size.

    Attributes:
        form: Dispatch form, one of ``lowering.turns.dispatch.FORMS``.
        schedule: ``"earliest"``, ``"most_lanes"``, ``"cost"`` or ``"sweep"``.
        lanes: Largest number of inputs in flight; None for all inputs.
        enough: Lanes that keep the machine busy. At most a quarter of the inputs are in flight, so that each lane
            takes several in turn, but no fewer than ``enough``.
        multiple: The number of lanes is a multiple of this, so that vectors are full.
        queue_inputs: Inputs per lane from which a queue pays.
        rounds: Turns between two tests of whether any lane has work left.
        share: Lanes that are done take new inputs once 1/share of all lanes are done. With 1, that is all lanes,
            and the inputs are divided evenly into rounds.
        threads: Largest number of parts of a batch that run at the same time.
        portion: Number of inputs that is worth a thread.
        reason: Why this form and schedule, in words.
        why_so_many: Why this number of lanes, in words.
        undivided: Why a batch is never divided among threads, in words; empty if it may be.
    """

    form: str
    schedule: str
    lanes: int | None
    enough: int
    multiple: int
    queue_inputs: float
    rounds: int
    share: int
    threads: int
    portion: int
    reason: str
    why_so_many: str
    undivided: str = ""

    def lanes_for(self, inputs: int) -> int:
        """Number of lanes in flight for a batch of ``inputs``."""
        if self.lanes is None:
            return inputs
        lanes = min(self.lanes, max(self.enough, inputs // 4 // self.multiple * self.multiple))
        if inputs < self.queue_inputs * lanes:
            return inputs
        return -(-inputs // -(-inputs // lanes)) if self.share == 1 else lanes

    def threads_for(self, inputs: int) -> int:
        """Number of parts into which a batch of ``inputs`` is divided."""
        return max(1, min(self.threads, inputs // self.portion))


class Judgement(Enum):
    """The kind of a program, as far as it decides how the program runs."""

    ONCE = "no lane goes back to a block, so that each runs once"
    ONCE_IF_WANTED = "no lane goes back to a block, so that each runs once, if any lane comes there"
    EXPENSIVE = "too dear to run every block each time"
    WITH_STACKS = "cheap, but with stacks, which are pushed and popped lane by lane"
    PASSING_BY = "cheap, but a lane passes most blocks by"
    CHEAP = "cheap enough to run every block each time"


@dataclass(frozen=True, eq=False)
class Case:
    """The values that the conditions of the rules read.

    Attributes:
        properties: The properties of the program.
        target: The machine that it runs on.
        one_kernel: Whether the run is compiled to one kernel.
        form: The dispatch form, once decided.
        schedule: The schedule, once decided.
    """

    properties: Properties
    target: Target
    one_kernel: bool
    form: str = ""
    schedule: str = ""

    @property
    def is_cheap(self) -> bool:
        """Whether running every block in each turn costs little."""
        return self.properties.work <= self.target.loop.cheap_operations and not self.properties.has_inner_loops

    @property
    def is_short(self) -> bool:
        """Whether running every block once costs little, or there is just one block."""
        return self.is_cheap or self.properties.blocks == 1

    @property
    def passes_by(self) -> bool:
        """Whether a turn over all blocks does many times the work that its lanes need."""
        return self.properties.excess_of_a_sweep >= self.target.loop.sweep_excess_factor

    @property
    def is_swept(self) -> bool:
        """Whether all blocks run in each turn."""
        return self.form in SWEEPS

    @property
    def rounds(self) -> int:
        """Turns over all blocks between two tests of whether any lane has work left.

        There are several if the test starts a kernel, and no block makes such a test anyway because it is its own
        successor.
        """
        tests_are_dear = self.properties.repeats and not self.one_kernel and not self.properties.has_a_block_that_turns
        return self.target.loop.turns_per_test if tests_are_dear else 1

    @property
    def worth_a_step(self) -> int:
        """Number of lanes whose work in a turn takes as long as starting the turn."""
        return round(self.target.loop.step_operations / max(self.properties.work, 1.0))


JUDGEMENTS: Final[tuple[tuple[Judgement, Callable[[Case], bool]], ...]] = (
    (Judgement.ONCE, lambda c: not c.properties.repeats and c.is_short),
    (Judgement.ONCE_IF_WANTED, lambda c: not c.properties.repeats),
    (Judgement.EXPENSIVE, lambda c: not c.is_cheap),
    (Judgement.WITH_STACKS, lambda c: c.one_kernel and c.properties.has_stacks),
    (Judgement.PASSING_BY, lambda c: c.one_kernel and c.passes_by),
    (Judgement.CHEAP, lambda _: True),
)
"""The kind of a program, by the first condition that holds."""


class Order(NamedTuple):
    """The dispatch form and the schedule."""

    form: str
    schedule: str


ORDERS: Final = {
    Judgement.ONCE: Order("sweep", "sweep"),
    Judgement.ONCE_IF_WANTED: Order("guarded", "sweep"),
    Judgement.EXPENSIVE: Order("chain", "cost"),
    Judgement.WITH_STACKS: Order("chain", "most_lanes"),
    Judgement.PASSING_BY: Order("chain", "most_lanes"),
    Judgement.CHEAP: Order("sweep", "sweep"),
}
"""The form and schedule for each kind of program, where the user leaves them open.

A sweep masks all blocks and tests nothing, and a guarded one tests each block by itself. A chain runs the block with
the most lanes, if a test costs nothing, or the block whose lanes have waited the longest relative to its time.
"""


class _Flown(NamedTuple):
    """A rule for the number of lanes in flight, with its reason."""

    reason: str
    holds: Callable[[Case], bool]
    flight: Callable[[Case], Flight]


FLIGHTS: Final = (
    _Flown(
        "as many as fill vectors and share the smallest cache",
        lambda c: c.one_kernel and c.schedule == "most_lanes",
        lambda c: c.target.loop.kernel_most_lanes(c.target.vector),
    ),
    _Flown(
        "as many as LLVM unrolls a loop over",
        lambda c: c.one_kernel and c.form == "sweep" and c.properties.has_stacks,
        lambda c: c.target.loop.kernel_stack_lanes,
    ),
    _Flown(
        "few, since stacks are pushed and popped lane by lane",
        lambda c: c.form == "sweep" and c.properties.has_stacks,
        lambda c: c.target.loop.swept_stack_lanes,
    ),
    _Flown(
        "as many as fill vectors while products stay in the smallest cache",
        lambda c: c.one_kernel and not c.is_cheap and not c.is_swept,
        lambda c: c.target.loop.kernel_dear_lanes,
    ),
    _Flown(
        "few, which end nearly together, since there is no kernel to start",
        lambda c: c.one_kernel and c.is_cheap and c.is_swept,
        lambda c: c.target.loop.kernel_lanes,
    ),
    _Flown(
        "as many as stay in the cache",
        lambda c: c.is_cheap and c.form == "sweep",
        lambda c: Flight(c.target.loop.swept_lanes, min(c.target.loop.swept_lanes, c.worth_a_step)),
    ),
    _Flown(
        "as many as stay in the cache",
        lambda c: c.is_cheap and c.is_swept,
        lambda c: Flight(c.target.loop.swept_lanes, c.target.loop.lanes.enough),
    ),
    _Flown(
        "as many as are worth starting a block's kernels for",
        lambda c: c.form == "sweep",
        lambda c: Flight(c.target.loop.lanes.most, min(c.target.loop.lanes.most, c.worth_a_step)),
    ),
    _Flown("as many as keep kernels and vectors busy", lambda _: True, lambda c: c.target.loop.lanes),
)
"""The number of lanes in flight, by the first rule that holds."""


def policy_for(properties: Properties, options: Options, target: Target, *, one_kernel: bool = False) -> Policy:
    """The policy of a program.

    Args:
        properties: The properties of the program.
        options: The user's options; ``"auto"`` or None leaves a decision open.
        target: The machine that it runs on.
        one_kernel: Whether the policy is for runs that are compiled to one kernel.
    """
    options, costs = options.in_loop, target.loop
    case = Case(properties, target, one_kernel)
    judgement = _judged(case, options)
    case = replace(case, **_ordered(options, judgement)._asdict())
    flight, why_so_many = _in_flight(case, options)
    undivided = _undivided(properties, options, target)
    is_free = one_kernel and not case.is_cheap and options.lanes is None
    are_alike = is_free and properties.turns_of_all >= costs.alike_turns
    is_auto = options.dispatch == options.schedule == "auto"
    return Policy(
        form=case.form,
        schedule=case.schedule,
        lanes=flight.most if options.lanes is not None or options.dispatch == "auto" else None,
        enough=flight.enough,
        multiple=costs.vectors * target.vector if one_kernel else 1,
        queue_inputs=_queue_inputs(case, options, are_alike=are_alike),
        rounds=case.rounds if case.form == "sweep" else 1,
        share=1 if are_alike else costs.cheap_lanes_per_done if case.is_cheap else costs.lanes_per_done,
        threads=_threads(properties, options, target, undivided),
        portion=_portion(properties, options, target),
        reason=said_of(properties, judgement.value) if is_auto else "as asked for",
        why_so_many=why_so_many,
        undivided=undivided,
    )


def said_of(properties: Properties, judgement: str) -> str:
    """A reason, with the number of operations that it depends on."""
    return f"{properties.work:.0f} operations and elements per lane: {judgement}"


def _judged(case: Case, options: Options) -> Judgement:
    """The kind of the program; lanes that the user asked for take new inputs, so that no block runs just once."""
    once = (Judgement.ONCE, Judgement.ONCE_IF_WANTED)
    rules = JUDGEMENTS if options.lanes is None else [rule for rule in JUDGEMENTS if rule[0] not in once]
    return next(judgement for judgement, holds in rules if holds(case))


def _ordered(options: Options, judgement: Judgement) -> Order:
    """The form and schedule that the user asked for; if only one of them, with a suitable other one."""
    form, schedule = options.dispatch, options.schedule
    if form == schedule == "auto":
        return ORDERS[judgement]
    if form == "auto" and schedule == "sweep":
        is_dear = judgement in (Judgement.EXPENSIVE, Judgement.ONCE_IF_WANTED)
        return Order("guarded" if is_dear else "sweep", schedule)
    if form == "auto":
        return Order("chain", schedule)
    if schedule == "auto":
        return Order(form, "sweep" if form in SWEEPS else "earliest")
    return Order(form, schedule)


def _in_flight(case: Case, options: Options) -> tuple[Flight, str]:
    """The numbers of lanes in flight, and why."""
    costs, properties = case.target.loop, case.properties
    if options.lanes is not None:
        return Flight(options.lanes, options.lanes), "as many as asked for"
    if options.dispatch == "auto" and not properties.repeats:
        most = max(costs.lanes.most, costs.once_bytes // max(1, properties.largest_computed))
        return Flight(most, most), "as many as there is memory for"
    rule = next(rule for rule in FLIGHTS if rule.holds(case))
    (most, enough), reason = rule.flight(case), rule.reason
    if case.one_kernel and case.schedule == "most_lanes" and most * properties.largest_kept > costs.kernel_bytes:
        most, reason = enough, "as many as fill vectors, of which each has much to itself"
    if costs.profile.busy_lanes > max(most, enough):
        return Flight(costs.profile.busy_lanes, costs.profile.busy_lanes), "as many as keep an accelerator busy"
    return Flight(max(most, enough), enough), reason


def _queue_inputs(case: Case, options: Options, *, are_alike: bool) -> float:
    """Inputs per lane from which a queue pays; 1 if the user asked for a number of lanes."""
    if options.lanes:
        return 1
    costs, is_dear = case.target.loop, case.one_kernel and not (case.is_cheap or are_alike)
    if case.properties.is_much_taken_along(costs.handed_over_elements_per_operation):
        return costs.queue_inputs_where_much_is_handed_over
    return costs.kernel_queue_inputs_per_lane if is_dear else costs.queue_inputs_per_lane


def _undivided(properties: Properties, options: Options, target: Target) -> str:
    """Why a batch is not divided on a machine with several threads, in words; empty if it may be."""
    if not target.divides:
        return ""
    return properties.library_called or (
        "" if options.threads else properties.much_handed_over(target.loop.handed_over_elements_per_operation)
    )


def _threads(properties: Properties, options: Options, target: Target, undivided: str) -> int:
    """Largest number of parts of a batch that run at the same time."""
    if undivided:
        return 1
    threads = options.threads or (target.threads if properties.repeats or properties.has_inner_loops else 1)
    return min(threads, options.lanes or threads)


def _portion(properties: Properties, options: Options, target: Target) -> int:
    """Number of inputs that is worth a thread."""
    if options.threads:
        return 1
    costs = target.loop
    worth = costs.recursive if properties.has_stacks else costs.looping
    least = max(worth.inputs, costs.matrix_inputs) if properties.largest_matrix >= costs.matrix_bytes else worth.inputs
    return max(least, round(costs.thread_operations(worth) / max(properties.work, 1.0)))
