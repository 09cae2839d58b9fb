"""A workload and a size -> rows of figures: contenders are compiled, compared, and timed in turn.

Repetitions are interleaved: in each round every contender has a turn, and the next round begins with the next
contender. So other load on the machine slows all of them, and ratios are medians of ratios within one round. A short
run is repeated several times in its turn, since the first one finds the caches as another contender left them.
"""

from __future__ import annotations

import math
import os
import statistics
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import jax
import numpy as np

from benchmarks.workload import Prepared, Size, Workload

OURS: Final = "hlobatch"
ROOFLINE: Final = "roofline"
MIN_ROUNDS: Final = 3
COMPILATIONS: Final = 5
"""How many times contenders are compiled again, in turn."""
LONG: Final = 2.0
"""Seconds of compilation from which one measurement of it is enough."""
LONG_ENOUGH: Final = 0.02
"""Seconds that a turn of a contender lasts at least, by repeating short runs."""
RELATIVE_TOLERANCE: Final = 2e-3
"""Tolerance for comparing results: contenders sum in different orders in single precision, and adaptive methods choose
their own steps."""
ABSOLUTE_TOLERANCE: Final = 2e-3

Row = dict[str, Any]
"""The figures of one contender at one size, as they are written to JSON."""
Say = Callable[[str], None]


@dataclass(frozen=True)
class Effort:
    """When to stop measuring.

    Attributes:
        repetitions: Largest number of rounds.
        seconds: Seconds of timed runs per size; at least `MIN_ROUNDS` rounds are made in any case.
    """

    repetitions: int = 25
    seconds: float = 8.0


class DisagreementError(Exception):
    """Two contenders that do the same work have different results, so their times mean nothing."""


def measure(
    workload: Workload,
    size: Size,
    effort: Effort,
    *,
    only: Collection[str] | None = None,
    say: Say = print,
) -> list[Row]:
    """The rows of the contenders and the roofline at one size.

    Args:
        workload: The workload.
        size: The size.
        effort: When to stop.
        only: Names of the contenders to measure besides hlobatch; None for all.
        say: Receives each line of the report.

    Raises:
        DisagreementError: Two contenders have different results.
    """
    load = os.getloadavg()[0]
    prepared, missing = prepare(workload, size, only)
    check_agreement(prepared)
    rounds = max(MIN_ROUNDS, effort.repetitions)
    times = interleaved({name: p.run for name, p in prepared.items()}, rounds, effort.seconds)
    again = {name: p.compile for name, p in prepared.items() if p.compile and p.compile_seconds < LONG}
    compilations = interleaved(again, COMPILATIONS, math.inf) if again else {}
    rows = [_row(name, prepared, times, compilations.get(name)) for name in prepared]
    rows += [{"contender": name, "missing": reason} for name, reason in missing.items()]
    for row in rows:
        row |= {"workload": workload.name, "lanes": size.lanes, "inputs": size.inputs, "load": round(load, 2)}
        say(summary(row, workload.unit))
    return rows


def prepare(
    workload: Workload, size: Size, only: Collection[str] | None = None
) -> tuple[dict[str, Prepared], dict[str, str]]:
    """The compiled contenders with the roofline, and for each contender that is not installed, the reason."""
    wanted = {name: make for name, make in workload.contenders.items() if only is None or name in {OURS, *only}}
    if workload.roofline is not None:
        wanted[ROOFLINE] = workload.roofline
    prepared: dict[str, Prepared] = {}
    missing: dict[str, str] = {}
    for name, make in wanted.items():
        try:
            prepared[name] = make(size)
        except ImportError as error:
            missing[name] = f"not installed: {error.name or error}"
    return prepared, missing


def check_agreement(prepared: Mapping[str, Prepared]) -> None:
    """Run the contenders whose results are comparable, and compare these.

    Raises:
        DisagreementError: Two contenders have different results.
    """
    results = {name: p.comparable(p.run()) for name, p in prepared.items() if p.comparable is not None}
    if not results:
        return
    first, expected = next(iter(results.items()))
    for name, result in results.items():
        for got, want in zip(jax.tree.leaves(result), jax.tree.leaves(expected), strict=True):
            if not agree(np.asarray(got), np.asarray(want)):
                worst = np.max(np.abs(np.asarray(got, np.float64) - np.asarray(want, np.float64)))
                raise DisagreementError(f"{name} and {first} differ by up to {worst:.3g}")


