"""Runs a plan on the arrays of a batch on this machine: the entry to running.

Invariant: results come back only if every input was finished.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import starmap
from operator import itemgetter
from time import perf_counter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch._jax import is_tracer, looked_for, not_looking
from hlobatch.lowering.state.layout import ACTIVE, EXECUTIONS
from hlobatch.runtime import nans
from hlobatch.runtime.course import Course, Part
from hlobatch.runtime.division import Division, Start, divide
from hlobatch.runtime.emissions import emit_within
from hlobatch.runtime.kernel_by_itself import by_itself, is_called_so
from hlobatch.runtime.kernel_plan import check_kernel, form_of, runner_of, runs_as_kernel
from hlobatch.runtime.kinds_of_calls import ARRAYS, CALLS_FROM_PYTHON, MOST_MISTAKEN, UNKNOWN, Kind, Prepared, types_of
from hlobatch.runtime.leaving import in_a_stretch
from hlobatch.runtime.places import has_several_devices
from hlobatch.runtime.plan import Plan, Room
from hlobatch.runtime.primitive import guard_p, report_always, run_within
from hlobatch.runtime.stats import BlockStats, RunStats
from hlobatch.runtime.watch import Watch
from hlobatch.strategy.options import KERNELS


@dataclass
class Outcome:
    """The end of a run.

    Attributes:
        results: list[Any] ``[inputs, *event]`` as they are stored.
        stats: Statistics of the run, if asked for; else None.
    """

    results: list[Any]
    stats: RunStats | None = None


def execute(plan: Plan, inputs: Sequence[Any], *, stats: bool = False) -> Outcome:
    """Run a batch.

    Args:
        plan: The plan to run.
        inputs: list[Any] as they are stored, ``[inputs, *event]``, shared ones ``[*event]``.
        stats: Whether to count executions.

    Raises:
        StackOverflowError: The stacks grew to their limit and some lane still needs more.
        StepLimitError: Some inputs used up ``max_steps``.
        Interrupted: The user interrupted it.
        TimeLimitError: Its time limit was reached.
        LaneError: A result has a NaN, and JAX is set to look for them.
    """
    if plan.batch_size(inputs) == 0:
        with jax.transfer_guard("allow"):
            return Outcome(_no_results(plan), _no_stats(plan) if stats else None)
    if runs_as_kernel(plan, inputs):
        run = partial(_by_kernel, plan, inputs, stats=stats)
    else:
        run = partial(_run, divide(plan, inputs, stats=stats), inputs)
    if not any(looked_for()):
        return run()
    with not_looking():
        outcome = run()
    nans.check(plan, inputs, outcome.results)
    return outcome


def prepared(plan: Plan, inputs: Sequence[Any], kind: Kind = ARRAYS) -> Prepared:
    """Functions that run batches with types, size and place like ``inputs``, and return the user's result.

    Args:
        plan: The plan to run.
        inputs: list[Any] as they are stored.
        kind: The kind of the calls that have such arrays.
    """
    is_kernel = runs_as_kernel(plan, inputs)
    return _prepared_kernel(plan, inputs, kind) if is_kernel else _prepared_loop(plan, inputs, kind)


def _prepared_loop(plan: Plan, inputs: Sequence[Any], kind: Kind) -> Prepared:
    """``prepared``, for a plan that runs in XLA's loop."""
    division, is_stored = divide(plan, inputs), plan.out_type.is_stored_as_it_is
    is_slow = plan.options.is_watched or division.threads > 1 or plan.has_effects
    if is_slow or (division.may_stop and not is_stored):
        return Prepared(lambda inputs: plan.result(_run(division, inputs).results))
    if division.may_stop:
        return Prepared(_quickly(division))
    return _without_stop(plan, inputs, kind, division.entry_point(division.room))


