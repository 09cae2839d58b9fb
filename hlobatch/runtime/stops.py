"""What stopped a run -> the error that says so, naming lanes."""

from __future__ import annotations

from typing import Any

import numpy as np

from hlobatch.diagnostics import LaneError, StackOverflowError, StepLimitError, name_lanes
from hlobatch.lowering.lanes import LIMITED, PARKED, UNSTARTED
from hlobatch.runtime.plan import Plan


def stop_error(plan: Plan, status: Any, *, in_jit: bool = False, depth: int = 0, outputs: Any = None) -> LaneError:
    """The error for a stopped run.

    Args:
        plan: What ran.
        status: ``i32[inputs]``, what became of each input.
        in_jit: Whether it ran inside ``jax.jit``, where stacks cannot grow.
        depth: Frames the stacks had at the end.
        outputs: The results of the whole batch.
    """
    status = np.asarray(status)
    location = plan.specialized.location
    limited = np.flatnonzero(status == LIMITED).tolist()
    unfinished = np.flatnonzero(status).tolist()
    waiting = int(np.sum(status == UNSTARTED))
    more = f"; {waiting} {'inputs' if waiting > 1 else 'input'} had not started" if waiting else ""
    if len(limited):
        kept = "" if in_jit else "; results are in `error.outputs`, but for the inputs in `error.unfinished`"
        return StepLimitError(
            f"{name_lanes(limited)} of {plan.name!r} had not finished after {plan.options.max_steps} blocks{more}",
            location,
            lanes=limited,
            outputs=outputs,
            unfinished=unfinished,
            help=f"raise max_steps, or look at these inputs{kept}.",
        )
    parked = np.flatnonzero(status == PARKED).tolist()
    frames = depth or plan.options.max_stack_depth
    if in_jit:
        reason = "raise max_stack_depth: inside jax.jit the stacks cannot grow; called by itself they do."
    else:
        reason = "this looks like endless recursion: check that every path reaches a base case."
    return StackOverflowError(
        f"{name_lanes(parked)} of {plan.name!r} needed more than {frames} stack frames{more}",
        location,
        lanes=parked,
        outputs=outputs,
        unfinished=unfinished,
        help=reason,
    )
