"""The errors of stopped runs, from the status of the inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hlobatch.diagnostics import Interrupted, LaneError, StepLimitError, TimeLimitError
from hlobatch.ir.failures import failed
from hlobatch.ir.fate import Fate, stop_of
from hlobatch.runtime.plan import Plan
from hlobatch.typing import Arrays


def stop_error(
    plan: Plan,
    status: Any,
    *,
    in_jit: bool = False,
    depth: int = 0,
    results: Arrays | None = None,
    details: Sequence[Any] = (),
    is_full: bool = False,
) -> LaneError:
    """The error for a stopped run.

    Args:
        plan: The plan of the run.
        status: ``i32[inputs]``, the status of each input.
        in_jit: Whether it ran inside ``jax.jit``, where stacks cannot grow.
        depth: Frames of the stacks at the end.
        results: The results of the whole batch, if they can be passed on.
        details: The encoded values of exceptions, ``i32[inputs, words]``, if the program may raise; by default the last
            of ``results``.
        is_full: Whether there was no memory for more frames.
    """
    status = np.asarray(status)
    stop = stop_of(status)
    outputs = None if results is None else plan.result(results)
    if stop.failures:
        words = np.asarray([*details, *(results or ())][-1])
        return failed(plan.name, plan.specialized.failures, stop, words, outputs=outputs)
    message = stop.message(plan.name, plan.options.max_steps, depth or plan.declared_depth)
    if waiting := int(np.sum(status == Fate.UNSTARTED)):
        message += f"; {waiting} {'inputs' if waiting > 1 else 'input'} had not started"
    if stop.error is StepLimitError:
        kept = "" if in_jit else "; results are in `error.outputs`, but for the inputs in `error.unfinished`"
        advice = f"raise max_steps, or look at these inputs{kept}."
    elif in_jit and plan.has_tape:
        advice = (
            f"raise max_tape ({plan.tape_depth} frames) or max_stack_depth ({plan.declared_depth}): inside jax.jit the "
            "tape of a reverse-mode derivative cannot grow; called by itself it does. It is shorter with "
            "checkpoint_loops=True, or with hb.checkpoint."
        )
    elif in_jit:
        advice = "raise max_stack_depth: inside jax.jit the stacks cannot grow; called by itself they do."
    elif is_full and plan.has_tape:
        advice = (
            "the tape of a reverse-mode derivative takes more memory than there is, or than max_stack_bytes allows: "
            "have long loops computed again, with checkpoint_loops=True or hb.checkpoint, or give fewer lanes."
        )
    elif is_full:
        advice = (
            "larger stacks take more memory than there is, or than max_stack_bytes allows: check that every path "
            "reaches a base case; if it ends, run fewer inputs at a time with lanes."
        )
    elif plan.has_tape:
        advice = (
            f"the tape of a reverse-mode derivative is too short: raise max_tape ({plan.tape_depth} frames), or have "
            "long loops computed again, with checkpoint_loops=True or hb.checkpoint."
        )
    else:
        advice = (
            "this looks like endless recursion: check that every path reaches a base case; "
            "if it ends, allow for that many frames with max_stack_depth."
        )
    place = plan.specialized.location
    return stop.error(message, place, lanes=stop.lanes, outputs=outputs, unfinished=stop.unfinished, help=advice)


def out_of_time(plan: Plan, status: Any, results: Arrays | None) -> TimeLimitError:
    """The error for a run that reached its time limit, given the status of each input and the results."""
    unfinished = np.flatnonzero(np.asarray(status)).tolist()
    done = len(status) - len(unfinished)
    return TimeLimitError(
        f"{plan.name!r} had finished {done} of {len(status)} inputs when {plan.options.timeout:g} seconds were over",
        plan.specialized.location,
        lanes=unfinished,
        outputs=None if results is None else plan.result(results),
        help="raise timeout; results are in `error.outputs`, but for the inputs in `error.unfinished`.",
    )


def interruption(plan: Plan, status: Any, results: Arrays | None) -> Interrupted:
    """The error for a run that the user interrupted, given the status of each input and the results."""
    return interruption_of(plan.name, status, None if results is None else plan.result(results))


def interruption_of(name: str, status: Any, outputs: Any) -> Interrupted:
    """The error for an interrupted run, given the function's name and the results as the user gets them."""
    unfinished = np.flatnonzero(np.asarray(status))
    done = len(status) - len(unfinished)
    message = f"{name!r} was interrupted when {done} of {len(status)} inputs were finished"
    kept = "; their results are in `outputs` of this exception, but for those in `unfinished`" if done else ""
    return Interrupted(message + kept, outputs=outputs, unfinished=unfinished.tolist())
