"""Interrupts: a run has stretches, between which Ctrl-C ends it; finished results are kept, and the process goes on."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import stopping
from shares import by_day
from test_stops import options, ways
from zoo import LOOP

import hlobatch as hb
from hlobatch.runtime.course import Course
from hlobatch.runtime.interrupts import noting
from hlobatch.runtime.pace import MOST_GROWTH, MOST_TURNS, STRETCH_SECONDS, Pace

TURNS = 8
"""Of a stretch, in these tests."""


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """Stretches are short, and counted."""
    seen: list[float] = []
    monkeypatch.setattr(Pace, "guessed", classmethod(lambda cls, _: cls(TURNS)))
    monkeypatch.setattr(Pace, "note", lambda _, seconds, __: seen.append(seconds))
    yield seen
    assert len(seen) > 3, "it took but one stretch"


def down(n):
    """Turns as often as its argument says, and for ever if that is negative."""
    while n != 0:
        n = n - 1
    return n + 5


def fibonacci(n):
    if n <= 1:
        return 1
    return fibonacci(n - 2) + fibonacci(n - 1)


SIZE = 37
NUMBERS = np.arange(SIZE, dtype=np.int32) % 11
ENDLESS = np.arange(SIZE) % 9 == 4


@pytest.mark.usefixtures("short")
@ways("runs_in_many_stretches")
def test_runs_in_many_stretches(form: str, lanes: int | None, threads: int) -> None:
    """Give what one stretch gives, and count each step once."""
    how = options(form, lanes, threads)
    recursive = hb.batch(fibonacci, max_stack_depth=8, **how)  # and so they grow once
    found = recursive(NUMBERS)
    assert found.tolist() == [(1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89)[n] for n in NUMBERS]
    assert recursive(NUMBERS).tolist() == found.tolist()
    result, stats = hb.batch(down, max_steps=500, **how).with_stats(NUMBERS)
    assert result.tolist() == [5] * SIZE
    counted = np.resize(NUMBERS, SIZE + SIZE % threads)
    counted[SIZE:] = NUMBERS[-1]  # threads have as many lanes as each other
    assert [block.active for block in stats.blocks] == [len(counted), counted.sum(), len(counted)]


@ways("interrupted")
def test_interrupted(
    form: str, lanes: int | None, threads: int, short: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever was finished is kept, in a run of each kind; without Ctrl-C, these have no end."""

    def interrupt(course: Course, *_: object) -> None:
        short.append(0)
        if len(short) % 40 == 0:
            raise KeyboardInterrupt

    monkeypatch.setattr(Course, "note", interrupt)
    n = np.where(ENDLESS, -1, NUMBERS).astype(np.int32)
    for _ in range(2):  # the second time by the shorter way
        endless = hb.batch(down, **options(form, lanes, threads))
        with pytest.raises(KeyboardInterrupt, match="'down' was interrupted when") as caught:
            endless(jnp.asarray(n))
        error = caught.value
        assert isinstance(error, hb.Interrupted)
        unfinished = np.isin(np.arange(SIZE), error.unfinished)
        assert unfinished[ENDLESS].all()
        assert (np.asarray(error.outputs)[~unfinished] == 5).all()
        if form in ("auto", "guarded", "sweep") and threads == 1 and (lanes is None or lanes > ENDLESS.sum()):
            assert error.unfinished == tuple(np.flatnonzero(ENDLESS))


