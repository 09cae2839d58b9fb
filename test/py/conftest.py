"""What all tests share: how Python, JAX and Hypothesis start, and a header that says what they ran on."""

import gc
import itertools
import os
import platform
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

# Several workers share one accelerator: none may reserve its memory. Read when JAX starts.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import compiling_little
import hypothesis
import jax
import pytest
import shares
from plain_messages import messages_in_words  # noqa: F401  # a fixture of all tests
from zoo import optimizing_in_full

OPTIMIZE_LITTLE = "JAX_DISABLE_MOST_OPTIMIZATIONS"
"""JAX's name of a setting."""
MOST_KEPT = 40_000
"""Files of what XLA compiled, of some 10 kB each."""

# To look for garbage among all that JAX and the tests hold takes a tenth of the time, if it is done as often as usual.
gc.set_threshold(50_000, 20, 20)

# Each generated program is compiled: the same few in every run, and many new ones at night.
hypothesis.settings.register_profile("quick", max_examples=6, derandomize=True, deadline=None, database=None)
hypothesis.settings.register_profile("nightly", max_examples=500, deadline=None)
hypothesis.settings.load_profile("quick")


def pytest_configure(config: pytest.Config) -> None:
    """By day XLA does without most of its optimizations, which halves its time, and keeps what it has compiled."""
    shares.by_night = config.option.markexpr != "not slow"
    if not shares.by_night:
        use(OPTIMIZE_LITTLE, True)
        compiling_little.begin()
        if (kept := getattr(config, "cache", None)) is not None:
            keep_compiled(kept.mkdir("xla"))


def keep_compiled(folder: Path) -> None:
    """Processes have from each other, and from earlier runs, what XLA compiled; not for ever."""
    if os.environ.get("PYTEST_XDIST_WORKER") is None and sum(1 for _ in folder.iterdir()) > MOST_KEPT:
        shutil.rmtree(folder)
    use("JAX_COMPILATION_CACHE_DIR", str(folder))
    use("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", 0.0)
    use("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", -1)


def use(setting: str, value: Any) -> None:
    """Give JAX a setting, here and in processes that tests start."""
    jax.config.update(setting.lower(), value)
    os.environ[setting] = str(int(value) if isinstance(value, bool) else value)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of all combinations of what decorators and fixtures give a test, by day each value occurs; the rest is slow."""
    tests = defaultdict[str, dict[pytest.Item, set[Any]]](dict)
    for item in items:
        if isinstance(item, pytest.Function) and hasattr(item, "callspec") and not item.get_closest_marker("slow"):
            tests[item.nodeid.partition("[")[0]][item] = values(item)
    for cases in tests.values():
        for item in cases.keys() - shares.each_value(cases):
            item.add_marker(pytest.mark.slow)


def values(item: pytest.Function) -> set[Any]:
    """What each decorator, and each fixture, gives a test: by the name of a parameter, which of its values."""
    which = {name: id(value) for name, value in item.callspec.params.items()}
    together = [re.findall(r"\w+", str(mark.args[0])) for mark in item.iter_markers("parametrize")]
    alone = which.keys() - set(itertools.chain(*together))
    return {tuple((name, which[name]) for name in names) for names in (*together, *([name] for name in alone))}


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Collector, obj: object) -> list[pytest.Item] | None:
    """By day no case of a test is made of which all are slow."""
    marks = getattr(obj, "pytestmark", ())
    is_slow = isinstance(marks, list) and any(mark.name == "slow" for mark in marks)
    return [] if is_slow and not shares.by_night and isinstance(collector, pytest.Module) else None


def pytest_collection_finish() -> None:
    """All that is there when the first test begins stays: to look for garbage in it takes a tenth of the time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def two_cores() -> Iterator[None]:
    """Batches are divided, and steps counted, as on a machine with two cores."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hlobatch.targets.cpu.processor.cores", lambda: 2)
        yield


@pytest.fixture
def optimized_in_full(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """XLA optimizes as for users, by day as well: for tests of XLA's code, and of how long it takes."""
    monkeypatch.delenv(OPTIMIZE_LITTLE, raising=False)
    with optimizing_in_full():
        yield


def pytest_report_header() -> list[str]:
    devices = Counter(device.device_kind for device in jax.devices())
    counted = ", ".join(f"{count} x {kind}" for kind, count in devices.items())
    backend = jax.default_backend()
    on_what = (
        "backend cpu: JAX finds no accelerator, everything runs on the CPU"
        if backend == "cpu"
        else f"backend {backend}"
    )
    return [
        f"python {platform.python_version()} on {platform.platform()}, {os.cpu_count()} cores",
        f"jax {jax.__version__}, jaxlib {version('jaxlib')}",
        f"{on_what}; devices: {counted}",
    ]
