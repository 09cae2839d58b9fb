"""Renders a profile as text: the user's source, with each line's counts beside it."""

from __future__ import annotations

import linecache
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from hlobatch.profiling.lines import Line

if TYPE_CHECKING:
    from hlobatch.profiling.profile import Profile

BAR: Final = 10
"""Length of the bar of the line with the most work."""
MOST_BETWEEN: Final = 5
"""Largest number of lines without counts that are shown between two lines with counts."""


class Row(NamedTuple):
    """A row of the listing.

    Attributes:
        file: The file.
        number: The line's number; 0 for lines that are left out.
        text: The line.
        line: Its counts in the form in which a call runs; None if there are none.
        in_loop: Its counts in XLA's loop; None if there are none.
    """

    file: str
    number: int
    text: str
    line: Line | None = None
    in_loop: Line | None = None


def rows_of(profile: Profile) -> list[Row]:
    """The rows of the listing: lines with counts, and the lines between them."""
    own = {(line.file, line.line): line for line in profile.lines}
    loop = {(line.file, line.line): line for line in profile.loop_lines}
    rows: list[Row] = []
    for file, number in sorted(own.keys() | loop.keys()):
        rows += _between(rows, file, number)
        text = linecache.getline(file, number).rstrip("\n")
        rows.append(Row(file, number, text, own.get((file, number)), loop.get((file, number))))
    indent = min((len(row.text) - len(row.text.lstrip()) for row in rows if row.text.strip()), default=0)
    return [row._replace(text=row.text[indent:]) for row in rows]


def _between(rows: Sequence[Row], file: str, number: int) -> Iterator[Row]:
    """The rows between the last one and a line, or a row that stands for them if they are many."""
    if not rows or rows[-1].file != file:
        return
    first = rows[-1].number + 1
    if number - first > MOST_BETWEEN:
        yield Row(file, 0, "")
        return
    for between in range(first, number):
        yield Row(file, between, linecache.getline(file, between).rstrip("\n"))


def heading_of(profile: Profile) -> list[str]:
    """Lines that say what was run, and how."""
    stats, raster = profile.stats, profile.raster
    inputs = f"{stats.inputs:,} input{'s' * (stats.inputs != 1)}"
    part = (
        "" if raster.is_whole else f", of which {raster.done:,} came to their end before the time for looking was over"
    )
    used = f"{profile.utilization:.0%} of the work is for lanes with a use for it"
    return [
        f"{profile.name}: {inputs}, {duration(profile.seconds)} a call",
        stats.choice.splitlines()[0],
        f"in XLA's loop over all lanes: {raster.stats.lanes:,} lanes, {raster.turns:,} turns{part}; {used}",
    ]


def duration(seconds: float) -> str:
    """Seconds as text, with a suitable unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"


def text_of(profile: Profile) -> str:
    """The profile as text."""
    rows = rows_of(profile)
    files = {row.file for row in rows}
    most = max((line.work for line in profile.lines), default=0.0) or 1.0
    total = sum(line.work for line in profile.lines) or 1.0
    lines, file = heading_of(profile), ""
    lines += ["", f"{'line':>5s} {'runs':>11s} {'in use':>6s} {'work':>5s} {'':{BAR}s}"]
    for row in rows:
        if row.file != file and len(files) > 1:
            lines.append(row.file)
        file = row.file
        lines.append(_row(row, most, total).rstrip())
    return "\n".join([*lines, "", profile.advice])


def _row(row: Row, most: float, total: float) -> str:
    if not row.number:
        return f"{'…':>5s}"
    line, loop = row.line, row.in_loop
    runs = f"{line.runs:,}" if line else ""
    in_use = f"{loop.utilization:.0%}" if loop and loop.visits else ""
    share = f"{line.work / total:.0%}" if line else ""
    bar = ""
    if line:
        used, all_ = round(BAR * line.used / most), round(BAR * line.work / most)
        bar = "█" * used + "░" * (all_ - used)
    return f"{row.number:5d} {runs:>11s} {in_use:>6s} {share:>5s} {bar:{BAR}s} {row.text}"
