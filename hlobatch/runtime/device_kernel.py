"""Runs a kernel whose threads a device starts all at once, on a batch or within a JAX computation.

The kernel is an ordinary call of XLA's, which compiles its code together with the code around it. Inside ``jax.jit``
stacks have as many frames as the user declared. A batch outside of other computations is run in passes from Python:
inputs that need more frames run again with larger stacks, and inputs whose thread has used up its turns run again with
more turns, so that Ctrl-C takes effect between two passes. All others keep their results.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import perf_counter, sleep
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch import config
from hlobatch.diagnostics import LaneError
from hlobatch.ir.fate import FATES, NUMBER, Fate
from hlobatch.kernels.grid import FOR_EVER, Grid
from hlobatch.kernels.module import KernelModule
from hlobatch.kernels.processors import Processor
from hlobatch.kernels.types import NoKernelError
from hlobatch.runtime.in_turn import InTurn
from hlobatch.runtime.kernel import Frames
from hlobatch.runtime.kernel_shape import Shape, no_kernel
from hlobatch.runtime.memory import BYTES_SURELY_THERE, available
from hlobatch.runtime.plan import Plan
from hlobatch.runtime.stats import BlockStats, RunStats
from hlobatch.runtime.stops import interruption, out_of_time, stop_error
from hlobatch.runtime.watch import LOOK_SECONDS, Watch
from hlobatch.targets.target import Form, Target
from hlobatch.typing import ArrayLike, Arrays

FIRST_TURNS: Final = 1 << 20
"""Turns that a thread makes in the first pass: some tenths of a second, by judgement (2026-11) …"""
GROWTH_OF_TURNS: Final = 4
"""… and the factor for each later pass: unfinished lanes start again, which is a third of the run at most."""
SECONDS_BETWEEN_LOOKS: Final = 1e-3
"""Seconds between two tests of whether a pass is over."""


@dataclass(frozen=True)
class DeviceKernel:
    """The kernel of a plan for a device.

    Attributes:
        shape: The shape that it was made from.
        target: The device.
        form: Which of its threads run lanes.
        module: The code.
    """

    shape: Shape
    target: Target
    form: Form
    module: KernelModule

    @classmethod
    def of(
        cls, shape: Shape, target: Target, *, counts: bool = False, turns: bool = False, checked: bool = False
    ) -> Any:
        """The kernel of a shape.

        Args:
            shape: The shape.
            target: The device.
            counts: Whether it counts executions of blocks.
            turns: Whether its threads stop after a number of turns.
            checked: Whether each memory access is checked.

        Raises:
            NoKernelError: There is none; the message says why.
        """
        form = target.form_for(shape.program)
        if form is None:
            raise NoKernelError(
                f"code of its own is made for CPUs, NVIDIA's GPUs and TPUs, and this is for {target.name!r}"
            )
        if shape.is_gang:
            raise NoKernelError("gangs run on CPUs alone")
        processor = replace(form.processor, looks=turns)
        shape = shape.for_form(form, target)
        module = shape.module(processor, target.module, counts=counts, checked=checked)
        target.check(module)
        return cls(shape, target, form, module)

    @property
    def declared_frames(self) -> Frames:
        """The frames before any stack has grown."""
        plan, stacks = self.shape.plan, range(max(self.module.stack_of, default=-1) + 1)
        depths = (plan.tape_depth if k in self.module.tapes else plan.declared_depth for k in stacks)
        return Frames(self.module, tuple(depths))

    def grid(self, frames: Frames, size: int, turns: int = FOR_EVER) -> Grid:
        """The launch parameters for a number of inputs."""
        entries, stacks = frames.entries
        processor = self.form.processor
        lanes = self.target.lanes_for(size, stacks + self.module.local_bytes, processor)
        lanes = max(lanes, size) if self.shape.errands else lanes  # lanes that leave the kernel keep their memory
        table = tuple((int(begin), int(count)) for begin, count in entries)
        return Grid(size, lanes, table, stacks, self.module.local_bytes, turns, processor.threads_per_lane)

    def calling(self, grid: Grid) -> Callable[..., list[Any]]:
        """A function of captured arrays and inputs to ``[results…, stopped, status]``, for JAX to trace.

        If the kernel counts executions of blocks, each thread's counts come last.
        """
        shape, module = self.shape, self.module
        types = [jax.ShapeDtypeStruct((grid.inputs, *t.shape), t.dtype) for t in shape.result_types]
        status = jax.ShapeDtypeStruct((grid.inputs,), np.int32)
        scratch = jax.ShapeDtypeStruct((grid.scratch_bytes,), np.uint8)
        counts = [jax.ShapeDtypeStruct((grid.lanes, module.blocks, 2), np.uint32)] if module.blocks else []

        def run(*operands: ArrayLike) -> list[Any]:
            given = (*operands, *shape.shared_function(*operands))
            written = [*types, status, scratch, *counts]
            try:
                if shape.errands:
                    outputs = InTurn(shape, self.target, module, grid)(given, written)
                else:
                    outputs = self.target.call(module, grid, given, written)
            except NoKernelError as reason:
                raise no_kernel(shape.plan, str(reason)) from None
            results, (said, _, *counted) = outputs[: len(types)], outputs[len(types) :]
            return [*results, jnp.max(said & np.int32(FATES)), said, *counted]

        return run


def calling(kernel: DeviceKernel, size: int) -> Callable[..., list[Any]]:
    """A function of captured arrays and inputs to ``[results…, stopped, status]``, for JAX to trace.

    Args:
        kernel: The kernel; arrays are passed in the order in which the loop over all lanes captures them.
        size: Number of inputs in the batch.
    """
    shape, plan = kernel.shape, kernel.shape.plan
    call = kernel.calling(kernel.grid(kernel.declared_frames, size))

    def run(*operands: ArrayLike) -> list[Any]:
        count = len(plan.captures.arrays)
        known = {id(a): x for a, x in zip(plan.captures.arrays, operands[:count], strict=True)}
        *results, stopped, said = call(*shape.captures.operands(known), *operands[count:])
        status = jnp.where(said & np.int32(FATES) == np.int32(Fate.PARKED), np.int32(Fate.PARKED), said)
        return [*shape.kept_results(results), stopped, status]

    return run


@dataclass(frozen=True)
class Pass:
    """The parameters of a pass.

    Attributes:
        frames: The frames on the stacks.
        turns: Turns that a thread may make.
    """

    frames: Frames
    turns: int


@dataclass
class DeviceRunner:
    """Runs batches of one size by a kernel on a device.

    Attributes:
        kernel: The kernel.
        size: Number of inputs in a batch.
        reason: Why the batch runs as a kernel.
        now: The parameters of a batch's first pass: those that were enough for earlier batches.
        growths: Number of times that stacks grew in the last run.
    """

    kernel: DeviceKernel
    size: int
    reason: str
    now: Pass = field(init=False)
    growths: int = 0
    _calls: dict[Any, Callable[..., Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.now = Pass(self.kernel.declared_frames, FIRST_TURNS)

    @property
    def plan(self) -> Plan:
        return self.kernel.shape.plan

    def __call__(self, inputs: Arrays) -> tuple[list[Any], np.ndarray[Any, Any]]:
        """The results of a batch as they are stored, and the number of executions of each block, if counted.

        Args:
            inputs: Arrays as they are stored.

        Raises:
            LaneError: Some inputs have no result.
            Interrupted: The user interrupted it.
            TimeLimitError: Its time limit was reached.
        """
        run = _Run(self, (*self.kernel.shape.captured, *inputs), Watch.of(self.plan, self.size))
        try:
            run.finish()
        except KeyboardInterrupt:
            raise interruption(self.plan, run.status, run.stored) from None
        except _TimeOverError:
            raise out_of_time(self.plan, run.status, run.stored) from None
        if run.status.any():
            raise self._error(run)
        self.now, self.growths = run.now, run.growths
        return run.stored or [], run.counts

    def call(self, count: int, now: Pass, *, is_first: bool) -> Callable[..., Any]:
        """The jitted function that runs all inputs (if ``is_first``), or some and writes their rows of the results."""
        key = count, is_first, now
        if key not in self._calls:
            call = self.kernel.calling(self.kernel.grid(now.frames, count, now.turns))
            self._calls[key] = jax.jit(call if is_first else self._again(call))
        return self._calls[key]

    def _again(self, call: Callable[..., Any]) -> Callable[..., Any]:
        captured, shared = len(self.kernel.shape.captured), self.plan.input_shared
        count = len(self.kernel.shape.result_types)

        def run(todo: Any, results: Arrays, *given: Any) -> list[Any]:
            inputs = zip(given[captured:], shared, strict=True)
            found = call(*given[:captured], *(x if is_shared else x[todo] for x, is_shared in inputs))
            all_results = [x.at[todo].set(new) for x, new in zip(results, found[:count], strict=True)]
            return [*all_results, *found[count:]]

        return run

    def _error(self, run: _Run) -> LaneError:
        depth = max(run.now.frames.depths, default=0)
        fates = np.where(run.status & FATES == Fate.PARKED, Fate.PARKED, run.status)
        return stop_error(self.plan, fates, depth=depth, results=run.stored, is_full=run.is_full)

    threads = 1
    """Number of parts that a batch is divided into."""

    def as_text(self) -> str:
        """The LLVM IR of the lane and of the launch; XLA compiles it together with the code around it."""
        return self.kernel.module.text

    def cost_analysis(self) -> None:
        """An empty analysis, as of a compiled function of JAX's: costs of kernels are not estimated."""

    def memory_analysis(self) -> None:
        """An empty analysis, as of a compiled function of JAX's."""

    def stats(self, counts: Any) -> RunStats:
        """The statistics of a run of a kernel that counts executions of blocks."""
        shape, depth = self.kernel.shape, max(self.now.frames.depths, default=0)
        blocks = [
            BlockStats(block.name, block.location, int(n), int(n), cost)
            for block, n, cost in zip(shape.program.graph, counts, shape.block_costs, strict=True)
        ]
        grid = self.kernel.grid(self.now.frames, self.size)
        processor, reason = self.kernel.form.processor, self.kernel.form.reason
        choice = f"dispatch 'kernel': {self.reason}\n"
        choice += f"code of its own for each lane, {_threads(processor)}"
        count = len(self.kernel.shape.errands)
        choice += f"; in turn with XLA, which computes {count} of its statements for all lanes" if count else ""
        choice += f"\n{reason}" if reason else ""
        return RunStats(tuple(blocks), self.size, grid.lanes, depth, self.growths, grid.lanes, choice)


