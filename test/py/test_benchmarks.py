"""The benchmarks: contenders do the same work, and the page shows the measured figures."""

import importlib.util
import itertools
import json
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import pytest
import shares
from jax.experimental.compilation_cache import compilation_cache

from benchmarks import gradients, measure, must_show, on_a_card, registry, report, results, sampling
from benchmarks.__main__ import main, sizes
from benchmarks.measure import DisagreementError, check_agreement, interleaved, prepare
from benchmarks.nuts import figure7
from benchmarks.workload import Contender, Prepared, Size

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "benchmarks.md"
FILES = sorted((ROOT / "benchmarks" / "results").glob("*.json"))
TINY = Size(lanes=3, inputs=6)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """JAX's persistent cache of compiled code, so that what is compiled for timing is not compiled again."""
    if jax.config.jax_compilation_cache_dir is not None:
        yield
        return
    settings = {
        "jax_compilation_cache_dir": str(tmp_path_factory.mktemp("compiled")),
        "jax_persistent_cache_min_compile_time_secs": 0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    before = {name: getattr(jax.config, name) for name in settings}

    def use(values: dict[str, Any]) -> None:
        for name, value in values.items():
            jax.config.update(name, value)
        compilation_cache.reset_cache()

    use(settings)
    yield
    use(before)


AGAINST_JAX = [
    name
    for name in registry.MODULES
    if name not in registry.NUTS and not name.startswith("ablation")  # other samplers draw otherwise: test_nuts.py
]


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("name", shares.by_day(AGAINST_JAX, 2))
def test_contenders_agree(name: str) -> None:
    """All that do the same work, on more inputs than lanes, have the same results."""
    workload = registry.find(name)
    prepared, missing = prepare(workload, TINY)
    for contender, reason in missing.items():
        print(f"{contender}: {reason}")
    check_agreement(prepared)
    assert next(iter(prepared)) == "hlobatch"
    assert all(p.work > 0 and p.compile_seconds > 0 for p in prepared.values())
    uses = [p.lane_use for p in prepared.values() if p.lane_use is not None]
    assert all(0 < use <= 1 for use in uses)
    in_jax = prepared["jax.jit" if name in registry.CALLS else "lockstep vmap"]
    assert in_jax.work == pytest.approx(prepared["hlobatch"].work, rel=0.02), "not the same work"


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("name", shares.by_day([*registry.SWITCHES, *registry.MECHANISMS], 2))
def test_what_an_optimization_is_for_has_the_same_results_without_it(name: str) -> None:
    prepared, missing = prepare(registry.find(name), TINY)
    assert not missing
    check_agreement(prepared)
    first, *others = prepared
    assert first == "hlobatch"
    assert all(name.startswith("hlobatch, without ") for name in others)


def fixed(result: object, work: float = 1.0) -> Prepared:
    return Prepared(lambda: result, work, 0.1, comparable=lambda result: result)


def test_different_results_are_an_error() -> None:
    check_agreement({"a": fixed(1.0), "b": fixed(1.0001)})
    with pytest.raises(DisagreementError, match=r"b and a differ by up to 0\.1"):
        check_agreement({"a": fixed(1.0), "b": fixed(1.1)})
    with pytest.raises(DisagreementError):
        check_agreement({"a": fixed(1_000_000), "b": fixed(1_000_001)})


def test_repetitions_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is over soon runs several times in its turn."""
    ran: list[str] = []
    runs = {name: lambda name=name: ran.append(name) for name in "abc"}
    monkeypatch.setattr(measure, "LONG_ENOUGH", 0.0)
    times = interleaved(runs, rounds=3, seconds=60.0)
    assert "".join(ran) == "abc" + "bca" + "cab"
    assert {name: len(t) for name, t in times.items()} == {"a": 3, "b": 3, "c": 3}

    ran.clear()
    monkeypatch.setattr(measure, "LONG_ENOUGH", 0.005)
    interleaved(runs, rounds=3, seconds=60.0)
    assert [name for name, _ in itertools.groupby(ran)] == list("abc" + "bca" + "cab")
    assert len(ran) > 100


def test_so_do_compilations_where_they_are_short() -> None:
    compiled: list[str] = []

    def contender(name: str) -> Contender:
        def compilation() -> None:
            compiled.append(name)
            time.sleep(0.03)

        seconds = measure.LONG if name == "long" else 0.1
        return lambda _: replace(fixed(1.0), compile=None if name == "c" else compilation, compile_seconds=seconds)

    workload = replace(registry.find("collatz"), contenders={n: contender(n) for n in ("hlobatch", "b", "c", "long")})
    rows = measure.measure(replace(workload, roofline=None), TINY, measure.Effort(3, 0.0), say=lambda _: None)
    assert compiled[:6] == ["hlobatch", "b", "b", "hlobatch", "hlobatch", "b"]
    assert len(compiled) == 2 * measure.COMPILATIONS
    assert [row["compile_seconds"] >= 0.03 for row in rows] == [True] * 4
    assert rows[2]["compile_seconds"] == fixed(1.0).compile_seconds
    assert rows[3]["compile_seconds"] == measure.LONG


def test_sizes_on_the_command_line() -> None:
    workload = registry.find("collatz")
    assert sizes(workload, [1, 10], None, quick=False) == (Size(1, 1), Size(10, 10))
    assert sizes(workload, [10], 100, quick=False) == (Size(10, 100),)
    assert sizes(workload, None, None, quick=False) == workload.sizes


def test_from_the_command_line_to_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Running twice replaces the rows; figures on the page are those of the file."""
    command = ["fixed_count", "--lanes", "2,3", "--repetitions", "3", "--seconds", "0.1", "--json", str(tmp_path)]
    assert main(command) == 0
    assert main([command[0], "--lanes", "3", *command[3:]]) == 0
    (file,) = tmp_path.glob("*.json")
    rows = results.load(file)
    assert [(row["contender"], row["lanes"]) for row in rows] == [
        (contender, lanes) for lanes in (2, 3) for contender in ("hlobatch", "lockstep vmap", "roofline")
    ]
    assert "hlobatch is" in capsys.readouterr().out
    assert "Loop of fixed length" in report.page(rows, "plots")
    text = report.details(rows)
    assert "Loop of fixed length" in text
    assert f"| {rows[0]['slower']:.2f} |" in text
    if importlib.util.find_spec("matplotlib"):
        assert report.main([str(file), str(tmp_path / "page.md")]) == 0
        assert (tmp_path / "page.md").read_text() == report.page(rows, "page")
        assert (tmp_path / "page" / "details.md").read_text() == report.details(rows)
        assert {path.name for path in (tmp_path / "page").iterdir()} == {f"{file.stem}-overview.svg", "details.md"}


def test_no_such_workload(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nonsense"]) == 2
    assert "no such workload: nonsense" in capsys.readouterr().err


@pytest.mark.skipif(not (PAGE.exists() and FILES), reason="nothing was measured")
def test_page_is_of_these_results() -> None:
    """`python -m benchmarks.report benchmarks/results/*.json docs/benchmarks.md` writes it anew."""
    rows = [row for path in FILES for row in results.load(path)]
    details = PAGE.with_suffix("") / "details.md"
    assert PAGE.read_text() == report.page(rows, PAGE.stem)
    assert details.read_text() == report.details(rows)
    for page in (PAGE, details):
        plots = re.findall(r"\]\(([^)]+\.svg)\)", page.read_text())
        assert plots
        assert all((page.parent / plot).exists() for plot in plots)


@pytest.mark.parametrize(
    "path", [f for f in FILES if f.stem not in ("figure7", "sampling")], ids=lambda path: path.stem
)
def test_results_say_what_they_were_measured_on(path: Path) -> None:
    for row in json.loads(path.read_text())["rows"]:
        assert row["environment"]["platform"] == path.stem
        assert row.keys() >= {"workload", "lanes", "inputs", "contender"}


def test_whole_runs_are_compared_by_effective_draws_per_second() -> None:
    """Medians over seeds; a row that is measured again takes the place of the old one."""
    common = {"target": "radon", "chains": 64, "steps": 15.0, "draws": 300}
    rows: list[dict[str, Any]] = []
    for library, seed, ess, seconds in (
        ("blackjax", 0, 1000, 20.0),
        ("hlobatch", 0, 900, 1.0),
        ("hlobatch", 0, 1200, 6.0),
    ):
        times = dict(zip(sampling.TIMES, (seconds, seconds / 2, 2 * seconds, seconds), strict=True))
        rows = sampling.merge(rows, {**common, **times, "library": library, "seed": seed, "ess": ess})
    _, _, ours, theirs = sampling.table(rows)
    assert ours == "| radon | 64 | hlobatch | 1,200 | 15.0 | 300 | 6.0 | 3.0 | 12.0 | 6.0 | 200 | 400 |  |  |  |  |"
    assert theirs.startswith("| radon | 64 | blackjax | 1,000 | 15.0 | 300 | 20.0 | 10.0 | 40.0 | 20.0 | 50 | 100 |")
    assert theirs.endswith("| 4.00 times | 4.00 times | 4.00 times | 4.00 times |")
    assert sampling.summary(rows)[-1] == "| radon | 64 | 300 | 100; 200 | 25; 50 |"
    once = {**common, "library": "tfp", "seed": 0, "ess": 600, "seconds": 30.0, "processor": 60.0}
    ended = {"target": "radon", "chains": 64, "draws": 300, "library": "nutpie", "seed": 0, "limit": 420}
    rows = sampling.merge(sampling.merge(rows, once), ended)
    assert sampling.summary(rows)[-1] == "| radon | 64 | 300 | 100; 200 | 25; 50 | 10 | over 7 min |"
    assert sampling.table(rows)[-2].startswith("| radon | 64 | tfp | 600 | 15.0 | 300 | 30.0 |  | 60.0 |  | 20 |  |")


@pytest.mark.slow
def test_lanes_wait_only_at_the_end() -> None:
    """Figure 7: what is used is what can be, and nearly all of it where more chains wait."""
    own = {row["contender"]: row["lane_use"] for row in figure7.rows(3, 2)}
    assert own["hlobatch"] == pytest.approx(own["bound"], rel=0.02)
    assert own["hlobatch, queue"] >= 0.95
    assert own["lockstep"] < own["bound"]


def test_costs_of_gradients_are_measured(capsys: pytest.CaptureFixture[str]) -> None:
    gradients.main(["--inputs", "3", "--rounds", "1", "newton", "power"])
    shown = capsys.readouterr().out
    assert re.search(r"grad in lockstep / value_and_grad: \d", shown)
    assert re.search(r"power: by itself [\d.]+ ms", shown)


def test_what_a_card_showed_is_kept_when_time_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After each command, and with the figures that one wrote before it was ended with all that it started."""
    forever = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(60)'])"
    writes = f"import sys; open(sys.argv[1], 'w').write('[7]'); print('so far', flush=True); {forever}"
    commands = (
        on_a_card.Command("well", ("-c", "print(1)"), 60, ()),
        on_a_card.Command("long", ("-c", writes, "{figures}"), 2, ()),
        on_a_card.Command("wrong", ("-c", "print(1 / 0)"), 60, ()),
    )
    monkeypatch.setattr(on_a_card, "COMMANDS", commands)
    began = time.monotonic()
    assert on_a_card.main([str(tmp_path)]) == 2
    assert time.monotonic() - began < 30
    found = json.loads((tmp_path / "card.json").read_text())
    assert [each["ended"] for each in found] == ["well", "not in time", "with status 1"]
    assert found[0]["printed"] == ["1"]
    assert found[1]["figures"] == [7]
    assert found[1]["printed"] == ["so far"]
    assert "ZeroDivisionError" in found[2]["printed"][-1]


def test_nothing_else_is_run_where_there_is_no_card(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    commands = (
        on_a_card.Command("devices", ("-c", "raise SystemExit('no card')"), 60, ()),
        on_a_card.Command("times", ("-c", "print(1)"), 60, ()),
    )
    monkeypatch.setattr(on_a_card, "COMMANDS", commands)
    assert on_a_card.main([str(tmp_path)]) == 1
    assert "no card" in capsys.readouterr().out
    assert not (tmp_path / "times.txt").exists()
    assert (tmp_path / "summary.txt").read_text().startswith("not met (with status 1): devices\n")


def test_the_summary_of_a_card() -> None:
    """The best form against XLA's loop, the chosen one against it and lockstep, first calls, and tests so far."""
    row = {"workload": "collatz", "chosen": "thread", "thread": 1.0, "meeting": 0.5, "loop": 50.0, "lockstep": 64.0}
    slow = {"workload": "stiff", "chosen": "warp", "warp": 10.0, "loop": 9.0, "lockstep": 10.0, "thread": "failed"}
    tests = "[gw0] [ 1%] PASSED test/a.py::test_b\n[gw1] [ 2%] FAILED test/a.py::test_c\ntest/a.py::test_d PASSED [9%]"
    lines = must_show.page(
        [
            {"name": "tests_of_kernels", "ended": "not in time"} | must_show.tests_in(tests),
            {"name": "times", "ended": "well", "figures": [row, slow]},
            {"name": "first_call", "ended": "well", "figures": [row | {"first": {"thread": 0.5}}]},
        ]
    ).splitlines()
    assert lines[0] == "not met (2 tests passed, 1 failed, such as test/a.py::test_c): tests_of_kernels"
    assert "met: collatz against XLA's loop, times as fast: 100, wanted at least 89" in lines
    assert "not met: stiff against XLA's loop, times as fast: 0.9, wanted at least 2" in lines
    assert "not measured: queens against XLA's loop, times as fast" in lines
    assert "not met: the chosen form of the slowest, stiff: 0.9, wanted at least 0.95" in lines
    assert "not met: against lockstep vmap, mean of 2: 8, wanted at least 30" in lines
    assert "not met: against lockstep vmap, least: 1, wanted at least 2" in lines
    assert "met: first_call, s: 0.5, wanted at most 1" in lines
    assert "not measured: first_call_from_cache, s" in lines


def test_a_card_is_done_within_a_quarter_of_an_hour() -> None:
    assert sum(command.seconds for command in on_a_card.COMMANDS) <= 15 * 60
