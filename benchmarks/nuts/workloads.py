"""The NUTS workloads: which problem, how many chains, who takes part.

Work is counted in gradients that some chain wanted; the roofline computes the same gradients and nothing else.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from functools import partial

from benchmarks.nuts import ours, problems, roofline
from benchmarks.nuts.peers import peer
from benchmarks.nuts.problems import Problem
from benchmarks.workload import Prepared, Size, Workload

MakeProblem = Callable[[Size], Problem]
Contender = Callable[[Size], Prepared]

PEERS = ("blackjax", "numpyro", "tfp")
PEERS_WITH_LONG_LEAVES = ("blackjax", "tfp")
"""Those that can take several leapfrogs from leaf to leaf."""

ONE_LANE_PER_CHAIN = tuple(Size(lanes, lanes) for lanes in (1, 10, 100, 1_000))


def contenders(make: MakeProblem, peers: tuple[str, ...] = PEERS) -> Mapping[str, Contender]:
    """hlobatch, and each peer with all its chains in one batch."""
    return {
        "hlobatch": lambda size: ours.prepare(make(size), size.lanes),
        **{name: partial(run_peer, name, make, chunked=False) for name in peers},
    }


def contenders_with_queue(make: MakeProblem, peers: tuple[str, ...] = PEERS) -> Mapping[str, Contender]:
    """The same, and each peer also with as many chains at a time as hlobatch has lanes."""
    chunked = {f"{name} in chunks": partial(run_peer, name, make, chunked=True) for name in peers}
    return {**contenders(make, peers), **chunked}


def run_peer(name: str, make: MakeProblem, size: Size, *, chunked: bool) -> Prepared:
    """Prepares a peer.

    Raises:
        ImportError: It is not installed.
    """
    module = importlib.import_module(f"benchmarks.nuts.peers.{name}")
    problem = make(size)
    return peer.prepare(module.make(problem), problem, size.lanes if chunked else size.inputs)


def gaussian(size: Size, num_draws: int) -> Problem:
    return problems.gaussian(size.inputs, num_draws)


def long_leaves(make: MakeProblem) -> MakeProblem:
    return lambda size: make(size).with_four_leapfrogs()


def workload(
    name: str,
    title: str,
    description: str,
    make: MakeProblem,
    sizes: tuple[Size, ...] = ONE_LANE_PER_CHAIN,
    *,
    peers: tuple[str, ...] = PEERS,
    control: bool = False,
) -> Workload:
    """A workload; peers also run in chunks where there are more chains than lanes."""
    waiting = any(size.inputs > size.lanes for size in sizes)
    return Workload(
        name=name,
        title=title,
        unit="gradients",
        description=description,
        sizes=sizes,
        contenders=(contenders_with_queue if waiting else contenders)(make, peers),
        roofline=lambda size: roofline.prepare(make(size), size.lanes),
        control=control,
    )


GAUSSIAN = "NUTS, 100-dimensional correlated Gaussian"
LOGISTIC = "NUTS, logistic regression 10,000 × 100"


def logistic(size: Size) -> Problem:
    return problems.logistic(size.inputs, num_draws=10)


def short_logistic(size: Size) -> Problem:
    return problems.logistic(size.inputs, num_draws=2)


WORKLOADS = (
    workload("nuts_gaussian", GAUSSIAN, "10 draws of each chain.", partial(gaussian, num_draws=10)),
    workload("nuts_gaussian_100", f"{GAUSSIAN}, 100 draws", "100 draws of each chain.", partial(gaussian, num_draws=100)),
    workload("nuts_logistic", LOGISTIC, "Correlated regressors, 10 draws of each chain.", logistic),
    workload(
        "nuts_funnel",
        "NUTS, Neal's funnel",
        "10 dimensions, 10 draws; chains queue for lanes.",
        lambda size: problems.funnel(size.inputs, num_draws=10),
        (Size(100, 2_000), Size(250, 2_000)),
    ),
    workload(
        "nuts_hierarchical",
        "NUTS, eight schools",
        "A hierarchical model of 10 parameters, 10 draws; chains queue for lanes.",
        lambda size: problems.eight_schools(size.inputs, num_draws=10),
        (Size(100, 2_000), Size(250, 2_000)),
    ),
)
