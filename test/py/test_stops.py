"""Inputs that are stopped: all are named, all others have results, and in every form lanes go on to the next."""

import jax
import numpy as np
import pytest
import stopping

import hlobatch as hb
from hlobatch.transforms.pipeline import Optimizations

DEPTH = 16
"""Frames that stacks grow to in these tests."""
SIZE = 203


@pytest.fixture(autouse=True)
def _shallow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hlobatch.config.STACK_DEPTH_LIMIT", DEPTH)


def count(n):
    """Turns in a loop as often as its argument says."""
    while n > 0:
        n = n - 1
    return n + 7


WAYS = [
    pytest.param(form, lanes, threads, one_kernel, id=f"{form}-{lanes}-{threads}-{'one' if one_kernel else 'several'}")
    for form, lanes, threads, one_kernel in [
        ("auto", None, 2, True),
        ("auto", 6, 1, False),
        ("case", None, 1, False),
        ("case", 6, 1, True),
        ("chain", 6, 2, True),
        ("chain", 1, 1, False),
        ("chain", 5, 1, False),
        ("guarded", 6, 1, True),
        ("guarded", 3, 2, False),
        ("sweep", 6, 1, True),
        ("sweep", 2, 2, False),
        ("sweep", None, 1, True),
    ]
]
"""Forms of dispatch, lanes in flight, threads, and whether a run is one kernel."""
ways = pytest.mark.parametrize(("form", "lanes", "threads", "one_kernel"), WAYS)


def options(form: str, lanes: int | None, threads: int, one_kernel: bool) -> dict[str, object]:
    switches = Optimizations(one_kernel=one_kernel)
    return {"dispatch": form, "lanes": lanes, "threads": threads, "optimizations": switches}


@ways
def test_steps(form: str, lanes: int | None, threads: int, one_kernel: bool) -> None:
    stuck = np.arange(SIZE) % 4 == 3
    limited = hb.batch(count, max_steps=40, **options(form, lanes, threads, one_kernel))
    with pytest.raises(hb.StepLimitError, match=r"\(50 in all\) of 'count' had not finished after 40") as caught:
        limited(np.where(stuck, 1_000_000, np.arange(SIZE) % 5).astype(np.int32))
    error = caught.value
    assert error.lanes == error.unfinished == tuple(np.flatnonzero(stuck))
    assert np.asarray(error.outputs)[~stuck].tolist() == [7] * int((~stuck).sum())
    assert "had not started" not in str(error)


@ways
def test_stacks(form: str, lanes: int | None, threads: int, one_kernel: bool) -> None:
    """Those that need more frames than there can be keep their lanes until that is known, and no longer."""
    n = np.arange(SIZE, dtype=np.int32) % 10
    endless = np.arange(SIZE) % 4 == 3
    shallow = hb.batch(stopping.down, max_stack_depth=4, **options(form, lanes, threads, one_kernel))
    with pytest.raises(hb.StackOverflowError, match=rf"\(50 in all\) .* more than {DEPTH} stack frames") as caught:
        shallow(np.where(endless, 1_000, n))
    error = caught.value
    assert error.lanes == error.unfinished == tuple(np.flatnonzero(endless))
    assert np.asarray(error.outputs)[~endless].tolist() == n[~endless].tolist()
    assert shallow(n).tolist() == n.tolist()


MIXED = np.arange(SIZE) % 7
NUMBERS = np.select([MIXED == 2, MIXED == 5], [-1, 1_000], MIXED).astype(np.int32)
STOPPED = (MIXED == 2) | (MIXED == 5)


@pytest.mark.parametrize(("lanes", "threads"), [(None, 1), (6, 1), (6, 2)])
def test_steps_and_stacks(lanes: int | None, threads: int) -> None:
    """The error is that of the steps; the others are among those without a result."""
    both = hb.batch(stopping.down, max_stack_depth=4, max_steps=500, lanes=lanes, threads=threads)
    with pytest.raises(hb.StepLimitError, match="of 'down' had not finished") as caught:
        both(NUMBERS)
    assert caught.value.lanes == tuple(np.flatnonzero(MIXED == 2))
    assert caught.value.unfinished == tuple(np.flatnonzero(STOPPED))
    assert np.asarray(caught.value.outputs)[~STOPPED].tolist() == NUMBERS[~STOPPED].tolist()
    assert "error.unfinished" in caught.value.help


@ways
def test_where_stacks_cannot_grow(form: str, lanes: int | None, threads: int, one_kernel: bool) -> None:
    """In other computations, and in artifacts of both kinds."""
    how = options(form, lanes, threads, one_kernel)
    both = hb.batch(stopping.down, max_stack_depth=DEPTH, max_steps=500, **how)
    exported = np.asarray(jax.export.export(jax.jit(both))(NUMBERS).call(NUMBERS))
    assert exported[STOPPED].tolist() == [np.iinfo(np.int32).min] * int(STOPPED.sum())
    assert exported[~STOPPED].tolist() == NUMBERS[~STOPPED].tolist()
    with pytest.raises(hb.StepLimitError) as caught:
        hb.export(both, NUMBERS).call(NUMBERS)
    assert caught.value.lanes == tuple(np.flatnonzero(MIXED == 2))
    assert caught.value.unfinished == tuple(np.flatnonzero(STOPPED))
    assert np.asarray(caught.value.outputs)[~STOPPED].tolist() == NUMBERS[~STOPPED].tolist()
    if form == "auto":
        with pytest.raises(jax.errors.JaxRuntimeError, match=r"\(29 in all\) of 'down' had not finished after 500"):
            jax.block_until_ready(jax.jit(both)(NUMBERS))


@pytest.mark.parametrize("lanes", [None, 6])
def test_counts_go_on(lanes: int | None) -> None:
    """What is counted of a run whose stacks grew is counted of the whole run."""
    n = np.arange(SIZE, dtype=np.int32) % 10
    grown = hb.batch(stopping.down, max_stack_depth=2, max_steps=500, lanes=lanes, threads=1).with_stats(n)[1]
    roomy = hb.batch(stopping.down, max_stack_depth=16, max_steps=500, lanes=lanes, threads=1).with_stats(n)[1]
    assert [block.active for block in grown.blocks] == [block.active for block in roomy.blocks]


def test_the_virtual_machine_stops_lanes_and_not_the_batch() -> None:
    machine = hb.virtual_machine
    program = hb.batch(stopping.down).trace(NUMBERS).lowered_program
    for backend in (machine.NumpyBackend(), machine.XlaBackend()):
        with pytest.raises(hb.StepLimitError, match="had not finished after 500 blocks") as caught:
            machine.execute(program, [NUMBERS], DEPTH, backend, max_steps=500)
        assert caught.value.lanes == tuple(np.flatnonzero(MIXED == 2))
        assert caught.value.unfinished == tuple(np.flatnonzero(STOPPED))
        assert np.asarray(caught.value.outputs[0])[~STOPPED].tolist() == NUMBERS[~STOPPED].tolist()
