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
    """The costs of work in XLA's loop over all lanes, in a lane by itself and in a gang, in operations on one number.

    In XLA's loop several lanes are computed at a time, but a block is also computed for lanes that are not at it, and
    each element that is pushed, popped or accessed by index is moved by itself. Fitted to the workloads of
    ``benchmarks/kernels.py``.

    Attributes:
        vector: Lanes that vectors compute at a time.
        of_memory: Numbers that XLA's loop computes in the time in which a lane by itself computes one: each operation
            reads its operands from memory and writes its result. Mandelbrot, Collatz's numbers and a stiff equation,
            1,000 lanes each, take 0.9 times as long in it as lanes by themselves (2026-11).
        idle: Lanes that a block of XLA's loop is computed for, per lane that is at it. The larger of this number and of
            the next one, times the number of blocks, is used.
        idle_per_block: The same ratio per block of the program. Lanes whose loops end after different numbers of turns
            are spread over all blocks; lanes that recurse come together again. A user's loops over a growing list take
            3.4 times as long for its sum and its greatest item, with 12 blocks, and 10 times for a search, with 18.
        read: The cost in XLA's loop of a read by index; for a row, of each of its elements.
        update: The cost in XLA's loop of an update by index.
        saved: The cost in XLA's loop of pushing or popping an element.
        product: The cost in XLA's loop of a multiplication in a contraction; a library does many at a time.
        function: The cost of a function of a float.
        own_product: The cost in a lane by itself of a multiplication in a contraction.
        own_matrix_product: The same cost if the matrix is the lane's own. XLA's loop, which fetches the matrices of all
            lanes in each turn, has no such advantage of many lanes as with a matrix that they share: conjugate
            gradients take it 1.0 to 1.2 times as long as lanes by themselves with 40 rows, 1.5 to 2.5 times with 64
            to 200, and up to 10 times if the matrices do not stay in a cache (2026-11).
        own_place: The cost in a lane by itself of a read or update by index.
        own_saved: The cost in a lane by itself of pushing or popping an element.
        call: The cost in XLA's loop of a call of LAPACK for each lane, besides its multiplications.
        factored: The cost of a multiplication in a factorization, in XLA's loop and in a lane by itself.
        gang_factored: The cost of such a multiplication for each lane of a gang.
        own_call: The cost of a factorization in a lane by itself, besides its multiplications.
        most_rows: Largest number of rows of a matrix that a kernel factors: with 128 rows, a Gaussian process takes a
            lane 1.1 times as long as LAPACK, with 256 rows 1.6 times. This and the costs of factorizations were
            measured by ``python -m benchmarks.factorizations`` (2026-11).
        turn: The cost of a turn of XLA's loop besides its computations, for starting some dozens of kernels. Batches
            whose lanes together cost less than this run by themselves.
        gain: The ratio of the cost of lanes in step to that of a lane by itself from which lanes run by themselves. The
            k-d tree, with a ratio of 1.39, is 1.4 to 1.6 times as fast then; NUTS on a funnel, with 1.26, gains
            nothing, and on a hierarchical model, with 1.22, it takes 1.8 times as long.
        gain_back: The same ratio for programs with tapes (reverse mode), whose lanes diverge: half of them go forward
            while others go back. The recursion of two calls in ``benchmarks/gradients.py``, with 1.2, is 7 times as
            fast by itself.
        gang_number: The cost of an operation on numbers, for each lane of a gang.
        gang_function: The cost of a library function, relative to ``function``, for each lane of a gang; 1 if the
            library has no vector functions.
        gang_wide: The cost of an operation on an element of an array, for each lane of a gang; XLA's loop computes
            several such operations without storing results between them.
        gang_product: The cost of a multiplication in a contraction, for each lane of a gang. This cost, ``gang_number``
            and ``gang_wide`` were fitted to the workloads that gangs are chosen for (``benchmarks/kernels.py``,
            ``benchmarks/nuts``) on two cores with vectors of 512 bits (2026-11).
        gang_blocks: Largest number of repeated blocks for which a gang is chosen; more were not measured.
        gang_elements: Largest number of elements of an array of a lane for which a gang is chosen, since the arrays of
            all its lanes have to stay in caches.
        gang_rows_of: The same limit for an array of which lanes only read or change some elements at a time, such as a
            sampler's draws and their random numbers: with 2,048 elements, a draw of eight schools takes 0.75 of the
            processor time of XLA's loop for 64 chains, and 0.98 for 1,024 (2026-11).
        gang_rows: Largest number of rows of a matrix that a gang factors; with more, a lane by itself is as fast.
        few_of_a_gang: Largest number of inputs for which lanes one after the other are as fast as a gang, most of whose
            lanes would be idle.
        few_of_arrays: The same number for programs with arrays, stacks or accesses by index.
    """

    vector: float = 8
    of_memory: float = 2.25
    idle: float = 2
    idle_per_block: float = 0.5
    read: float = 10
    update: float = 40
    saved: float = 7
    product: float = 0.06
    function: float = 20
    own_product: float = 0.09
    own_matrix_product: float = 0.05
    own_place: float = 1
    own_saved: float = 2
    call: float = 330
    factored: float = 1
    gang_factored: float = 0.5
    own_call: float = 130
    most_rows: int = 128
    turn: float = 20_000
    gain: float = 1.35
    gain_back: float = 1.0
    gang_number: float = 0.2
    gang_function: float = 0.2
    gang_wide: float = 0.1
    gang_product: float = 0.03
    gang_blocks: int = 12
    gang_elements: int = 512
    gang_rows_of: int = 2_048
    gang_rows: int = 32
    few_of_a_gang: int = 4
    few_of_arrays: int = 12

    @property
    def without_gangs(self) -> LaneCosts:
        """These costs for a machine on which no gangs run."""
        return replace(self, gang_blocks=0)

    def in_step(self, work: Work, blocks: int, at_a_time: float) -> float:
        """The cost of one lane's work if lanes run in step, with masked blocks.

        Args:
            work: The work.
            blocks: The number of repeated blocks (those on a cycle).
            at_a_time: Numbers that are computed in the time in which a lane by itself computes one.
        """
        idle = self.idle if work.saved or work.taped else max(self.idle, self.idle_per_block * blocks)
        moved = self.read * work.reads + self.update * work.updates
        moved += self.saved * (work.saved + work.taped)
        numbers = self._numbers_in_step(work, at_a_time) + self.call * work.calls + self.factored * work.factored
        return numbers * idle + self.product * work.products + moved

    def _numbers_in_step(self, work: Work, at_a_time: float) -> float:
        """The cost of the numbers that lanes in step compute: XLA fuses operations on long arrays into one loop."""
        numbers = work.whole + work.floats + self.function * (work.functions - work.wide_functions)
        wide = work.wide + self.function * (work.wide_functions + work.polynomials)
        return numbers / at_a_time + wide / self.vector

    def of_loop(self, work: Work, blocks: int) -> float:
        """The cost of one lane's work in XLA's loop over all lanes."""
        return self.in_step(work, blocks, self.of_memory)

    def of_lane(self, work: Work) -> float:
        """The cost of one lane's work in a lane by itself."""
        wide = (work.wide + self.function * work.polynomials) / self.vector
        wide += self.own_product * (work.products - work.own_products) + self.own_matrix_product * work.own_products
        wide += self.own_call * work.calls + self.factored * work.factored_in_lane
        numbers = work.whole + work.floats + wide + self.function * work.functions
        return numbers + self.own_place * (work.reads + work.updates) + self.own_saved * (work.saved + work.taped)

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
            if self.read * work.found > own:
                return Verdict(True, "a loop over all lanes would find each element of a lane's rows by itself")
            reason = "floats are computed without a stack, of several lanes at a time"
        else:
            times = self.in_step(work, blocks, self.vector) / own
            reason = f"lanes in step would take {times:.1f} times as long"
            if times >= (self.gain_back if work.taped else self.gain):
                return Verdict(True, reason)
        times = self.of_loop(work, blocks) / own
        is_worth_it = times >= (self.gain if work.calls else 1)
        if fits_gangs and blocks <= self.gang_blocks and not work.taped and self.is_worth_gangs(work):
            has_arrays = work.wide + work.products + work.calls + work.saved + work.reads + work.updates > 0
            few = self.few_of_arrays if has_arrays else self.few_of_a_gang
            return Verdict(True, reason, is_gang=True, few=few, few_in_loop=work.calls > 0 and not is_worth_it)
        return Verdict(is_worth_it, f"a loop over all lanes would take {times:.1f} times as long")

    def of_gang(self, work: Work) -> float:
        """The cost of one lane's work in a gang whose lanes are all busy."""
        numbers = work.whole + work.floats + self.function * work.polynomials
        cost = self.gang_number * numbers + self.gang_function * self.function * work.functions
        cost += self.gang_wide * work.wide + self.gang_product * work.products + self.gang_factored * work.factored
        return cost + self.read * work.reads + self.update * work.updates + self.own_saved * work.saved

    def is_worth_gangs(self, work: Work) -> bool:
        """Whether gangs cost no more than XLA's loop, if as few of its lanes are idle as of those that recurse."""
        return self.of_gang(work) <= self.of_loop(work, blocks=0)
