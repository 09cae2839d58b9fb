"""Profiles of runs: line counts equal plain Python's in every form, and pages and traces show the measurements."""

import itertools
import json
import re
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from zoo import LOOP

import hlobatch as hb
from hlobatch.profiling import raster

NUMBERS = np.arange(1, 14, dtype=np.int32)


def collatz(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


def fibonacci(n):
    if n <= 1:
        return 1
    left = fibonacci(n - 2)
    return left + fibonacci(n - 1)


FORMS = {"kernel": {"dispatch": "kernel"}, "gang": {"dispatch": "gang"}, "loop": {"optimizations": LOOP, "threads": 1}}


def runs_in_python(function: Callable[[int], int], numbers: Any) -> Counter[int]:
    """The number of times that Python runs each line of a function."""
    found: Counter[int] = Counter()

    def trace(frame: FrameType, event: str, _: object) -> Any:
        if frame.f_code is not function.__code__:
            return None
        if event == "line":
            found[frame.f_lineno] += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        for number in numbers.tolist():
            function(number)
    finally:
        sys.settrace(before)
    return found


@pytest.mark.parametrize("function", [collatz, fibonacci], ids=lambda f: f.__name__)
def test_lines_run_as_often_as_in_python(function: Callable[[int], int]) -> None:
    """Line counts of kernels; a line that computes nothing, such as ``return steps``, is not counted."""
    expected = runs_in_python(function, NUMBERS)
    found = hb.profile(hb.batch(function, dispatch="kernel"))(NUMBERS)
    counted = {line.line: line.runs for line in found.lines}
    assert counted == {line: expected[line] for line in counted}
    assert len(counted) >= len(expected) - 2


@pytest.mark.parametrize("how", FORMS.values(), ids=FORMS)
def test_every_form_has_a_profile(how: dict[str, Any], tmp_path: Path) -> None:
    found = hb.profile(hb.batch(collatz, **how))(NUMBERS)
    dearest = max(found.lines, key=lambda line: line.work)
    assert found.form == how.get("dispatch", found.form)
    (counted,) = [line for line in found.lines if "steps += 1" in line.text]
    assert counted.runs == sum(map(collatz, NUMBERS.tolist()))
    assert all(0 <= line.used <= line.work for line in (*found.lines, *found.loop_lines))
    assert found.raster.is_whole
    assert (
        f"line {dearest.line}" in found.advice
        or f"line {max(found.lines, key=lambda x: x.wasted).line}" in found.advice
    )
    text = str(found)
    assert f"{counted.line:5d} {counted.runs:>11,d}" in text
    assert text.endswith(found.advice)
    found.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert not re.search(r"@[A-Z_]+@|https?://|src=", page)
    assert "steps += 1" in page
    assert found._repr_html_().startswith("<iframe srcdoc=")


def test_where_lanes_were(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Samples become rarer, and no lane that is done works again; counts are those of a run that nobody looks at."""
    monkeypatch.setattr(raster, "MOST_SAMPLES", 16)
    f = hb.batch(fibonacci, dispatch="case")
    found = hb.profile(f)(NUMBERS)
    seen = found.raster.samples
    assert 8 <= len(seen) <= 17
    assert {b.turn - a.turn for a, b in itertools.pairwise(seen[:-1])} == {seen[1].turn}
    assert (np.diff([np.mean(sample.blocks == raster.IDLE) for sample in seen]) >= 0).all()
    assert seen[-1].busy == 0.0
    assert max(sample.depth[0] for sample in seen) > 3
    _, stats = f.with_stats(NUMBERS)
    assert [block.active for block in found.stats.blocks] == [block.active for block in stats.blocks]
    found.to_perfetto(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    assert {event["tid"] for event in spans} <= set(range(1, len(NUMBERS) + 1))
    assert all(event["dur"] > 0 for event in spans)
    assert any("left = fibonacci(n - 2)" in event["name"] for event in spans)


def test_nobody_looks_for_longer_than_they_want_to() -> None:
    found = hb.profile(hb.batch(fibonacci, dispatch="kernel"), seconds=0.0)(NUMBERS)
    assert not found.raster.is_whole
    assert "before the time for looking was over" in str(found)
    assert sum(line.runs for line in found.lines) > 100


def test_what_has_no_loop_and_methods_have_profiles() -> None:
    class Scaled:
        @hb.batch(static_argnames="self")
        def times(self, x):
            return x * 2 + 1 if x > 1 else x

    found = hb.profile(Scaled().times)(jnp.arange(3.0))
    assert [line.runs for line in found.lines if "x * 2" in line.text] == [3]


def test_what_has_no_profile_is_refused() -> None:
    with pytest.raises(hb.BatchTypeError, match="takes a batched function"):
        hb.profile(abs)
    with pytest.raises(hb.HloBatchError, match="cannot be traced"):
        jax.jit(hb.profile(hb.batch(collatz)))(NUMBERS)


def test_lanes_that_raise_do_so_as_in_a_call() -> None:
    @hb.batch
    def f(n):
        while n > 0:
            if n == 5:
                raise ValueError("five")
            n -= 1
        return n

    with pytest.raises(ValueError, match="raised ValueError: five"):
        hb.profile(f)(NUMBERS)


def test_profiles_of_xla_name_functions_and_lines() -> None:
    line = collatz.__code__.co_firstlineno + 6
    text = hb.batch(collatz, optimizations=LOOP).trace(NUMBERS).lower().compile().as_text()
    assert f"/collatz:{line}/" in text
    assert "3 * n + 1" in Path(__file__).read_text(encoding="utf-8").splitlines()[line - 1]
