"""The user's options for how a batched function runs, with checks; none changes what is computed."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from hlobatch.console import Progress, repr_of_settings
from hlobatch.lowering.turns.dispatch import FORMS, SWEEPS
from hlobatch.transforms.optimizations import ALL, Optimizations

SCHEDULES: Final = ("auto", "earliest", "most_lanes", "cost", "sweep")
KERNEL: Final = "kernel"
"""Machine code that runs one lane, in place of XLA's loop over all lanes."""
GANG: Final = "gang"
"""Machine code that runs several lanes at once in the vectors of a thread."""
KERNELS: Final = (KERNEL, GANG)
DISPATCHES: Final = ("auto", *FORMS, *KERNELS)

_MOST: Final = 2**31 - 1
"""Largest number of frames, steps or lanes, which are counted with 32 bits."""


@dataclass(frozen=True)
class Options:
    """The options for how a batched function runs; none changes what it computes.

    Raises:
        ValueError: An option has a value that it may not have, or two exclude each other.

    Attributes:
        max_stack_depth: Frames per stack to begin with.
        max_stack_bytes: Memory that stacks may grow to, in bytes, or None for what there is.
        max_steps: Blocks that one input may run, or None.
        lanes: Inputs in flight at once, or None to choose.
        threads: Parts of a batch that run side by side, or None to choose.
        schedule: Which block runs next: ``"earliest"`` in program order (the paper), ``"most_lanes"``, ``"cost"``
            (the block whose lanes have waited the longest relative to its time: cheap blocks run early, expensive ones
            when full), ``"sweep"`` (all in turn), ``"auto"``.
        dispatch: How the loop picks blocks; see ``lowering.dispatch``. ``"auto"`` chooses. ``"kernel"`` runs
            machine code for one lane instead of XLA's loop over all, ``"gang"`` machine code for several lanes at once.
        optimizations: Which passes run.
        max_tape: Frames per tape of a reverse-mode derivative to begin with.
        checkpoint_loops: Whether a reverse-mode derivative recomputes loops, stretch by stretch, instead of storing
            all turns.
        timeout: Seconds that a call outside of other computations may take, or None.
        progress: Whether such a call reports its progress; or a function that it reports to.
    """

    max_stack_depth: int = 32
    max_steps: int | None = None
    lanes: int | None = None
    threads: int | None = None
    schedule: str = "auto"
    dispatch: str = "auto"
    optimizations: Optimizations = field(default=ALL)
    max_stack_bytes: int | None = None
    max_tape: int = 256
    checkpoint_loops: bool = False
    timeout: float | None = None
    progress: bool | Callable[[Progress], object] = False

    def __repr__(self) -> str:
        return repr_of_settings(self)

    @property
    def is_watched(self) -> bool:
        """Whether a run's progress is reported or its time limited."""
        return self.timeout is not None or self.progress is not False

    @property
    def tape_ratio(self) -> int:
        """Frames of a tape, divided by frames of any other stack, rounded up."""
        return -(-self.max_tape // self.max_stack_depth)

    @property
    def in_loop(self) -> Options:
        """The options for XLA's loop, where a kernel was asked for but there is none, as in an export."""
        return replace(self, dispatch="auto") if self.dispatch in KERNELS else self

    def __post_init__(self) -> None:
        _check_choice("schedule", self.schedule, SCHEDULES)
        _check_choice("dispatch", self.dispatch, DISPATCHES)
        for name in ("max_stack_depth", "max_steps", "lanes", "threads", "max_tape"):
            is_optional = name not in ("max_stack_depth", "max_tape")
            object.__setattr__(self, name, _positive(name, getattr(self, name), optional=is_optional))
        bytes_ = _positive("max_stack_bytes", self.max_stack_bytes, optional=True, most=None)
        object.__setattr__(self, "max_stack_bytes", bytes_)
        if not isinstance(self.optimizations, Optimizations):
            raise ValueError(f"optimizations is an hb.debug.Optimizations, not {self.optimizations!r}")
        if self.timeout is not None and not (_is_number(self.timeout) and self.timeout > 0):
            raise ValueError(f"timeout is a positive number of seconds, not {self.timeout!r}")
        if not (isinstance(self.progress, bool) or callable(self.progress)):
            raise ValueError(f"progress is True, False or a function of an hb.Progress, not {self.progress!r}")
        sweeps = self.schedule == "sweep", self.dispatch in SWEEPS
        if sweeps[0] != sweeps[1] and "auto" not in (self.schedule, self.dispatch):
            raise ValueError(
                f"schedule={self.schedule!r} cannot be dispatched by {self.dispatch!r}; leave one of them 'auto'"
            )


def _check_choice(name: str, value: str, choices: Collection[str]) -> None:
    if value not in choices:
        raise ValueError(f"{name} is one of {', '.join(map(repr, choices))}, not {value!r}")


def _positive(name: str, value: Any, *, optional: bool, most: int | None = _MOST) -> int | None:
    if value is None and optional:
        return None
    if not is_int(value) or value < 1:
        raise ValueError(f"{name} is a positive int, not {value!r}")
    if most is not None and value > most:
        raise ValueError(f"{name} is at most {most}, not {value}")
    return int(value)


def _is_number(value: Any) -> bool:
    return is_int(value) or (isinstance(value, (float, np.floating)) and bool(np.isfinite(value)))


def is_int(value: Any) -> bool:
    """Whether a value is a Python or NumPy integer."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