def _without_stop(plan: Plan, inputs: Sequence[Any], kind: Kind, entry: Callable[..., Any]) -> Prepared:
    """``prepared``, for a run in XLA's loop that cannot stop before its end, so that nothing has to be checked."""
    captured, is_stored = plan.captured, plan.out_type.is_stored_as_it_is
    inner = plan.out_type.treedef.unflatten if is_stored else list
    types = types_of(inputs)
    calls, mistaken = itertools.count(1), itertools.count(1)
    jitted: Callable[..., Any] | None = None
    is_asked = kind.is_told_by_types and not has_several_devices()

    def call(args: Sequence[Any], kwargs: Mapping[str, Any], *, are_alike: bool = False) -> Any:
        nonlocal is_asked
        if jitted is None or not is_asked:
            return UNKNOWN
        try:
            result = jitted(*args, **kwargs)
        except Exception:  # noqa: BLE001  # JAX's, as of an operand that is no array, or `OtherTypesError`
            is_asked = are_alike or next(mistaken) < MOST_MISTAKEN
            return UNKNOWN
        return result if is_stored else plan.result(result)

    def run(inputs: Sequence[Any]) -> Any:
        nonlocal jitted
        if is_asked and jitted is None and next(calls) >= CALLS_FROM_PYTHON:
            jitted = kind.jitted(lambda *operands: inner(entry(*operands)), captured, types)
        result = inner(entry(*captured, *inputs))
        return result if is_stored else plan.result(result)

    return Prepared(run, call)


def _prepared_kernel(plan: Plan, inputs: Sequence[Any], kind: Kind) -> Prepared:
    """``prepared``, for a plan that runs as a kernel."""
    out_type = plan.out_type
    is_here = plan.programs.policies.target.is_host and is_called_so()
    if plan.has_effects or plan.options.is_watched or any(looked_for()) or not is_here:
        return Prepared(lambda inputs: plan.result(execute(plan, inputs).results))
    if not out_type.is_stored_as_it_is:
        return by_itself(plan, inputs, plan.result, kind)
    unflatten, count = out_type.treedef.unflatten, len(out_type.tensor_leaves)
    if count and jax.tree_util.treedef_is_leaf(out_type.treedef):  # None, too, is a leaf in this sense
        return by_itself(plan, inputs, itemgetter(0), kind)
    return by_itself(plan, inputs, lambda results: unflatten(results[:count]), kind)


def _by_kernel(plan: Plan, inputs: Sequence[Any], *, stats: bool) -> Outcome:
    """Run a batch by a kernel."""
    runner: Any = runner_of(plan, inputs, counts=stats)
    results, run = runner(inputs)
    return Outcome(results, runner.stats(run) if stats else None)


def _quickly(division: Division) -> Callable[[Sequence[Any]], Any]:
    """A function that runs a batch in one part, and expects it to finish in the first stretch."""
    plan, pace, count = division.plan, division.pace, len(division.plan.out_type.tensor_leaves)
    captured, unflatten, stop = plan.captured, plan.out_type.treedef.unflatten, division.stop
    known: dict[tuple[int, int], tuple[Room, Callable[..., Any], tuple[Any, ...]]] = {}

    def run(inputs: Sequence[Any]) -> Any:
        if plan.ends.are_expected:
            return unflatten(_run(division, inputs).results)
        key = plan.depth, pace.turns
        if key not in known:
            known[key] = (room := division.room), division.entry_point(room), division.turns
        room, entry, turns = known[key]
        outputs, began = list[Any](), perf_counter()
        try:
            with in_a_stretch():
                outputs.extend(starmap(entry, ((*captured, *inputs, *turns),)))  # as in `division.Stretch`
                is_stopped = stop(outputs[0])
            if not is_stopped:
                return unflatten(outputs[0][:count])
        except KeyboardInterrupt:
            raise gone_so_far(inputs, room, outputs).interrupted() from None
        course = gone_so_far(inputs, room, outputs)
        course.note(perf_counter() - began, {0: Start(room)})
        course.finish()
        return unflatten(course.results[:count])

    def gone_so_far(inputs: Sequence[Any], room: Room, outputs: Sequence[Any]) -> Course:
        parts = dict(enumerate(Part(room, output, stop(output)) for output in outputs))
        return Course(division, (*captured, *inputs), parts)

    return run


