"""A workload and a size -> rows of figures: contenders are compiled, compared, and timed in turn.

Repetitions are interleaved: in each round every contender has a turn, the next round begins with the next contender. So
whatever else slows the machine slows all of them, and ratios are medians of ratios within one round. What is over soon
runs several times in its turn: the first of them finds the caches as another contender left them.
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
"""Times that contenders are compiled again, in turn."""
LONG: Final = 2.0
"""Seconds from which to compile something once is enough."""
LONG_ENOUGH: Final = 0.02
"""Seconds for which a contender runs in its turn; a single run may take longer."""
RELATIVE_TOLERANCE: Final = 2e-3
"""Contenders add in different orders, in single precision, and choose their own steps where steps adapt."""
ABSOLUTE_TOLERANCE: Final = 2e-3

Row = dict[str, Any]
"""One contender at one size, as it is written to JSON."""
Say = Callable[[str], None]


@dataclass(frozen=True)
class Effort:
    """When to stop.

    Attributes:
        repetitions: Rounds at most.
        seconds: Of timed runs per size; at least `MIN_ROUNDS` rounds are made all the same.
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
    """Rows for the contenders and the roofline.

    Args:
        workload: What to run.
        size: How large.
        effort: How often.
        only: Names of the contenders that are wanted besides hlobatch; None for all.
        say: Receives a line at a time.

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
    """The contenders and the roofline, compiled; and why others are missing."""
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
    """Run what can be compared and compare it.

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
    """Seconds that each run takes in each round. Each has run before, in preparation or to be compared."""
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
    """A contender that takes turns with others.

    Attributes:
        run: One run.
        calls: Runs in a turn, known from the first on.
        times: Of a run, for each turn.
    """

    run: Callable[[], Any]
    calls: int = 0
    times: list[float] = field(default_factory=list)

    def take(self) -> None:
        """Take a turn; the first is taken again if that was too short."""
        taken = self._seconds(max(1, self.calls))
        if not self.calls:
            self.calls = max(1, math.ceil(LONG_ENOUGH / taken))
            taken = taken if self.calls == 1 else self._seconds(self.calls)
        self.times.append(taken)

    def _seconds(self, calls: int) -> float:
        """What a run takes, on average over as many as are made one after the other."""
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
    """How many times the useful work per second of `other` that of `name` is: the median over rounds."""
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
