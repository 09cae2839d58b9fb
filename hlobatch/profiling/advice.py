"""Derives from a run's counts one sentence of advice, with the line that it is about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hlobatch.profiling.lines import Line
from hlobatch.profiling.raster import Raster

WELL_USED: Final = 0.7
"""Share of the work that is for active lanes from which raising it gains little."""
MOST_OF_IT: Final = 0.25
"""Share of lanes with work left below which the end of a run counts as a tail."""
LEAST_INPUTS: Final = 32
"""Number of inputs from which a queue makes sense."""


def advice(lines: Sequence[Line], raster: Raster, *, form: str) -> str:
    """One or two sentences of advice.

    Args:
        lines: The lines' counts in the form in which a call runs.
        raster: The samples of a run in XLA's loop.
        form: The dispatch of a call: ``"kernel"``, ``"gang"``, or a form of XLA's loop.
    """
    if not lines:
        return "No line of yours runs in lanes: all is computed once."
    total = sum(line.work for line in lines) or 1.0
    dearest = max(lines, key=lambda line: line.work)
    where = f"line {dearest.line} is {dearest.work / total:.0%} of the work"
    used = sum(line.used for line in lines) / total
    if form == "kernel":
        return f"Each lane runs code of its own and waits for no other, so what counts is how much it does: {where}."
    if used >= WELL_USED:
        left = f"what is left to save is the work itself; {where}"
        return f"{used:.0%} of the work is for lanes that have a use for it: {left}."
    worst = max(lines, key=lambda line: line.wasted)
    there = f"line {worst.line} ({worst.wasted / total:.0%})"
    begin = f"{1 - used:.0%} of the work is for lanes that have no use for it, most of it at {there}"
    if form == "gang":
        return f"{begin}: lanes that run at once part ways there; try dispatch='kernel', with which each is by itself."
    return f"{begin}: {_remedy(raster, worst)}"


def _remedy(raster: Raster, worst: Line) -> str:
    """A change to try if XLA's loop wastes work at a line."""
    stats, division = raster.stats, raster.division
    has_queue = stats.lanes < division.size
    if _has_tail(raster) and division.size >= LEAST_INPUTS:
        fewer = max(8, stats.lanes // 4)
        if has_queue:
            return (
                f"few lanes are left for much of the run; try lanes={fewer}, so that fewer stand idle while they end."
            )
        return (
            f"few lanes are left for much of the run; try lanes={fewer}, so that lanes that are done take new inputs."
        )
    policy = division.strategy.policy
    if policy.schedule == "sweep":
        return f"try dispatch='kernel', or schedule='cost', which runs line {worst.line} when many lanes wait there."
    return f"try dispatch='kernel', or hb.sync() before line {worst.line}, where lanes then wait for each other."


def _has_tail(raster: Raster) -> bool:
    """Whether few lanes had work left for much of the run."""
    few = sum(sample.busy <= MOST_OF_IT for sample in raster.samples)
    return 3 * few >= len(raster.samples)
