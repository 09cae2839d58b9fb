"""A plan and input arrays -> results, on this machine: compile, run, grow the stacks where lanes need it, and report.

Invariant: results come back only if every input was finished; work done before a stop is never done again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch import config
from hlobatch._jax import compiler_options
from hlobatch.ir.physical import rebuild
from hlobatch.lowering.lanes import PARKED
from hlobatch.lowering.layout import ACTIVE, EXECUTIONS, Layout
from hlobatch.runtime.plan import Plan
from hlobatch.runtime.primitive import guard_p, run_p
from hlobatch.runtime.stats import BlockStats, RunStats
from hlobatch.runtime.stops import stop_error

Arrays = list[Any]


@dataclass
class Outcome:
    """The end of a run.

    Attributes:
        results: Arrays ``[inputs, *event]`` as they are stored.
        stats: What it did, where that was asked for.
    """

    results: Arrays
    stats: RunStats | None = None


def entry_point(plan: Plan, depth: int, *, stats: bool = False, resume: bool = False) -> Callable[..., Any]:
    """The jitted function for one stack depth; JAX specializes it by batch size."""
    key = (depth, stats, resume)
    if key not in plan.compiled:
        keep_state = plan.may_stop or stats
        bound = partial(run_p.bind, plan=plan, depth=depth, stats=stats, resume=resume, keep_state=keep_state)
        plan.compiled[key] = jax.jit(bound, compiler_options=compiler_options(jax.default_backend()))
    return plan.compiled[key]


def execute(plan: Plan, inputs: Sequence[Any], *, stats: bool = False) -> Outcome:
    """Run a batch.

    Args:
        plan: What to run.
        inputs: Arrays as they are stored, ``[inputs, *event]``, shared ones ``[*event]``.
        stats: Whether to count executions.

    Raises:
        StackOverflowError: The stacks grew to their limit and some lane still wants more.
        StepLimitError: Some inputs used up ``max_steps``.
    """
    size = plan.batch_size(inputs)
    if size == 0:
        return Outcome([jnp.zeros(a.shape, a.dtype) for a in plan.result_avals(0)], _no_stats(plan) if stats else None)
    operands = [*plan.captured, *inputs]
    depth = plan.depth  # read once: a run in another thread may grow the stacks meanwhile
    outputs = entry_point(plan, depth, stats=stats)(*operands)
    return complete(plan, operands, outputs, depth, stats=stats)


def complete(
    plan: Plan, operands: Sequence[Any], outputs: Sequence[Any], depth: int, *, stats: bool = False
) -> Outcome:
    """Bring a run to its end, given the outputs of its first stretch."""
    count = len(plan.out_type.tensor_leaves)
    resumptions = 0
    if plan.may_stop:
        while (stopped := int(outputs[count])) & PARKED and depth < config.STACK_DEPTH_LIMIT:
            layout = plan.layout(plan.batch_size(operands[len(plan.captured) :]), depth, stats)
            depth, resumptions = 2 * depth, resumptions + 1
            state = grown_state(layout, outputs[count + 2 :], depth)
            outputs = entry_point(plan, depth, stats=stats, resume=True)(*operands, *state)
            plan.grown[:] = [depth]
        if stopped:
            raise _stopped(plan, outputs, count, depth)
    results = list(outputs[:count])
    if not stats:
        return Outcome(results)
    layout = plan.layout(plan.batch_size(operands[len(plan.captured) :]), depth, stats)
    return Outcome(results, _stats(plan, layout, outputs[count + 2 :], resumptions))


def _stopped(plan: Plan, outputs: Sequence[Any], count: int, depth: int) -> Exception:
    return stop_error(plan, outputs[count + 1], depth=depth, outputs=rebuild(list(outputs[:count]), plan.out_type))


def grown_state(layout: Layout, state: Sequence[Any], depth: int) -> Arrays:
    """The state with room for ``depth`` frames; the frames in use stay where they are."""
    more = depth - layout.depth
    grown = []
    for slot, array in zip(layout.slots, state, strict=True):
        pads = [(0, more), *[(0, 0)] * (array.ndim - 1)]
        grown.append(jnp.pad(array, pads) if slot in layout.buffers else array)
    return grown


def trace(plan: Plan, inputs: Sequence[Any]) -> Arrays:
    """The results as part of a computation that JAX is tracing.

    Stacks cannot grow there; a stopped run is reported through the host when the computation runs.
    """
    if plan.batch_size(inputs) == 0:
        return [jnp.zeros(a.shape, a.dtype) for a in plan.result_avals(0)]
    params = {"plan": plan, "depth": plan.depth, "stats": False, "resume": False, "keep_state": False}
    outputs = run_p.bind(*plan.captured, *inputs, **params)
    return list(guard_p.bind(*outputs, plan=plan)) if plan.may_stop else list(outputs[:-2])


def _stats(plan: Plan, layout: Layout, state: Sequence[Any], resumptions: int) -> RunStats:
    slots = dict(zip(layout.slots, state, strict=True))
    executions = np.asarray(slots[EXECUTIONS])
    words = np.asarray(slots[ACTIVE]).astype(np.uint64)
    active = words[:, 0] + (words[:, 1] << np.uint64(32))
    blocks = [
        BlockStats(block.name, block.location, int(n), int(a), cost)
        for block, n, a, cost in zip(plan.lowered.graph, executions, active, plan.block_costs, strict=True)
    ]
    return RunStats(tuple(blocks), layout.inputs, layout.lanes, layout.depth if plan.has_stacks else 0, resumptions)


def _no_stats(plan: Plan) -> RunStats:
    blocks = zip(plan.lowered.graph, plan.block_costs, strict=True)
    return RunStats(tuple(BlockStats(b.name, b.location, 0, 0, c) for b, c in blocks), 0, 0, plan.depth, 0)
