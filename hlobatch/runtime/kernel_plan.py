"""A plan -> whether it runs as a kernel (code for one lane), that kernel, and what runs it on a batch here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch.analysis.cost import block_cost
from hlobatch.diagnostics import KernelError, LaneError
from hlobatch.ir.fate import NUMBER, Fate
from hlobatch.ir.names import is_sum, summed_for
from hlobatch.ir.physical import array_bytes, physical
from hlobatch.ir.program import Program
from hlobatch.ir.program import VariableAllocation as Alloc
from hlobatch.kernels import jit
from hlobatch.kernels.interface import Operands
from hlobatch.kernels.interface import Options as CodeOptions
from hlobatch.kernels.module import KernelModule, to_llvm
from hlobatch.kernels.processors import CPU, Processor
from hlobatch.kernels.types import NoKernelError
from hlobatch.lowering.state.inputs import Inputs
from hlobatch.runtime.kernel import ALIGNED_BYTES, Kernel, Run, table
from hlobatch.runtime.places import devices_of
from hlobatch.runtime.plan import Plan
from hlobatch.runtime.stats import BlockStats, RunStats
from hlobatch.runtime.stops import interruption, stop_error
from hlobatch.strategy.options import KERNEL
from hlobatch.targets.cpu.processor import cores
from hlobatch.targets.lanes import Verdict

LEAST_BYTES_BY_JAX: Final = 1 << 16
"""Bytes from which JAX had better take an array as it is, which takes longer to arrange than to copy fewer."""


def operands(plan: Plan, *, sums: bool = False) -> Operands:
    """The arrays that the kernel of a plan takes, before those that it writes results to."""
    program = plan.programs.of_a_lane
    summed = summed_results(plan) if sums else ()
    return Operands(tuple(plan.kernel_captures.positions), plan.input_shared, _computed(program), summed)


def summed_results(plan: Plan) -> tuple[int, ...]:
    """The arrays of the results, by position, that a kernel can sum over inputs: cotangents of what all lanes share."""
    program = plan.programs.of_a_lane
    places = [v for v in program.vars_out for _ in program.var_defs[v].tensor_leaves]
    return tuple(k for k, v in enumerate(places) if is_sum(v) and summed_for(v) in plan.shared)


def _computed(program: Program) -> tuple[str, ...]:
    """Variables that are the same in every lane and computed once, before the kernel is called."""
    shared = (v for v in program.var_defs if program.alloc(v) is Alloc.SHARED)
    return tuple(v for v in shared if v not in program.vars_in)


def module_of(
    plan: Plan, processor: Processor = CPU, *, counts: bool = False, checked: bool = False, sums: bool = False
) -> KernelModule:
    """The code of a lane, as LLVM IR.

    Raises:
        NoKernelError: Something in the program has no code.
    """
    options = CodeOptions(processor, plan.options.max_steps, counts, checked)
    try:
        with plan.as_typed(), jax.ensure_compile_time_eval():
            return to_llvm(plan.programs.of_a_lane, plan.name, operands(plan, sums=sums), options)
    except NoKernelError:
        raise
    except Exception as error:  # whatever it is: the program can run without
        raise NoKernelError(f"its code could not be made ({type(error).__name__}: {error})") from error


def kernel_of(plan: Plan, *, counts: bool = False, sums: bool = False) -> Kernel:
    """The kernel of a plan, which is made once.

    Args:
        plan: The plan.
        counts: Whether it counts executions.
        sums: Whether it sums over inputs what ``summed_results`` says.

    Raises:
        KernelError: There is none, and why.
    """
    found: Any = plan.executable(("kernel", counts, sums), lambda: _made(plan, counts=counts, sums=sums))
    if isinstance(found, str):
        raise no_kernel(plan, found)
    assert isinstance(found, Kernel)
    return found


def no_kernel(plan: Plan, reason: str) -> KernelError:
    """The error for a plan that cannot run as a kernel."""
    return KernelError(
        f"{plan.name!r} has no kernel: {reason}",
        plan.specialized.location,
        help="leave dispatch at 'auto', with which XLA runs it.",
    )


def text_of(plan: Plan) -> str:
    """The code of a lane, as LLVM IR, and what a thread calls.

    Raises:
        KernelError: Something in the program has no code.
    """
    try:
        return module_of(plan).text
    except NoKernelError as reason:
        raise no_kernel(plan, str(reason)) from None


def is_kernel(plan: Plan, size: Any) -> bool:
    """Whether a batch of some size, which may be symbolic, runs as a kernel where a plan is called."""
    return form_of(plan, size).by_themselves


def runs_as_kernel(plan: Plan, inputs: Sequence[Any]) -> bool:
    """Whether a batch runs as a kernel: one that lies on several devices does where the user asks for that."""
    is_near = plan.options.dispatch == KERNEL or len(devices_of(plan, inputs)) <= 1
    return is_near and is_kernel(plan, plan.batch_size(inputs))


def form_of(plan: Plan, size: Any) -> Verdict:
    """Whether a batch runs as a kernel, and why: as the user asked for, or as the target of the machine says."""
    if plan.options.dispatch == KERNEL:
        return Verdict(True, "as asked for")
    if not plan.options.optimizations.kernels:
        return Verdict(False, "")
    if plan.summed:
        return Verdict(False, "the loop over all lanes sums what they give")
    judge: Any = lambda: _judged(plan)  # noqa: E731
    found: Any = plan.executable(("form", jax.default_backend()), judge)
    assert isinstance(found, Verdict)
    verdict = found.of_batch(size)
    if not verdict.by_themselves:
        return verdict
    try:
        kernel_of(plan)
    except KernelError as error:
        return Verdict(False, error.message)
    return verdict


def _judged(plan: Plan) -> Verdict:
    """Whether the target wants a kernel, and why, if the user leaves it open."""
    options = plan.options
    if (options.dispatch, options.schedule, options.lanes) != ("auto", "auto", None):
        return Verdict(False, "how the loop over all lanes runs is asked for")
    verdict = plan.programs.policies.target.judge(plan.programs.of_a_lane)
    return verdict if options.max_steps is None else verdict._replace(few=0)  # the blocks of a lane are others


def _made(plan: Plan, *, counts: bool, sums: bool) -> Any:
    """A kernel, or why there is none."""
    try:
        if plan.programs.policies.target.processor is None:
            raise NoKernelError(f"code of its own runs on CPUs, and JAX's arrays are on {jax.default_backend()!r}")
        jit.check_there()
        module = module_of(plan, counts=counts, checked=CHECKED, sums=sums)
        code, depths = jit.compiled(module.text), (plan.declared_depth, plan.tape_depth)
        return Kernel(module, code, *depths, plan.options.max_stack_bytes)
    except NoKernelError as reason:
        return str(reason)


CHECKED = False
"""Whether kernels check each access to memory; tests set it."""


@dataclass(frozen=True, eq=False)
class KernelRunner:
    """Runs batches of one size by a kernel.

    Attributes:
        plan: The plan.
        kernel: Its code.
        size: Inputs in a batch.
        device: Where results are put; None for where JAX puts what is nowhere yet.
    """

    plan: Plan
    kernel: Kernel
    size: int
    device: Any = None

    @classmethod
    def of(cls, plan: Plan, inputs: Sequence[Any], *, counts: bool = False, sums: bool = False) -> KernelRunner:
        """The runner of a plan, for batches like one.

        Args:
            plan: The plan.
            inputs: Arrays as they are stored, or what they are like and where.
            counts: Whether the kernel counts what it does.
            sums: Whether it sums results, of which there is a row for each thread then.

        Raises:
            KernelError: It has no kernel.
        """
        devices = devices_of(plan, inputs)
        device = next(iter(devices)) if len(devices) == 1 else None
        return cls(plan, kernel_of(plan, counts=counts, sums=sums), plan.batch_size(inputs), device)

    def __call__(self, inputs: Sequence[Any]) -> tuple[list[Any], Run]:
        """The results of a batch as they are stored, and what was run.

        Args:
            inputs: Arrays as they are stored.

        Raises:
            LaneError: Some inputs have no result.
            Interrupted: The user interrupted it.
        """
        plan = self.plan
        threads = self.kernel.threads_for(self.size, most_threads(plan))
        rows = dict.fromkeys(summed_results(plan), threads) if self.kernel.module.sums else {}
        types = enumerate(result_types(plan))
        results = [_aligned((rows.get(k, self.size), *leaf.shape), leaf.dtype) for k, leaf in types]
        run = self._run(inputs, results, np.full(self.size, Fate.UNSTARTED, np.int32), threads, list(rows))
        kept = self._as_jax(kept_results(plan, results))
        if run.status.any():
            raise self.error(run, kept)
        return kept, run

    def go_on(self, inputs: Sequence[Any], results: Sequence[Any], status: np.ndarray[Any, Any]) -> None:
        """Run the inputs that a call by XLA has left, into the memory of its results.

        Args:
            inputs: Arrays as they are stored.
            results: What the call gave back, which nobody else has seen yet.
            status: What has become of each input.

        Raises:
            LaneError: Some inputs have no result.
            Interrupted: The user interrupted it.
        """
        run = self._run(inputs, results, status, most_threads(self.plan))
        if run.status.any():
            raise self.error(run, kept_results(self.plan, results))

    def _run(
        self, inputs: Sequence[Any], results: Sequence[Any], status: Any, threads: int, summed: Sequence[int] = ()
    ) -> Run:
        given = [*map(_memory, (*self.plan.kernel_captured, *inputs)), *map(_memory, shared_values(self.plan, inputs))]
        pointers = [_pointer(array) for array in (*given, *(results[k] for k in summed), *results)]
        return self.kernel.run(table(pointers), (given, results), status, threads)

    def error(self, run: Run, stored: Sequence[Any]) -> LaneError | KeyboardInterrupt:
        """The error for a run that did not finish all inputs, given its results as JAX's arrays."""
        if run.is_interrupted:
            return interruption(self.plan, run.status, stored)
        status = np.where(run.status & _FATE == Fate.PARKED, Fate.PARKED, run.status)
        depth = max(run.frames.depths, default=0)
        return stop_error(self.plan, status, depth=depth, results=stored, is_full=run.is_full)

    def _as_jax(self, arrays: Sequence[np.ndarray[Any, Any]]) -> list[Any]:
        """Results as JAX's arrays in the same memory; transfers that the user has forbidden are allowed for that."""
        with jax.transfer_guard_host_to_device("allow"):
            return [_as_jax(array, self.device) for array in arrays]

    def as_text(self) -> str:
        """The machine code."""
        return self.kernel.code.assembly

    def cost_analysis(self) -> None:
        """An empty analysis, as of a compiled function of JAX's: costs of kernels are not estimated."""

    def memory_analysis(self) -> None:
        """An empty analysis, as of a compiled function of JAX's: a kernel allocates nothing before it runs."""

    def stats(self, run: Run) -> RunStats:
        """The statistics of a run of a kernel that counts executions of blocks."""
        program, plan = self.plan.programs.of_a_lane, self.plan
        costs = block_costs(plan)
        blocks = [
            BlockStats(block.name, block.location, int(n), int(n), cost)
            for block, n, cost in zip(program.graph, run.counts, costs, strict=True)
        ]
        depth = max(run.frames.depths, default=0)
        choice = f"dispatch 'kernel': {form_of(plan, self.size).reason}\n"
        choice += "code of its own for each lane, which takes one input after the other"
        return RunStats(tuple(blocks), self.size, run.threads, depth, run.growths, run.threads, choice)


