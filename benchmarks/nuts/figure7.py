"""The paper's figure 7: the share of lanes in use when the gradient is computed, over the number of lanes.

Usage: `python -m benchmarks.nuts.figure7 [--lanes N,N…] [--json FILE]`. Nothing is timed. For each
number of trajectories (draws) of each chain there are five figures:

- `"hlobatch"`: with `hb.sync()` before the gradient, which waits until every chain is there or done.
- `"bound"`: the largest share that such a run can reach: the mean of all lanes' work over its maximum.
- `"lockstep"`: with a barrier after each trajectory, as chains under `jax.vmap` have (they have more barriers inside).
- `"hlobatch, queue"`: with `QUEUE` chains for each lane.
- `"hlobatch, by cost"`: without `hb.sync()`. This gradient is cheap, and computing it for fewer lanes costs less than
  waiting for all of them.

The trajectories of the second and third figure are those of the first run, split at their ends.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import jax
import numpy as np
from numpy.typing import NDArray

import hlobatch as hb
from benchmarks import results
from benchmarks.nuts import ours, problems
from benchmarks.nuts.problems import Problem

NAME: Final = "nuts_figure7"
LANES: Final = (3, 10, 30, 100)
TRAJECTORIES: Final = (10, 100)
QUEUE: Final = 30
"""The number of chains for each lane in a run with a queue."""

Row = dict[str, Any]
Counts = NDArray[np.int64]


def rows(lanes: int, trajectories: int) -> list[Row]:
    """The figures for one number of lanes."""
    problem = problems.gaussian(lanes, trajectories)
    gradients, use = run(problem, lanes)
    each = gradients_of_trajectories(problem)
    waiting = problems.gaussian(QUEUE * lanes, trajectories)
    _, use_of_queue = run(waiting, lanes)
    _, use_by_cost = run(problem, lanes, gather=False)
    figures = {
        "hlobatch": (lanes, use),
        "bound": (lanes, gradients.mean() / gradients.max()),
        "lockstep": (lanes, each.mean() / each.max(axis=0).mean()),
        "hlobatch, queue": (QUEUE * lanes, use_of_queue),
        "hlobatch, by cost": (lanes, use_by_cost),
    }
    common = {"workload": f"{NAME}_{trajectories}", "trajectories": trajectories, "lanes": lanes}
    return [
        common | {"inputs": inputs, "contender": name, "lane_use": float(figure)}
        for name, (inputs, figure) in figures.items()
    ]


def run(problem: Problem, lanes: int, *, gather: bool = True) -> tuple[Counts, float]:
    """The number of gradients of each chain, `[chains]`, and the share of lanes in use.

    The run has one thread, since the bound is for lanes that all wait for the slowest.
    """
    sampler = hb.batch(ours.sampler(problem, gather=gather).function, lanes=lanes, threads=1)
    (chains, _), stats = sampler.with_stats(ours.start(problem))
    return np.asarray(chains.tally.leapfrogs, np.int64), ours.gradient_use(stats)


def gradients_of_trajectories(problem: Problem) -> Counts:
    """The number of gradients of each trajectory of each chain, `[chains, draws]`."""
    sampler = ours.sampler(replace(problem, num_draws=1))
    chains, done = ours.start(problem), []
    for _ in range(problem.num_draws):
        chains, _ = sampler(chains)
        done.append(np.asarray(chains.tally.leapfrogs, np.int64))
    return np.diff(done, axis=0, prepend=np.zeros_like(done[:1])).T


def table(figures: Sequence[Row]) -> list[str]:
    """The figures as Markdown."""
    names = list(dict.fromkeys(row["contender"] for row in figures))
    lines = [f"| trajectories | lanes | {' | '.join(names)} |", f"|---|---|{'---|' * len(names)}"]
    for trajectories, lanes in dict.fromkeys((row["trajectories"], row["lanes"]) for row in figures):
        own = {r["contender"]: r for r in figures if (r["trajectories"], r["lanes"]) == (trajectories, lanes)}
        shares = (f"{100 * own[name]['lane_use']:.1f} %" for name in names)
        lines.append(f"| {trajectories} | {lanes} | {' | '.join(shares)} |")
    return lines


def draw(figures: Sequence[Row], path: Path) -> None:
    """Draw the figure as SVG, the same for the same rows."""
    import matplotlib as mpl  # an optional dependency

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "hlobatch"
    from matplotlib import pyplot as plt

    wanted = list(dict.fromkeys(row["trajectories"] for row in figures))
    figure, axes = plt.subplots(1, len(wanted), figsize=(9, 4), sharey=True, layout="constrained", squeeze=False)
    styles = {"hlobatch": "o-", "bound": "k+", "lockstep": "s-", "hlobatch, queue": "^-", "hlobatch, by cost": "o:"}
    for axis, trajectories in zip(axes[0], wanted, strict=True):
        for name, style in styles.items():
            own = [r for r in figures if r["trajectories"] == trajectories and r["contender"] == name]
            axis.plot([r["lanes"] for r in own], [r["lane_use"] for r in own], style, label=name, markersize=7)
        axis.set(xscale="log", xlabel="lanes", title=f"{trajectories} trajectories", ylim=(0, 1.05))
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel("lanes in use where the gradient is computed")
    axes[0][0].legend()
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    plt.close(figure)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures, and write them; returns the exit status."""
    parser = argparse.ArgumentParser("python -m benchmarks.nuts.figure7", description=__doc__)
    parser.add_argument("--lanes", type=lambda text: tuple(map(int, text.split(","))), default=LANES, metavar="N,N…")
    parser.add_argument("--json", type=Path, metavar="FILE")
    args = parser.parse_args(arguments)
    figures: list[Row] = []
    for trajectories in TRAJECTORIES:
        for lanes in args.lanes:
            own = rows(lanes, trajectories)
            figures += own
            shown = "  ".join(f"{row['contender']} {row['lane_use']:.3f}" for row in own)
            print(f"{trajectories:3d} trajectories, {lanes:5d} lanes: {shown}", flush=True)
            jax.clear_caches()
    if args.json is not None:
        results.save(args.json, figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
