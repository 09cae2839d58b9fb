"""Files of results -> the page `docs/benchmarks.md`, its details and plots. Every figure comes from the files.

Usage: `python -m benchmarks.report RESULTS.json… PAGE.md`. The plots, and `details.md` with every size, contender and
ablation, go into a folder beside the page, named as it is.
"""

from __future__ import annotations

import argparse
import itertools
import math
import statistics
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks import plots, registry, results, sampling
from benchmarks.measure import LONG, LONG_ENOUGH, OURS, ROOFLINE, Row
from benchmarks.nuts import figure7
from benchmarks.workload import Workload

LOCKSTEP: Final = "lockstep vmap"
NUMBA: Final = "numba, serial"
JIT: Final = "jax.jit"
PREDECESSOR: Final = "TFP auto_batching"
CASE: Final = "hlobatch, case"

HEAD: Final = """\
# Benchmarks

<!-- Written by `python -m benchmarks.report`; `make bench` measures everything anew. -->

Every figure compares the useful work per second of hlobatch with that of another contender, which ran in turn with it
in the same process. Above 1, hlobatch is faster. Computation for lanes that are masked out is not useful work.
`lockstep vmap` is `jax.vmap` of `lax.while_loop` and `lax.cond`, with an explicit stack where the problem is
recursive. All contenders have all cores. Compilation is not included.

[The details]({folder}/details.md) have all sizes, contenders, ablations and times to compile, and define each column.
All figures come from `benchmarks/results`. `make bench` measures all of them again;
`python -m benchmarks NAME --lanes 1,10,100 --json benchmarks/results` measures one workload and replaces its rows.
"""

DETAILS: Final = f"""\
# Benchmarks in detail

<!-- Written by `python -m benchmarks.report`; `make bench` measures everything anew. -->

Every figure comes from `benchmarks/results`; [one page](../benchmarks.md) has the main ones. The columns are:

- **Useful work** is work for active lanes; work for lanes that are masked out does not count.
- **Time** is the median over repetitions, with quartiles, without compilation. In each round every contender
  has a turn, in an order that rotates, and ratios are medians of the ratios within a round, so that a slowdown of the
  machine affects all contenders alike. A turn is one run, or as many as fill {1e3 * LONG_ENOUGH:.0f} ms; then the time
  is their mean. Time to compile is the median of several measurements if it is below {LONG:.0f} seconds.
- **hlobatch is … times as fast** compares useful work per second. Below 1, the contender is faster.
- **Of roofline**: useful work per second as a fraction of that of the bare batched kernel in a
  `fori_loop` with as many lanes in the same process. It says little for a loop that is nearly all control flow, whose
  kernel does almost nothing.
- **Lanes used**: the share of lanes that used the expensive kernel, over its executions. If
  few lanes use it, it may run on arrays of fewer lanes, of which a greater share is used.
- **Memory** is XLA's temporary memory for the whole batch as one program.

Before the measurements, the results of contenders that do the same work are compared. `lockstep vmap`
is `jax.vmap` of `lax.while_loop` and `lax.cond`, with an explicit stack where the problem is recursive. With
more inputs than lanes, it runs batches of the size of the lanes, one after another. hlobatch takes inputs from a
queue, and chooses how many are in flight; its note says how many.

All contenders have all cores. On a CPU, hlobatch divides a batch into one program per core where that pays. The
others, and the roofline, are one program whose large kernels XLA divides, so that hlobatch may exceed the roofline. The
ablations show the speed of one thread.

TFP's `auto_batching` needs TensorFlow, and so its own interpreter,
which the environment variable `HLOBATCH_TFP_PYTHON` names, with tensorflow-cpu 2.18, tf-keras 2.18 and
tensorflow-probability 0.25. TFP's own sampler, `tfp`, runs on JAX alone. It needs `tfp-nightly`: releases do not
support this version of JAX.
"""


FIGURE_7: Final = """\
## Lanes in use: the paper's figure 7

The figure shows the share of lanes that use the gradient of the correlated Gaussian, over its executions. It is not a
measurement of time. In lockstep, lanes wait for each other after every trajectory. In hlobatch they wait only at the
end, which is the bound, and not even there with a queue of 30 chains for each lane. The schedule by cost computes a
gradient as cheap as this one for fewer lanes, since that takes less time than to wait for the others.

`python -m benchmarks.nuts.figure7 --json benchmarks/results/figure7.json`"""


