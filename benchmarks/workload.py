"""The data model of benchmarks: a workload, its sizes, and the contenders that do the same work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Size:
    """The size of a run.

    Attributes:
        lanes: Examples in a batch of the lockstep contenders and of the roofline. hlobatch chooses by itself how many
            are in flight, except where a workload sets that to `lanes`.
        inputs: Examples in total. If there are more than lanes, lockstep contenders run one batch after another.
    """

    lanes: int
    inputs: int

    def __str__(self) -> str:
        return f"{self.lanes:,} lanes" if self.lanes == self.inputs else f"{self.lanes:,} lanes, {self.inputs:,} inputs"


@dataclass(frozen=True)
class Prepared:
    """One contender, compiled and ready to run on fixed inputs.

    Attributes:
        run: Runs everything, blocks until the result is ready, and returns it.
        work: Useful units of work of one run; work for masked lanes does not count.
        compile_seconds: Seconds of the first compilation, tracing included.
        temp_bytes: Temporary memory that XLA allocates.
        lane_use: Share of lanes that were active when the costly kernel ran, over its executions.
        note: A note for the reader of the table.
        comparable: The part of a result that must agree between all contenders with such a function.
        compile: Compiles everything again, for timing; None if compilation happens in another process.
    """

    run: Callable[[], Any]
    work: float
    compile_seconds: float
    temp_bytes: int | None = None
    lane_use: float | None = None
    note: str = ""
    comparable: Callable[[Any], Any] | None = None
    compile: Callable[[], Any] | None = None


Contender = Callable[[Size], Prepared]
"""Compiles a contender for a size. Raises ImportError if a library that it needs is not installed."""


@dataclass(frozen=True)
class Workload:
    """One problem, and the ways to solve it that are compared.

    Attributes:
        name: Its name on the command line.
        title: Its name on the page.
        unit: The unit of work, in the singular.
        description: A description of the problem, and of where control flow differs between lanes.
        sizes: The sizes that are run by default.
        contenders: The contenders by name; the first is `"hlobatch"`.
        roofline: The bare batched kernel in a `fori_loop`, with as many lanes; None if the workload has no costly
            kernel.
        control: Whether control flow is the same in all examples, so that lockstep is as good.
    """

    name: str
    title: str
    unit: str
    description: str
    sizes: tuple[Size, ...]
    contenders: Mapping[str, Contender]
    roofline: Contender | None
    control: bool = False
