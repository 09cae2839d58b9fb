"""Runs with some results summed over the batch: cotangents of shared inputs.

``sums_p`` takes ``[captured…, inputs…]`` and returns ``[results…]``: per-input results ``[batch, *event]``, sums
``[*event]``. In a kernel, each thread adds to sums of its own as it goes, and these are added at the end. In a loop of
several XLA kernels, all lanes add to one array. Otherwise the run returns a row for each input, and the batch runs in
parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import jax.numpy as jnp

from hlobatch._jax import (
    Primitive,
    ShapedArray,
    batching,
    is_for_one_device,
    is_tracer,
    looked_for,
    lower_as_jax,
    lowering_platforms,
    mlir,
    register_derivatives,
    varying_alike,
)
from hlobatch.diagnostics import Interrupted, LaneError
from hlobatch.ir.physical import array_bytes
from hlobatch.runtime.as_function import batched, jvp_of, linearize_of
from hlobatch.runtime.execute import results_of
from hlobatch.runtime.kernel_plan import KernelRunner, is_kernel, runs_as_kernel, shape_of
from hlobatch.runtime.opened import split, with_captured
from hlobatch.runtime.parts import in_parts
from hlobatch.runtime.places import devices_of
from hlobatch.runtime.plan import Plan
from hlobatch.runtime.primitive import call_of_kernel, is_kernel_here, reported
from hlobatch.targets.registry import target_of
from hlobatch.typing import ArrayLike, Arrays

MOST_BYTES_OF_ROWS: Final = 1 << 24
"""Bytes of the rows that a run returns, one for each input, to be summed over the batch; a larger batch runs in parts.
Chosen by judgement (2026-11): large batches take more than 16 MiB anyway.
"""

sums_p = Primitive("hlobatch_sums")
sums_p.multiple_results = True


def results_with_sums(plan: Plan, captured: Arrays, inputs: Arrays, summed: tuple[int, ...]) -> list[Any]:
    """The results of a run, some of them summed over the batch.

    Args:
        plan: The plan to run.
        captured: The captured arrays as a computation has them.
        inputs: The input arrays.
        summed: The positions of the results to sum.
    """
    if any(map(is_tracer, (*captured, *inputs))):
        return list(sums_p.bind(*varying_alike((*captured, *inputs)), plan=plan, summed=summed))
    return _at_once(*captured, *inputs, plan=plan, summed=summed)


def _is_plain(plan: Plan) -> bool:
    """Whether every input has a result or the run is an error, so that a sum never has to leave an input out."""
    return not plan.specialized.failures and not plan.has_effects and plan.options.max_steps is None


def _is_summed_by_kernel(plan: Plan, summed: tuple[int, ...], size: Any) -> bool:
    """Whether the plan's kernel, if it runs as one, can sum these results; only kernels of a CPU can."""
    is_of_host = bool(summed) and plan.programs.policies.target.is_host
    return _is_plain(plan) and is_of_host and summed == shape_of(plan, size).summed_results


def _summing_in_loop(plan: Plan, size: Any, *, threads: int = 1) -> Plan:
    """A plan that sums over lanes in its loop; the plan itself if a row for each lane serves as well.

    It is also the plan itself if threads would have to run one of the inputs twice.

    Args:
        plan: What is run.
        size: Inputs in the batch.
        threads: Parts that the batch is divided into.
    """
    if not (_is_plain(plan) and isinstance(size, int) and size and size % threads == 0):
        return plan
    found: Plan = plan.derived("sums in loop", lambda: replace(plan, grown=[], sums_in_loop=True))
    return found if found.summed else plan


def _at_once(*operands: ArrayLike, plan: Plan, summed: tuple[int, ...]) -> list[Any]:
    """The results for concrete arrays."""
    _, inputs = split(plan, operands)
    size = plan.batch_size(inputs)
    by_kernel = size and _is_summed_by_kernel(plan, summed, size) and runs_as_kernel(plan, inputs)
    if any(looked_for()):
        return _in_rows(plan, summed)(*operands)
    if not by_kernel:
        return _by_loop(plan, summed, operands)
    results, _ = KernelRunner.of(plan, inputs, sums=True)(inputs)
    return [jnp.sum(x, 0) if i in summed else x for i, x in enumerate(results)]


