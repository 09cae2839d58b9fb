"""The strategies of the benchmarks' workloads are as recorded, unless they are changed on purpose."""

import pytest
from strategies import GOLDEN, lines

from benchmarks.registry import MODULES

QUICK = ("collatz", "fibonacci", "tree_network", "own_matrix", "fixed_count", "slow_tail")
"""One of each kind: floats alone, stacks, products, a large argument, no loop, and a long tail."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in MODULES]
)
def test_strategies_of_benchmarks(name: str) -> None:
    """If they shall change: ``python test/py/strategies.py``, and look at what differs."""
    wanted = [line for line in GOLDEN.read_text().splitlines() if line.startswith(f"{name}, ")]
    assert "".join(lines(name)).splitlines() == wanted
    assert wanted


def test_every_workload_is_in_the_file() -> None:
    named = {line.split(", ")[0] for line in GOLDEN.read_text().splitlines()}
    assert named == set(MODULES), "python test/py/strategies.py"
