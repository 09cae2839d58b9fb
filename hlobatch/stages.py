"""The stages of a batched function as objects, like those of ``jax.jit(f).trace/lower/compile``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import jax

from hlobatch.console import folded
from hlobatch.diagnostics import BatchTypeError, Note, hiding_internal_frames
from hlobatch.ir.program import Program
from hlobatch.lowering.state.layout import Layout
from hlobatch.lowering.to_stablehlo import to_stablehlo
from hlobatch.runtime.arguments import Call
from hlobatch.runtime.callers import caller
from hlobatch.runtime.course import Course
from hlobatch.runtime.device_kernel import DeviceRunner
from hlobatch.runtime.division import Division, divide
from hlobatch.runtime.kernel_plan import KernelRunner, runner_of, runs_as_kernel, text_of
from hlobatch.runtime.places import has_several_devices, placed_like
from hlobatch.runtime.plan import Plan, Room
from hlobatch.runtime.stats import RunStats
from hlobatch.strategy.strategy import Strategy
from hlobatch.typing import PyTree

DIALECTS: Final = ("autobatch", "stablehlo", "hlo", "portable", "llvm")
"""The forms in which a lowered function can be printed."""
RUNNERS: Final = (KernelRunner, DeviceRunner)
"""Classes that run kernels."""
Bind = Callable[..., Call]
"""Checks a call's arguments."""


@dataclass(frozen=True)
class Traced:
    """A batched function for arguments of given types.

    Attributes:
        plan: The program and its options, with everything that is needed to run it.
        call: The types of the arguments, and the size of the batch.
        bind: Checks the arguments of later calls.
    """

    plan: Plan
    call: Call
    bind: Bind

    def __repr__(self) -> str:
        return f"Traced({self.plan.name}; {self.call})"

    def _repr_html_(self) -> str:
        return folded(repr(self), str(self.program))

    @property
    def program(self) -> Program:
        """The program with calls (the paper's figure 2), typed, optimized and allocated."""
        return self.plan.programs.with_calls

    @property
    def lowered_program(self) -> Program:
        """The program with explicit stacks (figure 4), its blocks in the order of the schedule."""
        return self.plan.programs.lowered

    @property
    def machine_program(self) -> Program:
        """The program that runs.

        It is ``lowered_program`` with small blocks copied into the blocks before them, and with results in parts.
        """
        return self.plan.programs.machine

    def lower(self) -> Lowered:
        """Generate the StableHLO module."""
        return Lowered(self.plan, self.call, self.bind, self.plan.depth)


