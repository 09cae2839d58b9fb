"""Setup that all tests share: of Python, JAX and Hypothesis, and the header of the report."""

import gc
import itertools
import os
import platform
import re
import shutil
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

# Several workers share one accelerator: none may reserve its memory. Read when JAX starts.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import compiling_little
import docstrings
import hypothesis
import jax
import pytest
import shares
from compiling_little import optimized_kernels  # noqa: F401  # a fixture of tests of kernels
from plain_messages import messages_in_words  # noqa: F401  # a fixture of all tests
from zoo import optimizing_in_full

OPTIMIZE_LITTLE = "JAX_DISABLE_MOST_OPTIMIZATIONS"
"""JAX's setting that turns most optimizations of XLA off."""
MOST_KEPT = 40_000
"""Largest number of files in the cache of compiled code, of some 10 kB each."""

# With the usual thresholds, garbage collection over the objects of JAX and the tests takes a tenth of the time.
gc.set_threshold(50_000, 20, 20)

# Each generated program is compiled: the same few in every run, and many new ones at night.
hypothesis.settings.register_profile("quick", max_examples=4, derandomize=True, deadline=None, database=None)
hypothesis.settings.register_profile("nightly", max_examples=500, deadline=None)
hypothesis.settings.load_profile("quick")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--share-of-slow",
        metavar="K/N",
        help="run part K, from 0, of the slow tests, which are divided into N parts, and no others",
    )


def share_of_slow(config: pytest.Config) -> shares.Part | None:
    """The part of the slow tests that is asked for."""
    text = config.option.share_of_slow
    return None if text is None else shares.Part.read(text)


def pytest_configure(config: pytest.Config) -> None:
    """By day, turn off most of XLA's optimizations, which halves its time, and cache compiled code on disk."""
    config.pluginmanager.register(docstrings)  # here, because what a conftest.py says holds in its own folder only
    if share_of_slow(config) is not None:
        config.option.markexpr = "slow"
    shares.by_night = config.option.markexpr != "not slow"
    if not shares.by_night:
        use(OPTIMIZE_LITTLE, True)
        compiling_little.begin()
        if (kept := getattr(config, "cache", None)) is not None:
            keep_compiled(kept.mkdir("xla"))


def keep_compiled(folder: Path) -> None:
    """Cache compiled code in a folder that processes and later runs share; empty it when it is too large."""
    if os.environ.get("PYTEST_XDIST_WORKER") is None and sum(1 for _ in folder.iterdir()) > MOST_KEPT:
        shutil.rmtree(folder)
    use("JAX_COMPILATION_CACHE_DIR", str(folder))
    use("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", 0.0)
    use("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", -1)


def use(setting: str, value: Any) -> None:
    """Set a setting of JAX, in this process and in those that tests start."""
    jax.config.update(setting.lower(), value)
    os.environ[setting] = str(int(value) if isinstance(value, bool) else value)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """By day, of all combinations of parameters, run a few in which each value occurs; mark the rest as slow.

    If a share of the slow tests is asked for, leave out the others.
    """
    tests = defaultdict[str, dict[pytest.Item, set[Any]]](dict)
    for item in items:
        if isinstance(item, pytest.Function) and hasattr(item, "callspec") and not item.get_closest_marker("slow"):
            tests[item.nodeid.partition("[")[0]][item] = values(item)
    for cases in tests.values():
        for item in cases.keys() - shares.each_value(cases):
            item.add_marker(pytest.mark.slow)
    if (part := share_of_slow(config)) is not None:
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in part])
        items[:] = [item for item in items if item.nodeid in part]


def values(item: pytest.Function) -> set[Any]:
    """For each decorator and fixture of a test, the names of its parameters and their values in this case."""
    which = {name: id(value) for name, value in item.callspec.params.items()}
    together = [re.findall(r"\w+", str(mark.args[0])) for mark in item.iter_markers("parametrize")]
    alone = which.keys() - set(itertools.chain(*together))
    return {tuple((name, which[name]) for name in names) for names in (*together, *([name] for name in alone))}


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Collector, obj: object) -> list[pytest.Item] | None:
    """By day, do not collect tests that are slow in all cases."""
    marks = getattr(obj, "pytestmark", ())
    is_slow = isinstance(marks, list) and any(mark.name == "slow" for mark in marks)
    return [] if is_slow and not shares.by_night and isinstance(collector, pytest.Module) else None


def pytest_collection_finish() -> None:
    """Freeze all objects that exist before the first test: garbage collection among them takes a tenth of the time.

    No bytecode is written from now on: modules that tests write are loaded once.
    """
    sys.dont_write_bytecode = True
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def two_cores() -> Iterator[None]:
    """Divide batches and count steps as on a machine with two cores."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hlobatch.targets.cpu.processor.cores", lambda: 2)
        yield


@pytest.fixture
def optimized_in_full(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let XLA optimize fully, by day as well, for tests of its code and of its time."""
    monkeypatch.delenv(OPTIMIZE_LITTLE, raising=False)
    with optimizing_in_full():
        yield


def pytest_report_header(config: pytest.Config) -> list[str]:
    part = share_of_slow(config)
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
        *([f"slow tests: --share-of-slow={part}"] if part else []),
    ]
