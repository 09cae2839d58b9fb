"""A lowered program -> whether each lane runs by itself, some in a gang, or all in XLA's loop over them; and why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, final

from hlobatch.analysis.machine_flow import repeated_blocks
from hlobatch.analysis.updates import taken_as_a_whole_by
from hlobatch.ir.physical import elements
from hlobatch.ir.program import Program
from hlobatch.ir.program import VariableAllocation as Alloc
from hlobatch.targets.work import Work


class Verdict(NamedTuple):
    """What is said of a program.

    Attributes:
        by_themselves: Whether lanes run code of their own, and not in XLA's loop.
        reason: Why, in words.
        is_gang: Whether several lanes run that code at once, in the vectors of a thread.
        few: Inputs of a batch up to which each lane runs by itself in any case, …
        many: … and from which it does, if there are such.
        few_in_loop: Whether that few lanes run in the loop after all, which calls LAPACK for them.
    """

    by_themselves: bool
    reason: str
    is_gang: bool = False
    few: int = 0
    many: int | None = None
    few_in_loop: bool = False

    def of_batch(self, size: Any) -> Verdict:
        """What is said of a batch, whose size may be symbolic."""
        if not isinstance(size, int) or (self.by_themselves and not self.is_gang):
            return self
        if size <= self.few and self.few_in_loop:
            return Verdict(False, "LAPACK is faster for few lanes")
        if size <= self.few:
            return Verdict(True, f"up to {self.few:,} lanes come to their end sooner one after the other")
        if self.many is not None and size >= self.many:
            return Verdict(True, f"a loop over {self.many:,} lanes or more would fetch their matrices in each turn")
        return self


@final
@dataclass(frozen=True)
class LaneCosts:
    """What work costs in a loop over all lanes and in a lane by itself, in operations on one number.

    Where lanes are in step, several of them are computed at a time, but blocks for more lanes than stand there; each
    element that is pushed, popped or found by index is moved by itself. Fitted to the workloads of
    ``benchmarks/kernels.py``.

    Attributes:
        vector: Lanes that vectors compute at a time.
        of_memory: Numbers that XLA's loop computes in the time in which a lane by itself computes one: each operation
            reads its operands from memory and writes its result. Mandelbrot, Collatz's numbers and a stiff equation,
            1,000 lanes each, take 0.9 times as long in it as lanes by themselves (2026-11).
        idle: Times as many lanes as have a use for it that it computes a block for, …
        idle_per_block: … for each block, if that is more. Lanes whose loops end after other turns are all over the
            program; where they recurse, they come together again. Loops of a user's over a list that grows take 3.4
            times as long so for its sum and its greatest item, with 12 blocks, and 10 times for a search, with 18.
        read: What it takes there to find an element by index; where it is one of a row, each of them.
        update: What it takes there to change one.
        saved: What it takes there to push or pop an element.
        product: What a multiplication of a contraction takes there; a library does many at a time.
        function: What a function of a float takes.
        own_product: What a multiplication of a contraction takes a lane by itself.
        own_place: What it takes a lane by itself to find an element, or to change it.
        own_saved: What it takes it to push or pop one.
        call: What a call of LAPACK takes there for each lane, besides its multiplications, …
        factored: … and a multiplication of a factorization, which is an operation of a lane by itself, too.
        gang_factored: The same in a gang, for each lane.
        own_call: What a factorization takes a lane by itself besides these.
        most_rows: Rows up to which matrices that are factored may have them: with 128, a Gaussian process takes a lane
            1.1 times as long as LAPACK does, with 256 1.6 times. As these, measured by
            ``python -m benchmarks.factorizations`` (2026-11).
        turn: What a turn of the loop takes besides what it computes, from which so few lanes as that would do in this
            time had better run by themselves: some dozens of kernels are started. Lanes do the work of a turn one after
            the other, and the loop at once.
        gain: Times as long as a lane by itself that lanes in step have to take, for which the code of a lane is made.
            The k-d tree, with 1.39, is 1.4 to 1.6 times as fast with it; NUTS on a funnel, with 1.26, gains nothing,
            and on a hierarchical model, with 1.22, it takes 1.8 times as long.
        gain_back: The same of a program that also goes back, in which lanes part: half of them go forward while others
            go back. The recursion of two calls in ``benchmarks/gradients.py``, with 1.2, is 7 times as fast.
        gang_number: What an operation on numbers takes a gang for each lane, …
        gang_function: … the same of a function that a library computes: 1 where that has none for vectors, …
        gang_wide: … one on an element of arrays, which XLA computes several of with what it has in registers, …
        gang_product: … and a multiplication of a contraction. With these three, the workloads that gangs are chosen
            for (``benchmarks/kernels.py``, ``benchmarks/nuts``) were fitted on two cores with vectors of 512 bits
            (2026-11).
        gang_blocks: Blocks up to which a gang is chosen: of more, nothing was measured.
        gang_elements: Elements up to which an array of each lane may have them: those of a gang lie in caches.
        gang_rows_of: The same of one of which lanes only read or change some elements at a time, as a sampler does with
            draws, and numbers for them: with 2,048, a draw of eight schools takes 0.75 of the processor's time of
            XLA's loop for 64 chains, and 0.98 for 1,024 (2026-11).
        gang_rows: Rows up to which a matrix may have them that is factored: of more, a lane by itself is as fast.
        few_of_a_gang: Inputs up to which one lane after the other is as fast as a gang, most of which is idle then, …
        few_of_arrays: … and the same of a gang that has more to do than to compute numbers.
        core_elements: Elements of 32 bits that the largest cache of a core holds. Where lanes have more in matrices of
            their own, the loop over all fetches them in each turn, and a lane by itself only once.
        own_matrix: Elements of one such matrix from which that counts. The loop of conjugate gradients takes 1.4 to 2.4
            times as long as lanes with matrices of 64 × 64 to 200 × 200 that fill the cache twice or more, half to 0.7
            as long where they do not, and the same with 40 × 40, on two cores with 2 MB each (2026-11).
        own_products: Multiplications for each of its elements up to which it is such a matrix. More are of one that
            all lanes share, whose result is long, as in a regression; chosen by judgement (2026-11).
        gang_gain: Times as long as a gang that XLA's loop has to take.
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
    gang_wide: float = 0.3
    gang_product: float = 0.03
    gang_blocks: int = 12
    gang_elements: int = 512
    gang_rows_of: int = 2_048
    gang_rows: int = 32
    few_of_a_gang: int = 4
    few_of_arrays: int = 12
    core_elements: int = 1 << 19
    own_matrix: int = 1 << 12
    own_products: int = 8
    gang_gain: float = 1.05

    @property
    def without_gangs(self) -> LaneCosts:
        """The same of a machine on which no gangs run."""
        return replace(self, gang_blocks=0)

    def in_step(self, work: Work, blocks: int, at_a_time: float) -> float:
        """The cost of one lane's work where lanes do the same, with so many blocks that they come to again and again.

        Args:
            work: The work.
            blocks: The blocks.
            at_a_time: Numbers that are computed in the time in which a lane by itself computes one.
        """
        idle = self.idle if work.saved or work.taped else max(self.idle, self.idle_per_block * blocks)
        functions = self.function * (work.functions + work.polynomials)
        numbers = work.whole + work.floats + work.wide + functions
        moved = self.read * work.reads + self.update * work.updates
        moved += self.saved * (work.saved + work.taped)
        numbers = numbers / at_a_time + self.call * work.calls + self.factored * work.factored
        return numbers * idle + self.product * work.products + moved

    def of_loop(self, work: Work, blocks: int) -> float:
        """The cost of one lane's work in XLA's loop over all lanes."""
        return self.in_step(work, blocks, self.of_memory)

    def of_lane(self, work: Work) -> float:
        """The cost of the work in a lane by itself."""
        wide = (work.wide + self.function * work.polynomials) / self.vector + self.own_product * work.products
        wide += self.own_call * work.calls + self.factored * work.factored_in_lane
        numbers = work.whole + work.floats + wide + self.function * work.functions
        return numbers + self.own_place * (work.reads + work.updates) + self.own_saved * (work.saved + work.taped)

    def judge(self, program: Program) -> Verdict:
        """How the lanes of a program with explicit stacks had better run, and few of them."""
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
        fetched = largest >= self.own_matrix and largest <= work.products <= self.own_products * largest
        few = int(self.turn / max(self.of_lane(work), 1))
        return many._replace(few=few, many=self.core_elements // largest + 1 if fetched else None)

    def _fit_a_gang(self, program: Program, largest: int) -> bool:
        """Whether the arrays of a gang's lanes lie in caches."""
        if largest <= self.gang_elements:
            return True
        as_a_whole = {v for op in program.ops if op.uses for v in taken_as_a_whole_by(op)}  # not what is made as zeros
        whole = max((elements(program.var_defs[v]) for v in as_a_whole & program.var_defs.keys()), default=0)
        return whole <= self.gang_elements and largest <= self.gang_rows_of

    def _of_many(self, work: Work, blocks: int, *, fits_gangs: bool) -> Verdict:
        """How lanes that do some work in each turn had better run, where there are many."""
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
        if fits_gangs and blocks <= self.gang_blocks and not work.taped and self.gain_of_gangs(work) >= self.gang_gain:
            has_arrays = work.wide + work.products + work.calls + work.saved + work.reads + work.updates > 0
            few = self.few_of_arrays if has_arrays else self.few_of_a_gang
            return Verdict(True, reason, is_gang=True, few=few, few_in_loop=work.calls > 0 and not is_worth_it)
        return Verdict(is_worth_it, f"a loop over all lanes would take {times:.1f} times as long")

    def of_gang(self, work: Work) -> float:
        """The cost of one lane's work in a gang, of which all lanes are busy."""
        numbers = work.whole + work.floats + self.function * work.polynomials
        cost = self.gang_number * numbers + self.gang_function * self.function * work.functions
        cost += self.gang_wide * work.wide + self.gang_product * work.products + self.gang_factored * work.factored
        return cost + self.read * work.reads + self.update * work.updates + self.own_saved * work.saved

    def gain_of_gangs(self, work: Work) -> float:
        """How many times as long as in gangs work takes in a loop over all lanes, where idle lanes are as many."""
        functions = self.function * (work.functions + work.polynomials)
        loop = (work.whole + work.floats + work.wide + functions) / self.of_memory
        loop += self.call * work.calls + self.factored * work.factored
        loop = loop * self.idle + self.product * work.products
        loop += self.read * work.reads + self.update * work.updates + self.saved * work.saved
        return loop / max(self.of_gang(work), 1e-9)


def largest_of_lanes(program: Program) -> int:
    """Elements of the largest variable of which each lane has its own."""
    own = [kind for v, kind in program.var_defs.items() if program.alloc(v) is not Alloc.SHARED]
    return max((elements(kind) for kind in own), default=0)
