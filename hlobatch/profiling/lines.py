"""Turns counts of blocks into counts of source lines: how often lanes ran each, and how much work that was.

A block has operations of several lines, and a line may have operations in several blocks: copies of one operation, of
which a lane runs one, and operations that follow each other. So the count of a line is the largest count among its
operations, where copies of an operation are added up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hlobatch.analysis.cost import primitive_cost
from hlobatch.diagnostics import UNKNOWN, Location
from hlobatch.ir.ops import PrimOp
from hlobatch.ir.program import Program
from hlobatch.prelude import is_of_prelude
from hlobatch.runtime.stats import BlockStats

Place = tuple[str, int]
"""A file and a line number."""


@dataclass(frozen=True)
class Line:
    """The counts of a source line.

    Attributes:
        file: Its file.
        line: Its number.
        text: The line, without its newline.
        runs: Number of times that a lane ran it, summed over lanes.
        visits: Number of times that it ran, each time for all lanes of a thread.
        work: Estimated floating point operations for it, for active lanes and others.
        used: The part of ``work`` that was for active lanes.
    """

    file: str
    line: int
    text: str
    runs: int
    visits: int
    work: float
    used: float

    @property
    def wasted(self) -> float:
        """Estimated operations for lanes that were not active."""
        return self.work - self.used

    @property
    def utilization(self) -> float:
        """Share of active lanes when it ran, weighted by work."""
        return self.used / self.work if self.work else 1.0


class _Copies(NamedTuple):
    """The key that copies of an operation share."""

    location: Location
    kind: type
    text: str


@dataclass
class _Counts:
    """The counts of all copies of an operation."""

    runs: int = 0
    visits: int = 0
    work: float = 0.0
    used: float = 0.0


def lines_of(program: Program, blocks: Sequence[BlockStats], width: int) -> list[Line]:
    """The lines of a program with their counts, in order.

    Args:
        program: The program that ran.
        blocks: The counts of its blocks.
        width: Lanes in each execution of a block.
    """
    found: dict[_Copies, _Counts] = defaultdict(_Counts)
    for block, counted in zip(program.graph, blocks, strict=True):
        seen = set()
        for op in block.ops:
            if op.location is UNKNOWN or is_of_prelude(op.location.file):
                continue
            copies = _Copies(op.location, type(op), op.text if isinstance(op, PrimOp) else "")
            counts = found[copies]
            if copies not in seen:
                counts.runs += counted.active
                counts.visits += counted.executions
            cost = max(1.0, primitive_cost(op)) if isinstance(op, PrimOp) else 0.0
            counts.work += cost * counted.executions * width
            counts.used += cost * counted.active
            seen.add(copies)
    by_line: dict[Place, list[tuple[Location, _Counts]]] = defaultdict(list)
    for (place, kind, _), counts in found.items():
        if kind is PrimOp:
            by_line[place.file, place.line].append((place, counts))
    return [_line(file, line, each) for (file, line), each in sorted(by_line.items())]


def _line(file: str, line: int, counted: Sequence[tuple[Location, _Counts]]) -> Line:
    place, counts = counted[0][0], [each for _, each in counted]
    return Line(
        file,
        line,
        place.source_line,
        max(each.runs for each in counts),
        max(each.visits for each in counts),
        sum(each.work for each in counts),
        sum(each.used for each in counts),
    )
