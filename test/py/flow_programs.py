"""A seed -> a program of nested statements that leave blocks in every way, and that bind names in every scope.

What a program returns depends on each statement that it reaches, and on their order: each adds a number to a list, or
to a number that is multiplied before. Python judges, as for other generated programs. A program in which plain Python
reads a name that has no value must be refused, or raise the same.

    python test/py/flow_programs.py 17              one program: its text, and its outcome
    python test/py/flow_programs.py 0 1000          some programs: how many ran, were refused, differ
"""

from __future__ import annotations

import random
import sys
import textwrap

import feature_pairs
import numpy as np
from feature_pairs import IMPORTS, Outcome, main
from feature_writer import indented
from features_of_flow import HELPERS
from flow_writer import Flow

import hlobatch as hb

PLACES = ("main", "inner", "function", "method", "generator", "recursive")
"""Where the statements of a program stand."""
SIZES = (2, 3, 4, 5, 6, 8, 12)
"""How many statements are drawn at most, those that only show that they are reached apart."""


def program(seed: int) -> str:
    """The text of a program; the same for each seed."""
    draw = random.Random(seed)
    flow = Flow(draw, draw.choice(SIZES), leaves_unbound=draw.random() < 0.15)
    before, inside, uses = list[str](), list[str](), list[str]()
    for kind in draw.sample(PLACES, draw.choice((1, 1, 2))):
        outer, inner, use = getattr(flow, f"in_{kind}")()
        before, inside, uses = [*before, *outer], [*inside, *inner], [*uses, *use]
    lines = [
        "t, seen, u, xs, gate = quotient([0, 2], b), [], b, [a, 3, b], Gate(a)",
        *inside,
        *uses,
        "return (t * 7 + folded(seen) + gate.k) % 1009",
    ]
    return "\n".join([*IMPORTS, textwrap.dedent(HELPERS), *before, "def main(a, b):", *indented(lines), ""])


def outcome(text: str) -> Outcome:
    """The outcome of a program; wrong if it runs although plain Python finds a name without a value in some lane."""
    found = feature_pairs.outcome(text)
    if found.kind == "skipped" and ("UnboundLocalError" in found.what or "NameError" in found.what):
        return feature_pairs.tried(lambda: _run_in_vain(text))
    return found


def _run_in_vain(text: str) -> Outcome:
    """Run a program that must be refused."""
    a, b = (np.array(numbers, np.int32) for numbers in (feature_pairs.A, feature_pairs.B))
    return Outcome("wrong", f"a name has no value, but the program gives {hb.batch(feature_pairs.made(text))(a, b)}")


if __name__ == "__main__":
    main(sys.argv[1:], program, outcome)
