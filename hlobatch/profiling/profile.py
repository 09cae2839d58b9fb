"""``hb.profile``: runs a batched function on a batch and counts what it does, line by line."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import jax

from hlobatch._jax import is_tracing
from hlobatch.api import BatchedFunction, BoundFunction
from hlobatch.diagnostics import BatchTypeError, HloBatchError, hiding_internal_frames
from hlobatch.profiling import page, perfetto, text
from hlobatch.profiling.advice import advice
from hlobatch.profiling.lines import Line, lines_of
from hlobatch.profiling.raster import Raster, raster_of
from hlobatch.runtime.callers import caller
from hlobatch.runtime.execute import execute
from hlobatch.runtime.kernel_plan import runs_as_kernel, shape_of
from hlobatch.runtime.plan import Plan
from hlobatch.runtime.stats import RunStats
from hlobatch.typing import Arrays, Function, PyTree

SECONDS: Final = 10.0
"""Default time limit of the sampled run in XLA's loop."""


@dataclass(frozen=True, eq=False)
class Profile:
    """What a call did, line by line. ``print`` shows the annotated source, and notebooks show a page.

    Attributes:
        name: The user's name for the function.
        seconds: Time of a call, without profiling.
        stats: Statistics of the blocks, in the form in which a call runs.
        lines: Counts of source lines in that form, in order.
        loop_lines: Counts of source lines in XLA's loop over all lanes.
        raster: Samples of where lanes were in that loop, turn by turn.
    """

    name: str
    seconds: float
    stats: RunStats
    lines: tuple[Line, ...]
    loop_lines: tuple[Line, ...]
    raster: Raster

    @cached_property
    def form(self) -> str:
        """The dispatch of a call: ``"kernel"``, ``"gang"``, or a form of XLA's loop."""
        return self.stats.choice.split("'")[1]

    @property
    def utilization(self) -> float:
        """Share of the work in XLA's loop that was for active lanes."""
        work = sum(line.work for line in self.loop_lines)
        return sum(line.used for line in self.loop_lines) / work if work else 1.0

    @property
    def advice(self) -> str:
        """One sentence of advice."""
        return advice(self.lines, self.raster, form=self.form)

    def __repr__(self) -> str:
        return f"<hlobatch.Profile of {self.name!r}: {self.stats.inputs:,} inputs, {self.seconds:.3g} s a call>"

    def __str__(self) -> str:
        return text.text_of(self)

    def _repr_html_(self) -> str:
        return page.framed(page.html_of(self))

    def to_html(self, path: str | Path) -> None:
        """Write a self-contained HTML page: the source with its counts, and where lanes were.

        Args:
            path: The path of the file.
        """
        Path(path).write_text(page.html_of(self), encoding="utf-8")

    def to_perfetto(self, path: str | Path) -> None:
        """Write a trace of where lanes were, for ui.perfetto.dev and chrome://tracing: a row per lane.

        Args:
            path: The path of the file, such as ``"trace.json"``.
        """
        Path(path).write_text(perfetto.trace_of(self), encoding="utf-8")


def profile(fun: Function, *, seconds: float = SECONDS) -> Callable[..., Profile]:
    """A function that runs a batched function, and returns what it did line by line.

    The batch is run several times: as in a call, to measure the time; in the same form, with counts; and in XLA's loop
    over all lanes, paused every few turns to sample where lanes are.

    Args:
        fun: A batched function.
        seconds: Time limit of the sampled run in XLA's loop, to which the counts of that loop are limited.

    Returns:
        A function of the arguments of ``fun`` that returns a ``Profile``.

    Raises:
        BatchTypeError: ``fun`` is not batched; in a call: the batch is empty.
        HloBatchError: In a call: it is inside a JAX transformation; also any error of a call of ``fun``.

    Examples:
        >>> import hlobatch as hb, jax.numpy as jnp
        >>> @hb.batch
        ... def collatz(n):
        ...     steps = 0
        ...     while n != 1:
        ...         n = n // 2 if n % 2 == 0 else 3 * n + 1
        ...         steps += 1
        ...     return steps
        >>> found = hb.profile(collatz)(jnp.arange(1, 9))
        >>> [(line.text.strip(), line.runs) for line in found.lines if "+=" in line.text]
        [('steps += 1', 42)]
    """
    if not isinstance(fun, (BatchedFunction, BoundFunction)):
        raise BatchTypeError(f"hb.profile takes a batched function, not {fun!r}", caller(), help="decorate it.")

    @hiding_internal_frames
    def run(*args: PyTree, **kwargs: PyTree) -> Profile:
        if is_tracing():
            raise HloBatchError("a profile cannot be traced", caller(), help="call it outside jax.jit.")
        traced = fun.trace(*args, **kwargs)
        if not traced.call.size:
            raise BatchTypeError(
                f"the batch of {traced.plan.name!r} is empty, and nothing is run for it that could be profiled",
                caller(),
                help="profile it on a batch of some inputs.",
            )
        took = min(_seconds_of(lambda: fun(*args, **kwargs)) for _ in range(2))  # the first one may compile
        plan = fun.trace(*args, **kwargs).plan  # whose containers have the room that the call needed
        return _profiled(plan, traced.call.physical(), took, seconds)

    return functools.update_wrapper(run, fun, updated=())


def _profiled(plan: Plan, inputs: Arrays, took: float, seconds: float) -> Profile:
    with plan.as_typed():
        raster = raster_of(plan, inputs, seconds)
        divided = raster.division.plan
        loop_lines = lines_of(divided.programs.machine, raster.stats.blocks, raster.width)
        stats, lines = raster.stats, loop_lines
        if runs_as_kernel(plan, inputs):
            counted = execute(plan, inputs, stats=True).stats
            assert counted is not None
            shape = shape_of(plan, plan.batch_size(inputs))
            width = shape.processor.width
            stats, lines = counted, lines_of(shape.program, counted.blocks, width)
    return Profile(plan.name, took, stats, tuple(lines), tuple(loop_lines), raster)


def _seconds_of(call: Callable[[], Any]) -> float:
    began = perf_counter()
    jax.block_until_ready(call())
    return perf_counter() - began
