"""Profiles of machines: they are read from a file and checked, and costs follow from one for the same platform."""

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import hlobatch as hb
from benchmarks import calibrate, kinds_of_work
from hlobatch.targets.cpu import processor
from hlobatch.targets.lanes import LaneCosts
from hlobatch.targets.loop import LoopCosts
from hlobatch.targets.profile import FORMS, PROFILES, Profile, WorkTimes, h100, own, server
from hlobatch.targets.registry import target_of

TIMES = WorkTimes(0.25, 8.0, 0.03, 0.1, 1.5, 0.3, 0.15, 400.0)
SLOW_KERNELS = replace(server(), kernel_ns=10 * (server().kernel_ns or 0))


@pytest.mark.parametrize("path", sorted(PROFILES.glob("*.json")), ids=lambda path: path.stem)
def test_shipped_profiles_say_of_what_machine_they_are(path: Path) -> None:
    profile = Profile.read(path)
    assert profile.machine
    assert profile.measured >= "2026"
    assert profile.jax


@pytest.mark.parametrize("profile", [server(), h100(), Profile("tpu", busy_lanes=7)], ids=lambda p: p.platform)
def test_a_profile_is_written_and_read(profile: Profile, tmp_path: Path) -> None:
    profile.write(tmp_path / "it.json")
    assert Profile.read(tmp_path / "it.json") == profile


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("{", "cannot be read"),
        ("[1]", "no names but [1]"),
        ('{"machine": "mine"}', "no `platform`"),
        ('{"platform": "cpu", "kernel_us": 1}', "unknown name kernel_us"),
        ('{"platform": "cpu", "a": 1, "b": 1}', "unknown names a, b"),
        ('{"platform": 3}', "`platform` of a profile is a text, not 3"),
        ('{"platform": "cpu", "kernel_ns": 0}', "`kernel_ns` of a profile is a number above zero, not 0"),
        ('{"platform": "cpu", "kernel_ns": true}', "not True"),
        ('{"platform": "cpu", "kernel_ns": "500"}', "not '500'"),
        ('{"platform": "cpu", "operation_ns": NaN}', "not nan"),
        ('{"platform": "cpu", "busy_lanes": -1}', "`busy_lanes` of a profile is a whole number, not -1"),
        ('{"platform": "cpu", "busy_lanes": false}', "not False"),
        (
            '{"platform": "cpu", "lane": 3}',
            "`lane` of a profile is a number above zero for each of number, function, wide",
        ),
        ('{"platform": "cpu", "loop": {"number": 1}}', "`loop` of a profile is a number above zero for each of number"),
        ('{"platform": "cpu", "core_bytes": 1.5}', "`core_bytes` of a profile is a whole number above zero, not 1.5"),
    ],
)
def test_what_is_no_profile_is_refused(given: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "it.json").write_text(given)
    monkeypatch.setenv("HLOBATCH_PROFILE", str(tmp_path / "it.json"))
    with pytest.raises(hb.ProfileError) as caught:
        hb.batch(lambda x: x + 1)(jnp.ones(3))
    assert said in str(caught.value)
    assert "help: make one with `python -m benchmarks.calibrate FILE`, or unset HLOBATCH_PROFILE" in str(caught.value)


def test_a_file_that_is_missing_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HLOBATCH_PROFILE", str(tmp_path / "none.json"))
    with pytest.raises(hb.ProfileError, match=r"none\.json cannot be read"):
        target_of("cpu")


def test_a_profile_holds_for_its_platform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    others = {name: target_of(name) for name in ("gpu", "tpu")}
    SLOW_KERNELS.write(tmp_path / "it.json")
    monkeypatch.setenv("HLOBATCH_PROFILE", str(tmp_path / "it.json"))
    assert own("cpu") == target_of("cpu").loop.profile == SLOW_KERNELS
    assert {name: target_of(name) for name in others} == others
    SLOW_KERNELS.write(tmp_path / "it.json")
    replace(SLOW_KERNELS, machine="another").write(tmp_path / "it.json")
    assert target_of("cpu").loop.profile.machine == "another"


