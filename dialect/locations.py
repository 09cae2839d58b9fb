"""Converts source locations to and from MLIR locations, without loss.

``f.py:3:5 to 3:10`` in function ``f`` is ``loc("f"("f.py":3:5 to :10))``. If an operation also has the locations where
its inputs are read, all locations get names: ``loc(fused["at"(…), "read 0"(…), "read 1"(…)])``. Without names, a fused
location would drop duplicates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hlobatch._jax import ir
from hlobatch.diagnostics import UNKNOWN, Location

_AT, _READ = "at", "read "


def from_location(location: Location, read_at: Sequence[Location] = ()) -> Any:
    """The MLIR location of a span, in the current context."""
    if read_at:
        places = [ir.Location.name(_AT, from_location(location))]
        places += [ir.Location.name(f"{_READ}{i}", from_location(place)) for i, place in enumerate(read_at)]
        return ir.Location.fused(places)
    if location == UNKNOWN:
        return ir.Location.unknown()
    span = ir.Location.file(location.file, location.line, location.column, location.end_line, location.end_column)
    return ir.Location.name(location.function, span) if location.function else span


def to_location(location: ir.Location, file: str = "-") -> Location:
    """The span of an MLIR location; UNKNOWN if it has no file.

    Args:
        location: ir.Location MLIR location. For a fused one, the first part with a file counts.
        file: The name of text that came without a file name.
    """
    return next(_spans(location, "", file), UNKNOWN)


def start_of(file: str) -> Location:
    """The location for messages about a text as a whole."""
    return Location(file, 1, 1, 1, 1)


def place_of(operation: Any, file: str) -> Location:
    """The location of an operation, or of the nearest enclosing one that has any, or the start of the text."""
    while operation is not None:
        place = to_location(operation.location, file)
        if place.line:
            return place
        operation = operation.operation.parent
    return start_of(file)


def to_read_at(location: ir.Location, file: str = "-") -> tuple[Location, ...]:
    """The locations where an operation's inputs are read; empty if not known."""
    parts = location.locations if isinstance(location, ir.FusedLoc) else ()
    reads = [part for part in parts if isinstance(part, ir.NameLoc) and part.name_str.startswith(_READ)]
    return tuple(to_location(part.child_loc, file) for part in reads)


def _spans(location: Any, function: str, file: str) -> Iterator[Location]:
    if isinstance(location, ir.FusedLoc):
        for part in location.locations:
            if not (isinstance(part, ir.NameLoc) and part.name_str.startswith(_READ)):
                yield from _spans(part, function, file)
    elif isinstance(location, ir.NameLoc):
        name = location.name_str
        yield from _spans(location.child_loc, function if name == _AT else name, file)
    elif isinstance(location, ir.CallSiteLoc):
        yield from _spans(location.callee, function, file)
    elif isinstance(location, ir.FileLineColLoc):
        name = file if location.filename == "-" else location.filename
        start = (location.start_line, location.start_col)
        yield Location(name, *start, location.end_line, location.end_col, function)
