"""A lowered program -> the decision, with a reason.

Lanes by themselves, lanes in gangs, or XLA's loop over all lanes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, final

from hlobatch.analysis.machine_flow import repeated_blocks
from hlobatch.analysis.updates import taken_as_a_whole_by
from hlobatch.ir.physical import elements
from hlobatch.ir.program import Program
from hlobatch.targets.profile import FORMS, Profile
from hlobatch.targets.rates import FITTED, IN_VECTORS, Rates, rates
from hlobatch.targets.work import Work, largest_of_lanes


class Verdict(NamedTuple):
    """The decision how the lanes of a program run.

    Attributes:
        by_themselves: Whether lanes run code of their own (a kernel), and not in XLA's loop.
        reason: The reason, in words.
        is_gang: Whether that code runs several lanes at once, in the vectors of a thread.
        few: Largest size of a batch for which each lane runs by itself whatever the other fields say.
        few_in_loop: Whether batches up to ``few`` run in XLA's loop instead, which calls LAPACK for them.
    """

    by_themselves: bool
    reason: str
    is_gang: bool = False
    few: int = 0
    few_in_loop: bool = False

    def of_batch(self, size: Any) -> Verdict:
        """The decision for a batch of a size; the decision itself if the size is symbolic."""
        if not isinstance(size, int) or (self.by_themselves and not self.is_gang):
            return self
        if size <= self.few and self.few_in_loop:
            return Verdict(False, "LAPACK is faster for few lanes")
        if size <= self.few:
            return Verdict(True, f"up to {self.few:,} lanes come to their end sooner one after the other")
        return self


@final
@dataclass(frozen=True)
class LaneCosts:
    """The costs of a lane's work in the three forms, and limits of what was tried.

    In XLA's loop several lanes are computed at a time, but a block is also computed for lanes that are not at it, and
    each element that is pushed, popped or accessed by index is moved by itself. The ratios and limits below were fitted
    to the workloads of ``benchmarks/`` in 2026-11, on the two cores of ``profiles/server.json``.

    Attributes:
        lane: The cost of each kind of work in a lane by itself, the unit of all costs.
        gang: The same in a gang whose lanes are all busy.
        loop: The same in XLA's loop, for each lane that a block is computed for.
        turn: The cost of a turn of XLA's loop besides its computations, for starting some dozens of kernels. Batches
            whose lanes together cost less than this run by themselves.
        idle: Lanes that a block of XLA's loop is computed for, per lane that is at it. The larger of this number and of
            the next one, times the number of blocks, is used.
        idle_per_block: The same ratio per block of the program. Lanes whose loops end after different numbers of turns
            are spread over all blocks; lanes that recurse come together again. A user's loops over a growing list take
            3.4 times as long for its sum and its greatest item, with 12 blocks, and 10 times for a search, with 18.
        gain: The ratio of the cost of lanes in step to that of a lane by itself from which lanes run by themselves. The
            k-d tree, with a ratio of 1.39, is 1.4 to 1.6 times as fast then; NUTS on a funnel, with 1.26, gains
            nothing, and on a hierarchical model, with 1.22, it takes 1.8 times as long.
        gain_back: The same ratio for programs with tapes (reverse mode), whose lanes diverge: half of them go forward
            while others go back. The recursion of two calls in ``benchmarks/gradients.py``, with 1.2, is 7 times as
            fast by itself.
        most_rows: Largest number of rows of a matrix that a kernel factors: with 128 rows, a Gaussian process takes a
            lane 1.1 times as long as LAPACK, with 256 rows 1.6 times (``python -m benchmarks.factorizations``).
        gang_blocks: Largest number of repeated blocks for which a gang is chosen; more were not measured.
        gang_elements: Largest number of elements of an array of a lane for which a gang is chosen, since the arrays of
            all its lanes have to stay in caches.
        gang_rows_of: The same limit for an array of which lanes only read or change some elements at a time, such as a
            sampler's draws and their random numbers: with 2,048 elements, a draw of eight schools takes 0.75 of the
            processor time of XLA's loop for 64 chains, and 0.98 for 1,024.
        gang_rows: Largest number of rows of a matrix that a gang factors; with more, a lane by itself is as fast.
        gang_lanes: Lanes of a gang; half as many if they have arrays. A gang computes for all of them, busy or not.
        most_few: Largest number of inputs that run one after the other though many would run in gangs: with more, the
            times of both are hardly known to differ.
    """

    lane: Rates = FITTED["lane"]
    gang: Rates = FITTED["gang"]
    loop: Rates = FITTED["loop"]
    turn: float = 20_000
    idle: float = 2
    idle_per_block: float = 0.5
    gain: float = 1.35
    gain_back: float = 1.0
    most_rows: int = 128
    gang_blocks: int = 12
    gang_elements: int = 512
    gang_rows_of: int = 2_048
    gang_rows: int = 32
    gang_lanes: int = 64
    most_few: int = 12

    @classmethod
    def of(cls, profile: Profile) -> LaneCosts:
        """The costs on a machine, from its measurements."""
        lane, gang, loop = (rates(form, profile) for form in FORMS)
        return cls(lane, gang, loop, cls.turn * profile.turns_slower, gang_lanes=profile.gang_lanes)

    @property
    def without_gangs(self) -> LaneCosts:
        """These costs for a machine on which no gangs run."""
        return replace(self, gang_blocks=0)

    @property
    def without_vector_functions(self) -> LaneCosts:
        """These costs for a machine whose library has no functions of vectors: a gang computes lane by lane."""
        return replace(self, gang=self.gang._replace(function=self.lane.function, wide_function=self.lane.function))

    def of_lane(self, work: Work) -> float:
        """The cost of one lane's work in a lane by itself."""
        return self.lane.of(replace(work, factored=work.factored_in_lane))

    def of_loop(self, work: Work, blocks: int) -> float:
        """The cost of one lane's work in XLA's loop, with masked blocks.

        Args:
            work: The work.
            blocks: The number of repeated blocks (those on a cycle).
        """
        idle = self.idle if work.saved or work.taped else max(self.idle, self.idle_per_block * blocks)
        return self.loop.of_computed(work) * idle + self.loop.of_moved(work)

    def in_step(self, work: Work, blocks: int) -> float:
        """The cost as of ``of_loop`` if operands and results stayed in registers, as in lanes that diverge little."""
        ratio = IN_VECTORS / self.loop.number
        kept = self.loop._replace(number=IN_VECTORS, function=ratio * self.loop.function)
        return replace(self, loop=kept).of_loop(work, blocks)

    def judge(self, program: Program) -> Verdict:
        """The decision for a program with explicit stacks, for batches of any size."""
        blocks = len(repeated_blocks(program))
        if not blocks:
            return Verdict(False, "no lane goes back to a block")
        work = Work.of(program)
        if work.rows > self.most_rows:
            return Verdict(False, f"with more than {self.most_rows} rows, LAPACK is faster")
        largest = largest_of_lanes(program)
        fits_gangs = self._fit_a_gang(program, largest) and work.rows <= self.gang_rows
        many = self._of_many(work, blocks, fits_gangs=fits_gangs)
        if many.is_gang:
            return many
        return many._replace(few=int(self.turn / max(self.of_lane(work), 1)))

    def _fit_a_gang(self, program: Program, largest: int) -> bool:
        """Whether the arrays of a gang's lanes are small enough for caches."""
        if largest <= self.gang_elements:
            return True
        as_a_whole = {v for op in program.ops if op.uses for v in taken_as_a_whole_by(op)}  # not initial zeros
        whole = max((elements(program.var_defs[v]) for v in as_a_whole & program.var_defs.keys()), default=0)
        return whole <= self.gang_elements and largest <= self.gang_rows_of

    def _of_many(self, work: Work, blocks: int, *, fits_gangs: bool) -> Verdict:
        """The decision for batches of many lanes, from the work of a lane in each turn."""
        own = max(self.of_lane(work), 1)
        if not work.saved and not work.reads + work.updates:
            reason = "nothing but numbers is computed, of several lanes at a time"
        elif not work.saved and work.of_floats > work.whole:
            if self.loop.read * work.found > own:
                return Verdict(True, "a loop over all lanes would find each element of a lane's rows by itself")
            reason = "floats are computed without a stack, of several lanes at a time"
        else:
            times = self.in_step(work, blocks) / own
            reason = f"lanes in step would take {times:.1f} times as long"
            if times >= (self.gain_back if work.taped else self.gain):
                return Verdict(True, reason)
        times = self.of_loop(work, blocks) / own
        is_worth_it = times >= (self.gain if work.calls else 1)
        if fits_gangs and blocks <= self.gang_blocks and not work.taped and self.is_worth_gangs(work):
            few = self.few_for_a_gang(work)
            return Verdict(True, reason, is_gang=True, few=few, few_in_loop=work.calls > 0 and not is_worth_it)
        return Verdict(is_worth_it, f"a loop over all lanes would take {times:.1f} times as long")

    def is_worth_gangs(self, work: Work) -> bool:
        """Whether gangs cost no more than XLA's loop does if as few of its lanes are idle as can be."""
        return self.gang.of(work) <= self.of_loop(work, blocks=0)

    def few_for_a_gang(self, work: Work) -> int:
        """Largest number of inputs that one lane after the other finishes as soon as a gang, with most lanes idle."""
        has_arrays = work.wide + work.products + work.calls + work.saved + work.reads + work.updates > 0
        lanes = self.gang_lanes // (2 if has_arrays else 1)
        return min(self.most_few, int(lanes * self.gang.of(work) / max(self.of_lane(work), 1)))