def _by_loop(plan: Plan, summed: tuple[int, ...], operands: Arrays) -> list[Any]:
    """The results for concrete arrays, by XLA's loop."""
    _, inputs = split(plan, operands)
    size = plan.batch_size(inputs)
    if len(devices_of(plan, inputs)) > 1 or is_kernel(plan, size):
        return _in_rows(plan, summed)(*operands)
    threads = plan.programs.policies.policy.threads_for(size)
    wanted = _summing_in_loop(plan, size, threads=threads)
    try:
        return _in_rows(plan, summed, wanted)(*operands)
    except (LaneError, Interrupted) as error:
        if wanted is not plan:
            error.outputs = None  # sums include parts of inputs that were stopped
        raise


def _in_rows(plan: Plan, summed: tuple[int, ...], wanted: Plan | None = None) -> Callable[..., list[Any]]:
    """The function of captured arrays and inputs that computes rows for each input and sums them.

    Args:
        plan: The plan to run.
        summed: The positions of the results to sum.
        wanted: The plan to run instead, whose loop may compute some of the sums already.
    """
    wanted = wanted or plan
    avals, are_there = wanted.result_avals(1), wanted.summed_results

    def run(*operands: ArrayLike) -> list[Any]:
        captured, inputs = split(plan, operands)
        captured = with_captured(wanted, plan, captured)

        def part(some: Arrays) -> tuple[list[Any], list[Any]]:
            results = results_of(wanted, captured, some)
            own = [x for i, x in enumerate(results) if i not in summed]
            return own, [results[i] if i in are_there else jnp.sum(results[i], 0) for i in summed]

        row = sum(array_bytes(avals[i]) for i in summed if i not in are_there)
        most = MOST_BYTES_OF_ROWS // row if row else plan.batch_size(inputs)
        own, sums = in_parts(part, inputs, plan.input_shared, most)
        of_all, of_each = iter(sums), iter(own)
        return [next(of_all if i in summed else of_each) for i in range(len(avals))]

    return run


def _abstract(*operands: ArrayLike, plan: Plan, summed: tuple[int, ...]) -> list[Any]:
    avals = plan.result_avals(plan.batch_size(split(plan, operands)[1]))
    shapes = [aval.shape[1:] if i in summed else aval.shape for i, aval in enumerate(avals)]
    return [ShapedArray(shape, aval.dtype, operands) for shape, aval in zip(shapes, avals, strict=True)]


def _lowering(ctx: Any, *operands: ArrayLike, plan: Plan, summed: tuple[int, ...]) -> Any:
    size = plan.batch_size(split(plan, ctx.avals_in)[1])
    static = isinstance(size, int) and size > 0
    is_kernel_of_ours = is_kernel_here(ctx, plan, size)
    is_for_host = all(target_of(platform).is_host for platform in lowering_platforms(ctx))
    if not (static and is_for_host and _is_summed_by_kernel(plan, summed, size) and is_kernel_of_ours):
        is_for_lanes = is_for_one_device(ctx) and not is_kernel_of_ours
        wanted = _summing_in_loop(plan, size) if is_for_lanes else plan
        return lower_as_jax(ctx, _in_rows(plan, summed, wanted), operands)
    call = call_of_kernel(ctx, plan, size, sums=True)

    def run(*given: Any) -> list[Any]:
        results = reported(*call(*given), plan=plan)
        return [jnp.sum(x, 0) if i in summed else x for i, x in enumerate(results)]

    with plan.as_typed():
        return lower_as_jax(ctx, run, operands)


def _jvp(primals: Arrays, tangents: Arrays, *, plan: Plan, summed: tuple[int, ...]) -> Any:
    return jvp_of(_in_rows(plan, summed), primals, tangents)


def _linearize(has_tangent: Sequence[bool], *operands: ArrayLike, plan: Plan, summed: tuple[int, ...]) -> Any:
    return linearize_of(_in_rows(plan, summed), has_tangent, operands)


def _batching(operands: Arrays, dims: Sequence[Any], *, plan: Plan, summed: tuple[int, ...]) -> Any:
    return batched(_in_rows(plan, summed), operands, dims)


sums_p.def_impl(_at_once)
sums_p.def_abstract_eval(_abstract)
mlir.register_lowering(sums_p, _lowering)
register_derivatives(sums_p, _jvp, _linearize)
batching.primitive_batchers[sums_p] = _batching
