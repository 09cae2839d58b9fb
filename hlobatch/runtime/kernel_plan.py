"""Decides whether a plan runs as a kernel (machine code for one lane), makes the kernel, and runs it on batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch import config
from hlobatch.diagnostics import KernelError, LaneError, MemoryLimitError
from hlobatch.ir.fate import FATES, Fate
from hlobatch.ir.physical import array_bytes
from hlobatch.kernels import jit
from hlobatch.kernels.types import NoKernelError
from hlobatch.runtime.device_kernel import DeviceKernel, DeviceRunner
from hlobatch.runtime.kernel import ALIGNED_BYTES, Kernel, Run, table
from hlobatch.runtime.kernel_shape import Shape, no_kernel
from hlobatch.runtime.memory import BYTES_SURELY_THERE, available
from hlobatch.runtime.places import devices_of
from hlobatch.runtime.plan import Plan
from hlobatch.runtime.stats import BlockStats, RunStats
from hlobatch.runtime.stops import interruption, out_of_time, stop_error
from hlobatch.runtime.watch import Watch
from hlobatch.strategy.options import GANG, KERNEL, KERNELS
from hlobatch.targets.cpu.processor import cores
from hlobatch.targets.lanes import Verdict
from hlobatch.targets.target import Target
from hlobatch.typing import Arrays, DType

LEAST_BYTES_BY_JAX: Final = 1 << 16
"""Bytes from which JAX takes over an array without a copy; for fewer, a copy takes less time than arranging that."""


def shape_of(plan: Plan, size: Any = None) -> Shape:
    """The shape of a plan's kernel for batches of some size, or the shape it would have if they ran as one."""
    return _shape(plan, is_gang=form_of(plan, size).is_gang)


def lane_shape(plan: Plan) -> Shape:
    """The shape of a kernel that runs one lane at a time."""
    return _shape(plan, is_gang=False)


def _shape(plan: Plan, *, is_gang: bool) -> Shape:
    make: Any = lambda: Shape(plan, is_gang)  # noqa: E731
    found: Any = plan.executable(("shape", is_gang), make)
    assert isinstance(found, Shape)
    return found


def kernel_of(plan: Plan, size: Any = None, *, counts: bool = False, sums: bool = False) -> Kernel:
    """The kernel of a plan, which is made once.

    Args:
        plan: The plan.
        size: Number of inputs in a batch; None for many.
        counts: Whether it counts executions.
        sums: Whether it sums the results in ``summed_results`` over inputs.

    Raises:
        KernelError: There is none; the message says why.
    """
    return _kernel(shape_of(plan, size), counts=counts, sums=sums)


def _kernel(shape: Shape, *, counts: bool = False, sums: bool = False) -> Kernel:
    plan, key = shape.plan, ("kernel", shape.is_gang, counts, sums)
    found: Any = plan.executable(key, lambda: _made(shape, counts=counts, sums=sums))
    if isinstance(found, str):
        raise no_kernel(plan, found)
    assert isinstance(found, Kernel)
    return found


def device_kernel(plan: Plan, target: Target, *, counts: bool = False, turns: bool = False) -> DeviceKernel:
    """The kernel of a plan for a device that starts all threads at once, which is made once.

    Args:
        plan: The plan.
        target: The device.
        counts: Whether it counts executions.
        turns: Whether its threads stop after a number of turns.

    Raises:
        KernelError: There is none; the message says why.
    """
    shape = _shape(plan, is_gang=plan.options.dispatch == GANG)

    def make() -> Any:
        try:
            return DeviceKernel.of(shape, target, counts=counts, turns=turns, checked=CHECKED)
        except NoKernelError as reason:
            return str(reason)

    found: Any = plan.executable(("kernel", target, counts, turns, config.own_code()), make)
    if isinstance(found, str):
        raise no_kernel(plan, found)
    assert isinstance(found, DeviceKernel)
    return found


def check_kernel(plan: Plan) -> None:
    """Raise ``KernelError`` if there is no kernel of a plan on the platform that JAX runs on."""
    target = plan.programs.policies.target
    if target.is_host:
        kernel_of(plan)
    else:
        device_kernel(plan, target)


