"""What all tests share: how Python, JAX and Hypothesis start, and a header that says what they ran on."""

import contextlib
import gc
import os
import platform
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import version

# Several workers share one accelerator: none may reserve its memory. Read when JAX starts.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import hypothesis
import jax
import pytest
from plain_messages import messages_in_words  # noqa: F401  # a fixture of all tests
from zoo import optimizing_little

# To look for garbage among all that JAX and the tests hold takes a tenth of the time, if it is done as often as usual.
gc.set_threshold(20_000, 20, 20)

# Each generated program is compiled: the same few in every run, and many new ones at night.
hypothesis.settings.register_profile("quick", max_examples=25, derandomize=True, deadline=None, database=None)
hypothesis.settings.register_profile("nightly", max_examples=500, deadline=None)
hypothesis.settings.load_profile("quick")


@pytest.fixture(autouse=True, scope="session")
def two_cores() -> Iterator[None]:
    """Batches are divided, and steps counted, as on a machine with two cores."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hlobatch.targets.cpu.processor.cores", lambda: 2)
        yield


@pytest.fixture
def quick_compilation() -> Iterator[None]:
    """XLA does without most of its optimizations, which halves its time; at night it has all of them.

    For tests of what is computed and of how a run goes on, and not for those of XLA's code.
    """
    is_night = hypothesis.settings.get_current_profile_name() == "nightly"
    with contextlib.nullcontext() if is_night else optimizing_little():
        yield


@pytest.fixture(params=["packed", "as it is"])
def state_given_back(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The state of a run comes back in both ways, whatever its size."""
    monkeypatch.setattr("hlobatch.runtime.packing.MOST_BYTES_PACKED", 2**30 if request.param == "packed" else -1)


@pytest.fixture
def state_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is looked for beside a kernel, where the state would be packed."""
    monkeypatch.setattr("hlobatch.runtime.packing.MOST_BYTES_PACKED", -1)


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