def test_a_first_stretch_that_is_interrupted_has_no_results(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("hlobatch.runtime.division.Division.entry_point", interrupt)
    with pytest.raises(hb.Interrupted) as caught:
        hb.batch(down, threads=1, optimizations=LOOP)(NUMBERS)
    assert caught.value.outputs is None
    assert caught.value.unfinished == tuple(range(SIZE))


def test_what_has_no_loop_goes_in_no_stretches() -> None:
    @hb.batch
    def absolute(n):
        if n < 0:
            return -n
        return n

    straight, turning = absolute.trace(NUMBERS), hb.batch(down).trace(NUMBERS)
    assert not straight.plan.may_be_endless
    assert turning.plan.may_be_endless


def test_a_pace_is_found() -> None:
    pace = Pace.guessed(STRETCH_SECONDS / 100)
    assert pace.turns == 128
    pace.note(30.0, "compiled")
    assert pace.turns == 128 // MOST_GROWTH, "it may be that it was compiled in it"
    pace.note(30.0, "compiled")
    assert pace.turns == 1
    pace = Pace.guessed(STRETCH_SECONDS / 100)
    pace.note(STRETCH_SECONDS / 1000, "compiled")
    assert pace.turns == 128 * MOST_GROWTH
    pace.note(STRETCH_SECONDS * 16, "compiled")
    assert pace.turns == 8 * MOST_GROWTH
    pace.note(STRETCH_SECONDS * 1.2, "compiled")
    assert pace.turns == 8 * MOST_GROWTH
    assert Pace.guessed(1e-30).turns == MOST_TURNS
    assert Pace.guessed(1e30).turns == 1


@pytest.mark.parametrize("form", by_day(["guarded", "sweep", "case", "chain"], 1))
def test_turns_that_take_much_longer_than_others_make_more_stretches(
    form: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of ten milliseconds, also after runs in which turns took some microseconds."""

    @hb.batch(dispatch=form, threads=1)
    def turns(x, quick, slow):
        while quick > 0:
            quick = quick - 1
            x = x + 1.0
        while slow > 0:
            slow = slow - 1
            x = jnp.sort(x + 1)
        return x

    seen: list[float] = []
    note = Pace.note
    x, none = np.zeros((20, 2000), np.float32), np.zeros(20, np.int32)
    turns(x, none + 50_000, none)
    monkeypatch.setattr(Pace, "note", lambda self, seconds, key: [seen.append(seconds), note(self, seconds, key)])
    jax.block_until_ready(turns(x, none, none + 100))
    assert len(seen) >= 3


@pytest.mark.parametrize(
    "ways",
    [
        ["loop,2", "recursion,1", "kernel,2"],
        pytest.param(["loop,1", "recursion,2", "kernel,1"], marks=pytest.mark.slow),
    ],
    ids=" ".join,
)
def test_ctrl_c(ways: list[str]) -> None:
    """The interrupt arrives within a second (five, on a busy machine); later calls run, and the process ends."""
    here = Path(__file__).parent
    done = subprocess.run(
        [sys.executable, here / "ctrl_c.py", *ways],
        env=os.environ | {"PYTHONPATH": f"{here.parent.parent}:{here}", "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    late = [float(line.rpartition(": ")[2]) for line in done.stdout.splitlines()]
    assert len(late) == len(ways)
    assert max(late) < 5, done.stdout


@pytest.mark.parametrize("lanes", [None, 6])
def test_interrupted_with_stacks(lanes: int | None, short: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    """Inputs that wait for deeper stacks, and others that are on their way."""
    original = Course.note

    def interrupt(course: Course, *given: object) -> None:
        original(course, *given)
        short.append(0)
        if len(short) >= 60:
            raise KeyboardInterrupt

    monkeypatch.setattr(Course, "note", interrupt)
    n = np.where(ENDLESS, -1, NUMBERS).astype(np.int32)
    with pytest.raises(hb.Interrupted) as caught:
        hb.batch(stopping.down, max_stack_depth=4, lanes=lanes, threads=1, optimizations=LOOP)(n)
    unfinished = np.isin(np.arange(SIZE), caught.value.unfinished)
    assert unfinished[ENDLESS].all()
    assert np.asarray(caught.value.outputs)[~unfinished].tolist() == n[~unfinished].tolist()


class AtCall:
    """For ``sys.setprofile``: counts calls of Python functions, and raises ``KeyboardInterrupt`` at one of them."""

    def __init__(self, number: int = 0) -> None:
        self.number, self.seen = number, 0

    def __call__(self, frame: object, event: str, argument: object) -> None:
        self.seen += event == "call"
        if event == "call" and self.seen == self.number:
            raise KeyboardInterrupt

    def make(self, batched: hb.BatchedFunction[..., Any]) -> None:
        """Call a batched function for the first time."""
        before = sys.getprofile()
        sys.setprofile(self)
        try:
            batched(NUMBERS)
        finally:
            sys.setprofile(before)


def odd_numbers(n):
    odd, best = [], None
    while n > 0:
        try:
            if n % 2 == 0:
                raise ValueError
            odd.append(n)
        except ValueError:
            best = n if best is None else best
        n = n - 1
    return len(odd) + (0 if best is None else best)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 60))])
def test_ctrl_c_while_a_program_is_made(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """At any call of a Python function, ours or JAX's: it is not lost, and later calls are right."""
    lost: list[object] = []  # in callbacks of Python's garbage collector, which lose every exception
    monkeypatch.setattr(sys, "unraisablehook", lost.append)
    rng = np.random.default_rng(seed)
    how: dict[str, Any] = {"optimizations": LOOP} if seed % 2 else {}
    wanted = [(n + 1) // 2 + (n - n % 2) for n in NUMBERS.tolist()]
    counting = AtCall()
    counting.make(hb.batch(odd_numbers, **how))
    batched, interrupt = hb.batch(odd_numbers, **how), AtCall(int(rng.integers(1, counting.seen)))
    try:
        interrupt.make(batched)
    except KeyboardInterrupt:
        pass
    else:
        assert lost or interrupt.seen < interrupt.number
    assert batched(NUMBERS).tolist() == wanted
    assert batched(NUMBERS).tolist() == wanted


def test_an_interrupt_that_python_loses_is_raised_at_the_next_look():
    """A callback of the garbage collector prints what the handler raises in it, and goes on."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with noting() as look:
            look()
            with contextlib.suppress(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
            with pytest.raises(KeyboardInterrupt):
                look()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_handler_that_does_not_interrupt_is_called_and_nothing_else():
    called = []
    before = signal.signal(signal.SIGINT, lambda *_: called.append(1))
    try:
        with noting() as look:
            signal.raise_signal(signal.SIGINT)
            look()
        assert called == [1]
    finally:
        signal.signal(signal.SIGINT, before)
