"""The NUTS workloads: problems, numbers of chains, contenders.

Work is counted in gradients that some chain needed; the roofline computes the same gradients and nothing else.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from benchmarks.nuts import figure6, ours, problems, roofline
from benchmarks.nuts.peers import peer
from benchmarks.nuts.problems import Problem
from benchmarks.workload import Contender, Prepared, Size, Workload

MakeProblem = Callable[[Size], Problem]

PEERS: Final = ("blackjax", "numpyro", "tfp")
PEERS_WITH_LONG_LEAVES: Final = ("blackjax", "tfp")
"""The peers that can take several leapfrogs from leaf to leaf."""

ONE_LANE_PER_CHAIN: Final = tuple(Size(lanes, lanes) for lanes in (1, 10, 100, 1_000))
QUEUES: Final = (Size(100, 2_000), Size(250, 2_000))


def contenders(make: MakeProblem, peers: tuple[str, ...], *, lanes_given: bool) -> Mapping[str, Contender]:
    """The contenders: hlobatch, and each peer with all its chains in one batch."""
    return {
        "hlobatch": lambda size: ours.prepare(make(size), lanes=size.lanes if lanes_given else None),
        **{name: partial(run_peer, name, make, chunked=False) for name in peers},
    }


def contenders_in_chunks(make: MakeProblem, peers: tuple[str, ...]) -> Mapping[str, Contender]:
    """Contenders: each peer in batches of as many chains as there are lanes."""
    return {f"{name} in chunks": partial(run_peer, name, make, chunked=True) for name in peers}


def run_peer(name: str, make: MakeProblem, size: Size, *, chunked: bool) -> Prepared:
    """A contender that is a peer.

    Raises:
        ImportError: It is not installed.
    """
    module = importlib.import_module(f"benchmarks.nuts.peers.{name}")
    problem = make(size)
    return peer.prepare(module.make(problem), problem, size.lanes if chunked else size.inputs)


def workload(
    name: str,
    title: str,
    description: str,
    make: MakeProblem,
    sizes: tuple[Size, ...] = ONE_LANE_PER_CHAIN,
    *,
    peers: tuple[str, ...] = PEERS,
    control: bool = False,
    lanes_given: bool = False,
) -> Workload:
    """A workload. If chains wait for lanes, peers also run in chunks; `lanes_given` sets hlobatch's number of lanes."""
    in_chunks = contenders_in_chunks(make, peers) if any(size.inputs > size.lanes for size in sizes) else {}
    return Workload(
        name=name,
        title=title,
        unit="gradient",
        description=description,
        sizes=sizes,
        contenders={**contenders(make, peers, lanes_given=lanes_given), **in_chunks},
        roofline=lambda size: roofline.prepare(make(size), size),
        control=control,
    )


def gaussian(size: Size, num_draws: int = 10) -> Problem:
    return problems.gaussian(size.inputs, num_draws)


def long_gaussian(size: Size) -> Problem:
    return gaussian(size, num_draws=100).with_four_leapfrogs()


def logistic(size: Size, correlation: float = problems.CORRELATION) -> Problem:
    """The logistic regression, with a number of draws that takes some seconds."""
    return problems.logistic(size.inputs, 2 if size.inputs >= 1_000 else 10, correlation)


def long_logistic(size: Size) -> Problem:
    return logistic(size).with_four_leapfrogs()


def queued_logistic(size: Size) -> Problem:
    return problems.logistic(size.inputs, num_draws=2)


def funnel(size: Size) -> Problem:
    return problems.funnel(size.inputs, num_draws=10)


def hierarchical(size: Size) -> Problem:
    return problems.eight_schools(size.inputs, num_draws=10)


GAUSSIAN: Final = "NUTS, 100-dimensional correlated Gaussian"
LOGISTIC: Final = "NUTS, logistic regression 10,000 × 100"
FOUR: Final = "four leapfrogs from leaf to leaf"

WORKLOADS: Final = {
    made.name: made
    for made in (
        workload(
            "nuts_gaussian",
            GAUSSIAN,
            "The paper's section 4.2: 10 draws from an autoregression of correlation 0.7. A gradient is a product with "
            "a 100 × 100 matrix, so control is most of the cost. Trajectories have 7 to 63 leaves.",
            gaussian,
        ),
        workload(
            "nuts_gaussian_100",
            f"{GAUSSIAN}, 100 draws",
            "The same with 100 draws of each chain, over which the differences between chains average out.",
            partial(gaussian, num_draws=100),
        ),
        workload(
            "nuts_gaussian_4",
            f"{GAUSSIAN}, {FOUR}",
            "The same, 100 draws, with leaves four leapfrogs apart, as in the paper, which makes them dearer and trees "
            "smaller. TFP's sampler counts both ends of a trajectory whole where it looks for a turn: between so few "
            "leaves it seldom finds one, and makes the same number of draws from far more gradients.",
            long_gaussian,
            peers=PEERS_WITH_LONG_LEAVES,
        ),
        workload(
            "nuts_logistic",
            LOGISTIC,
            "The paper's section 4.1, with correlated regressors, so that trajectories differ in length. A gradient is "
            "two products with the 10,000 × 100 matrix of regressors, and is most of the cost.",
            logistic,
        ),
        workload(
            "nuts_logistic_4",
            f"{LOGISTIC}, {FOUR}",
            "The same with leaves four leapfrogs apart, as in the paper.",
            long_logistic,
            peers=PEERS_WITH_LONG_LEAVES,
        ),
        workload(
            "nuts_logistic_queue",
            f"{LOGISTIC}, more chains than lanes",
            "The same with two draws of each chain; chains wait for as many lanes as it says.",
            queued_logistic,
            (Size(100, 1_000),),
            peers=("blackjax", "numpyro"),
            lanes_given=True,
        ),
        workload(
            "nuts_funnel",
            "NUTS, Neal's funnel",
            "10 dimensions, 10 draws. Chains in the neck turn after a few leaves, those in the wide part walk as far "
            "as they may; chains wait for lanes.",
            funnel,
            QUEUES,
        ),
        workload(
            "nuts_hierarchical",
            "NUTS, eight schools",
            "A hierarchical model of 10 parameters, 10 draws; chains wait for lanes.",
            hierarchical,
            QUEUES,
        ),
        workload(
            "nuts_logistic_independent",
            f"{LOGISTIC}, independent regressors",
            "The same data without correlation: all trajectories have 7 leaves, or nearly all.",
            partial(logistic, correlation=0.0),
            control=True,
        ),
        figure6.WORKLOAD,
    )
}