_FATE: Final = (1 << NUMBER) - 1


def block_costs(plan: Plan) -> list[float]:
    """The cost of each block of the program that a lane runs."""
    return [block_cost(plan.programs.of_a_lane, block) for block in plan.programs.of_a_lane.graph]


def most_threads(plan: Plan) -> int:
    """Threads that run at the same time, at most."""
    threads = plan.options.threads or cores()
    return min(threads, plan.options.lanes or threads)


def result_types(plan: Plan) -> list[Any]:
    """The arrays that a kernel gives, without the axis of inputs; if lanes may fail, one is the failure's number."""
    program = plan.programs.of_a_lane
    return [physical(leaf) for v in program.vars_out for leaf in program.var_defs[v].tensor_leaves]


def kept_results(plan: Plan, results: Sequence[Any]) -> list[Any]:
    """The results without the number of the failure, which is part of an input's fate."""
    if not plan.specialized.failures:
        return list(results)
    program = plan.programs.of_a_lane
    after = sum(len(program.var_defs[v].tensor_leaves) for v in program.vars_out[-1:])
    return [*results[: -1 - after], *results[len(results) - after :]]


def shared_values(plan: Plan, inputs: Sequence[Any]) -> list[Any]:
    """What is computed once for all lanes, of captured arrays and inputs, as they are stored."""
    if not _computed(plan.programs.of_a_lane):
        return []
    given = [x if shared else None for x, shared in zip(inputs, plan.input_shared, strict=True)]
    run: Callable[..., list[Any]] = plan.executable("kernel shared", lambda: jax.jit(shared_function(plan)))
    return list(run(*plan.kernel_captured, *given))