def runner_of(plan: Plan, inputs: Arrays, *, counts: bool = False) -> KernelRunner | DeviceRunner:
    """An object that runs a plan by its kernel on batches like this one.

    Args:
        plan: The plan.
        inputs: Arrays as they are stored, or descriptions with shape, dtype and sharding.
        counts: Whether the kernel counts executions.

    Raises:
        KernelError: The plan has no kernel.
    """
    target, size = plan.programs.policies.target, plan.batch_size(inputs)
    if target.is_host:
        return KernelRunner.of(plan, inputs, counts=counts)
    # No turns while counting: a lane that is started again would be counted twice.
    kernel = device_kernel(plan, target, counts=counts, turns=not counts)
    make: Any = lambda: DeviceRunner(kernel, size, form_of(plan, size).reason)  # noqa: E731
    found: Any = plan.executable(("device runner", kernel, size), make)
    assert isinstance(found, DeviceRunner)
    return found


def text_of(plan: Plan) -> str:
    """The code of the plan's kernel: LLVM IR, or for a TPU its program.

    Raises:
        KernelError: The program has something that kernels have no code for.
    """
    target = plan.programs.policies.target
    try:
        form = None if target.is_host else target.form_for(plan.programs.of_a_lane)
        if form is None:
            return shape_of(plan).module().text
        return shape_of(plan).for_form(form, target).module(form.processor, target.module).text
    except NoKernelError as reason:
        raise no_kernel(plan, str(reason)) from None


def is_kernel(plan: Plan, size: Any) -> bool:
    """Whether a batch of some size, which may be symbolic, runs as a kernel."""
    return form_of(plan, size).by_themselves


def runs_as_kernel(plan: Plan, inputs: Arrays) -> bool:
    """Whether a batch runs as a kernel; one that is spread over several devices only if the user asks for it."""
    is_near = plan.options.dispatch in KERNELS or len(devices_of(plan, inputs)) <= 1
    return is_near and is_kernel(plan, plan.batch_size(inputs))


def form_of(plan: Plan, size: Any) -> Verdict:
    """Whether a batch runs as a kernel, and why: because the user asked for it, or by the target's judgement."""
    if plan.options.dispatch in KERNELS:
        return Verdict(True, "as asked for", is_gang=plan.options.dispatch == GANG)
    if not plan.options.optimizations.kernels:
        return Verdict(False, "")
    if plan.summed:
        return Verdict(False, "the loop over all lanes sums what they give")
    verdict = _judged(plan, has_gangs=plan.options.optimizations.gangs).of_batch(size)
    if not verdict.by_themselves or not (reason := _missing_code(plan, verdict)):
        return verdict
    if verdict.is_gang:
        other = _judged(plan, has_gangs=False).of_batch(size)
        if other.by_themselves and not _missing_code(plan, other):
            return other._replace(reason=f"{other.reason}; no code of several lanes: {reason}")
    return Verdict(False, reason)


def _missing_code(plan: Plan, verdict: Verdict) -> str:
    """Why there is no code for the form that a verdict names; empty if it has some."""
    target = plan.programs.policies.target
    try:
        if target.is_host:
            _kernel(_shape(plan, is_gang=verdict.is_gang))
        else:
            device_kernel(plan, target)
    except KernelError as error:
        return error.message
    return ""


def _judged(plan: Plan, *, has_gangs: bool) -> Verdict:
    """The target's judgement on whether to run a plan as a kernel if the user leaves it open, for any batch."""
    judge: Any = lambda: _judgement(plan, has_gangs=has_gangs)  # noqa: E731
    found: Any = plan.executable(("form", jax.default_backend(), has_gangs), judge)
    assert isinstance(found, Verdict)
    return found


def _judgement(plan: Plan, *, has_gangs: bool) -> Verdict:
    options = plan.options
    if (options.dispatch, options.schedule, options.lanes) != ("auto", "auto", None):
        return Verdict(False, "how the loop over all lanes runs is asked for")
    target = plan.programs.policies.target
    if not has_gangs:
        target = replace(target, lanes=target.lanes.without_gangs)
    verdict = target.judge(plan.programs.of_a_lane)
    if options.max_steps is None:
        return verdict
    return verdict._replace(few=0)  # a lane that runs by itself takes other steps