WHOLE_RUNS: Final = """\
## Whole runs of samplers

The table compares `hlobatch.mcmc` with other libraries, from the start of a process to the last draw of each chain,
with {warmup} draws of warm-up before them. The same run follows in the same process, and reuses compiled code if the
library keeps it, unless the first one took very long. All runs of a row have the same log densities and numbers of
draws, and adapt a diagonal metric and a step size; TFP adapts no metric for log densities. nutpie calls the density,
jitted by JAX, from Python; its models of PyMC and Stan, which call compiled code, were not measured. Effective draws
are arviz's bulk figure for the worst parameter. {columns}
The load average before a run was up to {load:.1f}.

{commands}"""
BESIDE_OTHERS: Final = """\
A cell gives effective draws per second of processor time: with compilation; and, from the second run, without. A
single figure is one with compilation, `over … min` a run that was ended after this much processor time, and an empty
cell was not measured. What a row compares was measured in turn, under about the same load, which differs from row to
row. nutpie runs each chain by itself, so that its figure without compilation is the same for any number of chains."""
BY_PROCESSORS: Final = """\
Seconds are given as wall-clock time, and as processor time, which is more reliable if other programs run on the
machine."""


def page(rows: Sequence[Row], folder: str) -> str:
    """The page as Markdown: the results of every workload at its largest size.

    Args:
        rows: The rows of all files.
        folder: Where the details and plots are, relative to the page.
    """
    parts = [HEAD.format(folder=folder).rstrip("\n")]
    timed, _, whole_runs = _parted(rows)
    for platform, group in _grouped(timed, lambda row: row["environment"]["platform"]):
        parts += ["", f"## On {_device(group)}", "", *_goals(group)]
        if plots.has_summary(group):
            parts += [f"![How many times as fast hlobatch is]({folder}/{platform}-summary.svg)", ""]
        parts += _overview(_largest(group))
    if whole_runs:
        text = WHOLE_RUNS.format(columns=BESIDE_OTHERS, **_run_numbers(whole_runs))
        parts += ["", text, "", *_measured_on(whole_runs), "", *sampling.summary(whole_runs)]
    return "\n".join(parts) + "\n"


def details(rows: Sequence[Row]) -> str:
    """The page with all sizes, contenders and ablations, as Markdown; its plots are beside it."""
    parts = [DETAILS.rstrip("\n")]
    timed, lanes_in_use, whole_runs = _parted(rows)
    for platform, group in _grouped(timed, lambda row: row["environment"]["platform"]):
        parts += ["", f"## On {_device(group)}", "", *_environments(group), *_overview(group)]
        parts += ["", f"![How many times as fast hlobatch is]({platform}-overview.svg)"]
        for name, own in _grouped(group, lambda row: row["workload"]):
            parts += _section(registry.find(name), own)
            if plots.has_curve(own):
                parts += ["", f"![{name}: work per second against lanes]({platform}-{name}.svg)"]
    if whole_runs:
        text = WHOLE_RUNS.format(columns=BY_PROCESSORS, **_run_numbers(whole_runs))
        parts += ["", text, "", *_measured_on(whole_runs), "", *sampling.table(whole_runs)]
    if lanes_in_use:
        parts += ["", FIGURE_7, "", *figure7.table(lanes_in_use), "", "![Lanes in use](figure7.svg)"]
    return "\n".join(parts) + "\n"


def _run_numbers(rows: Sequence[Row]) -> dict[str, Any]:
    """The numbers in the text about whole runs, and its commands: one for each number of draws."""
    commands = [
        f"python -m benchmarks.sampling --chains {' '.join(map(str, dict.fromkeys(row['chains'] for row in group)))} "
        f"--warmup {group[0]['warmup']} --draws {draws} --json benchmarks/results/sampling.json"
        for draws, group in _grouped(sorted(rows, key=lambda row: row["chains"]), lambda row: row["draws"])
    ]
    return {
        "commands": "\n".join(["```", *commands, "```"]),
        **{name: max(row[name] for row in rows) for name in ("warmup", "load")},
    }


def _largest(rows: Sequence[Row]) -> list[Row]:
    """The rows of each workload's largest size, without ablations."""
    others = [row for row in rows if not row["workload"].startswith("ablation_")]
    sizes: dict[str, tuple[int, int]] = {}
    for row in others:
        if row["contender"] not in (OURS, ROOFLINE) and "slower" in row:
            size = row["inputs"], row["lanes"]
            sizes[row["workload"]] = max(size, sizes.get(row["workload"], size))
    return [row for row in others if sizes.get(row["workload"]) == (row["inputs"], row["lanes"])]


