"""A machine, as far as a strategy depends on it: what each form of a program costs there, and which forms there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from hlobatch.ir.program import Program
from hlobatch.kernels.processors import Processor
from hlobatch.targets.lanes import LaneCosts, Verdict
from hlobatch.targets.loop import LoopCosts


@final
@dataclass(frozen=True)
class Target:
    """A machine.

    Attributes:
        name: Of its platform, in JAX's words.
        processor: What code of lanes is made for; None where there is none yet.
        lanes: What lanes that run code of their own take, and what the loop over all takes.
        loop: What the loop over all lanes takes.
        is_host: Whether its arrays lie in the memory that Python has, so that to look at one moves nothing.
        divides: Whether parts of a batch may run side by side there, each in a thread of the host.
        threads: How many of them, at most.
        vector: Numbers of 32 bits that its vectors hold.
        stores_masked: Whether it is quick to store a vector in some lanes of it and not in others.
        makes_one_kernel: Whether XLA can compile a whole run to one kernel for it.
        narrows_long_blocks: Whether a block that takes very long takes less long for fewer lanes.
    """

    name: str
    processor: Processor | None = None
    lanes: LaneCosts = LaneCosts()
    loop: LoopCosts = LoopCosts()
    is_host: bool = False
    divides: bool = False
    threads: int = 1
    vector: int = 8
    stores_masked: bool = True
    makes_one_kernel: bool = False
    narrows_long_blocks: bool = False

    def judge(self, program: Program) -> Verdict:
        """Whether the lanes of a program with explicit stacks had better run by themselves."""
        if self.processor is None:
            return Verdict(False, f"code of its own is not made for {self.name!r}")
        return self.lanes.judge(program)
