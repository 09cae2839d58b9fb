"""The table of workloads. A module is imported when its workload is asked for, and so are the peers it needs."""

from __future__ import annotations

import importlib
from typing import Final

from benchmarks.workload import Workload

MODULES: Final = {
    "mandelbrot": "benchmarks.workloads.mandelbrot",
    "collatz": "benchmarks.workloads.collatz",
    "fibonacci": "benchmarks.workloads.fibonacci",
    "tree_network": "benchmarks.workloads.tree_network",
    "queens": "benchmarks.workloads.queens",
    "fixed_count": "benchmarks.workloads.fixed_count",
}
"""Where the `WORKLOAD` of each name is, in the order of the page."""


def find(name: str) -> Workload:
    """The workload of a name.

    Raises:
        KeyError: There is none.
    """
    workload = importlib.import_module(MODULES[name]).WORKLOAD
    assert isinstance(workload, Workload)
    assert workload.name == name, f"{MODULES[name]} calls itself {workload.name}"
    return workload
