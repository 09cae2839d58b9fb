"""What a machine with a GPU is to show -> whether each of it is met, with its figure: a page for `on_a_card`.

The bounds are those that were set before the first run: the speed of an earlier version relative to XLA's loop, on the
same card (docs/running.md), and half of the loop's time where a lane's values are vectors.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

AHEAD: Final = {
    "collatz": 89, "mandelbrot": 81, "quicksort": 18, "interpreter": 16, "takeuchi": 12, "fibonacci": 10,
    "continuation": 10, "queens": 6, "kd_tree": 5, "funnel": 3.7, "eight_schools": 1.5, "gaussian": 2,
    "tree_network": 2, "tree_search": 2, "quadrature": 2, "stiff": 2, "neural_ode": 2,
}  # fmt: skip
"""How many times as fast as XLA's loop the fastest form of own code is to be."""
LEAST_OF_CHOICE: Final = 0.95
"""The least speed of the chosen form relative to XLA's loop."""
MEAN_OF_LOCKSTEP: Final = 30.0
LEAST_OF_LOCKSTEP: Final = 2.0
"""The speed of the chosen form relative to lockstep `vmap`: the geometric mean, and the least."""
MOST_SECONDS_OF_FIRST: Final = 1.0
FORMS: Final = ("thread", "meeting", "crowded", "warp", "in_turn")


def page(found: Sequence[Mapping[str, Any]]) -> str:
    """A line for each thing to be shown, from what the commands so far have found."""
    return "\n".join(_lines({each["name"]: each for each in found})) + "\n"


def _lines(found: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for name in ("devices", "tests_of_kernels", "tests_of_forms", "tests_of_loops"):
        if name in found:
            yield f"{_of_tests(found[name])}: {name}"
    rows = {row["workload"]: row for name in ("forms", "times") for row in found.get(name, {}).get("figures", [])}
    more = {row["workload"]: row for row in found.get("forms", {}).get("figures", [])}
    for name, wanted in AHEAD.items():
        yield _line(f"{name} against XLA's loop, times as fast", _best(rows.get(name), more.get(name)), wanted)
    chosen = {name: _ratio(row, "loop") for name, row in rows.items()}
    known = {name: ratio for name, ratio in chosen.items() if ratio is not None}
    slowest = min(known, key=known.__getitem__, default="")
    yield _line(f"the chosen form of the slowest, {slowest or 'none'}", known.get(slowest), LEAST_OF_CHOICE)
    peers = [ratio for row in rows.values() if (ratio := _ratio(row, "lockstep")) is not None]
    mean = math.exp(math.fsum(map(math.log, peers)) / len(peers)) if peers else None
    yield _line(f"against lockstep vmap, mean of {len(peers)}", mean, MEAN_OF_LOCKSTEP)
    yield _line("against lockstep vmap, least", min(peers, default=None), LEAST_OF_LOCKSTEP)
    for name in ("first_call", "first_call_from_cache"):
        firsts = [row["first"].get(row.get("chosen")) for row in found.get(name, {}).get("figures", [])]
        yield _line(f"{name}, s", next(iter(firsts), None), MOST_SECONDS_OF_FIRST, is_most=True)


def _of_tests(command: Mapping[str, Any]) -> str:
    """Whether a command ended well, and the tests that passed and failed."""
    passed, failed = command.get("passed", 0), command.get("failed", [])
    is_wrong = failed or command["ended"].startswith("with")
    numbers = f"{passed} tests passed, {len(failed)} failed" if passed or failed else command["ended"]
    first = f", such as {failed[0]}" if failed else ""
    return f"{'not met' if is_wrong else 'met' if command['ended'] == 'well' else 'not ended'} ({numbers}{first})"


def tests_in(printed: str) -> dict[str, Any]:
    """The number of tests that passed, and the names of those that failed, from what pytest prints so far."""
    names = dict.fromkeys(re.findall(r"(?:FAILED|ERROR) (\S+::\S+)|(\S+::\S+) (?:FAILED|ERROR)", printed))
    return {"passed": len(re.findall(r"\bPASSED\b", printed)), "failed": sorted({a or b for a, b in names})}


def _best(*rows: Mapping[str, Any] | None) -> float | None:
    """The speed of the fastest form relative to XLA's loop, in runs of the same process."""
    ratios = (_ratio(row, "loop", form) for row in rows if row for form in FORMS)
    return max((ratio for ratio in ratios if ratio is not None), default=None)


def _ratio(row: Mapping[str, Any], other: str, form: str | None = None) -> float | None:
    """The time of another contender divided by that of a form, or of the chosen one; None if one was not measured."""
    own, theirs = row.get(form or row.get("chosen", "")), row.get(other)
    return theirs / own if isinstance(own, float) and isinstance(theirs, float) and own > 0 else None


def _line(what: str, figure: float | None, wanted: float, *, is_most: bool = False) -> str:
    if figure is None:
        return f"not measured: {what}"
    is_met = figure <= wanted if is_most else figure >= wanted
    return (
        f"{'met' if is_met else 'not met'}: {what}: {figure:.3g}, wanted at {'most' if is_most else 'least'} {wanted:g}"
    )
