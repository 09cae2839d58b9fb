"""Rows of figures -> plots: hlobatch's speed relative to others, in summary and in full; work per second over lanes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks import registry
from benchmarks.measure import OURS, ROOFLINE, Row

PEERS: Final = ("lockstep vmap", "blackjax")
SUMMARY: Final = (
    "interpreter",
    "tree_network",
    "stiff",
    "queens",
    "neural_ode",
    "mandelbrot",
    "tree_search",
    "nuts_gaussian",
    "fixed_count",
    "nuts_logistic",
)
"""The workloads of the summary: those with the largest and smallest gains, and some between."""


def has_summary(rows: Sequence[Row]) -> bool:
    """Whether all workloads of the summary were measured with a thousand examples and lanes."""
    return len(summary_rows(rows)) == len(SUMMARY)


def summary_rows(rows: Sequence[Row]) -> list[Row]:
    """For each workload of the summary, the row of its peer with a thousand lanes; the largest gains come first."""
    found = {r["workload"]: r for r in rows if r["lanes"] == r["inputs"] == 1000 and r["contender"] in PEERS}
    return sorted((found[name] for name in SUMMARY if name in found), key=lambda row: -row["slower"])


def has_curve(rows: Sequence[Row]) -> bool:
    """Whether a workload was measured at three or more numbers of lanes, with an input for each lane."""
    return len({row["lanes"] for row in rows if row["lanes"] == row["inputs"]}) >= 3


def draw(rows: Sequence[Row], folder: Path) -> None:
    """Draw all plots of all platforms, as SVG files that are deterministic."""
    import matplotlib as mpl  # an optional dependency

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "hlobatch"
    for platform in dict.fromkeys(row["environment"]["platform"] for row in rows):
        own = [r for r in rows if r["environment"]["platform"] == platform and "missing" not in r]
        _save(_overview(own), folder / f"{platform}-overview.svg")
        if has_summary(own):
            _save(_summary(summary_rows(own)), folder / f"{platform}-summary.svg")
        for name in dict.fromkeys(row["workload"] for row in own):
            of_workload = [row for row in own if row["workload"] == name]
            if has_curve(of_workload):
                _save(_curve(of_workload), folder / f"{platform}-{name}.svg")


def _summary(rows: Sequence[Row]) -> Any:
    """A bar per workload, in the color of its peer, with the ratio at its end."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
    for contender, color in zip(PEERS, ("#3b6ea5", "#d08a2e"), strict=True):
        own = [(place, row["slower"]) for place, row in enumerate(rows) if row["contender"] == contender]
        places, ratios = zip(*own, strict=True)
        # Bars begin at 1, where both are equally fast.
        bars = axes.barh(places, [r - 1 for r in ratios], left=1, color=color, label=f"against {contender}")
        axes.bar_label(bars, [f"{r:.0f}" if r >= 10 else f"{r:.1f}" for r in ratios], padding=3, fontsize=8)
    end = 1.8 * max(row["slower"] for row in rows)  # with room for the largest ratio
    ticks = [tick for tick in (1, 2, 5, 10, 20, 50, 100, 200, 500) if tick < end]
    axes.set(xscale="log", xlim=(0.9, end), xticks=ticks, xticklabels=ticks)
    cores = rows[0]["environment"]["cores"]
    axes.set(yticks=range(len(rows)), xlabel=f"hlobatch is … times as fast, 1,000 examples on {cores} cores")
    axes.set_yticklabels([registry.find(row["workload"]).title for row in rows], fontsize=8)
    axes.minorticks_off()
    axes.invert_yaxis()
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="lower right", fontsize=8, frameon=False)
    return figure


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
