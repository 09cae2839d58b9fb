"""A program with explicit stacks -> which threads of a GPU run its lanes: one each, a warp each, or lanes that meet.

What a lane does is counted in operations that a thread does one after the other, once through all blocks that a lane
comes to again and again: by itself, and as one of 32 that divide its arrays. None of the three forms as it is now has
run on a card. In a trial on an H200 (2026-11, 17 workloads), whose lanes had a thread each, those whose blocks are
dear and alike were 1.5 to 5 times as fast where their warps met at each block (eight schools, funnel, stiff), others
slower; those of long vectors took 16 to 60 times as long as XLA's loop (networks, NUTS of 100 dimensions).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, final

from hlobatch import config
from hlobatch.analysis.call_frames import CallFrames
from hlobatch.analysis.cost import block_time, multiplications
from hlobatch.analysis.machine_flow import repeated_blocks
from hlobatch.ir.program import Program
from hlobatch.kernels.machine import LEAST_COST_OF_MEETING
from hlobatch.kernels.processors import MEETING, NVPTX, WARP, Processor
from hlobatch.kernels.text import MOST_ELEMENTS_UNROLLED
from hlobatch.kernels.types import NoKernelError
from hlobatch.targets.target import Form
from hlobatch.targets.work import FACTORED, FILLS, FUNCTIONS, equations_of

NAMES: Final[dict[str, Processor]] = {"thread": NVPTX, "meeting": MEETING, "warp": WARP}
"""What may be asked for by ``HLOBATCH_OWN_CODE``."""


def form_of(program: Program, rules: Forms) -> Form:
    """The form of lanes of a program: that which the environment asks for, or the one that is expected to win.

    Raises:
        NoKernelError: There is none of the name that is asked for.
    """
    if (name := config.own_code()) is None:
        return rules.of(program)
    if name not in NAMES:
        raise NoKernelError(f"HLOBATCH_OWN_CODE is {name!r}, and may be {', '.join(NAMES)}")
    return Form(NAMES[name], "HLOBATCH_OWN_CODE asks for it")


@final
@dataclass(frozen=True)
class Forms:
    """What the choice follows from. All are chosen by judgement, to fit the trial: none was measured by itself.

    Attributes:
        function: What a function of a float takes, in operations.
        meeting: What it takes that the threads of a warp meet.
        exchange: What it takes that they exchange a number, in each of five steps.
        meetings: How often they meet for each row of a matrix that is factored.
        gain: Times as many operations in a row as in a warp that a thread has to do for a warp to be chosen. A warp
            has a thirty-second of the lanes in flight, and waits no less for memory.
        alike: The share of the dearest block's operations that another one has to have for lanes to be apart.
    """

    function: float = 20
    meeting: float = 20
    exchange: float = 25
    meetings: float = 5
    gain: float = 4
    alike: float = 0.1

    def of(self, program: Program) -> Form:
        """The form of lanes of a program."""
        gain = self.gain_of_warps(program)
        if gain >= self.gain:
            return Form(WARP, f"a warp to each lane does {gain:.0f} times fewer operations in a row than a thread")
        if self.lanes_wait(program):
            return Form(MEETING, "a thread to each lane would wait for others of its warp at several dear blocks")
        return Form(NVPTX, "a thread to each lane computes numbers and small arrays, and seldom waits at dear blocks")

    def gain_of_warps(self, program: Program) -> float:
        """How many times as many operations in a row a thread does for a lane as each thread of a warp."""
        return self.operations(program, 1) / max(self.operations(program, WARP.threads_per_lane), 1)

    def lanes_wait(self, program: Program) -> bool:
        """Whether lanes are at several dear blocks at the same time."""
        calls, repeated = CallFrames(program), repeated_blocks(program)
        costs = sorted((block_time(calls, block) for block in program.graph if block.name in repeated), reverse=True)
        return len(costs) > 1 and costs[1] >= max(LEAST_COST_OF_MEETING, self.alike * costs[0])

    def operations(self, program: Program, threads: int) -> float:
        """Operations that one of the threads of a lane does, if there are so many."""
        repeated = repeated_blocks(program)
        blocks = (block for block in program.graph if block.name in repeated)
        codes = (op.code.typed for block in blocks for op in program.primitives_in_loop(block))
        return sum(self._of(e, threads) for code in codes if code is not None for e in equations_of(code.jaxpr.jaxpr))

    def _of_factors(self, equation: Any, threads: int) -> float:
        """The same of a factorization: rows come one after the other, and elements of a row at once."""
        (per_product, slower), (*batch, m, n) = FACTORED[equation.primitive.name], equation.outvars[0].aval.shape
        alone = per_product * slower * math.prod(batch) * m * n * equation.invars[0].aval.shape[-1]
        if threads == 1:
            return float(alone)
        return float(alone / min(threads, n) + self.meetings * math.prod(batch) * n * self.meeting)

    def _of(self, equation: Any, threads: int) -> float:
        """The same of an equation."""
        name, aval = equation.primitive.name, equation.outvars[0].aval
        if name in FACTORED:
            return self._of_factors(equation, threads)
        count = math.prod(getattr(aval, "shape", ()))
        each, terms = (self.function if name in FUNCTIONS else 0.0 if name in FILLS else 1.0), 1
        if name == "dot_general":
            terms = multiplications(equation) // max(count, 1)
        elif name.startswith(("reduce_", "arg")):
            terms = math.prod(equation.invars[0].aval.shape) // max(count, 1)
        if threads == 1 or count * terms <= MOST_ELEMENTS_UNROLLED:
            return each * count * terms
        if count > MOST_ELEMENTS_UNROLLED:
            return each * terms * -(-count // threads) + self.meeting
        if terms > MOST_ELEMENTS_UNROLLED:
            return count * (-(-terms // threads) + self.exchange)
        return each * count * terms
