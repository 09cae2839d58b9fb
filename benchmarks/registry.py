"""The table of workloads. The module of a workload, and the libraries that it needs, are imported on demand."""

from __future__ import annotations

import importlib
from typing import Final

from benchmarks.workload import Workload

NUTS: Final = (
    "nuts_gaussian",
    "nuts_gaussian_100",
    "nuts_gaussian_4",
    "nuts_logistic",
    "nuts_logistic_4",
    "nuts_logistic_queue",
    "nuts_logistic_independent",
    "nuts_funnel",
    "nuts_hierarchical",
    "nuts_figure6",
)

CALLS: Final = ("cached_call", "cached_call_loop")

OWN_DATA: Final = ("own_table", "own_matrix")

ABLATIONS: Final = (
    "ablation_fibonacci",
    "ablation_takeuchi",
    "ablation_collatz",
    "ablation_walk",
    "ablation_nuts",
    "ablation_logistic",
)

SWITCHES: Final = (
    "ablation_histogram",
    "ablation_statement",
    "ablation_expression",
    "ablation_inverse",
    "ablation_series",
    "ablation_diagnostics",
    "ablation_pairs",
    "ablation_search",
    "ablation_ring",
    "ablation_tree",
)

MECHANISMS: Final = (
    "ablation_block_groups",
    "ablation_call_frames",
)

MODULES: Final = {
    **dict.fromkeys(NUTS, "benchmarks.nuts.workloads"),
    "mandelbrot": "benchmarks.workloads.mandelbrot",
    "collatz": "benchmarks.workloads.collatz",
    "fibonacci": "benchmarks.workloads.fibonacci",
    "neural_ode": "benchmarks.workloads.neural_ode",
    "tree_network": "benchmarks.workloads.tree_network",
    "stiff": "benchmarks.workloads.stiff",
    "quadrature": "benchmarks.workloads.quadrature",
    "continuation": "benchmarks.workloads.continuation",
    "queens": "benchmarks.workloads.queens",
    "tree_search": "benchmarks.workloads.tree_search",
    "kd_tree": "benchmarks.workloads.kd_tree",
    "interpreter": "benchmarks.workloads.interpreter",
    "quicksort": "benchmarks.workloads.quicksort",
    "fixed_count": "benchmarks.workloads.fixed_count",
    **dict.fromkeys(OWN_DATA, "benchmarks.workloads.own_data"),
    "slow_tail": "benchmarks.workloads.slow_tail",
    **dict.fromkeys(CALLS, "benchmarks.workloads.cached_call"),
    **dict.fromkeys(ABLATIONS, "benchmarks.workloads.ablation"),
    **dict.fromkeys(SWITCHES, "benchmarks.workloads.switches"),
    **dict.fromkeys(MECHANISMS, "benchmarks.workloads.mechanisms"),
}
"""For each workload, in the order of the page, its module, which has it as `WORKLOAD` or in `WORKLOADS` by name."""


def find(name: str) -> Workload:
    """The workload with a name.

    Raises:
        KeyError: There is none.
    """
    module = importlib.import_module(MODULES[name])
    workload = module.WORKLOADS[name] if hasattr(module, "WORKLOADS") else module.WORKLOAD
    assert isinstance(workload, Workload)
    assert workload.name == name, f"{MODULES[name]} calls itself {workload.name}"
    return workload
