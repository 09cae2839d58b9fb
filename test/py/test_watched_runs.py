"""Runs with a time limit or progress: they end in time with the finished results, and report their progress."""

from typing import Any

import jax
import numpy as np
import pytest
from zoo import LOOP

import hlobatch as hb
from hlobatch.runtime.pace import Pace
from hlobatch.runtime.watch import Watch

NUMBERS = np.arange(11, dtype=np.int32)
ENDLESS = NUMBERS == 4
FORMS = {
    "loop": {"threads": 1, "optimizations": LOOP},
    "two threads": {"threads": 2, "optimizations": LOOP},
    "kernel": {"dispatch": "kernel"},
    "gang": {"dispatch": "gang"},
}
forms = pytest.mark.parametrize("how", FORMS.values(), ids=FORMS)


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stretches are short."""
    monkeypatch.setattr(Pace, "guessed", classmethod(lambda cls, _: cls(64)))
    monkeypatch.setattr(Pace, "note", lambda *_: None)
    monkeypatch.setattr("hlobatch.runtime.kernel.OWN_SECONDS", 0.001)


def down(n):
    """Turns as often as its argument says, and for ever if that is negative."""
    while n != 0:
        n = n - 1
    return n + 5


@forms
def test_its_time_is_over(how: dict[str, Any]) -> None:
    f = hb.batch(down, timeout=0.2, **how)
    assert f(NUMBERS).tolist() == [5] * len(NUMBERS)
    for _ in range(2):
        with pytest.raises(hb.TimeLimitError, match=r"'down' had finished [0-9]+ of 11 inputs when 0.2 sec") as caught:
            f(np.where(ENDLESS, -1, NUMBERS))
        error = caught.value
        unfinished = np.isin(NUMBERS, error.unfinished)
        assert unfinished[ENDLESS].all()
        assert (np.asarray(error.outputs)[~unfinished] == 5).all()
        assert not unfinished.all() or how == FORMS["gang"]  # which gives back what all of its lanes have come to
        assert isinstance(error, TimeoutError)


@pytest.mark.parametrize("how", [FORMS["loop"], FORMS["kernel"]], ids=["loop", "kernel"])
def test_the_runs_of_a_call_whose_lists_grow_have_one_limit(
    how: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first call has a run for each capacity of the list, the second one has one run."""
    began: list[float] = []
    monkeypatch.setattr(Watch, "look", lambda watch, _: began.append(watch.began))
    monkeypatch.setattr(Watch, "end", lambda watch, _: began.append(watch.began))

    def counted(n):
        items = []
        while n > 0:
            items.append(n)
            n -= 1
        return len(items)

    f = hb.batch(counted, timeout=1000.0, **how)
    assert f(9 * NUMBERS).tolist() == (9 * NUMBERS).tolist()
    assert len(set(began)) == 1 < len(began)
    assert f(9 * NUMBERS).tolist() == (9 * NUMBERS).tolist()
    assert len(set(began)) == 2


@forms
def test_it_tells_how_far_it_is(how: dict[str, Any]) -> None:
    told: list[hb.Progress] = []
    f = hb.batch(down, progress=told.append, **how)
    assert f(1000 * NUMBERS).tolist() == [5] * len(NUMBERS)
    assert told[-1][:3] == ("down", len(NUMBERS), len(NUMBERS))
    assert [each.is_last for each in told] == [False] * (len(told) - 1) + [True]
    assert sorted(told) == told
    if "threads" in how:
        assert len(told) > 3


def test_it_tells_so_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    hb.batch(down, progress=True)(NUMBERS)
    assert "11 of 11 inputs" in capsys.readouterr().err.split("\r")[-1]


def test_within_a_jit_nobody_looks() -> None:
    told: list[hb.Progress] = []
    f = hb.batch(down, progress=told.append, timeout=1e-9)
    assert jax.jit(f)(NUMBERS).tolist() == [5] * len(NUMBERS)
    assert told == []


@pytest.mark.parametrize("option", [{"timeout": 0}, {"timeout": "1"}, {"timeout": float("nan")}, {"progress": 3}])
def test_other_options_are_refused(option: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(option))):
        hb.batch(down, **option)