def _made(shape: Shape, *, counts: bool, sums: bool) -> Any:
    """A kernel, or the reason why there is none."""
    plan = shape.plan
    try:
        if plan.programs.policies.target.processor is None:
            raise NoKernelError(f"code of its own runs on CPUs, and JAX's arrays are on {jax.default_backend()!r}")
        jit.check_there()
        module = shape.module(counts=counts, checked=CHECKED, sums=sums)
        code, depths = jit.compiled(module.text), (plan.declared_depth, plan.tape_depth)
        return Kernel(module, code, *depths, plan.options.max_stack_bytes)
    except NoKernelError as reason:
        return str(reason)


CHECKED = False
"""Whether kernels check each memory access; set by tests."""


@dataclass(frozen=True, eq=False)
class KernelRunner:
    """Runs batches of one size by a kernel.

    Attributes:
        plan: The plan.
        shape: The shape that the kernel was made from.
        kernel: The kernel.
        size: Number of inputs in a batch.
        device: The device to put results on; None for JAX's default.
    """

    plan: Plan
    shape: Shape
    kernel: Kernel
    size: int
    device: Any = None

    @classmethod
    def of(cls, plan: Plan, inputs: Arrays, *, counts: bool = False, sums: bool = False) -> KernelRunner:
        """The runner of a plan, for batches like this one.

        Args:
            plan: The plan.
            inputs: Arrays as they are stored, or descriptions with shape, dtype and sharding.
            counts: Whether the kernel counts executions.
            sums: Whether it sums results over inputs, with a row for each thread.

        Raises:
            KernelError: The plan has no kernel.
        """
        devices, shape = devices_of(plan, inputs), shape_of(plan, plan.batch_size(inputs))
        device = next(iter(devices)) if len(devices) == 1 else None
        return cls(plan, shape, _kernel(shape, counts=counts, sums=sums), plan.batch_size(inputs), device)

    def __call__(self, inputs: Arrays) -> tuple[list[Any], Run]:
        """The results of a batch as they are stored, and the record of the run.

        Args:
            inputs: Arrays as they are stored.

        Raises:
            LaneError: Some inputs have no result.
            Interrupted: The user interrupted it.
        """
        plan, shape = self.plan, self.shape
        threads = self.kernel.threads_for(self.size, most_threads(plan))
        rows = dict.fromkeys(shape.summed_results, threads) if self.kernel.module.sums else {}
        types = enumerate(shape.result_types)
        results = [aligned((rows.get(k, self.size), *leaf.shape), leaf.dtype) for k, leaf in types]
        run = self._run(inputs, results, np.full(self.size, Fate.UNSTARTED, np.int32), threads, list(rows))
        kept = self._as_jax(shape.kept_results(results))
        if run.status.any():
            raise self.error(run, kept)
        return kept, run

    def go_on(self, inputs: Arrays, results: Sequence[Any], status: np.ndarray[Any, Any]) -> None:
        """Run the inputs that a call by XLA did not finish, into the memory of the call's results.

        Args:
            inputs: Arrays as they are stored.
            results: The results of the call, which nothing else has read yet.
            status: The status of each input.

        Raises:
            LaneError: Some inputs have no result.
            Interrupted: The user interrupted it.
        """
        run = self._run(inputs, results, status, most_threads(self.plan))
        if run.status.any():
            raise self.error(run, self.shape.kept_results(results))

    def _run(
        self, inputs: Arrays, results: Sequence[Any], status: Any, threads: int, summed: Sequence[int] = ()
    ) -> Run:
        shape = self.shape
        self._check_memory(threads)
        given = [*map(memory, (*shape.captured, *inputs)), *map(memory, shape.shared_values(inputs))]
        pointers = [pointer(array) for array in (*given, *(results[k] for k in summed), *results)]
        watch = Watch.of(self.plan, self.size)
        return self.kernel.run(table(pointers), (given, results), status, threads, watch)

    def _check_memory(self, threads: int) -> None:
        """Refuse a run whose threads would take more memory for their lanes than there is."""
        taken = self.kernel.bytes_of_a_lane * min(threads, self.size)
        if taken > BYTES_SURELY_THERE and taken > available():
            raise MemoryLimitError(
                f"the variables of {self.plan.name!r} would take {taken / 1e6:.0f} MB in {threads} threads, more "
                "than there is",
                self.plan.specialized.location,
                help="declare the capacity of its containers, as in `hb.capacity([], 1000)`, or run fewer threads.",
            )

    def error(self, run: Run, stored: Sequence[Any]) -> LaneError | KeyboardInterrupt:
        """The error for a run that did not finish all inputs; ``stored`` are its results as JAX arrays."""
        if run.is_interrupted:
            return interruption(self.plan, run.status, stored)
        if run.is_out_of_time:
            return out_of_time(self.plan, run.status, stored)
        status = np.where(run.status & FATES == Fate.PARKED, Fate.PARKED, run.status)
        depth = max(run.frames.depths, default=0)
        return stop_error(self.plan, status, depth=depth, results=stored, is_full=run.is_full)

    def _as_jax(self, arrays: Sequence[np.ndarray[Any, Any]]) -> list[Any]:
        """Results as JAX arrays in the same memory, even if the user has forbidden transfers."""
        with jax.transfer_guard_host_to_device("allow"):
            return [_as_jax(array, self.device) for array in arrays]

    @property
    def threads(self) -> int:
        """Largest number of threads that run at the same time."""
        return most_threads(self.plan)

    def as_text(self) -> str:
        """The kernel's assembly code."""
        return self.kernel.code.assembly

    def cost_analysis(self) -> None:
        """An empty analysis, as of a compiled function of JAX's: costs of kernels are not estimated."""

    def memory_analysis(self) -> None:
        """An empty analysis, as of a compiled function of JAX's: a kernel allocates nothing before it runs."""

    def stats(self, run: Run) -> RunStats:
        """The statistics of a run of a kernel that counts executions of blocks."""
        plan, shape = self.plan, self.shape
        executions, active = shape.counted(run.counts)
        blocks = [
            BlockStats(block.name, block.location, int(n), int(a), cost)
            for block, n, a, cost in zip(shape.program.graph, executions, active, shape.block_costs, strict=True)
        ]
        depth = max(run.frames.depths, default=0)
        choice = f"dispatch '{GANG if shape.is_gang else KERNEL}': {form_of(plan, self.size).reason}\n"
        width = shape.processor.width
        of_lanes = f"{width} lanes in the vectors of each thread" if shape.is_gang else "each lane"
        choice += f"code of its own for {of_lanes}, which takes one input after the other"
        return RunStats(tuple(blocks), self.size, width * run.threads, depth, run.growths, run.threads, choice)