def branchy(x: Any, n: Any) -> Any:
    """Some thousand operations a turn, in two blocks."""
    while n > 0:
        if x[0] > 0:
            x = x * 0.5 - 1.0
            n = n - 1
        else:
            x = x * 0.25 + 2.0
            n = n - 2
    return x


def test_what_runs_follows_from_the_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a kernel takes ten times as long to start, a program of ten times the size is still cheap."""
    args = jnp.linspace(-1, 1, 800).reshape(4, 200), jnp.arange(4)
    switches = hb.Optimizations(kernels=False)
    expected, stats = hb.batch(branchy, optimizations=switches).with_stats(*args)
    assert "too dear to run every block each time" in stats.choice
    SLOW_KERNELS.write(tmp_path / "it.json")
    monkeypatch.setenv("HLOBATCH_PROFILE", str(tmp_path / "it.json"))
    result, stats = hb.batch(branchy, optimizations=switches).with_stats(*args)
    assert "cheap enough to run every block each time" in stats.choice
    assert jnp.allclose(result, expected)


def test_costs_of_lanes_follow_from_the_profile() -> None:
    """On the server they are the fitted ones; elsewhere each changes with what was measured of it, per operation."""
    fitted, there = LaneCosts(), server()
    assert LaneCosts.of(there) == LaneCosts.of(Profile("cpu")) == fitted
    assert there.lane
    assert there.loop
    slow = replace(
        there, loop=replace(there.loop, read=3 * there.loop.read, factorization=2 * there.loop.factorization)
    )
    costs = LaneCosts.of(slow)
    assert (costs.lane, costs.gang) == (fitted.lane, fitted.gang)
    assert costs.loop.read == pytest.approx(3 * fitted.loop.read)
    assert costs.loop.call == pytest.approx(2 * fitted.loop.call)
    assert costs.loop.update == fitted.loop.update
    twice = LaneCosts.of(replace(there, lane=replace(there.lane, number=2 * there.lane.number)))
    assert twice.lane.number == 1
    assert twice.gang.function == pytest.approx(fitted.gang.function / 2)
    assert twice.turn == pytest.approx(fitted.turn / 2)


def test_choices_of_forms_follow_from_the_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where gangs compute slowly, lanes of the same program do not run in gangs."""

    def is_gang() -> bool:
        args = jnp.linspace(1, 2, 100), jnp.arange(100)
        traced = hb.batch(lambda x, n: rooted(x, n)).trace(*args)
        return target_of("cpu").judge(traced.plan.programs.of_a_lane).is_gang

    assert is_gang()
    there = server()
    assert there.gang
    slow = WorkTimes(**{kind: 50 * time for kind, time in vars(there.gang).items()})
    replace(there, gang=slow).write(tmp_path / "it.json")
    monkeypatch.setenv("HLOBATCH_PROFILE", str(tmp_path / "it.json"))
    assert not is_gang()