def _parted(rows: Sequence[Row]) -> tuple[list[Row], list[Row], list[Row]]:
    """The rows of timed workloads, of figure 7, and of whole runs of samplers."""
    lanes_in_use = [row for row in rows if "trajectories" in row]
    whole_runs = [row for row in rows if "library" in row]
    return [row for row in rows if row.keys().isdisjoint(("trajectories", "library"))], lanes_in_use, whole_runs


def _grouped(rows: Iterable[Row], key: Any) -> list[tuple[str, list[Row]]]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return list(groups.items())


def _device(rows: Sequence[Row]) -> str:
    environments = [row["environment"] for row in rows]
    if environments[0]["platform"] != "cpu":
        return str(environments[0]["device"])
    return f"the CPU: {'; '.join(dict.fromkeys(one['processor'] for one in environments))}"


def _measured_on(rows: Sequence[Row]) -> list[str]:
    """The machines and versions of some rows."""
    return list(dict.fromkeys(_environment(row["environment"]) for row in rows))


def _environments(rows: Sequence[Row]) -> list[str]:
    grouped = [(name, list(group)) for name, group in _grouped(rows, lambda row: _environment(row["environment"]))]
    most = max(len(group) for _, group in grouped)
    described = []
    for environment, group in grouped:
        workloads = ", ".join(dict.fromkeys(row["workload"] for row in group))
        described.append(environment if len(group) == most else f"{environment} There: {workloads}.")
    load = max(row["load"] for row in rows)
    return [*described, "", f"The load average before a measurement was up to {load:.1f}.", ""]


def _environment(what: Row) -> str:
    return (
        f"- {what['date']}: {what['processor']}, {what['cores']} cores, {what['system']}; Python {what['python']}, "
        f"JAX {what['jax']}, jaxlib {what['jaxlib']}, NumPy {what['numpy']}, hlobatch {what['hlobatch']}."
    )


def _goals(rows: Sequence[Row]) -> list[str]:
    """A table of goals for the ratios, and of their measured values."""
    controls = {name for name in registry.MODULES if registry.find(name).control}
    lockstep = [r for r in rows if r["contender"] == LOCKSTEP and not r.get("missing")]
    diverging = [r["slower"] for r in lockstep if r["workload"] not in controls]
    controlled = [r["slower"] for r in lockstep if r["workload"] in controls]
    serial = [r["slower"] for r in rows if r["contender"] == NUMBA and r["workload"] in ("mandelbrot", "collatz")]
    called = [r["slower"] for r in rows if r["contender"] == JIT and r["workload"] == "cached_call"]
    fibonacci = [r for r in rows if r["workload"] == "fibonacci" and not r.get("missing")]
    lines = ["| Compared with | goal | measured |", "|---|---|---|"]
    if diverging:
        mean, worst = statistics.geometric_mean(diverging), min(diverging)
        lines += [f"| lockstep `vmap`, diverging workloads, geometric mean | at least 4 | {_times(mean)} |"]
        lines += [f"| … the worst of them | at least 1 | {_times(worst)} |"]
    if controlled:
        lines += [f"| lockstep `vmap`, controls, the worst | at least 0.9 | {_times(min(controlled))} |"]
    compiled = _compiling(rows, lockstep)
    if compiled:
        mean, worst = statistics.geometric_mean(compiled), max(compiled)
        within = sum(ratio <= 2 for ratio in compiled)
        lines += [f"| lockstep `vmap`, time to compile, geometric mean | at most 2 | {_times(mean)} |"]
        lines += [f"| … the worst of them; {within} of {len(compiled)} are within 2 | at most 2 | {_times(worst)} |"]
    if called:
        lines += [f"| `jax.jit`, a call like an earlier one, the worst | at least 0.5 | {_times(min(called))} |"]
    if serial:
        lines += [f"| serial numba, Mandelbrot and Collatz, the worst | at least 2 | {_times(min(serial))} |"]
    for contender, goal in ((PREDECESSOR, 40), (CASE, 20)):
        found = [r["slower"] for r in fibonacci if r["contender"] == contender]
        lines += [f"| {contender}, Fibonacci | at least {goal} | {_times(x)} |" for x in found]
    return [*lines, ""] if len(lines) > 2 else []


