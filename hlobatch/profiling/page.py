"""Renders a profile as a single HTML page: the source as a heat map, and where lanes were, turn by turn."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from hlobatch.profiling.raster import IDLE
from hlobatch.profiling.text import Row, heading_of, rows_of

if TYPE_CHECKING:
    from hlobatch.profiling.profile import Profile

TEMPLATE: Final = Path(__file__).parent / "page.html"
WIDTH, HEIGHT = 400, 80
"""Size of a curve, in SVG units."""
NO_LINE: Final = 255
"""Color index of a lane that has no work left."""
COLORS: Final = 8
"""Number of lines with a color of their own; all others share one."""
FRAME_HEIGHT: Final = 640
"""Height of the page in a notebook, in pixels."""


def html_of(profile: Profile) -> str:
    """The HTML page."""
    places, cells = _raster(profile)
    title, *more = heading_of(profile)
    samples = profile.raster.samples
    parts = {
        "TITLE": escape(title),
        "HOW": "<br>".join(map(escape, more)),
        "ADVICE": escape(profile.advice),
        "SOURCE": "\n".join(_source(profile)),
        "LEGEND": "\n".join(_legend(profile, places)),
        "BUSY": _curve([sample.busy for sample in samples], 1.0),
        "DEPTH": _curve([sample.depth[1] for sample in samples], max((s.depth[0] for s in samples), default=0)),
        "DEPTH_MOST": str(max((s.depth[0] for s in samples), default=0)),
        "HAS_DEPTH": "" if profile.raster.division.plan.has_stacks else "hidden",
        "TURNS": f"{profile.raster.turns:,}",
        "LANES": f"{len(profile.raster.lanes):,} of {profile.raster.stats.lanes:,} lanes",
        "DATA": json.dumps(_data(profile, places, cells)).replace("<", "\\u003c"),
    }
    page = TEMPLATE.read_text(encoding="utf-8")
    for name, part in parts.items():
        page = page.replace(f"@{name}@", part)
    return page


def framed(page: str) -> str:
    """A page in an iframe, to embed it in another page without sharing styles."""
    return (
        f'<iframe srcdoc="{escape(page)}" style="width:100%;height:{FRAME_HEIGHT}px;border:0" title="profile"></iframe>'
    )


def _raster(profile: Profile) -> tuple[list[int], np.ndarray[Any, Any]]:
    """The lines at which lanes were, most frequent first, and each lane's color by line, ``u8[lanes, samples]``."""
    line_of_block = np.array([block.location.line for block in profile.raster.stats.blocks], np.int64)
    blocks = np.stack([sample.blocks for sample in profile.raster.samples], axis=1)
    lines = np.where(blocks == IDLE, -1, line_of_block[blocks])
    found, counts = np.unique(lines[lines >= 0], return_counts=True)
    places = found[np.argsort(-counts, kind="stable")].tolist()
    cells = np.full(lines.shape, NO_LINE, np.uint8)
    for color, line in enumerate(places):
        cells[lines == line] = min(color, COLORS)
    return places, cells


def _data(profile: Profile, places: Sequence[int], cells: np.ndarray[Any, Any]) -> dict[str, Any]:
    return {
        "lanes": profile.raster.lanes.tolist(),
        "turns": [sample.turn for sample in profile.raster.samples],
        "places": list(places[:COLORS]),
        "cells": base64.b64encode(cells.tobytes()).decode(),
    }


def _source(profile: Profile) -> list[str]:
    """The rows of the table of lines."""
    most = max((line.work for line in profile.lines), default=0.0) or 1.0
    total = sum(line.work for line in profile.lines) or 1.0
    rows, files, file = rows_of(profile), {row.file for row in rows_of(profile)}, ""
    found = []
    for row in rows:
        if row.file != file and len(files) > 1:
            found.append(f'<tr><td colspan="6" class="file">{escape(row.file)}</td></tr>')
        file = row.file
        found.append(_source_row(row, most, total))
    return found


def _source_row(row: Row, most: float, total: float) -> str:
    line, loop = row.line, row.in_loop
    if not row.number:
        return '<tr><td class="n">…</td><td colspan="5"></td></tr>'
    if not line:
        cells = '<td></td><td></td><td></td><td class="bar"></td>'
    else:
        in_use = f"{loop.utilization:.0%}" if loop and loop.visits else ""
        used, wasted = 100 * line.used / most, 100 * line.wasted / most
        bar = f'<i style="width:{used:.1f}%"></i><b style="width:{wasted:.1f}%"></b>'
        title = f"{line.work:,.0f} operations, {line.wasted:,.0f} of them for lanes with no use for them"
        share = f'<td class="n">{line.work / total:.0%}</td><td class="bar" title="{title}"><span>{bar}</span></td>'
        cells = f'<td class="n">{line.runs:,}</td><td class="n">{in_use}</td>{share}'
    heat = f' style="--heat:{line.work / most:.3f}"' if line else ""
    return f'<tr{heat}><td class="n">{row.number}</td>{cells}<td class="code"><code>{escape(row.text)}</code></td></tr>'


def _legend(profile: Profile, places: Sequence[int]) -> list[str]:
    """The legend of the colors."""
    texts = {block.location.line: block.location.source_line.strip() for block in profile.raster.stats.blocks}
    rows = [
        f'<li><s class="c{color}"></s>line {line}: <code>{escape(texts[line])}</code></li>'
        for color, line in enumerate(places[:COLORS])
    ]
    if len(places) > COLORS:
        rows.append(f'<li><s class="c{COLORS}"></s>other lines</li>')
    return [*rows, '<li><s class="idle"></s>nothing left to do</li>']


def _curve(values: Sequence[float], most: float) -> str:
    """The points of an SVG curve."""
    across = max(len(values) - 1, 1)
    return " ".join(
        f"{WIDTH * k / across:.1f},{HEIGHT - HEIGHT * value / (most or 1):.1f}" for k, value in enumerate(values)
    )
