"""What a user may say about how a batched function runs, and the checks of it; none changes what is computed."""

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
"""Not a form of XLA's loop, but code of its own for each lane."""
GANG: Final = "gang"
"""Code of its own for several lanes, which run at once in the vectors of a thread."""
KERNELS: Final = (KERNEL, GANG)
DISPATCHES: Final = ("auto", *FORMS, *KERNELS)

_MOST: Final = 2**31 - 1
"""Frames, steps, lanes: they are counted with 32 bits."""


@dataclass(frozen=True)
class Options:
    """How a batched function runs; none changes what it computes.

    Raises:
        ValueError: One is not what it may be, or two do not go together.

    Attributes:
        max_stack_depth: Frames per stack to begin with.
        max_stack_bytes: Memory that stacks may grow to, in bytes, or None for what there is.
        max_steps: Blocks that one input may run, or None.
        lanes: Inputs in flight at once, or None to choose.
        threads: Parts of a batch that run side by side, or None to choose.
        schedule: Which block runs next: ``"earliest"`` in program order (the paper), ``"most_lanes"``, ``"cost"`` (that
            whose lanes have waited the longest for the time it takes: cheap ones run early, expensive ones full),
            ``"sweep"`` (all in turn), ``"auto"``.
        dispatch: How the loop picks blocks; see ``lowering.dispatch``. ``"auto"`` chooses. ``"kernel"`` for code of its
            own for each lane instead of a loop of XLA's over all, ``"gang"`` for code that runs several lanes at once.
        optimizations: Which passes run.
        max_tape: Frames per tape of a reverse-mode derivative to begin with.
        checkpoint_loops: Whether a reverse-mode derivative computes loops again, stretch by stretch.
        timeout: Seconds that a call by itself may take, or None.
        progress: Whether a call by itself tells how far it is; or what it tells that.
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
        """Whether somebody looks at a run while it is on its way."""
        return self.timeout is not None or self.progress is not False

    @property
    def tape_ratio(self) -> int:
        """How many times as many frames a tape has as any other stack."""
        return -(-self.max_tape // self.max_stack_depth)

    @property
    def in_loop(self) -> Options:
        """How XLA's loop runs what is to be a kernel where there is none, as in an export."""
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
            raise ValueError(f"optimizations is an hb.Optimizations, not {self.optimizations!r}")
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
    """Whether a value is an integer, of Python's or NumPy's."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