def shared_function(plan: Plan) -> Callable[..., list[Any]]:
    """The function of captured arrays and inputs that computes the shared values; it reads only shared inputs."""
    program, count = plan.programs.of_a_lane, len(plan.kernel_captures.arrays)
    layout = replace(plan.layout_of_one, program=program)
    wanted = set(_computed(program))

    def run(*given: Any) -> list[Any]:
        if not wanted:
            return []
        supply = iter(Inputs(layout).shared(plan.kernel_captures, given[:count], given[count:]))
        pairs = [(v, next(supply)) for v in layout.shared for _ in layout.tops(v)]
        return [value for v, value in pairs if v in wanted]

    return run


def _memory(array: Any) -> Any:
    """An array that lies in memory, row by row."""
    if isinstance(array, jax.Array) and len(array.sharding.device_set) == 1:
        return array.block_until_ready()
    array = np.asarray(array)
    dtype = jax.dtypes.canonicalize_dtype(array.dtype)
    return np.ascontiguousarray(array, dtype)


def _pointer(array: Any) -> int:
    if isinstance(array, np.ndarray):
        return array.ctypes.data
    return int(array.unsafe_buffer_pointer())


def _aligned(shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
    """An array of zeros that JAX can take as it is."""
    bytes_ = array_bytes(jax.ShapeDtypeStruct(shape, dtype))
    memory = np.zeros(bytes_ + ALIGNED_BYTES, np.uint8)
    first = -memory.ctypes.data % ALIGNED_BYTES
    array: np.ndarray[Any, Any] = memory[first : first + bytes_].view(dtype).reshape(shape)
    return array


def _as_jax(array: np.ndarray[Any, Any], device: Any) -> Any:
    if device is not None or array.nbytes >= LEAST_BYTES_BY_JAX:
        return jax.device_put(array, device)
    return jnp.asarray(array)