def rooted(x: Any, n: Any) -> Any:
    while n > 0:
        x, n = 0.5 * (x + 2.0 / x), n - 1
    return x


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_each_kind_of_work_is_measured(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """More work of a kind takes longer, in each form; with few rounds, since other programs run."""
    monkeypatch.setattr(kinds_of_work, "ROUNDS", 10)
    assert min(vars(kinds_of_work.times_of(form)).values()) > 0


def test_what_was_not_measured_is_as_on_the_server() -> None:
    unknown = LoopCosts(Profile("tpu", busy_lanes=65_536))
    known = LoopCosts(server())
    for name in ("step_operations", "cheap_operations", "matrix_bytes"):
        assert getattr(unknown, name) == getattr(known, name), name
    assert unknown.thread_operations(unknown.looping) == known.thread_operations(known.looping)
    assert unknown.test_operations == 0


def test_lanes_that_are_busy_count_for_what_is_cheap() -> None:
    """All lanes of a device run every block in the time that it takes to find one."""
    costs = LoopCosts(replace(h100(), kernel_ns=5_000.0))
    assert costs.cheap_operations * costs.profile.busy_lanes == pytest.approx(costs.step_operations)


def measured_as(monkeypatch: pytest.MonkeyPatch, operation: float, step: float) -> None:
    """Let every run take what a machine with these times in seconds would take for it."""

    def per_turn(turns: calibrate.Turns, seconds: Any) -> float:
        assert {len(times) for times in seconds.values()} == {1}
        steps = turns.steps / turns.turns
        return 1e9 * (turns.lanes * turns.work * operation + steps * step)

    def once(runs: Mapping[str, Callable[[], Any]], rounds: int, seconds: float) -> dict[str, list[float]]:
        for run in runs.values():
            run()
        return {name: [1e-5 * (index + 1)] for index, name in enumerate(runs)}

    monkeypatch.setattr(calibrate, "interleaved", once)
    monkeypatch.setattr(calibrate.Turns, "per_turn", per_turn)
    monkeypatch.setattr(calibrate, "all_times", lambda: {"lane": TIMES, "loop": TIMES})


def test_calibration_finds_what_a_machine_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line through the times by lanes is the one that they were made of."""
    measured_as(monkeypatch, 2e-11, 3e-7)
    monkeypatch.setattr(calibrate, "LANES_OF_HOSTS", (256, 1024))
    monkeypatch.setattr(processor, "cores", lambda: 2)
    path = tmp_path / "it.json"
    calibrate.main([str(path)])
    found = Profile.read(path)
    assert (found.platform, found.jax) == ("cpu", jax.__version__)
    assert found.operation_ns == pytest.approx(0.02, rel=0.01)
    assert found.kernel_ns == pytest.approx(300, rel=0.01)
    assert found.thread_ns == pytest.approx(10_000)
    assert (found.lane, found.gang, found.loop) == (TIMES, None, TIMES)


def test_calibration_says_that_the_machine_is_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It does so before it measures what takes longest."""
    monkeypatch.setattr(
        calibrate, "operations_and_kernels", lambda turns, times: {"operation_ns": -0.02, "kernel_ns": 300.0}
    )
    monkeypatch.setattr(calibrate, "LANES_OF_HOSTS", ())
    monkeypatch.setattr(calibrate, "all_times", lambda: pytest.fail("it goes on"))
    monkeypatch.setattr(calibrate, "thread", lambda: pytest.fail("it goes on"))
    with pytest.raises(SystemExit, match="1"):
        calibrate.main([str(tmp_path / "it.json")])
    assert (
        "more work took less time (operation_ns): measure while the machine does nothing else"
        in capsys.readouterr().err
    )
    assert not (tmp_path / "it.json").exists()


def test_lanes_that_keep_a_device_busy_are_those_up_to_which_time_stands_still() -> None:
    assert calibrate.busy((1, 4, 16, 64), [10.0, 10.5, 19.0, 70.0]) == 16


def test_calibration_prints_every_quantity() -> None:
    text = calibrate.report(h100())
    quantities = {f.name for f in fields(Profile)} - {"platform", "machine", "measured", "jax"}
    assert all(name in text for name in quantities)
    assert "not measured" in text
    assert all(kind.name in text for kind in fields(WorkTimes))


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ({}, {}),
        (
            {
                0: ("Data", 1, "32K", "0,4"),
                1: ("Instruction", 1, "64K", "0,4"),
                2: ("Unified", 2, "512K", "0,4"),
                3: ("Unified", 3, "32768K", "0-7"),
            },
            {"core_bytes": 512 * 1024},
        ),
    ],
    ids=["not told", "two threads a core"],
)
def test_caches_of_a_core_are_found(made: Mapping[int, Any], found: dict[str, int], tmp_path: Path) -> None:
    for index, values in made.items():
        folder = tmp_path / f"cpu0/cache/index{index}"
        folder.mkdir(parents=True)
        for name, value in zip(("type", "level", "size", "shared_cpu_list"), values, strict=True):
            (folder / name).write_text(f"{value}\n")
    (tmp_path / "cpu0/topology").mkdir(parents=True)
    (tmp_path / "cpu0/topology/thread_siblings_list").write_text("0,4\n")
    assert calibrate.caches(tmp_path) == found
