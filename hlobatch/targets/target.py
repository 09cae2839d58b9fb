"""A machine as a target: which forms of a run it has, what they cost, and how code is written for its compiler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hlobatch._jax import Compilation
from hlobatch.ir.program import Program
from hlobatch.kernels.grid import Grid
from hlobatch.kernels.processors import Processor
from hlobatch.lowering.idiom import PORTABLE, Idiom
from hlobatch.targets.lanes import LaneCosts, Verdict
from hlobatch.targets.loop import LoopCosts


@dataclass(frozen=True)
class Run:
    """The properties of a run that decide, together with the machine, how its code is written.

    Attributes:
        lanes: Inputs in flight.
        one_kernel: Whether it is one kernel.
        is_alone: Whether it has one device to itself, here and now, and its sizes are known.
        is_within: Whether it is part of a computation that the user compiles, with the user's options.
        has_long_rows: Whether what is pushed is mostly rows that are as good to work on as lanes are.
        wants_small_kernels: Whether the user lets what works on little be kernels of its own.
    """

    lanes: Any
    one_kernel: bool = False
    is_alone: bool = False
    is_within: bool = False
    has_long_rows: bool = False
    wants_small_kernels: bool = False


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
        vector: Numbers of 32 bits that its vectors hold.
        narrows_long_blocks: Whether a block that takes very long takes less long for fewer lanes.
    """

    name: str
    loop: LoopCosts
    processor: Processor | None = None
    lanes: LaneCosts = LaneCosts()
    is_host: bool = False
    divides: bool = False
    threads: int = 1
    vector: int = 8
    narrows_long_blocks: bool = False

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

    def makes_one_kernel(self, program: Program, lanes: int) -> bool:
        """Whether XLA can, and had better, compile a whole run of small arrays to one kernel."""
        del program, lanes
        return False

    def idiom(self, run: Run) -> Idiom:
        """The idiom in which the code of a run is written."""
        del run
        return PORTABLE

    def compiler_options(self, how: Compilation) -> dict[str, Any]:
        """Compiler options for XLA, for a run that is compiled by itself."""
        del how
        return {}