@dataclass(frozen=True)
class Lowered:
    """A batched function as a StableHLO module.

    Attributes:
        plan: The program and its options, with everything that is needed to run it.
        call: The types of the arguments, and the size of the batch.
        bind: Checks the arguments of later calls.
        depth: Depth of each stack, in frames.
    """

    plan: Plan
    call: Call
    bind: Bind
    depth: int

    def __repr__(self) -> str:
        return f"Lowered({self.plan.name}; {self.call})"

    @property
    def program(self) -> Program:
        """The program with explicit stacks, from which ``Traced.machine_program`` and then the module are made."""
        return self.plan.programs.lowered

    @cached_property
    def _jax(self) -> Any:
        """The lowered JAX function that is compiled, for one part if the batch is divided."""
        with self.plan.as_typed():
            return self._division.lower(self._room, self._inputs)

    @cached_property
    def _division(self) -> Division:
        """The division of the batch, whose size has to be a number."""
        if not isinstance(self.call.size, int):
            raise BatchTypeError(
                f"the batch of {self.plan.name!r} has size {self.call.size}, and XLA has to know the number",
                caller(),
                help="trace it for arrays of one size; what hb.export makes runs on batches of any.",
            )
        return divide(self.plan, self._inputs)

    @cached_property
    def _room(self) -> Room:
        """The initial stack depth of a run outside of other computations."""
        return self._division.room

    @property
    def _layout(self) -> Layout:
        return self.plan.layout(self._strategy, self.depth)

    @property
    def _strategy(self) -> Strategy:
        """The strategy for the call's number of inputs."""
        return self.plan.strategy(self.call.size)

    @property
    def _inputs(self) -> list[jax.ShapeDtypeStruct]:
        """Types of the input arrays as they are stored, with shardings if there are several devices."""
        avals = self._layout.input_avals
        if not has_several_devices():
            return avals
        return [placed_like(aval, x) for aval, x in zip(avals, self.call.arrays, strict=True)]

    @hiding_internal_frames
    def as_text(self, dialect: str = "stablehlo", *, debug_info: bool = False) -> str:
        """The module as text.

        Args:
            dialect: One of

                - ``"autobatch"``: the program with explicit stacks.
                - ``"stablehlo"``: the module that ``compile`` compiles; if that makes a kernel, the loop over all lanes
                  in its place. For a batch of symbolic size, which is not compiled here, the portable module.
                - ``"hlo"``: the module of ``"stablehlo"`` as XLA reads it.
                - ``"portable"``: StableHLO for any platform.
                - ``"llvm"``: the LLVM IR of the kernel.
            debug_info: Whether StableHLO operations have source locations.

        Raises:
            BatchTypeError: The batch is empty, so that nothing is run for it; or, for ``"hlo"``, its size is symbolic.
            KernelError: For ``"llvm"``, the program has something that kernels have no code for.
            ValueError: ``dialect`` is none of these.
        """
        if dialect not in DIALECTS:
            raise ValueError(f"dialect is {', '.join(map(repr, DIALECTS[:-1]))} or {DIALECTS[-1]!r}, not {dialect!r}")
        if dialect == "autobatch":
            return str(self.program)
        if dialect == "llvm":
            return text_of(self.plan)
        if dialect == "portable" or (dialect == "stablehlo" and not isinstance(self.call.size, int)):
            return str(self.module().operation.get_asm(enable_debug_info=debug_info))
        self._check_size()
        return str(self._jax.as_text(dialect, debug_info=debug_info))

    def module(self, *, keep_state: bool = False) -> Any:
        """The StableHLO module for any platform. Its results are ``[results…, stopped, status]``.

        Args:
            keep_state: Whether the module returns the state of the run in place of ``status``.

        Raises:
            BatchTypeError: The batch is empty, so that nothing is run for it.
        """
        self._check_size()
        with self.plan.as_typed():
            layout = replace(self._layout, drains=keep_state)
            return to_stablehlo(self.plan.request(self._strategy, layout, keep_state=keep_state))

    def _check_size(self) -> None:
        if isinstance(self.call.size, int) and self.call.size == 0:
            raise BatchTypeError(
                f"the batch of {self.plan.name!r} is empty, and nothing is run for it",
                caller(),
                help="trace it for arrays of some size, or a symbolic one.",
            )

    @hiding_internal_frames
    def compile(self) -> Compiled:
        """Compile for the place and in the form in which a call would run. Of a divided batch, one part is compiled.

        Raises:
            BatchTypeError: The size of the batch is symbolic.
        """
        with self.plan.as_typed():
            division = self._division
            if runs_as_kernel(self.plan, self._inputs):
                runner = runner_of(self.plan, self._inputs)
                return Compiled(self.plan, self.call, self.bind, self._room.depth, division, runner)
            executable = self._jax.compile() if division.threads == 1 else division.compile(self._room, self._inputs)
        return Compiled(self.plan, self.call, self.bind, self._room.depth, division, executable)


@dataclass(frozen=True)
class Compiled:
    """A batched function compiled for one batch size. A stack that is full still grows, which compiles again.

    Attributes:
        plan: The program and its options, with everything that is needed to run it.
        call: The types of the arguments, and the size of the batch.
        bind: Checks the arguments of later calls.
        depth: Initial depth of each stack, in frames.
        division: The batch, divided among threads.
        executable: The executable of each part, or the kernel's runner.
    """

    plan: Plan
    call: Call
    bind: Bind
    depth: int
    division: Division
    executable: Any

    def __repr__(self) -> str:
        return f"Compiled({self.plan.name}; {self.call})"

    @property
    def threads(self) -> int:
        """Number of parts of the batch that run side by side; XLA's analyses are about one part."""
        return self.executable.threads if isinstance(self.executable, RUNNERS) else self.division.threads

    @hiding_internal_frames
    def __call__(self, *args: PyTree, **kwargs: PyTree) -> PyTree:
        """Run on arguments of the types and the batch size that it was compiled for.

        Raises:
            BatchTypeError: The arguments have other types, or another batch size.
            HloBatchError: Any other error of a call of the function.
        """
        with self.plan.as_typed():
            return self._run(self.bind(args, kwargs))

    def _run(self, call: Call) -> Any:
        if not self.call.fits(call):
            raise BatchTypeError(
                f"{self.plan.name!r} was compiled for other arguments",
                caller(),
                notes=[Note(f"{self.plan.name} is defined here", self.plan.specialized.location)],
                help="call the function itself, or trace, lower and compile it again for these.",
            )
        if isinstance(self.executable, RUNNERS):
            return self.plan.result(self.executable(call.physical())[0])
        course = Course(self.division, self.division.operands(call.physical()))
        course.run(Room(self.depth), self.executable if self.threads == 1 else None)
        return self.plan.result(course.results)

    def as_text(self) -> str:
        """The optimized HLO of one part of the batch, or a kernel's machine code."""
        return str(self.executable.as_text())

    def cost_analysis(self) -> Any:
        """XLA's estimate of a part's work, as ``jax.stages.Compiled.cost_analysis``."""
        return self.executable.cost_analysis()

    def memory_analysis(self) -> Any:
        """XLA's account of a part's memory in bytes, as ``jax.stages.Compiled.memory_analysis``."""
        return self.executable.memory_analysis()


__all__ = ["Compiled", "Lowered", "RunStats", "Traced"]
