"""A machine as a target: which forms of a run it has, what they cost, and how code is written for its compiler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hlobatch.ir.ops import PrimOp
from hlobatch.ir.program import Program
from hlobatch.kernels import jit
from hlobatch.kernels.grid import Grid
from hlobatch.kernels.interface import Operands, Options
from hlobatch.kernels.module import KernelModule, to_llvm
from hlobatch.kernels.processors import Processor
from hlobatch.targets.lanes import LaneCosts, Verdict
from hlobatch.targets.loop import LoopCosts


@dataclass(frozen=True)
class Form:
    """A form of lanes' code: which threads of a device run a lane.

    Attributes:
        processor: The processor that the code is made for.
        reason: Why this form was chosen.
    """

    processor: Processor
    reason: str


@dataclass(frozen=True)
class Target:
    """A machine. The defaults are for a machine of which nothing is known.

    Attributes:
        name: JAX's name of its platform.
        loop: The costs of XLA's loop over all lanes.
        processor: The processor that code of lanes is made for; None if there is no such code.
        lanes: The costs of lanes that run code of their own, compared with XLA's loop.
        is_host: Whether its arrays lie in the host's memory, so that the host reads them without a transfer.
        divides: Whether parts of a batch may run concurrently there, each in a thread of the host.
        threads: The largest number of such threads.
        narrows_long_blocks: Whether a long block takes less time for fewer lanes.
        holds_stacks: Whether blocks of a sweep are separated by optimization barriers: without them, the machine's
            compiler fuses blocks, and pops a stack again at every use of the popped value.
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
        """The decision whether the lanes of a program with explicit stacks run code of their own."""
        if self.processor is None:
            return Verdict(False, f"code of its own is not made for {self.name!r}")
        return self.lanes.judge(program)

    def module(self, program: Program, name: str, operands: Operands, options: Options) -> KernelModule:
        """The code of a program with explicit stacks, as a grid.

        Args:
            program: Typed and allocated.
            name: The name of the user's function.
            operands: The arrays that it takes.
            options: What the code is made for.

        Raises:
            NoKernelError: Something in it has no code, or what makes the code is not installed.
        """
        jit.check_there()
        return to_llvm(program, name, operands, options)

    def check(self, module: KernelModule) -> None:
        """Raise ``NoKernelError`` if the code of a grid cannot be compiled here for this machine."""
        raise NotImplementedError

    def has_room(self, grid: Grid) -> bool:
        """Whether the fast memory that a grid's stacks have to fit in, if there is such, has room for them."""
        del grid
        return True

    def form_for(self, program: Program) -> Form | None:
        """The form of lanes' code for a program with explicit stacks; None if the machine has no such code."""
        del program
        return None if self.processor is None else Form(self.processor, "")

    def lanes_for(self, inputs: int, lane_bytes: int, processor: Processor) -> int:
        """The number of lanes that run at once in a grid, given the inputs and the memory of each lane."""
        raise NotImplementedError

    def hands_over(self, op: PrimOp) -> bool:
        """Whether XLA computes a primitive, in turn with a kernel whose processor is ``in_turn``."""
        raise NotImplementedError

    def call(
        self,
        module: KernelModule,
        grid: Grid,
        operands: Sequence[Any],
        results: Sequence[Any],
        *,
        goes_on: bool = False,
    ) -> list[Any]:
        """Start a grid as part of a computation that JAX traces; returns its results.

        Args:
            module: The grid's code.
            grid: The numbers with which it is started.
            operands: Arrays that it reads.
            results: Shapes and dtypes of the arrays that it writes.
            goes_on: Whether the last operands are those arrays as they are before: the grid goes on with them.

        Raises:
            NoKernelError: The code cannot be compiled.
        """
        raise NotImplementedError
