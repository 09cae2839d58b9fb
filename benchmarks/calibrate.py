"""``python -m benchmarks.calibrate [FILE]``: measure this machine, and write the profile that costs follow from.

It takes some two minutes on an otherwise idle machine, most of them for compiling. With
``HLOBATCH_PROFILE=FILE`` hlobatch uses the profile.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import date
from pathlib import Path
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

import hlobatch as hb
from benchmarks.kinds_of_work import all_times
from benchmarks.measure import interleaved
from hlobatch.kernels import jit
from hlobatch.kernels.types import NoKernelError
from hlobatch.strategy.properties import Properties
from hlobatch.targets.loop import LoopCosts
from hlobatch.targets.profile import FORMS, Profile, WorkTimes, server
from hlobatch.targets.registry import target_of

ROUNDS: Final = 9
"""Repetitions of each run. The shortest time is used, since other load on the machine only makes runs longer."""
LANES_OF_HOSTS: Final = (256, 512, 1024)
"""Numbers of lanes that fill vectors, with a state that stays in the smaller caches."""
LANES_OF_DEVICES: Final = tuple(4**n for n in range(5, 11))
"""Numbers of lanes up to a million: a device computes thousands of lanes at a time."""
MEASURED: Final = tuple(field.name for field in fields(Profile) if field.type != "str" and field.name not in FORMS)
TITLES: Final = ("by itself", "in a gang", "in XLA's loop")
FOLLOWS: Final = ("step_operations", "cheap_operations", "test_operations")


def two_ways(x: Any, turns: Any) -> Any:
    """A loop with a branch, whose sides compute no more than they store; all lanes make the same number of turns."""
    a, b, c, d, e, f = x, x + 1.0, x + 2.0, x + 3.0, x + 4.0, x + 5.0
    g, h, o, p, m, n = x + 6.0, x + 7.0, x + 8.0, x + 9.0, x + 10.0, x + 11.0
    i = 0
    while i < turns:
        if a > 0.0:
            a, b, c, d, e, f = a * 0.5 - b, b * 0.5 - c, c * 0.5 - d, d * 0.5 - e, e * 0.5 - f, f * 0.5 - g
            g, h, o, p, m, n = g * 0.5 - h, h * 0.5 - o, o * 0.5 - p, p * 0.5 - m, m * 0.5 - n, n * 0.5 - a
        else:
            a, b, c, d, e, f = a * 0.25 + d, b * 0.25 + e, c * 0.25 + f, d * 0.25 + g, e * 0.25 + h, f * 0.25 + o
            g, h, o, p, m, n = g * 0.25 + p, h * 0.25 + m, o * 0.25 + n, p * 0.25 + a, m * 0.25 + b, n * 0.25 + c
        i = i + 1
    return a + b + c + d + e + f + g + h + o + p + m + n


def halved(x: Any, turns: Any) -> Any:
    """A loop of a few turns."""
    while turns > 0:
        x = x * 0.5 + 1.0
        turns = turns - 1
    return x


class BusyError(Exception):
    """Times contradict each other, because other processes take part of the machine."""


class Turns:
    """Two runs of `two_ways` with many and with few turns, whose difference is the time of turns.

    Attributes:
        lanes: The number of lanes.
        runs: Both runs, by name.
        steps: The difference of their numbers of blocks run.
        turns: The difference of their numbers of turns.
        work: Operations of all blocks together, per lane.
    """

    def __init__(self, lanes: int, turns: int) -> None:
        switches = hb.Optimizations(if_conversion=False, kernels=False)
        function = hb.batch(
            two_ways, dispatch="chain", schedule="most_lanes", lanes=lanes, threads=1, optimizations=switches
        )
        x = jnp.linspace(-1.0, 1.0, lanes, dtype=jnp.float32)
        args = {name: (x, jnp.full(lanes, n, jnp.int32)) for name, n in (("many", turns), ("few", turns // 10))}
        counted = {name: function.with_stats(*given)[1].steps for name, given in args.items()}
        self.lanes = lanes
        self.steps = counted["many"] - counted["few"]
        self.turns = turns - turns // 10
        self.work = Properties(function.trace(*args["many"]).plan.programs.machine).work
        self.runs = {name: _ready(function, given) for name, given in args.items()}

    def measured(self) -> float:
        """The nanoseconds of a turn of `two_ways`, in which each of its blocks runs once."""
        return self.per_turn(interleaved(self.runs, ROUNDS, 3.0))

    def per_turn(self, seconds: Mapping[str, Sequence[float]]) -> float:
        """The nanoseconds of a turn, from the seconds of both runs in all rounds."""
        return 1e9 * (min(seconds["many"]) - min(seconds["few"])) / self.turns


def _ready(function: Any, args: Sequence[Any]) -> Callable[[], Any]:
    def run() -> Any:
        return jax.block_until_ready(function(*args))

    run()
    return run


def operations_and_kernels(all_turns: Sequence[Turns], times: Sequence[float]) -> dict[str, float]:
    """The time of an operation, and that of a step without operations.

    They are the slope and the intercept of a line fitted to times over lanes.
    """
    slope, start = np.polyfit([turns.lanes for turns in all_turns], times, 1)
    first = all_turns[0]
    return {"operation_ns": slope / first.work, "kernel_ns": start * first.turns / first.steps}


def busy(lanes: Sequence[int], times: Sequence[float]) -> int:
    """The largest number of lanes with which a turn takes less than twice its smallest time."""
    return max(n for n, time in zip(lanes, times, strict=True) if time < 2 * min(times))


def thread() -> float:
    """The additional nanoseconds of a very short run in two threads rather than one."""
    args = jnp.ones(64, jnp.float32), jnp.full(64, 3, jnp.int32)
    runs = {str(n): _ready(hb.batch(halved, threads=n), args) for n in (1, 2)}
    times = interleaved(runs, 3 * ROUNDS, 3.0)
    return 1e9 * (min(times["2"]) - min(times["1"]))


def test() -> float:
    """The nanoseconds of a turn of a loop that only tests whether any lane is left."""
    loop = jax.jit(lambda left: jax.lax.while_loop(lambda left: jnp.any(left > 0), lambda left: left - 1, left))
    runs = {name: _ready(loop, (jnp.full(1024, turns),)) for name, turns in (("many", 2000), ("few", 200))}
    times = interleaved(runs, ROUNDS, 3.0)
    return 1e9 * (min(times["many"]) - min(times["few"])) / 1800


def caches(root: Path = Path("/sys/devices/system/cpu")) -> dict[str, int]:
    """The size of the largest data cache that a core has for itself, as `core_bytes`.

    The dict is empty if Linux does not report it.
    """
    sizes: dict[int, int] = {}
    for cache in root.glob("cpu0/cache/index*"):
        kind, level, size, shared = (
            (cache / name).read_text().strip() for name in ("type", "level", "size", "shared_cpu_list")
        )
        siblings = root / "cpu0/topology/thread_siblings_list"
        is_own = shared == (siblings.read_text().strip() if siblings.exists() else "0")
        if kind != "Instruction" and is_own and size.endswith("K"):
            sizes[int(level)] = 1024 * int(size[:-1])
    return {"core_bytes": sizes[max(sizes)]} if sizes else {}


def code_of_lanes() -> dict[str, Any]:
    """The width of vectors, and the times of each form; without a compiler for code of lanes, those of XLA's loop."""
    try:
        return {"vector_bits": jit.vector_bits()} | all_times()
    except NoKernelError:
        return dict(all_times())


