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
    FAILED = 8
    """It raised. In what becomes of inputs, the number of the failure is in the bits above ``NUMBER``."""
    RUNNING = 16
    """It was on its way when the run was interrupted."""


NUMBER: Final = 8
"""Bits below the number of a failure."""
FATES: Final = (1 << NUMBER) - 1
"""Those bits."""


_ERRORS: Final[Mapping[Fate, type[LaneError]]] = {
    Fate.FAILED: LaneError,
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
        failures: Which failure of the program it was, for each of ``lanes``; none if they did not raise.
    """

    error: type[LaneError]
    lanes: list[int]
    unfinished: list[int]
    failures: list[int]

    def message(self, name: str | None, max_steps: int | None, frames: int) -> str:
        """The sentence that says so, given the limits that there were."""
        is_steps = self.error is StepLimitError
        what = f"had not finished after {max_steps} blocks" if is_steps else f"needed more than {frames} stack frames"
        return f"{name_lanes(self.lanes)}{f' of {name!r}' if name else ''} {what}"


def stop_of(status: np.ndarray[Any, Any]) -> Stop:
    """What stopped a run, given what became of each input, ``i32[inputs]``."""
    fates = status & FATES
    fate = next(fate for fate in _ERRORS if (fates == fate).any())
    lanes = np.flatnonzero(fates == fate)
    failures = (status[lanes] >> NUMBER).tolist() if fate is Fate.FAILED else []
    return Stop(_ERRORS[fate], lanes.tolist(), np.flatnonzero(status).tolist(), failures)