def _compiling(rows: Sequence[Row], others: Sequence[Row]) -> list[float]:
    """The ratios of hlobatch's time to compile to that of some other rows, at the same sizes."""
    ours = [r for r in rows if r["contender"] == OURS]
    pairs = ((mine, other) for other in others for mine in ours if _same_size(mine, other))
    return [mine["compile_seconds"] / other["compile_seconds"] for mine, other in pairs]


def _overview(rows: Sequence[Row]) -> list[str]:
    lines = ["| Workload | lanes | inputs | of roofline | lanes used | hlobatch is … times as fast as |"]
    lines += ["|---|---|---|---|---|---|"]
    for row in rows:
        if row["contender"] != OURS:
            continue
        others = [r for r in rows if _same_size(r, row) and r["contender"] not in (OURS, ROOFLINE) and "slower" in r]
        ratios = "; ".join(f"{r['contender']} **{_times(r['slower'])}**" for r in others)
        title = registry.find(row["workload"]).title
        lines.append(f"| {title} | {_sizes(row)} | {_share(row['roofline'])} | {_share(row['lane_use'])} | {ratios} |")
    return lines


def _same_size(one: Row, other: Row) -> bool:
    return all(one[key] == other[key] for key in ("workload", "lanes", "inputs"))


def _section(workload: Workload, rows: Sequence[Row]) -> list[str]:
    lines = ["", f"### {workload.title}", "", workload.description]
    if workload.control:
        lines += ["", "A control: no lane ever waits for another, so lockstep is as good."]
    lines += ["", f"`python -m benchmarks {workload.name}`"]
    lines += [
        "",
        f"| lanes | inputs | contender | {workload.unit}s per second | time, ms | hlobatch is … times as fast |",
    ]
    lines[-1] += " of roofline | lanes used | memory | compiled in, s |"
    lines += ["|---|---|---|---|---|---|---|---|---|---|"]
    lines += [_line(row) for row in rows]
    notes = dict.fromkeys(f"{r['contender']}: {r['note']}" for r in rows if r.get("note"))
    if notes:
        lines += ["", *(f"- {note}" for note in notes)]
    return lines


def _line(row: Row) -> str:
    begin = f"| {_sizes(row)} | {row['contender']} |"
    if "missing" in row:
        return f"{begin} {row['missing']} | | | | | | |"
    low, high = (1e3 * x for x in row["quartiles"])
    time = f"{_number(1e3 * row['seconds'])} ({_number(low)} to {_number(high)})"
    return (
        f"{begin} {_number(row['work_per_second'])} | {time} | {_times(row['slower'])} | {_share(row['roofline'])} | "
        f"{_share(row['lane_use'])} | {_bytes(row['temp_bytes'])} | {row['compile_seconds']:.2f} |"
    )


def _sizes(row: Row) -> str:
    return f"{row['lanes']:,d} | {row['inputs']:,d}"


def _times(ratio: float | None) -> str:
    if ratio is None:
        return ""
    return f"{ratio:.2g}" if ratio < 0.1 else f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"


def _share(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.2g} %" if share < 0.995 else f"{100 * share:.0f} %"


def _number(x: float) -> str:
    """A number with three significant digits and an SI suffix."""
    if x == 0:
        return "0"
    exponent = math.floor(math.log10(abs(x)))
    for scale, suffix in ((9, " G"), (6, " M"), (3, " k")):
        if exponent >= scale:
            return f"{x / 10**scale:.{max(0, 2 - exponent + scale)}f}{suffix}"
    return f"{x:.{max(0, 2 - exponent)}f}"


def _bytes(count: int | None) -> str:
    return "" if count is None else f"{_number(count)}B" if count >= 1000 else f"{count} B"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page, its details and plots; returns the exit status."""
    parser = argparse.ArgumentParser("python -m benchmarks.report", description=__doc__)
    parser.add_argument("results", nargs="+", type=Path, metavar="RESULTS.json")
    parser.add_argument("page", type=Path, metavar="PAGE.md")
    args = parser.parse_args(arguments)
    rows = list(itertools.chain.from_iterable(results.load(path) for path in args.results))
    timed, lanes_in_use, _ = _parted(rows)
    folder = args.page.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    plots.draw(timed, folder)
    if lanes_in_use:
        figure7.draw(lanes_in_use, folder / "figure7.svg")
    args.page.write_text(page(rows, folder.name))
    (folder / "details.md").write_text(details(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
