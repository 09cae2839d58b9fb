"""A plan and input arrays -> results, on this machine: compile, run, grow the stacks where lanes need it, and report.

Invariant: results come back only if every input was finished; work done before a stop is never done again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch import config
from hlobatch.ir.fate import Fate
from hlobatch.lowering import fates
from hlobatch.lowering.layout import ACTIVE, EXECUTIONS, Layout
from hlobatch.runtime.division import Division, divide
from hlobatch.runtime.plan import Plan, Room
from hlobatch.runtime.primitive import guard_p, run_within
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
    if plan.batch_size(inputs) == 0:
        return Outcome([jnp.zeros(a.shape, a.dtype) for a in plan.result_avals(0)], _no_stats(plan) if stats else None)
    return _run(divide(plan, inputs, stats=stats), inputs)


def prepared(plan: Plan, inputs: Sequence[Any]) -> Callable[[Sequence[Any]], Any]:
    """What runs batches of the types, the size and the place of ``inputs``, to what the user gets."""
    division, out_type = divide(plan, inputs), plan.out_type
    if division.threads > 1 or plan.may_stop or not out_type.is_stored_as_it_is:
        return lambda inputs: plan.result(_run(division, inputs).results)
    entry, captured, treedef = division.entry_point(Room(plan.depth)), plan.captured, out_type.treedef
    if jax.tree_util.treedef_is_leaf(treedef):
        return lambda inputs: entry(*captured, *inputs)[0]
    return lambda inputs: treedef.unflatten(entry(*captured, *inputs))  # nothing to look at: ten microseconds less


def _run(division: Division, inputs: Sequence[Any]) -> Outcome:
    operands, room = division.operands(inputs), Room(division.plan.depth)  # read once: another run may grow stacks
    return complete(division, operands, division.run(operands, room), room)


def complete(division: Division, operands: Sequence[Any], outputs: list[Sequence[Any]], room: Room) -> Outcome:
    """Bring a run to its end, given what each of its parts gave back after the first stretch."""
    plan, count = division.plan, division.plan.result_arrays
    rooms, resumptions = [room] * len(outputs), 0
    if plan.may_stop:
        stops = [int(out[count]) for out in outputs]
        while full := [i for i, stop in enumerate(stops) if stop & Fate.PARKED and rooms[i].grows]:
            room = _more(room)
            if not room.grows:  # no lane is left but those with full stacks: in the way of others, or alone
                full = [i for i in full if (division.status(rooms[i], outputs[i]) == Fate.UNSTARTED).any()]
                if not full:
                    break
            with jax.transfer_guard("allow"):  # of what was here before, and zeros
                states = {i: _moved(division, rooms[i], room, outputs[i]) for i in full}
                resumed = division.run(operands, room, states)
            for i, output in zip(full, resumed, strict=True):
                outputs[i], stops[i], rooms[i] = output, int(output[count]), room
            resumptions += 1
        if any(stops):
            statuses = map(division.status, rooms, outputs)
            parts = [[*out[:count], status] for out, status in zip(outputs, statuses, strict=True)]
            *results, status = division.join(parts)
            raise stop_error(plan, status, depth=room.depth, results=results)
        if resumptions:
            plan.grown[:] = [
                max(room.depth, plan.depth)
            ]  # not after a stop: one input without end would leave the deepest
    results = division.join([out[:count] for out in outputs])
    if not division.stats:
        return Outcome(results)
    return Outcome(results, _stats(division, rooms, outputs, resumptions))


def _more(room: Room) -> Room:
    """More room on stacks; where there is none, what lanes with full stacks work on is stopped."""
    return Room(2 * room.depth) if room.depth < config.STACK_DEPTH_LIMIT else Room(room.depth, grows=False)


def _moved(division: Division, old: Room, new: Room, output: Sequence[Any]) -> Arrays:
    """The state to go on from with more room, of what a part gave back."""
    state, layout = division.state(old, output), division.layout(old)
    if new.grows:
        return grown_state(layout, state, new.depth)
    slots = dict(zip(layout.slots, state, strict=True))
    return list(fates.given_up(division.layout(new), slots).values())


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
    outputs = run_within(plan, inputs)
    return list(guard_p.bind(*outputs, plan=plan)) if plan.may_stop else list(outputs[:-2])


def _stats(division: Division, rooms: Sequence[Room], outputs: Sequence[Sequence[Any]], resumptions: int) -> RunStats:
    plan, room = division.plan, max(rooms)
    layout = division.layout(room)
    states = map(division.state, rooms, outputs)
    slots = [dict(zip(layout.slots, state, strict=True)) for state in states]
    executions = np.sum([np.asarray(each[EXECUTIONS], np.int64) for each in slots], axis=0)
    words = np.sum([np.asarray(each[ACTIVE], np.int64) for each in slots], axis=0)
    active = words[:, 0] + (words[:, 1] << 32)
    blocks = [
        BlockStats(block.name, block.location, int(n), int(a), cost)
        for block, n, a, cost in zip(plan.machine.graph, executions, active, plan.block_costs, strict=True)
    ]
    depth = room.depth if plan.has_stacks else 0
    lanes = layout.lanes * division.threads
    choice = plan.choice_of(one_kernel=layout.one_kernel).explained(layout)
    return RunStats(tuple(blocks), division.size, lanes, depth, resumptions, division.threads, choice)


def _no_stats(plan: Plan) -> RunStats:
    blocks = zip(plan.machine.graph, plan.block_costs, strict=True)
    return RunStats(tuple(BlockStats(b.name, b.location, 0, 0, c) for b, c in blocks), 0, 0, plan.depth, 0)
