"""Counts of blocks -> counts of the user's lines: how often lanes ran each, and what work that was.

A block has operations of several lines, and a line's operations may be in several blocks: copies of one operation, of
which a lane runs one, and operations that come one after the other. So a line ran as often as that of its operations
which ran most often, where copies of an operation count together.
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
"""A file, and a line of it."""


@dataclass(frozen=True)
class Line:
    """What was counted for a line of the source.

    Attributes:
        file: Its file.
        line: Its number.
        text: The line, without its newline.
        runs: How often a lane ran it, all lanes together.
        visits: How often the machine ran it, each time for all lanes of a thread.
        work: Estimated floating point operations that were done for it, for lanes with a use for it and without.
        used: Those for lanes with a use for it.
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
        """Estimated operations for lanes without a use for it."""
        return self.work - self.used

    @property
    def utilization(self) -> float:
        """Share of the lanes that had a use for it, when it ran."""
        return self.used / self.work if self.work else 1.0


class _Copies(NamedTuple):
    """What copies of an operation have in common."""

    location: Location
    kind: type
    text: str


@dataclass
class _Counts:
    """What was counted for all copies of an operation."""

    runs: int = 0
    visits: int = 0
    work: float = 0.0
    used: float = 0.0


def lines_of(program: Program, blocks: Sequence[BlockStats], width: int) -> list[Line]:
    """The lines of a program, in order.

    Args:
        program: What ran.
        blocks: The counts of its blocks.
        width: Lanes that each execution of a block is for.
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
