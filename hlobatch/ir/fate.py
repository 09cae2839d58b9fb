"""What becomes of an input: one number for the loop, the interpreters, results in other computations, and artifacts."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Final, NamedTuple

import numpy as np

from hlobatch.diagnostics import LaneError, StackOverflowError, StepLimitError, name_lanes


class Fate(IntEnum):
    """What became of an input. Each is a power of two: what stopped a run is their sum."""

    FINISHED = 0
    """Its result is there."""
    PARKED = 1
    """It wants more stack frames than there are. It waits until they have grown; where they cannot, it ends so."""
    STEPPED_OUT = 2
    """It used up its steps."""
    UNSTARTED = 4
    """It was never taken from the queue."""


_ERRORS: Final[Mapping[Fate, type[LaneError]]] = {
    Fate.STEPPED_OUT: StepLimitError,
    Fate.PARKED: StackOverflowError,
}
"""What says that inputs had a fate; where they had several, the first of these."""


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

    def message(self, name: str | None, max_steps: int | None, frames: int) -> str:
        """The sentence that says so, given the limits that there were."""
        is_steps = self.error is StepLimitError
        what = f"had not finished after {max_steps} blocks" if is_steps else f"needed more than {frames} stack frames"
        return f"{name_lanes(self.lanes)}{f' of {name!r}' if name else ''} {what}"


def stop_of(status: np.ndarray[Any, Any]) -> Stop:
    """What stopped a run, given what became of each input, ``i32[inputs]``."""
    fate = next(fate for fate in _ERRORS if (status == fate).any())
    return Stop(_ERRORS[fate], np.flatnonzero(status == fate).tolist(), np.flatnonzero(status).tolist())
