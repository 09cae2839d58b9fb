"""Inputs that are stopped: all are reported, all others have results, and in every form lanes take the next inputs."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import stopping
from shares import share
from zoo import LOOP

import hlobatch as hb
from hlobatch.runtime import memory

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


AUTO = ("auto", 6, 1)
BY_DAY = [
    ("case", 6, 1),
    ("chain", 6, 2),
    ("guarded", 6, 1),
    ("sweep", 2, 2),
]
BY_NIGHT = [
    ("auto", None, 2),
    ("case", None, 1),
    ("chain", 1, 1),
    ("chain", 5, 1),
    ("guarded", 3, 2),
    ("sweep", 6, 1),
    ("sweep", None, 1),
]


def ways(test: str) -> Any:
    """Forms of dispatch, lanes in flight, and threads: by day two, one of them chosen by a test's name."""
    usual = (AUTO, *share(test, BY_DAY))
    return pytest.mark.parametrize(
        ("form", "lanes", "threads"),
        [
            pytest.param(*way, id="-".join(map(str, way)), marks=() if way in usual else pytest.mark.slow)
            for way in [AUTO, *BY_DAY, *BY_NIGHT]
        ],
    )


def options(form: str, lanes: int | None, threads: int) -> dict[str, object]:
    return {"dispatch": form, "lanes": lanes, "threads": threads, "optimizations": LOOP}


@ways("steps")
def test_steps(form: str, lanes: int | None, threads: int) -> None:
    stuck = np.arange(SIZE) % 4 == 3
    limited = hb.batch(count, max_steps=40, **options(form, lanes, threads))
    with pytest.raises(hb.StepLimitError, match=r"\(50 in all\) of 'count' had not finished after 40") as caught:
        limited(np.where(stuck, 1_000_000, np.arange(SIZE) % 5).astype(np.int32))
    error = caught.value
    assert error.lanes == error.unfinished == tuple(np.flatnonzero(stuck))
    assert np.asarray(error.outputs)[~stuck].tolist() == [7] * int((~stuck).sum())
    assert "had not started" not in str(error)


@ways("stacks")
def test_stacks(form: str, lanes: int | None, threads: int) -> None:
    """Those that need more frames than there can be keep their lanes until that is known, and no longer."""
    n = np.arange(SIZE, dtype=np.int32) % 10
    endless = np.arange(SIZE) % 4 == 3
    shallow = hb.batch(stopping.down, max_stack_depth=4, **options(form, lanes, threads))
    with pytest.raises(hb.StackOverflowError, match=rf"\(50 in all\) .* more than {DEPTH} stack frames") as caught:
        shallow(np.where(endless, 1_000, n))
    error = caught.value
    assert error.lanes == error.unfinished == tuple(np.flatnonzero(endless))
    assert np.asarray(error.outputs)[~endless].tolist() == n[~endless].tolist()
    assert shallow(n).tolist() == n.tolist()


def deep_then_long(n, turns):
    """Recursion, at whose bottom a loop turns as often as its second argument says."""
    if n == 0:
        while turns > 0:
            turns = turns - 1
        return 0
    return 1 + 1 * deep_then_long(n - 1, turns)


@ways("empty_stacks")
def test_the_next_input_finds_empty_stacks(form: str, lanes: int | None, threads: int) -> None:
    """A lane whose input was stopped deep in a recursion has all of its frames for its next input."""
    n = np.full(SIZE, DEPTH - 2, np.int32)
    stuck = np.arange(SIZE) % 5 < 2
    deep = hb.batch(deep_then_long, max_steps=200, max_stack_depth=4, **options(form, lanes, threads))
    with pytest.raises(hb.StepLimitError) as caught:
        deep(n, np.where(stuck, 1_000_000, 0).astype(np.int32))
    assert caught.value.unfinished == tuple(np.flatnonzero(stuck))
    assert (np.asarray(caught.value.outputs)[~stuck] == DEPTH - 2).all()


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


@ways("where_stacks_cannot_grow")
def test_where_stacks_cannot_grow(form: str, lanes: int | None, threads: int) -> None:
    """Stacks that cannot grow inside of other computations, and in artifacts of both kinds."""
    how = options(form, lanes, threads)
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
    """Counts of a run whose stacks grew are those of the whole run."""
    n = np.arange(SIZE, dtype=np.int32) % 10
    how = {"max_steps": 500, "lanes": lanes, "threads": 1, "optimizations": LOOP}
    grown = hb.batch(stopping.down, max_stack_depth=5, **how).with_stats(n)[1]
    assert grown.resumptions > 0
    roomy = hb.batch(stopping.down, max_stack_depth=16, **how).with_stats(n)[1]
    assert [block.active for block in grown.blocks] == [block.active for block in roomy.blocks]


def test_a_tape_of_many_turns_is_no_recursion() -> None:
    """The message of a derivative says what to do about its tape."""
    with pytest.raises(hb.StackOverflowError, match=r"max_tape.*checkpoint_loops"):
        hb.value_and_grad(hb.batch(powers, max_tape=4))(jnp.ones(3), np.array([1, 1000, 2]))
    roomy = hb.value_and_grad(hb.batch(powers, max_tape=4_000))
    assert roomy(jnp.ones(3), np.array([1, 1000, 2]))[1].tolist() == [1, 1000, 2]


def powers(x, n):
    y = 1.0
    while n > 0:
        y, n = y * x, n - 1
    return y


# Memory