def agree(got: np.ndarray[Any, Any], want: np.ndarray[Any, Any]) -> bool:
    """Whether two arrays are equal; approximately, if they hold floating point numbers."""
    if got.shape != want.shape:
        return False
    if np.issubdtype(want.dtype, np.floating):
        return bool(np.allclose(got, want, rtol=RELATIVE_TOLERANCE, atol=ABSOLUTE_TOLERANCE))
    return bool(np.array_equal(got, want))


def interleaved(runs: Mapping[str, Callable[[], Any]], rounds: int, seconds: float) -> dict[str, list[float]]:
    """For each run, its seconds in each round. All have run before, so that nothing is compiled now."""
    turns = {name: Timed(run) for name, run in runs.items()}
    names = list(runs)
    end = time.perf_counter() + seconds
    for done in range(rounds):
        if done >= MIN_ROUNDS and time.perf_counter() > end:
            break
        first = done % len(names)
        for name in names[first:] + names[:first]:
            turns[name].take()
    return {name: turn.times for name, turn in turns.items()}


@dataclass
class Timed:
    """A contender whose runs are timed in turn with others.

    Attributes:
        run: Runs it once.
        calls: The number of runs in a turn, found in the first turn.
        times: For each turn, the seconds of a run.
    """

    run: Callable[[], Any]
    calls: int = 0
    times: list[float] = field(default_factory=list)

    def take(self) -> None:
        """Time a turn; the first one is repeated with more runs if it was too short."""
        taken = self._seconds(max(1, self.calls))
        if not self.calls:
            self.calls = max(1, math.ceil(LONG_ENOUGH / taken))
            taken = taken if self.calls == 1 else self._seconds(self.calls)
        self.times.append(taken)

    def _seconds(self, calls: int) -> float:
        """The mean seconds of a run, over ``calls`` runs in sequence."""
        begin = time.perf_counter()
        for _ in range(calls):
            self.run()
        return (time.perf_counter() - begin) / calls


def _row(
    name: str,
    prepared: Mapping[str, Prepared],
    times: Mapping[str, list[float]],
    compilations: Sequence[float] | None,
) -> Row:
    this, low, middle, high = prepared[name], *_quartiles(times[name])
    return {
        "contender": name,
        "seconds": middle,
        "quartiles": [low, high],
        "repetitions": len(times[name]),
        "work": this.work,
        "work_per_second": this.work / middle,
        "roofline": _speed_ratio(name, ROOFLINE, prepared, times),
        "slower": _speed_ratio(OURS, name, prepared, times),
        "lane_use": this.lane_use,
        "compile_seconds": statistics.median(compilations) if compilations else this.compile_seconds,
        "temp_bytes": this.temp_bytes,
        "note": this.note,
    }


def _speed_ratio(
    name: str, other: str, prepared: Mapping[str, Prepared], times: Mapping[str, list[float]]
) -> float | None:
    """The useful work per second of `name` divided by that of `other`: the median over rounds."""
    if name not in prepared or other not in prepared:
        return None
    work = prepared[name].work / prepared[other].work
    return work * statistics.median(theirs / ours for ours, theirs in zip(times[name], times[other], strict=True))


def _quartiles(times: list[float]) -> tuple[float, float, float]:
    low, middle, high = np.quantile(times, [0.25, 0.5, 0.75]).tolist()
    return low, middle, high


def summary(row: Row, unit: str) -> str:
    """A row as a line of text."""
    where = f"{row['workload']:13s} {row['lanes']:7,d} {row['inputs']:7,d}  {row['contender']:22s}"
    if "missing" in row:
        return f"{where} {row['missing']}"
    fraction = "" if row["roofline"] is None else f"{row['roofline']:6.1%} of roofline"
    used = "" if row["lane_use"] is None else f"{row['lane_use']:6.1%} of lanes"
    slower = "" if row["slower"] is None else f"hlobatch is {row['slower']:7.3f} x as fast"
    return (
        f"{where} {1e3 * row['seconds']:9.2f} ms {row['work_per_second']:10.3g} {unit}s/s "
        f"{slower:28s} {fraction:19s} {used:15s} compiled in {row['compile_seconds']:.1f} s"
    )
