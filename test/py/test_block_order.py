"""The order of blocks in a sweep, and the frequencies it is found by."""

import itertools

import numpy as np
import pytest
from shares import by_day
from zoo import ZOO, ZooProgram, ackermann, fibonacci

import hlobatch as hb
from hlobatch.analysis.frequency import edge_frequencies
from hlobatch.analysis.machine_flow import reachable, repeated_blocks
from hlobatch.transforms.block_order import least_backward, seldom_backward, weight_backward


@pytest.mark.parametrize("seed", range(20))
def test_the_order_is_close_to_the_best(seed: int) -> None:
    """All orders of five blocks are tried; the order by single moves is at most a little worse than the best."""
    frequencies = np.random.default_rng(seed).random((5, 5)) ** 4
    best = min(weight_backward([0, *rest], frequencies) for rest in itertools.permutations(range(1, 5)))
    found = least_backward(frequencies)
    assert found[0] == 0
    assert sorted(found) == list(range(5))
    assert weight_backward(found, frequencies) <= min(1.1 * best, weight_backward(list(range(5)), frequencies)) + 1e-9


def test_an_order_without_edges_backwards_is_found() -> None:
    frequencies = np.zeros((6, 6))
    chain = [0, 4, 2, 5, 1, 3]
    frequencies[chain[:-1], chain[1:]] = 1.0
    assert least_backward(frequencies) == chain


def test_equal_orders_stay_as_they_are() -> None:
    assert least_backward(np.zeros((7, 7))) == list(range(7))
    assert least_backward(np.ones((7, 7))) == list(range(7))
    assert least_backward(np.zeros((1, 1))) == [0]


@pytest.mark.parametrize("program", by_day(ZOO, 12), ids=lambda program: program.name)
def test_frequencies_are_of_edges(program: ZooProgram) -> None:
    """The frequency into a block equals that out of it, except at the entry and at the ends of runs."""
    lowered = program.traced.lowered_program
    frequencies = edge_frequencies(lowered)
    assert (frequencies >= 0).all()
    assert frequencies.sum() <= 1 + 1e-6
    into, out = frequencies.sum(axis=0), frequencies.sum(axis=1)
    assert (out[1:] <= into[1:] + 1e-2).all()
    blocks = [block.name for block in lowered.graph]
    successors = {block.name: block.terminator.successors for block in lowered.graph}
    for name, names in successors.items():
        assert all(other in blocks for other in reachable(successors, names) - {name})


@pytest.mark.parametrize("program", by_day(ZOO, 12), ids=lambda program: program.name)
def test_blocks_are_reordered_and_nothing_else(program: ZooProgram) -> None:
    lowered = program.traced.lowered_program
    ordered = seldom_backward(lowered)
    assert sorted(map(str, ordered.graph)) == sorted(map(str, lowered.graph))
    assert ordered.graph.blocks[0] is lowered.graph.blocks[0]
    assert ordered.replace(graph=lowered.graph) == lowered
    assert seldom_backward(ordered) is ordered
    assert repeated_blocks(ordered) == repeated_blocks(lowered)


WITHOUT_ASKING = hb.Optimizations(ask_ahead=False)
"""With it, fewer blocks are left to put in order."""


def test_fewer_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same work of the same lanes takes fewer rounds than in program order."""

    @hb.batch(dispatch="guarded", optimizations=WITHOUT_ASKING)
    def subsets(n):
        found = 1
        while n > 0:
            n -= 1
            found += subsets(n)
        return found

    inputs = np.arange(8, dtype=np.int32)
    found, stats = subsets.with_stats(inputs)
    monkeypatch.setattr("hlobatch.runtime.programs.ordered_program", lambda program: program)
    as_written, stats_as_written = hb.batch(
        subsets.function, dispatch="guarded", optimizations=WITHOUT_ASKING
    ).with_stats(inputs)
    assert found.tolist() == as_written.tolist() == [2**n for n in inputs]
    assert {b.name: b.active for b in stats.blocks} == {b.name: b.active for b in stats_as_written.blocks}
    assert stats.steps < 0.9 * stats_as_written.steps


@pytest.mark.parametrize("function", [fibonacci, ackermann])
def test_sweeps_run_in_that_order(function: hb.BatchedFunction) -> None:
    count = len(function.trace(*[np.zeros(2, np.int32)] * (1 + (function is ackermann))).plan.in_types)
    swept = hb.batch(function.function, schedule="sweep").trace(*[np.zeros(2, np.int32)] * count)
    assert swept.lowered_program == seldom_backward(swept.lowered_program)
