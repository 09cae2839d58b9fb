"""A run of which some results are only wanted as sums over the batch: the cotangents of what all lanes share.

``sums_p`` takes ``[captured…, inputs…]`` and gives back ``[results…]``, those of each input ``[batch, *event]``, sums
``[*event]``. Where lanes run by code of their own, each thread adds to sums of its own as it goes, and the sums of the
threads are added in the end; elsewhere each input has a row, and the batch runs in parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import jax.numpy as jnp

from hlobatch._jax import (
    Primitive,
    ShapedArray,
    batching,
    is_tracer,
    looked_for,
    lower_as_jax,
    mlir,
    register_derivatives,
    varying_alike,
)
from hlobatch.ir.physical import array_bytes
from hlobatch.runtime.as_function import batched, jvp_of
from hlobatch.runtime.execute import results_of
from hlobatch.runtime.kernel_plan import KernelRunner, runs_as_kernel, summed_results
from hlobatch.runtime.opened import split
from hlobatch.runtime.parts import in_parts
from hlobatch.runtime.plan import Plan
from hlobatch.runtime.primitive import call_of_kernel, is_kernel_here, reported

MOST_BYTES_OF_ROWS: Final = 1 << 24
"""Bytes of results that are summed over the batch, a row for each input, that a run gives back; a larger batch runs in
parts. Chosen by judgement (2026-11): large batches take more than 16 MiB anyway."""

sums_p = Primitive("hlobatch_sums")
sums_p.multiple_results = True


def results_with_sums(plan: Plan, captured: Sequence[Any], inputs: Sequence[Any], summed: tuple[int, ...]) -> list[Any]:
    """The results of a run, some of them summed over the batch.

    Args:
        plan: What is run.
        captured: The arrays that it captures, as a computation has them.
        inputs: Its inputs.
        summed: The positions of the results that are summed.
    """
    if any(map(is_tracer, (*captured, *inputs))):
        return list(sums_p.bind(*varying_alike((*captured, *inputs)), plan=plan, summed=summed))
    return _at_once(*captured, *inputs, plan=plan, summed=summed)


def _is_summed_by_kernel(plan: Plan, summed: tuple[int, ...]) -> bool:
    """Whether the kernel of a plan, if that is how it runs, can sum these results."""
    is_plain = not plan.specialized.failures and not plan.has_effects and plan.options.max_steps is None
    return is_plain and bool(summed) and summed == summed_results(plan)


def _at_once(*operands: Any, plan: Plan, summed: tuple[int, ...]) -> list[Any]:
    """The results of concrete arrays."""
    _, inputs = split(plan, operands)
    by_kernel = _is_summed_by_kernel(plan, summed) and runs_as_kernel(plan, inputs) and plan.batch_size(inputs)
    if not by_kernel or any(looked_for()):
        return _in_rows(plan, summed)(*operands)
    results, _ = KernelRunner.of(plan, inputs, sums=True)(inputs)
    return [jnp.sum(x, 0) if i in summed else x for i, x in enumerate(results)]


def _in_rows(plan: Plan, summed: tuple[int, ...]) -> Callable[..., list[Any]]:
    """The function of captured arrays and inputs that has a row for each input, which it sums."""
    avals = plan.result_avals(1)

    def run(*operands: Any) -> list[Any]:
        captured, inputs = split(plan, operands)

        def part(some: Sequence[Any]) -> tuple[list[Any], list[Any]]:
            results = results_of(plan, captured, some)
            own = [x for i, x in enumerate(results) if i not in summed]
            return own, [jnp.sum(results[i], 0) for i in summed]

        row = sum(array_bytes(avals[i]) for i in summed)
        own, sums = in_parts(part, inputs, plan.input_shared, MOST_BYTES_OF_ROWS // max(row, 1))
        of_all, of_each = iter(sums), iter(own)
        return [next(of_all if i in summed else of_each) for i in range(len(avals))]

    return run


def _abstract(*operands: Any, plan: Plan, summed: tuple[int, ...]) -> list[Any]:
    avals = plan.result_avals(plan.batch_size(split(plan, operands)[1]))
    shapes = [aval.shape[1:] if i in summed else aval.shape for i, aval in enumerate(avals)]
    return [ShapedArray(shape, aval.dtype, operands) for shape, aval in zip(shapes, avals, strict=True)]


def _lowering(ctx: Any, *operands: Any, plan: Plan, summed: tuple[int, ...]) -> Any:
    size = plan.batch_size(split(plan, ctx.avals_in)[1])
    static = isinstance(size, int) and size > 0
    if not (static and _is_summed_by_kernel(plan, summed) and is_kernel_here(ctx, plan)):
        return lower_as_jax(ctx, _in_rows(plan, summed), operands)
    call = call_of_kernel(ctx, plan, size, sums=True)

    def run(*given: Any) -> list[Any]:
        results = reported(*call(*given), plan=plan)
        return [jnp.sum(x, 0) if i in summed else x for i, x in enumerate(results)]

    with plan.as_typed():
        return lower_as_jax(ctx, run, operands)


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, plan: Plan, summed: tuple[int, ...]) -> Any:
    return jvp_of(_in_rows(plan, summed), primals, tangents)


def _batching(operands: Sequence[Any], dims: Sequence[Any], *, plan: Plan, summed: tuple[int, ...]) -> Any:
    return batched(_in_rows(plan, summed), operands, dims)


sums_p.def_impl(_at_once)
sums_p.def_abstract_eval(_abstract)
mlir.register_lowering(sums_p, _lowering)
register_derivatives(sums_p, _jvp)
batching.primitive_batchers[sums_p] = _batching
