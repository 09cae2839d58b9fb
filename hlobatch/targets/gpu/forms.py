"""A program with explicit stacks -> the threads of a GPU that run its lanes: one each, a warp each, or lanes that meet.

The choice compares the number of sequential operations of a thread in all repeated blocks (those on a cycle): if it
runs the lane by itself, and if it is one of 32 threads that divide the lane's arrays. None of the forms as it is
now has run on a card. In a trial on an H200 (2026-11, jax 0.11, 17 workloads), whose lanes had a thread each, those
whose blocks are dear and alike were 1.5 to 5 times as fast where their warps met at each block (eight schools, funnel,
stiff), others slower; those of long vectors took 16 to 60 times as long as XLA's loop (networks, NUTS of 100
dimensions). ``times_of_loop`` is the expected time of a thread to a lane.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, final

from hlobatch import config
from hlobatch._jax import Equation
from hlobatch.analysis.call_frames import CallFrames
from hlobatch.analysis.cost import block_time, multiplications
from hlobatch.analysis.machine_flow import repeated_blocks
from hlobatch.ir.ops import Op, PrimOp
from hlobatch.ir.program import Program
from hlobatch.kernels.machine import LEAST_COST_OF_MEETING
from hlobatch.kernels.processors import CROWDED, IN_TURN, MEETING, NVPTX, WARP, WARP_IN_TURN, Processor
from hlobatch.kernels.text import MOST_ELEMENTS_UNROLLED
from hlobatch.kernels.types import NoKernelError
from hlobatch.targets.gpu.errands import is_errand
from hlobatch.targets.target import Form
from hlobatch.targets.work import FACTORED, FILLS, FUNCTIONS, equations_of

NAMES: Final[dict[str, Processor]] = {"thread": NVPTX, "meeting": MEETING, "crowded": CROWDED, "warp": WARP}
IN_TURN_NAME: Final = "in_turn"
"""The forms that ``HLOBATCH_OWN_CODE`` may name."""


def form_of(program: Program, rules: Forms) -> Form:
    """The form of lanes' code for a program: the one that the environment names, else the one expected to be fastest.

    Raises:
        NoKernelError: The environment names no form.
    """
    if (name := config.own_code()) is None:
        return rules.of(program)
    if name == IN_TURN_NAME:
        return rules.in_turn(program)
    if name not in NAMES:
        raise NoKernelError(f"HLOBATCH_OWN_CODE is {name!r}, and may be {', '.join((*NAMES, IN_TURN_NAME))}")
    return Form(NAMES[name], "HLOBATCH_OWN_CODE asks for it")


def _unless_errand(op: Op) -> tuple[Op, ...]:
    return () if isinstance(op, PrimOp) and is_errand(op) else (op,)


def _repeated_equations(program: Program) -> Iterator[Any]:
    """The equations in all repeated blocks."""
    repeated = repeated_blocks(program)
    for block in program.graph:
        for op in program.primitives_in_loop(block) if block.name in repeated else ():
            if (code := op.code.typed) is not None:
                yield from equations_of(code.jaxpr.jaxpr)


def _is_looped(equation: Equation) -> bool:
    """Whether an equation is a product, a factorization or a function of arrays too long to be unrolled."""
    name: str = equation.primitive.name
    shape: tuple[int, ...] = getattr(equation.outvars[0].aval, "shape", ())
    if name == "dot_general":
        return multiplications(equation) > MOST_ELEMENTS_UNROLLED * max(math.prod(shape), 1)
    if name in FACTORED:
        return max(shape) > MOST_ELEMENTS_UNROLLED
    return name in FUNCTIONS and math.prod(shape) > MOST_ELEMENTS_UNROLLED


@final
@dataclass(frozen=True)
class Forms:
    """The constants of the choice of a form.

    ``turn`` and ``looped`` are fitted to the trial. The others were chosen by judgement; none was measured by itself.

    Attributes:
        function: The cost of a function of a float, in operations.
        meeting: The cost of a barrier of a warp.
        exchange: The cost of each of the five exchanges that join a sum over a warp.
        meetings: Barriers for each row of a matrix that is factored.
        gain: The ratio of sequential operations of one thread to those of a warp from which a warp is chosen. With
            warps only a thirty-second of the lanes are in flight, and they wait no less for memory.
        alike: The share of the dearest block's cost from which a second block counts as dear too, so that lanes at
            different blocks wait for each other.
        turn: Sequential operations of a thread that take as long as XLA's loop takes for the same turn: 1.46 * 32 *
            1,046, since eight schools took 14.5 ms and in XLA's loop 21.1, with 1,046 operations at which each of 32
            lanes waits for the others. It gives 9.0 for continuation, which was 10.3 times as fast, and 1.8 for the
            funnel, which was 3.7 times as fast.
        looped: The same for operations in loops over arrays that are not unrolled, which XLA divides among all threads
            of the card: the geometric mean, over the six workloads that have more than a thousand, of such operations
            times the measured ratio (stiff 1,024 and 0.19, quadrature 2,560 and 0.27, tree search 7,744 and 0.062, tree
            network 9,472 and 0.056, NUTS of 100 dimensions 10,100 and 0.027, neural ODE 21,504 and 0.017).
    """

    function: float = 20
    meeting: float = 20
    exchange: float = 25
    meetings: float = 5
    gain: float = 4
    alike: float = 0.1
    turn: float = 49_000
    looped: float = 390

    def of(self, program: Program) -> Form:
        """The form of lanes' code that is expected to be fastest for a program."""
        gain = self.gain_of_warps(program)
        if gain >= self.gain:
            return Form(WARP, f"a warp to each lane does {gain:.0f} times fewer operations in a row than a thread")
        if self.lanes_wait(program):
            return Form(MEETING, "a thread to each lane would wait for others of its warp at several dear blocks")
        return Form(NVPTX, "a thread to each lane computes numbers and small arrays, and seldom waits at dear blocks")

    def in_turn(self, program: Program) -> Form:
        """The form in which XLA computes some primitives, in turn with threads or warps that run all others."""
        rest = program.graph.map_blocks(lambda block: block.expand_instructions(_unless_errand))
        gain = self.gain_of_warps(program.replace(graph=rest))
        processor = WARP_IN_TURN if gain >= self.gain else IN_TURN
        return Form(processor, "HLOBATCH_OWN_CODE asks that XLA computes long products, in turn with a kernel")

    def gain_of_warps(self, program: Program) -> float:
        """The ratio of sequential operations of a single thread to those of each thread of a warp."""
        return self.operations(program, 1) / max(self.operations(program, WARP.threads_per_lane), 1)

    def lanes_wait(self, program: Program) -> bool:
        """Whether a program has several dear blocks, so that lanes of a warp may be at different ones."""
        calls, repeated = CallFrames(program), repeated_blocks(program)
        costs = sorted((block_time(calls, block) for block in program.graph if block.name in repeated), reverse=True)
        return len(costs) > 1 and costs[1] >= max(LEAST_COST_OF_MEETING, self.alike * costs[0])

    def times_of_loop(self, program: Program) -> float:
        """How many times as fast as XLA's loop a thread to each lane is expected to be.

        Where lanes wait at several dear blocks, each waits for the operations of all others of its warp. Stacks and
        branches are not counted: programs whose blocks are cheap, for which they are most of the time, were 5 to 89
        times as fast as the loop.
        """
        looped = sum(self._of(e, 1) for e in _repeated_equations(program) if _is_looped(e))
        others = self.operations(program, 1) - looped
        waits = MEETING.lanes_that_meet if self.lanes_wait(program) else 1
        return 1 / max(others * waits / self.turn + looped / self.looped, 1 / self.turn)

    def operations(self, program: Program, threads: int) -> float:
        """Sequential operations of each thread, if ``threads`` of them run a lane together."""
        return sum(self._of(e, threads) for e in _repeated_equations(program))

    def _of_factors(self, equation: Equation, threads: int) -> float:
        """Sequential operations of each thread in a factorization: rows are sequential, elements of a row parallel."""
        (per_product, slower), (*batch, m, n) = FACTORED[equation.primitive.name], equation.outvars[0].aval.shape
        alone = per_product * slower * math.prod(batch) * m * n * equation.invars[0].aval.shape[-1]
        if threads == 1:
            return float(alone)
        return float(alone / min(threads, n) + self.meetings * math.prod(batch) * n * self.meeting)

    def _of(self, equation: Equation, threads: int) -> float:
        """Sequential operations of each thread in an equation."""
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
