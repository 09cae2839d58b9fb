"""The tail: the few lanes that are left at the end of a run continue in a smaller program, with the same results."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from zoo import LOOP

import hlobatch as hb
from hlobatch.runtime.pace import Pace
from hlobatch.runtime.tail import Tail


@hb.batch
def collatz(n, log):
    """A loop over numbers and an array."""
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        log = log.at[steps % 5].add(n)
        steps += 1
    return steps, log


def collatz_of(n: int, log: np.ndarray) -> tuple[int, list[int]]:
    steps, log = 0, log.astype(np.int64)
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        log[steps % 5] += n
        steps += 1
    return steps, log.astype(np.int32).tolist()


@hb.batch
def depth_first(n):
    """A recursion, which takes a stack."""
    if n <= 1:
        return 1
    return depth_first(n - 1) + depth_first(n - 2)


@pytest.fixture
def few_at_once(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Stretches are of few turns, and few lanes go on by themselves at once; how many did each time."""
    widths: list[int] = []
    run = Tail.__call__

    def counted(self: Tail, *operands: object) -> list[object]:
        widths.append(self.narrowing.narrow.lanes)
        return run(self, *operands)

    monkeypatch.setattr(Tail, "__call__", counted)
    monkeypatch.setattr("hlobatch.runtime.course.WORTH_SECONDS", 0.0)
    monkeypatch.setattr("hlobatch.runtime.pace.MOST_TURNS", 16)
    monkeypatch.setattr(Pace, "note", lambda *_: None)  # however long it takes to compile here
    return widths


STARTS = np.array([1, 2, 8, 16, 27, 3, 1, 97, 4, 2, 1, 6, 7, 871, 2, 1, 1], np.int32)


@pytest.mark.parametrize(
    ("threads", "lanes", "repetitions"), [(1, None, 1), (1, 4, 1), (2, 8, 5), (2, None, 5), (1, 40, 5)]
)
def test_loops(few_at_once, threads: int, lanes: int | None, repetitions: int) -> None:
    starts = np.tile(STARTS, repetitions)
    logs = np.arange(len(starts) * 5, dtype=np.int32).reshape(-1, 5)
    truth = [collatz_of(int(n), log) for n, log in zip(starts, logs, strict=True)]
    batched = hb.batch(collatz.function, threads=threads, lanes=lanes, optimizations=LOOP)
    for _ in range(2):
        steps, found = batched(starts, logs)
        assert steps.tolist() == [each for each, _ in truth]
        assert found.tolist() == [each for _, each in truth]
    assert few_at_once, "no lanes went on by themselves"


@pytest.mark.parametrize("lanes", [None, 4])
@pytest.mark.parametrize("max_stack_depth", [2, 64])
def test_stacks_that_grow(few_at_once, lanes: int | None, max_stack_depth: int) -> None:
    batched = hb.batch(depth_first.function, lanes=lanes, max_stack_depth=max_stack_depth, optimizations=LOOP)
    n = np.array([1, 2, 3, 1, 12, 0, 1, 2, 10, 1, 1, 1, 1, 1, 1, 1, 1], np.int32)
    truth = [1, 2, 3, 1, 233, 1, 1, 2, 89, 1, 1, 1, 1, 1, 1, 1, 1]
    for _ in range(2):
        assert batched(n).tolist() == truth
    assert few_at_once


@pytest.mark.parametrize("lanes", [None, 4])
def test_inputs_that_are_stopped(few_at_once, lanes: int | None) -> None:
    batched = hb.batch(collatz.function, lanes=lanes, max_steps=150, optimizations=LOOP)
    logs = np.zeros((17, 5), np.int32)
    with pytest.raises(hb.StepLimitError) as caught:
        batched(STARTS, logs)
    needed = hb.batch(collatz.function)(STARTS, logs)[0]
    assert caught.value.lanes
    for i, (found, wanted) in enumerate(zip(caught.value.outputs[0].tolist(), needed.tolist(), strict=True)):
        assert i in caught.value.lanes or found == wanted
    assert few_at_once


def test_tables_and_shared_values(few_at_once) -> None:
    @hb.batch(in_axes=(0, 0, None), lanes=4)
    def follow(table, n, data):
        total, at = data.sum(), 0
        while n > 0:
            at = table[at]
            total = total + data[at]
            n -= 1
        return total

    rng = np.random.default_rng(0)
    tables, data = rng.integers(0, 9, (17, 9)).astype(np.int32), rng.integers(0, 99, 9).astype(np.int32)
    counts = np.array([0, 1, 2, 300, 1, 0, 1, 2, 3, 1, 1, 1, 120, 0, 0, 1, 2], np.int32)

    def truth(table: np.ndarray, n: int) -> int:
        total, at = int(data.sum()), 0
        for _ in range(n):
            at = table[at]
            total += int(data[at])
        return total

    found = follow(tables, counts, data)
    assert found.tolist() == [truth(table, int(n)) for table, n in zip(tables, counts, strict=True)]
    assert few_at_once


def test_a_program_for_few_lanes_waits_until_it_is_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is: what is worth it is first longer than any run, and then what a run has taken."""
    monkeypatch.setattr("hlobatch.runtime.pace.MOST_TURNS", 16)
    monkeypatch.setattr("hlobatch.runtime.course.WORTH_SECONDS", float("inf"))
    batched = hb.batch(collatz.function, threads=1, optimizations=LOOP)
    logs = np.zeros((17, 5), np.int32)
    batched(STARTS, logs)
    ends = batched.trace(STARTS, logs).plan.ends
    assert ends.seconds > 0
    assert not ends.are_expected
    monkeypatch.setattr("hlobatch.runtime.course.WORTH_SECONDS", ends.seconds)
    batched(STARTS, logs)
    assert ends.are_expected
    assert jax.block_until_ready(batched(jnp.asarray(STARTS), logs))[0].tolist() == batched(STARTS, logs)[0].tolist()
