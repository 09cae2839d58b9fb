"""What became of an input, as one number for the loop, the interpreters, enclosing computations, and artifacts."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Final, NamedTuple

import numpy as np

from hlobatch.diagnostics import LaneError, StackOverflowError, StepLimitError, name_lanes


class Fate(IntEnum):
    """What became of an input. Each is a power of two, so a run can hold the union of its lanes' fates."""

    FINISHED = 0
    """Its result is there."""
    PARKED = 1
    """It needs more stack frames than there are. It waits until they have grown; if they cannot, this is final."""
    STEPPED_OUT = 2
    """It used up its steps."""
    UNSTARTED = 4
    """It was never taken from the queue."""
    FAILED = 8
    """It raised. In the status of an input, the bits from ``NUMBER`` on are the number of the failure."""
    RUNNING = 16
    """It was on its way when the run was interrupted."""


NUMBER: Final = 8
"""Number of status bits that hold the fate; the failure's number is above them."""
FATES: Final = (1 << NUMBER) - 1
"""Mask of the fate's bits."""


_ERRORS: Final[Mapping[Fate, type[LaneError]]] = {
    Fate.FAILED: LaneError,
    Fate.STEPPED_OUT: StepLimitError,
    Fate.PARKED: StackOverflowError,
}
"""The error for each fate that stops a run; if inputs had several fates, the first in this order is reported."""


class Stop(NamedTuple):
    """Why a run stopped.

    Attributes:
        error: The class of the error that reports it.
        lanes: Indices of the inputs with the reported fate.
        unfinished: Indices of all inputs without a result.
        failures: For each of ``lanes``, the number of the program's failure; empty if they did not raise.
    """

    error: type[LaneError]
    lanes: list[int]
    unfinished: list[int]
    failures: list[int]

    def message(self, name: str | None, max_steps: int | None, frames: int) -> str:
        """The error's message, given the limits of the run."""
        is_steps = self.error is StepLimitError
        what = f"had not finished after {max_steps} blocks" if is_steps else f"needed more than {frames} stack frames"
        return f"{name_lanes(self.lanes)}{f' of {name!r}' if name else ''} {what}"


def stop_of(status: np.ndarray[Any, Any]) -> Stop:
    """Why a run stopped, given the status of each input, ``i32[inputs]``."""
    fates = status & FATES
    fate = next(fate for fate in _ERRORS if (fates == fate).any())
    lanes = np.flatnonzero(fates == fate)
    failures = (status[lanes] >> NUMBER).tolist() if fate is Fate.FAILED else []
    return Stop(_ERRORS[fate], lanes.tolist(), np.flatnonzero(status).tolist(), failures)
