"""What stopped a run -> the error that says so, naming lanes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hlobatch.diagnostics import LaneError, StackOverflowError, StepLimitError, name_lanes
from hlobatch.lowering.ending import LIMITED, PARKED, UNSTARTED
from hlobatch.runtime.plan import Plan


class Stop(NamedTuple):
    """What stopped a run.

    Attributes:
        error: The class that says so.
        lanes: Indices of the inputs that did; where it was steps, those that wanted more frames are not among them.
        unfinished: Indices of all inputs without a result.
    """

    error: type[LaneError]
    lanes: list[int]
    unfinished: list[int]

    def message(self, name: str, max_steps: int | None, frames: int) -> str:
        """The sentence that says so, given the limits that there were."""
        is_steps = self.error is StepLimitError
        what = f"had not finished after {max_steps} blocks" if is_steps else f"needed more than {frames} stack frames"
        return f"{name_lanes(self.lanes)} of {name!r} {what}"


def stop_of(status: np.ndarray) -> Stop:
    """What stopped a run, given what became of each input, ``i32[inputs]``."""
    error, reason = (StepLimitError, LIMITED) if (status == LIMITED).any() else (StackOverflowError, PARKED)
    return Stop(error, np.flatnonzero(status == reason).tolist(), np.flatnonzero(status).tolist())


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
    stop = stop_of(status)
    message = stop.message(plan.name, plan.options.max_steps, depth or plan.options.max_stack_depth)
    if waiting := int(np.sum(status == UNSTARTED)):
        message += f"; {waiting} {'inputs' if waiting > 1 else 'input'} had not started"
    if stop.error is StepLimitError:
        kept = "" if in_jit else "; results are in `error.outputs`, but for the inputs in `error.unfinished`"
        advice = f"raise max_steps, or look at these inputs{kept}."
    elif in_jit:
        advice = "raise max_stack_depth: inside jax.jit the stacks cannot grow; called by itself they do."
    else:
        advice = (
            "this looks like endless recursion: check that every path reaches a base case; "
            "if it ends, allow for that many frames with max_stack_depth."
        )
    place = plan.specialized.location
    return stop.error(message, place, lanes=stop.lanes, outputs=outputs, unfinished=stop.unfinished, help=advice)
