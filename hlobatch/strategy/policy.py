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
        lanes: Inputs in flight at once, or None for all.
        enough: Lanes that keep the machine busy. Of ``lanes``, a quarter of the inputs are in flight at most, so that
            each lane takes several in turn, but never fewer than ``enough``.
        queue_inputs: Per lane, from which a queue pays.
        rounds: Turns between two tests of whether anyone has something left to do.
        share: One in so many lanes has to be done before those that are take new inputs.
        threads: Parts of a batch that run side by side, at most.
        portion: Inputs that are worth a thread.
        reason: Why that form and that schedule, in words.
        why_so_many: Why so many lanes, in words.
        undivided: Why a batch is never divided among threads, in words, or nothing.
    """

    form: str
    schedule: str
    lanes: int | None
    enough: int
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
        lanes = min(self.lanes, max(self.enough, inputs // 4))
        return inputs if inputs < self.queue_inputs * lanes else lanes

    def threads_for(self, inputs: int) -> int:
        """Number of parts into which a batch of ``inputs`` is divided."""
        return max(1, min(self.threads, inputs // self.portion))


class Judgement(Enum):
    """The kind of a program, as far as it decides how the program runs."""

    ONCE = "no lane goes back to a block, so that each runs once"
    ONCE_IF_WANTED = "no lane goes back to a block, so that each runs once, if any lane comes there"
    EXPENSIVE = "too dear to run every block each time"
    CHEAP = "cheap enough to run every block each time"


@dataclass(frozen=True, eq=False)
class Case:
    """The values that the conditions of the rules read.

    Attributes:
        properties: What is known of the program.
        target: Where it runs.
        form: Dispatch form, once it is known.
        schedule: Which block runs next, once that is known.
    """

    properties: Properties
    target: Target
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
    def is_swept(self) -> bool:
        """Whether all blocks run in each turn."""
        return self.form in SWEEPS

    @property
    def rounds(self) -> int:
        """Turns over all blocks between two tests of whether any lane has work left.

        There are several, since such a test starts a kernel, if no block makes one anyway because it goes on to itself.
        """
        tests_are_dear = self.properties.repeats and not self.properties.has_a_block_that_turns
        return self.target.loop.turns_per_test if tests_are_dear else 1

    @property
    def worth_a_step(self) -> int:
        """Number of lanes whose work in a turn takes as long as starting the turn."""
        return round(self.target.loop.step_operations / max(self.properties.work, 1.0))


JUDGEMENTS: Final[tuple[tuple[Judgement, Callable[[Case], bool]], ...]] = (
    (Judgement.ONCE, lambda c: not c.properties.repeats and c.is_short),
    (Judgement.ONCE_IF_WANTED, lambda c: not c.properties.repeats),
    (Judgement.EXPENSIVE, lambda c: not c.is_cheap),
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
    Judgement.CHEAP: Order("sweep", "sweep"),
}
"""The form and schedule for each kind of program, where the user leaves them open.

A sweep masks all blocks and tests nothing, and a guarded one tests each block by itself. A chain runs the block whose
lanes have waited the longest for the time that it takes.
"""


class _Flown(NamedTuple):
    """A rule for the number of lanes in flight, with its reason."""

    reason: str
    holds: Callable[[Case], bool]
    flight: Callable[[Case], Flight]


FLIGHTS: Final = (
    _Flown(
        "few, since stacks are pushed and popped lane by lane",
        lambda c: c.form == "sweep" and c.properties.has_stacks,
        lambda c: c.target.loop.swept_stack_lanes,
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


def policy_for(properties: Properties, options: Options, target: Target) -> Policy:
    """How batches of a program run.

    Args:
        properties: What is known of the program.
        options: What the user asked for; what is ``"auto"`` or None is chosen.
        target: What it runs on.
    """
    options, costs = options.in_loop, target.loop
    case = Case(properties, target)
    judgement = _judged(case, options)
    case = replace(case, **_ordered(options, judgement)._asdict())
    flight, why_so_many = _in_flight(case, options)
    undivided = _undivided(properties, options, target)
    is_auto = options.dispatch == options.schedule == "auto"
    return Policy(
        form=case.form,
        schedule=case.schedule,
        lanes=flight.most if options.lanes is not None or options.dispatch == "auto" else None,
        enough=flight.enough,
        queue_inputs=_queue_inputs(case, options),
        rounds=case.rounds if case.form == "sweep" else 1,
        share=costs.cheap_lanes_per_done if case.is_cheap else costs.lanes_per_done,
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
    most, enough = rule.flight(case)
    if costs.profile.busy_lanes > max(most, enough):
        return Flight(costs.profile.busy_lanes, costs.profile.busy_lanes), "as many as keep an accelerator busy"
    return Flight(max(most, enough), enough), rule.reason


def _queue_inputs(case: Case, options: Options) -> float:
    """Inputs per lane from which a queue pays; one where the user asked for lanes."""
    if options.lanes:
        return 1
    costs = case.target.loop
    if case.properties.is_much_taken_along(costs.handed_over_elements_per_operation):
        return costs.queue_inputs_where_much_is_handed_over
    return costs.queue_inputs_per_lane


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