def profile() -> Profile:
    """The profile of this machine.

    Raises:
        BusyError: Times contradict each other.
    """
    platform = jax.default_backend()
    target = target_of(platform)
    lanes = LANES_OF_HOSTS if target.is_host else LANES_OF_DEVICES
    all_turns = [Turns(n, max(200, 2**21 // n)) for n in lanes]
    times = [turns.measured() for turns in all_turns]
    measured: dict[str, Any] = operations_and_kernels(all_turns, times)
    check(measured)  # before what takes longest
    if target.is_host:
        measured |= caches() | code_of_lanes()
    else:
        measured |= {"test_ns": test(), "busy_lanes": busy(lanes, times)}
    if target.divides and target.threads > 1:
        measured["thread_ns"] = thread()
    check(measured)
    rounded = {name: _rounded(value) for name, value in measured.items()}
    return Profile(platform, jax.devices()[0].device_kind, date.today().isoformat(), jax.__version__, **rounded)


def check(measured: Mapping[str, Any]) -> None:
    """Check that more work took more time.

    Raises:
        BusyError: It did not.
    """
    absurd = [name for name, value in numbers_of(measured) if value <= 0]
    if absurd:
        raise BusyError(f"more work took less time ({', '.join(absurd)}): measure while the machine does nothing else")


def numbers_of(measured: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """The measured numbers, by names that say the form of a run, too."""
    for name, value in measured.items():
        if isinstance(value, WorkTimes):
            yield from ((f"{kind} in {name}", time) for kind, time in vars(value).items())
        else:
            yield name, value


def _rounded(value: Any) -> Any:
    if isinstance(value, WorkTimes):
        return WorkTimes(**{kind: _rounded(time) for kind, time in vars(value).items()})
    return value if isinstance(value, int) else float(f"{value:.3g}")


def report(measured: Profile) -> str:
    """Tables of the profile beside that of the server on which the rules were tried, and of the costs that follow."""
    rows = [("", "this machine", "the server")]
    rows += [(name, *(_said(getattr(p, name)) for p in (measured, server()))) for name in MEASURED]
    costs = LoopCosts(measured), LoopCosts(server())
    rows += [(name, *(_said(getattr(c, name)) for c in costs)) for name in FOLLOWS]
    lines = [f"{name:24s} {mine:>14s} {theirs:>14s}" for name, mine, theirs in rows]
    return "\n".join([*lines, "", *work_table(measured)])


def work_table(measured: Profile) -> list[str]:
    """The lines of a table of the times of kinds of work in each form, those of the server in parentheses."""
    lines = ["nanoseconds of a lane for one …", f"{'':16s}" + "".join(f"{title:>22s}" for title in TITLES)]
    for kind in (field.name for field in fields(WorkTimes)):
        times = [[getattr(getattr(p, form), kind, None) for p in (measured, server())] for form in FORMS]
        lines.append(f"{kind:16s}" + "".join(f"{f'{_said(mine)} ({_said(theirs)})':>22s}" for mine, theirs in times))
    return lines


def _said(value: float | None) -> str:
    return "not measured" if value is None else f"{value:,.4g}" if isinstance(value, float) else f"{value:,}"


def main(args: Sequence[str] | None = None) -> None:
    """Measure, print, and write the profile to the file, if one is given."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibrate", description=__doc__)
    parser.add_argument("file", type=Path, nargs="?", help="where to write the profile")
    path = parser.parse_args(args).file
    try:
        measured = profile()
    except BusyError as error:
        parser.exit(1, f"{error}\n")
    print(report(measured))
    if path is not None:
        measured.write(path)
        print(f"\nHLOBATCH_PROFILE={path} has hlobatch choose by it")


if __name__ == "__main__":
    sys.exit(main())
