"""A JAX primitive that runs a plan, with its rules, so that a batched function is an ordinary traceable JAX function.

``run_p`` takes ``[captured…, inputs…]`` (then shared values, if given, and the state, to resume) and returns
``[results…, stopped, status]``, or the state instead of the status. Its lowering rule merges the plan's StableHLO
module into the surrounding module; its batching rule adds lanes. ``guard_p`` passes results on, and raises an error if
the run was stopped, since stacks cannot grow inside ``jax.jit``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch._jax import (
    NOT_MAPPED,
    Primitive,
    ShapedArray,
    batching,
    embed_module,
    is_divided,
    is_for_export,
    is_for_one_cpu,
    is_for_one_device,
    looked_for,
    lower_as_jax,
    lower_for_one_device,
    lowering_platforms,
    mapped_first,
    mapped_size,
    mlir,
    not_looking,
    refuse_checks,
    varying_alike,
)
from hlobatch.diagnostics import ArtifactError, HloBatchError, MemoryLimitError
from hlobatch.kernels.types import NoKernelError
from hlobatch.lowering.state.ending import marked
from hlobatch.lowering.state.layout import LOG, LOGGED, Layout
from hlobatch.lowering.to_stablehlo import to_stablehlo
from hlobatch.runtime import nans
from hlobatch.runtime.device_kernel import calling as calling_device
from hlobatch.runtime.kernel_call import Record, calling, check_registered
from hlobatch.runtime.kernel_plan import device_kernel, is_kernel, kernel_of, most_threads
from hlobatch.runtime.kernel_shape import no_kernel
from hlobatch.runtime.memory import BYTES_SURELY_THERE, available
from hlobatch.runtime.opened import opened_at, with_captured
from hlobatch.runtime.plan import Plan, Room
from hlobatch.runtime.stops import stop_error
from hlobatch.strategy.options import KERNELS
from hlobatch.strategy.strategy import Strategy
from hlobatch.targets.registry import target_of
from hlobatch.typing import ArrayLike, Arrays

run_p = Primitive("hlobatch_run")
run_p.multiple_results = True
guard_p = Primitive("hlobatch_guard")
guard_p.multiple_results = True


def _inputs(plan: Plan, operands: Arrays) -> Sequence[Any]:
    start = len(plan.captures.arrays)
    return operands[start : start + len(plan.input_shared)]


def run_within(plan: Plan, inputs: Arrays, captured: Arrays | None = None) -> list[Any]:
    """A whole run as part of another computation: ``[results…, stopped, status]``.

    Its strategy is chosen when the computation is lowered, for a platform and its devices.

    Args:
        plan: The plan to run.
        inputs: The input arrays.
        captured: The captured arrays as the computation has them; None for the plan's own arrays.
    """
    how = dict.fromkeys(("stats", "shared_given", "resume", "keep_state"), False)
    room = Room(plan.declared_depth, grows=False)
    operands = varying_alike((*(plan.captured if captured is None else captured), *inputs))
    return list(run_p.bind(*operands, plan=plan, room=room, strategy=None, **how))


def _run_abstract(
    *operands: ArrayLike,
    plan: Plan,
    room: Room,
    stats: bool,
    keep_state: bool,
    strategy: Strategy | None,
    **_: bool,
) -> list[Any]:
    size = plan.batch_size(_inputs(plan, operands))
    avals = plan.result_avals(size)
    avals.append(jax.ShapeDtypeStruct((), np.int32))
    if keep_state:
        strategy = strategy or plan.strategy(size)
        layout = plan.layout_here(strategy, room.depth, stats=stats, grows=room.grows)
        avals += layout.slots.values()
    else:
        avals.append(jax.ShapeDtypeStruct((size,), np.int32))
        avals += log_avals(plan, size, room) if plan.has_effects else []
    return [ShapedArray(aval.shape, aval.dtype, operands) for aval in avals]


def log_avals(plan: Plan, size: Any, room: Room | None = None) -> list[jax.ShapeDtypeStruct]:
    """Avals of the lanes' logs in a run that is part of another computation."""
    room = room or Room(plan.declared_depth, grows=False)
    strategy = plan.strategy(size)
    slots = plan.layout(strategy, room.depth, grows=room.grows, drains=False).slots
    return [slots[LOG], slots[LOGGED]]


