"""What a benchmark is: a workload, its sizes, and the contenders that do the same work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Size:
    """How large a run is.

    Attributes:
        lanes: Examples in a batch of the lockstep contenders and of the roofline. How many are in flight at once in
            hlobatch it chooses itself, except where a workload says that it shall be as many.
        inputs: Examples in all. With more of them than lanes, lockstep contenders run one batch after another.
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
        work: Useful units of work that one run does: what some lane wanted, never masked lanes.
        compile_seconds: From nothing to the executable, tracing included, the first time.
        temp_bytes: Temporary memory that XLA allocates.
        lane_use: Share of the lanes of the costly kernel that did wanted work.
        note: For the reader of the table.
        comparable: Takes from a result what must agree between all contenders that have this.
        compile: Makes the executable from nothing once more; None where that is done elsewhere.
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
"""Compiles one way to do the work. Raises ImportError if what it needs is not installed."""


@dataclass(frozen=True)
class Workload:
    """One problem, and the ways to solve it that are compared.

    Attributes:
        name: What it is called on the command line.
        title: What it is called on the page.
        unit: Of work, in the singular.
        description: Of the problem and where control differs between lanes.
        sizes: What is run by default.
        contenders: By name; the first is `"hlobatch"`.
        roofline: The bare batched kernel in a `fori_loop`, with as many lanes; None if there is no kernel to speak of.
        control: Whether all examples do the same, so that lockstep serves as well.
    """

    name: str
    title: str
    unit: str
    description: str
    sizes: tuple[Size, ...]
    contenders: Mapping[str, Contender]
    roofline: Contender | None
    control: bool = False
