"""Writes a profile as a trace in Chrome's JSON format: a row per lane, with its source lines, and counters."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

from hlobatch.profiling.raster import IDLE

if TYPE_CHECKING:
    from hlobatch.profiling.profile import Profile


def trace_of(profile: Profile) -> str:
    """The trace as JSON. A turn of the loop is shown as a microsecond, since samples are counted in turns."""
    events = [_named("process_name", 0, f"{profile.name} in XLA's loop; a turn is shown as 1 µs")]
    events += [*_counters(profile), *_lanes(profile)]
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ns"})


def _named(what: str, lane: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "pid": 1, "tid": lane, "name": what, "args": {"name": name}}


def _counters(profile: Profile) -> Iterator[dict[str, Any]]:
    for sample in profile.raster.samples:
        at = {"ph": "C", "pid": 1, "ts": sample.turn}
        yield {**at, "name": "lanes at work", "args": {"%": round(100 * sample.busy, 2)}}
        yield {**at, "name": "frames on stacks", "args": {"at most": sample.depth[0], "on average": sample.depth[1]}}


def _lanes(profile: Profile) -> Iterator[dict[str, Any]]:
    samples, blocks = profile.raster.samples, profile.raster.stats.blocks
    turns = [sample.turn for sample in samples]
    for place, lane in enumerate(profile.raster.lanes.tolist()):
        yield _named("thread_name", lane + 1, f"lane {lane}")
        for block, each in groupby(range(len(samples) - 1), key=lambda k: int(samples[k].blocks[place])):
            if block == IDLE:
                continue
            first, *rest = each
            last = rest[-1] if rest else first
            where = blocks[block].location
            span = {"ts": turns[first], "dur": turns[last + 1] - turns[first]}
            name = f"line {where.line}: {where.source_line.strip()}"
            yield {"ph": "X", "pid": 1, "tid": lane + 1, **span, "name": name, "args": {"block": blocks[block].name}}
