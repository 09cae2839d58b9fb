"""Small programs of one idea each, drawn by a seed, give what Python gives, or are refused in plain words."""

from dataclasses import dataclass
from typing import Any

import alias_programs
import call_programs
import effect_programs
import flow_programs
import joined_programs
import pytest
from feature_pairs import check

EACH = 50
"""Programs of a test by night: few enough for a share of the slow tests that ends soon."""


@dataclass(frozen=True)
class Drawn:
    """The programs of one generator.

    Attributes:
        module: The generator, with ``program`` and, if it needs one of its own, ``outcome``.
        by_day: The number of programs by day.
        by_night: The number of programs by night.
        at_least: The share of programs that run; the others are refused.
    """

    module: Any
    by_day: int
    by_night: int
    at_least: float

    def check(self, seeds: range) -> None:
        judge = {"judge": self.module.outcome} if hasattr(self.module, "outcome") else {}
        check(seeds, self.module.program, at_least=self.at_least, **judge)


GENERATORS = {
    "effects": Drawn(effect_programs, by_day=6, by_night=3_000, at_least=1 / 2),
    "several names": Drawn(alias_programs, by_day=6, by_night=3_000, at_least=1 / 6),  # most would need references
    "nested statements": Drawn(flow_programs, by_day=4, by_night=1_500, at_least=1 / 2),
    "several types": Drawn(joined_programs, by_day=6, by_night=1_500, at_least=0.3),  # few questions fit all types
    "calls": Drawn(call_programs, by_day=6, by_night=1_000, at_least=0.3),  # a wrong call is refused where it stands
}


@pytest.mark.parametrize("name", GENERATORS)
def test_programs(name: str) -> None:
    GENERATORS[name].check(range(GENERATORS[name].by_day))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "first"), [(name, first) for name, one in GENERATORS.items() for first in range(0, one.by_night, EACH)]
)
def test_many_programs(name: str, first: int) -> None:
    GENERATORS[name].check(range(first, first + EACH))