def _run_impl(*operands: ArrayLike, plan: Plan, **params: Any) -> Any:
    run = plan.executable(tuple(params.items()), lambda: jax.jit(partial(run_p.bind, plan=plan, **params)))
    with jax.disable_jit(False), not_looking():  # otherwise this rule would be called again
        outputs = run(*operands)
    if any(looked_for()) and not params["keep_state"]:
        nans.check(plan, _inputs(plan, operands), outputs[: plan.result_arrays])
    return outputs


def _run_lowering(
    ctx: Any,
    *operands: ArrayLike,
    plan: Plan,
    room: Room,
    stats: bool,
    shared_given: bool,
    resume: bool,
    keep_state: bool,
    strategy: Strategy | None,
) -> list[Any]:
    size = plan.batch_size(_inputs(plan, ctx.avals_in))
    static = isinstance(size, int)
    if static and size == 0:
        return list(lower_as_jax(ctx, lambda *_: [jnp.zeros(a.shape, a.dtype) for a in ctx.avals_out], operands))
    inputs = size if static else jax.export.symbolic_shape("b")[0]
    if strategy is None and not plan.has_effects and is_kernel_here(ctx, plan, size):
        with plan.as_typed():
            return lower_for_one_device(ctx, call_of_kernel(ctx, plan, size), operands)
    if plan.has_effects and is_for_export(ctx):
        raise no_effects_in_files(plan)
    if strategy is None:  # with effects, it is given, since the types of logs follow from it
        strategy = plan.strategy(inputs)
    ending = {"grows": room.grows, "stretches": keep_state and plan.may_be_endless, "drains": keep_state}
    (platform,) = lowering_platforms(ctx)
    ending["holds_stacks"] = target_of(platform).holds_stacks
    layout = plan.layout(strategy, room.depth, stats=stats, **ending)
    if static and not keep_state:
        _check_memory(plan, layout)
    request = plan.request(
        strategy,
        layout,
        shared_given=shared_given,
        resume=resume,
        keep_state=keep_state,
        platforms=(platform,),
    )
    first = plan.batch_size_position
    sizes = [] if static else [(operands[len(plan.captures.arrays) + first], 0)]
    with plan.as_typed():  # lowering may happen under other settings than tracing
        return embed_module(ctx, partial(to_stablehlo, request), f"hlobatch_{plan.name}", operands, sizes)


def no_effects_in_files(plan: Plan) -> HloBatchError:
    """The error for an export of a program whose lanes have effects on the host."""
    first = plan.specialized.effects[0]
    return ArtifactError(
        f"{plan.name!r} has Python do something, and what is exported runs without it: {first.text}",
        first.location,
        help="export it without, as in `if verbose: print(…)` of a static argument that is False there.",
    )


def is_kernel_here(ctx: Any, plan: Plan, size: Any) -> bool:
    """Whether a rule is to lower a plan as a call of its kernel; never for an export, which is for any machine.

    If the user has not asked for a kernel, it is one only for a single device: JAX may divide a loop among several, but
    not a call.
    """
    is_near = plan.options.dispatch in KERNELS or is_for_one_device_here(ctx, plan)
    return is_near and not is_for_export(ctx) and is_kernel(plan, size)


def is_for_one_device_here(ctx: Any, plan: Plan) -> bool:
    """Whether a rule lowers for a single device of the platform that JAX runs on, for whose target the plan is made."""
    (platform,) = lowering_platforms(ctx)
    return is_for_one_device(ctx) and target_of(platform).name == plan.programs.policies.target.name


def call_of_kernel(ctx: Any, plan: Plan, size: Any, *, sums: bool = False) -> Callable[..., list[Any]]:
    """The call of a kernel, as a function of captured arrays and inputs to ``[results…, stopped, status]``.

    Args:
        ctx: The context of the lowering rule.
        plan: The plan to run.
        size: Number of inputs in the batch.
        sums: Whether it sums the results in ``summed_results`` over inputs, with a row for each thread.

    Raises:
        KernelError: There is no kernel, or it cannot be called there.
    """
    (platform,) = lowering_platforms(ctx)
    target = target_of(platform)
    if not target.is_host:
        return calling_device(device_kernel(plan, target), size)
    kernel = kernel_of(plan, size, sums=sums)
    try:
        check_registered()
    except NoKernelError as reason:
        raise no_kernel(plan, str(reason)) from None
    threads = most_threads(plan) if is_for_one_cpu(ctx) else 1
    record = Record.of(kernel, threads)
    return calling(plan, record, size)