def most_threads(plan: Plan) -> int:
    """Largest number of threads that run at the same time."""
    threads = plan.options.threads or cores()
    return min(threads, plan.options.lanes or threads)


def memory(array: Any) -> Any:
    """An array in memory in row-major order, ready to be read."""
    if isinstance(array, jax.Array) and len(array.sharding.device_set) == 1:
        return array.block_until_ready()
    array = np.asarray(array)
    dtype = jax.dtypes.canonicalize_dtype(array.dtype)
    return np.ascontiguousarray(array, dtype)


def pointer(array: Any) -> int:
    if isinstance(array, np.ndarray):
        return array.ctypes.data
    return int(array.unsafe_buffer_pointer())


def aligned(shape: tuple[int, ...], dtype: DType) -> np.ndarray[Any, Any]:
    """An array of zeros with the alignment that JAX needs to take it without a copy."""
    bytes_ = array_bytes(jax.ShapeDtypeStruct(shape, dtype))
    memory = np.zeros(bytes_ + ALIGNED_BYTES, np.uint8)
    first = -memory.ctypes.data % ALIGNED_BYTES
    array: np.ndarray[Any, Any] = memory[first : first + bytes_].view(dtype).reshape(shape)
    return array


def _as_jax(array: np.ndarray[Any, Any], device: Any) -> Any:
    if device is not None or array.nbytes >= LEAST_BYTES_BY_JAX:
        return jax.device_put(array, device)
    return jnp.asarray(array)