@pytest.mark.parametrize(("lanes", "threads"), [(None, 1), pytest.param(6, 1, marks=pytest.mark.slow), (6, 2)])
def test_stacks_take_no_more_than_they_may(lanes: int | None, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hlobatch.config.STACK_DEPTH_LIMIT", 1 << 16)
    n = np.where(STOPPED, 1_000, np.arange(SIZE) % 10).astype(np.int32)
    how = {"lanes": lanes, "threads": threads, "max_stack_depth": 32, "optimizations": LOOP}
    bounded = hb.batch(stopping.down, max_stack_bytes=200_000 if lanes is None else 10_000, **how)
    with pytest.raises(hb.StackOverflowError, match="max_stack_bytes") as caught:
        bounded(n)
    assert caught.value.unfinished == tuple(np.flatnonzero(STOPPED))
    assert np.asarray(caught.value.outputs)[~STOPPED].tolist() == n[~STOPPED].tolist()
    assert hb.batch(stopping.down, **how)(n).tolist() == n.tolist()


@pytest.mark.parametrize("lanes", [None, 6])
def test_memory_that_cannot_be_had(lanes: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results that were finished before are kept, and inputs that need no more memory go on."""
    pad = jnp.pad

    def short_of_memory(array: jax.Array, pads: object) -> jax.Array:
        if array.shape[0] > DEPTH // 2:
            raise MemoryError
        return pad(array, pads)

    monkeypatch.setattr("hlobatch.runtime.course.jnp.pad", short_of_memory)
    monkeypatch.setattr("hlobatch.config.STACK_DEPTH_LIMIT", 1 << 16)
    n = np.where(STOPPED, 1_000, np.arange(SIZE) % 6).astype(np.int32)
    with pytest.raises(hb.StackOverflowError, match="take more memory than there is") as caught:
        hb.batch(stopping.down, lanes=lanes, threads=1, max_stack_depth=2, optimizations=LOOP)(n)
    assert caught.value.unfinished == tuple(np.flatnonzero(STOPPED))
    assert np.asarray(caught.value.outputs)[~STOPPED].tolist() == n[~STOPPED].tolist()


def test_no_memory_to_go_on_without_those_that_want_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """The inputs that had not started are among those without a result."""

    def none(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("hlobatch.runtime.course.fates.given_up", none)
    n = np.array([3, 100, 5, 2], np.int32)
    with pytest.raises(hb.StackOverflowError, match=r"lane 1 .* 2 inputs had not started") as caught:
        hb.batch(stopping.down, lanes=1, threads=1, max_stack_depth=DEPTH)(n)
    assert caught.value.unfinished == (1, 2, 3)
    assert int(caught.value.outputs[0]) == 3


def test_stacks_declared_deeper_than_memory_is() -> None:
    """They begin as others do, and grow; where they cannot, that is said before memory is asked for."""
    deep = hb.batch(stopping.down, max_stack_depth=10**9, optimizations=LOOP)
    n = np.array([10, 400, 0], np.int32)
    assert deep(n).tolist() == n.tolist()
    assert deep.trace(n).lower().compile()(n).tolist() == n.tolist()
    many = np.zeros(10_000, np.int32)
    for run in (lambda: jax.jit(deep)(many), lambda: hb.export(deep, many)):
        with pytest.raises(hb.HloBatchError, match=r"the stacks of 'down' would take \d+ GB for \d+ lanes"):
            run()


def test_what_memory_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the machine, by the limit on addresses, and by control groups of both versions."""
    assert 2**20 < memory.available() < 2**60
    for limit, used in (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")):
        folder = tmp_path / limit / ("memory" if "limit" in limit else "")
        folder.mkdir(parents=True)
        (folder / limit).write_text("5000000\n")
        (folder / used).write_text("1000000\n")
        (folder / "memory.stat").write_text("inactive_file 300\ntotal_inactive_file 300\n")
        monkeypatch.setattr(memory, "_CGROUP", tmp_path / limit)
        monkeypatch.setattr(memory, "_group", lambda _: "")
        assert memory.available() == 4_000_300
    (tmp_path / "memory.max" / "memory.max").write_text("max\n")
    monkeypatch.setattr(memory, "_CGROUP", tmp_path / "memory.max")
    assert memory.available() > 5_000_000


IN_LITTLE_MEMORY = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]) * 1024,) * 2)
import jax.numpy as jnp, numpy as np
import hlobatch as hb
from test_stops import walk
n = jnp.where(jnp.arange(64) == 3, -1, 2)
try:
    hb.batch(walk)(jnp.ones((64, 1000)), n)
except hb.StackOverflowError as error:
    print(error.lanes, error.unfinished, sorted({float(x) for x in np.delete(np.asarray(error.outputs), 3, 0).ravel()}))
"""


def walk(v, n):
    if n == 0:
        return v
    return v + walk(v * 2, n - 1)[::-1]


@pytest.mark.skipif(sys.platform != "linux", reason="the limit on addresses is Linux's")
def test_growth_under_a_limit_of_addresses() -> None:
    here = Path(__file__).parent
    done = subprocess.run(
        [sys.executable, "-c", IN_LITTLE_MEMORY, "5000000"],
        env=os.environ | {"PYTHONPATH": f"{here.parent.parent}:{here}", "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.stdout == "(3,) (3,) [7.0]\n", done.stderr


def test_the_virtual_machine_stops_lanes_and_not_the_batch() -> None:
    machine = hb.virtual_machine
    program = hb.batch(stopping.down).trace(NUMBERS).lowered_program
    for backend in (machine.NumpyBackend(), machine.XlaBackend()):
        with pytest.raises(hb.StepLimitError, match="had not finished after 500 blocks") as caught:
            machine.execute(program, [NUMBERS], DEPTH, backend, max_steps=500)
        assert caught.value.lanes == tuple(np.flatnonzero(MIXED == 2))
        assert caught.value.unfinished == tuple(np.flatnonzero(STOPPED))
        assert np.asarray(caught.value.outputs[0])[~STOPPED].tolist() == NUMBERS[~STOPPED].tolist()