def _check_memory(plan: Plan, layout: Layout) -> None:
    """Refuse stacks that do not fit in memory; where stacks cannot grow, they are allocated whole at the start."""
    taken = layout.stack_bytes
    if taken > BYTES_SURELY_THERE and taken > (plan.options.max_stack_bytes or available()):
        raise MemoryLimitError(
            f"the stacks of {plan.name!r} would take {taken / 1e9:.0f} GB for {layout.lanes} lanes, more than there is",
            plan.specialized.location,
            help="inside jax.jit and in an export there are max_stack_depth frames from the start: give fewer, or "
            "fewer lanes; called by itself, its stacks grow as far as they have to.",
        )


run_p.def_abstract_eval(_run_abstract)
run_p.def_impl(_run_impl)
mlir.register_lowering(run_p, _run_lowering)


def _run_batching(operands: Arrays, dims: Sequence[Any], *, plan: Plan, **params: Any) -> Any:
    """Batching rule: ``jax.vmap`` of a batch is a larger batch."""
    if params["shared_given"] or params["resume"] or params["keep_state"]:
        raise HloBatchError("a part of a run cannot be mapped", help="map the function itself.")
    if any(map(is_divided, operands)):
        raise HloBatchError(
            f"{plan.name!r} is mapped over arrays that are divided among devices along explicit axes of a mesh",
            plan.specialized.location,
            help="map it within jax.shard_map, or over arrays that jax.sharding.reshard has brought together.",
        )
    captured = len(plan.captures.arrays)
    if of_captured := tuple(i for i, d in enumerate(dims[:captured]) if d is not NOT_MAPPED):
        opened = opened_at(plan, of_captured)
        given = opened.operands(plan, operands), opened.belonging(plan, dims, NOT_MAPPED)
        return _run_batching(*given, plan=opened.plan, **params)
    outer = mapped_size(operands, dims)
    arrays = list(zip(operands[captured:], dims[captured:], plan.input_shared, strict=True))
    mapped = [i for i, (_, d, shared) in enumerate(arrays) if shared and d is not NOT_MAPPED]
    first, axis, _ = arrays[plan.batch_size_position]
    inner = first.shape[0 if axis is NOT_MAPPED or axis else 1]
    wider = plan.unsharing(mapped)
    owners = [not shared for shared in wider.input_shared]
    inputs = []
    for (x, d, shared), per_lane in zip(arrays, owners, strict=True):
        if not per_lane:
            inputs.append(x)
            continue
        x = mapped_first(x, d, outer)
        if shared:
            x = jnp.broadcast_to(x[:, None], (outer, inner, *x.shape[1:]))
        inputs.append(x.reshape((outer * inner, *x.shape[2:])))
    outputs = run_p.bind(*with_captured(wider, plan, operands[:captured]), *inputs, plan=wider, **params)
    count = plan.result_arrays
    results, (stopped, status, *logs) = outputs[:count], outputs[count:]
    results = [r.reshape((outer, inner, *r.shape[1:])) for r in results]
    status = status.reshape((outer, inner))
    axes = [*[0] * len(results), NOT_MAPPED, 0, *[NOT_MAPPED] * len(logs)]
    found = [*results, stopped, status, *logs]
    return _without_axes_of_values(plan, dims, found, axes)


def _without_axes_of_values(
    plan: Plan, dims: Sequence[Any], outputs: list[Any], axes: list[Any]
) -> tuple[list[Any], list[Any]]:
    """The outputs of a run with tangents; if only tangents are mapped over, the other outputs are not mapped."""
    if plan.tangents_of is None:
        return outputs, axes
    without, inputs = plan.tangents_of
    if any(d is not NOT_MAPPED for d in dims[: len(dims) - len(inputs)]):
        return outputs, axes
    values = len(without.out_type.tensor_leaves)
    of_tangents = range(values, values + plan.result_arrays - without.result_arrays)
    alike = [i for i, axis in enumerate(axes) if axis == 0 and i not in of_tangents]
    return (
        [x[0] if i in alike else x for i, x in enumerate(outputs)],
        [NOT_MAPPED if i in alike else axis for i, axis in enumerate(axes)],
    )