def _run(division: Division, inputs: Sequence[Any]) -> Outcome:
    watch = Watch.of(division.plan, division.size)
    course = Course(division, division.operands(inputs), watch=watch)
    course.run(division.room)
    return outcome(course)


def outcome(course: Course) -> Outcome:
    """The outcome of a run that has ended."""
    return Outcome(course.results, _stats(course) if course.division.stats else None)


def results_of(plan: Plan, captured: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
    """The results as they are stored, computed now, or, on tracers, as part of a computation that JAX is tracing.

    Args:
        plan: The plan to run.
        captured: The captured arrays as the computation has them.
        inputs: The input arrays.
    """
    is_traced = any(map(is_tracer, (*captured, *inputs)))
    return list(trace(plan, inputs, captured) if is_traced else at_once(plan, inputs))


def at_once(plan: Plan, inputs: Sequence[Any]) -> Sequence[Any]:
    """The results of a run now, as they are stored; batches with the same types share a prepared run."""
    is_plain = plan.out_type.is_stored_as_it_is and not plan.specialized.failures and not plan.has_effects
    if not is_plain or any(looked_for()) or not plan.batch_size(inputs):
        return execute(plan, inputs).results
    key = tuple((x.shape, x.dtype, getattr(x, "sharding", None)) for x in inputs)
    run: Any = plan.executable(("at once", key), lambda: prepared(plan, inputs).of_arrays)
    return plan.out_type.flatten(run(inputs))


def trace(plan: Plan, inputs: Sequence[Any], captured: Sequence[Any] | None = None) -> list[Any]:
    """The results of a run within a computation that JAX is tracing.

    Stacks cannot grow there; a stopped run is reported through the host when the computation runs.

    Args:
        plan: The plan to run.
        inputs: The input arrays.
        captured: The captured arrays as the computation has them; None for the plan's own arrays.
    """
    if plan.batch_size(inputs) == 0:
        return _no_results(plan)
    if plan.options.dispatch in KERNELS:
        check_kernel(plan)  # raises the reason if there is no kernel
    outputs = run_within(plan, inputs, captured)
    end = plan.result_arrays + 2
    if plan.has_effects:
        emit_within(plan, outputs[end:])
    if not plan.may_stop:
        return list(outputs[: end - 2])
    if not plan.out_type.tensor_leaves:
        report_always(outputs[:end], plan)
    return list(guard_p.bind(*outputs[:end], plan=plan))


def _stats(course: Course) -> RunStats:
    division, plan = course.division, course.division.plan
    room = max(part.room for part in course.parts.values())
    layout = division.layout(room)
    states = [division.state(part.room, part.output) for part in course.parts_by_number]
    slots = [dict(zip(layout.slots, state, strict=True)) for state in states]
    executions = np.sum([np.asarray(each[EXECUTIONS], np.int64) for each in slots], axis=0)
    words = np.sum([np.asarray(each[ACTIVE], np.int64) for each in slots], axis=0)
    active = words[:, 0] + (words[:, 1] << 32)
    blocks = [
        BlockStats(block.name, block.location, int(n), int(a), cost)
        for block, n, a, cost in zip(plan.programs.machine.graph, executions, active, plan.block_costs, strict=True)
    ]
    depth = room.depth if plan.has_stacks else 0
    lanes = layout.lanes * division.threads
    choice = division.strategy.explained(layout)
    if reason := form_of(plan, division.size).reason:
        choice += f"\nno code of its own for each lane: {reason}"
    return RunStats(tuple(blocks), division.size, lanes, depth, course.resumptions, division.threads, choice)


def _no_results(plan: Plan) -> list[Any]:
    """The results of an empty batch."""
    return [jnp.zeros(a.shape, a.dtype) for a in plan.result_avals(0)]


def _no_stats(plan: Plan) -> RunStats:
    blocks = zip(plan.programs.machine.graph, plan.block_costs, strict=True)
    return RunStats(tuple(BlockStats(b.name, b.location, 0, 0, c) for b, c in blocks), 0, 0, plan.depth, 0)
