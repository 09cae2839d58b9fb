"""A machine as a target: which forms of a run it has, what they cost, and how code is written for its compiler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hlobatch.ir.program import Program
from hlobatch.kernels.grid import Grid
from hlobatch.kernels.processors import Processor
from hlobatch.targets.lanes import LaneCosts, Verdict
from hlobatch.targets.loop import LoopCosts


@dataclass(frozen=True)
class Form:
    """Which threads of a device run lanes.

    Attributes:
        processor: What code of them is made for.
        reason: Why these.
    """

    processor: Processor
    reason: str


@dataclass(frozen=True)
class Target:
    """A machine. The defaults are for a machine of which nothing is known.

    Attributes:
        name: Of its platform, in JAX's words.
        loop: What the loop over all lanes takes.
        processor: What code of lanes is made for; None where there is none yet.
        lanes: What lanes that run code of their own take, and what the loop over all takes.
        is_host: Whether its arrays lie in the memory that Python has, so that to look at one moves nothing.
        divides: Whether parts of a batch may run side by side there, each in a thread of the host.
        threads: How many of them, at most.
        narrows_long_blocks: Whether a block that takes very long takes less long for fewer lanes.
        holds_stacks: Whether each block of a sweep stands behind a barrier: its compiler takes the blocks for one piece
            of code, and pops wherever what was popped is read.
    """

    name: str
    loop: LoopCosts
    processor: Processor | None = None
    lanes: LaneCosts = LaneCosts()
    is_host: bool = False
    divides: bool = False
    threads: int = 1
    narrows_long_blocks: bool = False
    holds_stacks: bool = False

    def judge(self, program: Program) -> Verdict:
        """Whether the lanes of a program with explicit stacks had better run by themselves."""
        if self.processor is None:
            return Verdict(False, f"code of its own is not made for {self.name!r}")
        return self.lanes.judge(program)

    def check(self, text: str) -> None:
        """Raise ``NoKernelError`` if the code of a grid, as LLVM IR, cannot be compiled here for this machine."""
        raise NotImplementedError

    def form_for(self, program: Program) -> Form | None:
        """Which threads run lanes of a program with explicit stacks; None where there is no code for them yet."""
        del program
        return None if self.processor is None else Form(self.processor, "")

    def lanes_for(self, inputs: int, lane_bytes: int, processor: Processor) -> int:
        """Lanes that run at once in a grid that is to run some inputs, each lane with some memory of its own."""
        raise NotImplementedError

    def call(self, text: str, grid: Grid, operands: Sequence[Any], results: Sequence[Any]) -> list[Any]:
        """Start a grid, as part of a computation that JAX traces, and give back its results.

        Args:
            text: Its code, as LLVM IR.
            grid: What it is started with.
            operands: Arrays that it reads.
            results: What those are like that it writes.

        Raises:
            NoKernelError: The code cannot be compiled.
        """
        raise NotImplementedError