batching.primitive_batchers[run_p] = _run_batching


def _unchecked(*, plan: Plan, **_: Any) -> None:
    raise HloBatchError(
        f"{plan.name!r} is batched, and checkify's automatic checks cannot look into it",
        plan.specialized.location,
        help="use `errors=checkify.user_checks`; for NaN, jax.debug_nans(True) names the lane and the line.",
    )


refuse_checks(run_p, _unchecked)


def _guard_abstract(*operands: ArrayLike, plan: Plan) -> list[Any]:
    del plan
    return list(operands[:-2])


def _guard_impl(*operands: ArrayLike, plan: Plan) -> list[Any]:
    *results, stopped, _ = operands
    return list(reported(*operands, plan=plan)) if int(np.max(stopped)) else results


def reported(*operands: ArrayLike, plan: Plan) -> list[Any]:
    """The results; if the run was stopped, an error is raised through the host."""
    results, report, (stopped, *others) = _reporting(operands, plan)
    shape = jax.ShapeDtypeStruct((), np.int32)
    stop = jnp.max(stopped)
    code = jax.lax.cond(stop != 0, lambda: jax.pure_callback(report, shape, stopped, *others), lambda: jnp.int32(0))
    return [jnp.where(code != 0, jnp.zeros_like(r), r) for r in results]


def report_always(operands: Arrays, plan: Plan) -> None:
    """Raise an error through the host if the run was stopped, where there are no results that JAX could compute it for.

    JAX leaves out what nothing depends on. The effect of a callback is not left out.
    """
    _, report, told = _reporting(operands, plan)
    jax.debug.callback(report, *told)


def _reporting(operands: Arrays, plan: Plan) -> tuple[list[Any], Callable[..., Any], list[Any]]:
    """The results, and the function that raises the error of a stopped run, with its arguments."""
    *results, stopped, status = operands
    details = results[-1:] if plan.specialized.failures else []

    def report(stopped: Any, status: Any, *details: Any) -> Any:
        if int(np.max(stopped)):
            details = tuple(np.reshape(words, (-1, words.shape[-1])) for words in details)
            raise stop_error(plan, np.ravel(status), in_jit=True, details=details)
        return np.int32(0)

    return results, report, [stopped, status, *details]


def _poisoned(*operands: ArrayLike, plan: Plan) -> list[Any]:
    """The results, with a mark where there is none: an export has no host to report to."""
    del plan
    *results, _, status = operands
    return marked(results, status)


def _guard_lowering(ctx: Any, *operands: ArrayLike, plan: Plan) -> Any:
    return lower_as_jax(ctx, partial(_poisoned if is_for_export(ctx) else reported, plan=plan), operands)


guard_p.def_abstract_eval(_guard_abstract)
guard_p.def_impl(_guard_impl)
mlir.register_lowering(guard_p, _guard_lowering)


def _guard_batching(operands: Arrays, dims: Sequence[Any], *, plan: Plan) -> Any:
    *results, stopped, status = operands
    if dims[-2] is not NOT_MAPPED:
        stopped = jnp.max(stopped)
    if dims[-1] is NOT_MAPPED:  # status has no mapped axis, so that of the results has to come after the lanes
        along = [NOT_MAPPED if d is NOT_MAPPED else 1 for d in dims[:-2]]
        moved = [x if d is NOT_MAPPED else jnp.moveaxis(x, d, 1) for x, d in zip(results, dims[:-2], strict=True)]
        return guard_p.bind(*moved, stopped, status, plan=plan), along
    arrays, axes = (*results, status), (*dims[:-2], dims[-1])
    outer = mapped_size(arrays, axes)
    *results, status = [mapped_first(x, d, outer) for x, d in zip(arrays, axes, strict=True)]
    out = guard_p.bind(*results, stopped, status, plan=plan)
    return out, [0] * len(out)


batching.primitive_batchers[guard_p] = _guard_batching