def _threads(processor: Processor) -> str:
    if processor.width > 1:
        return f"in an element of tiles of {processor.width:,}"
    more = ", which takes one input after the other"
    if processor.threads_per_lane > 1:
        return f"in {processor.threads_per_lane} threads{more}"
    together = processor.lanes_that_meet
    meets = f" that meets those of {together - 1} others before dear blocks" if together > 1 else ""
    return f"in a thread{meets}{more}"


class _TimeOverError(Exception):
    """The time limit of a run was reached."""


@dataclass
class _Run:
    """A run of a batch.

    Attributes:
        runner: The runner that it belongs to.
        given: Captured arrays and inputs.
        watch: Reports progress and checks the time limit; None if nobody asked for either.
        now: The parameters of the next pass.
        status: The status of each input; for a parked one, also which stack was too small.
        counts: Number of executions of each block.
        results: The results of all inputs; None before the first pass.
        growths: Number of times that stacks have grown.
        is_full: Whether there is no memory for larger stacks.
    """

    runner: DeviceRunner
    given: Arrays
    watch: Watch | None
    now: Pass = field(init=False)
    status: np.ndarray[Any, Any] = field(init=False)
    counts: Any = 0
    results: list[Any] | None = None
    growths: int = 0
    is_full: bool = False

    def __post_init__(self) -> None:
        self.now = self.runner.now
        self.status = np.full(self.runner.size, Fate.UNSTARTED, np.int32)

    @property
    def stored(self) -> list[Any] | None:
        """The results as they are stored; None before the first pass."""
        return None if self.results is None else self.runner.kernel.shape.kept_results(self.results)

    def finish(self) -> None:
        """Run passes until no input can go on."""
        self._pass(None)
        while (left := self._left()).size:
            if self._is_over():
                raise _TimeOverError
            self._pass(left)
        if self.watch:
            self.watch.end(self._done())

    def _left(self) -> np.ndarray[Any, Any]:
        """The inputs of the next pass: unfinished ones, with more turns; else those that need larger stacks."""
        left = np.flatnonzero((self.status == Fate.UNSTARTED) | (self.status == Fate.RUNNING))
        if left.size:
            self.now = replace(self.now, turns=self.now.turns * GROWTH_OF_TURNS)
            return left
        parked = np.flatnonzero(self.status & FATES == Fate.PARKED)
        return self._deeper(parked) if parked.size else parked

    def _deeper(self, parked: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The parked inputs whose stack can be grown, which it is."""
        stacks, frames = (self.status[parked] >> NUMBER) - 1, self.now.frames
        limit = max(config.STACK_DEPTH_LIMIT, self.runner.plan.declared_depth)
        grown = frames.grown(np.unique(stacks).tolist(), limit)
        if grown == frames:
            return parked[:0]
        most = self.runner.plan.options.max_stack_bytes
        most = most if most is not None else max(BYTES_SURELY_THERE, available() // 2)
        grid = self.runner.kernel.grid(grown, parked.size)
        if grid.scratch_bytes > most or not self.runner.kernel.target.has_room(grid):
            self.is_full = True
            return parked[:0]
        again: np.ndarray[Any, Any] = parked[np.asarray(grown.depths)[stacks] > np.asarray(frames.depths)[stacks]]
        self.now, self.growths = replace(self.now, frames=grown), self.growths + 1
        return again

    def _pass(self, todo: np.ndarray[Any, Any] | None) -> None:
        """Run one pass over some inputs, or all.

        Their number is rounded up to a power of two, so that few sizes are compiled; the last input is repeated to fill
        up.
        """
        size, found = self.runner.size, len(self.runner.kernel.shape.result_types)
        wanted = size if todo is None else len(todo)
        count = size if todo is None else min(size, 1 << (wanted - 1).bit_length())
        with jax.transfer_guard("allow"):
            call = self.runner.call(count, self.now, is_first=todo is None)
            operands = () if todo is None else (np.pad(todo, (0, count - wanted), mode="edge"), self.results)
            outputs = call(*operands, *self.given)
            _wait(outputs, self._is_over)
            stopped, told, *words = outputs[found:]
            said = np.asarray(told)[:wanted] if int(stopped) else 0
            self.counts += sum(np.asarray(x).view(np.int64)[..., 0].sum(0) for x in words)
        self.results = outputs[:found]
        self.status[... if todo is None else todo] = said

    def _is_over(self) -> bool:
        """Report progress; whether the time limit is reached."""
        return self.watch is not None and self.watch.look(self._done)

    def _done(self) -> int:
        """Number of inputs that have ended."""
        on_their_way = (Fate.RUNNING, Fate.UNSTARTED, Fate.PARKED)
        return int(np.isin(self.status & FATES, on_their_way, invert=True).sum())


def _wait(outputs: Arrays, is_over: Callable[[], bool]) -> None:
    """Wait for a pass such that signals are handled meanwhile; a pass that the device has begun runs to its end.

    Raises:
        _TimeOverError: The time limit was reached.
    """
    began = looked = perf_counter()
    while not all(x.is_ready() for x in outputs):
        now = perf_counter()
        if now - began > SECONDS_BETWEEN_LOOKS:
            sleep(SECONDS_BETWEEN_LOOKS)
        if now - looked > LOOK_SECONDS:
            looked = now
            if is_over():
                raise _TimeOverError
