"""Rows of figures -> plots: how many times as fast hlobatch is, and work per second against lanes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.measure import OURS, ROOFLINE, Row


def has_curve(rows: Sequence[Row]) -> bool:
    """Whether a workload was measured at three or more numbers of lanes, with an input for each lane."""
    return len({row["lanes"] for row in rows if row["lanes"] == row["inputs"]}) >= 3


def draw(rows: Sequence[Row], folder: Path) -> None:
    """Draw all plots of all platforms, as SVG that is the same for the same rows."""
    import matplotlib as mpl  # an optional dependency

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "hlobatch"
    for platform in dict.fromkeys(row["environment"]["platform"] for row in rows):
        own = [r for r in rows if r["environment"]["platform"] == platform and "missing" not in r]
        _save(_overview(own), folder / f"{platform}-overview.svg")
        for name in dict.fromkeys(row["workload"] for row in own):
            of_workload = [row for row in own if row["workload"] == name]
            if has_curve(of_workload):
                _save(_curve(of_workload), folder / f"{platform}-{name}.svg")


def _overview(rows: Sequence[Row]) -> Any:
    """One line per workload and size, one mark per peer; ablations are in the tables."""
    from matplotlib import pyplot as plt

    others = [row for row in rows if row["contender"] not in (OURS, ROOFLINE) and not _is_ablation(row)]
    places = list(dict.fromkeys(f"{r['workload']}, {r['lanes']:,d}/{r['inputs']:,d}" for r in others))
    figure, axes = plt.subplots(figsize=(8, 1 + 0.25 * len(places)), layout="constrained")
    for number, contender in enumerate(dict.fromkeys(row["contender"] for row in others)):
        own = [row for row in others if row["contender"] == contender]
        heights = [places.index(f"{r['workload']}, {r['lanes']:,d}/{r['inputs']:,d}") for r in own]
        color, marker = f"C{number % 10}", "os^D"[number // 10 % 4]
        axes.plot([row["slower"] for row in own], heights, marker, color=color, label=contender)
    axes.axvline(1.0, color="black", linewidth=1)
    axes.set(xscale="log", xlabel="hlobatch is … times as fast as", yticks=range(len(places)), yticklabels=places)
    axes.margins(y=0.01)
    axes.invert_yaxis()
    axes.grid(axis="both", alpha=0.3)
    figure.legend(loc="outside lower center", ncols=3, fontsize="small")
    return figure


def _is_ablation(row: Row) -> bool:
    return str(row["workload"]).startswith("ablation_") or str(row["contender"]).startswith(f"{OURS}, without ")


def _curve(rows: Sequence[Row]) -> Any:
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for contender in dict.fromkeys(row["contender"] for row in rows):
        own = sorted((r for r in rows if r["contender"] == contender and r["lanes"] == r["inputs"]), key=_lanes)
        style = "k--" if contender == ROOFLINE else "o-"
        axes.plot([row["lanes"] for row in own], [row["work_per_second"] for row in own], style, label=contender)
    axes.set(xscale="log", yscale="log", xlabel="lanes", ylabel="useful work per second")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    return figure


def _lanes(row: Row) -> int:
    return int(row["lanes"])


def _save(figure: Any, path: Path) -> None:
    from matplotlib import pyplot as plt

    figure.savefig(path, metadata={"Date": None, "Creator": None})
    plt.close(figure)
